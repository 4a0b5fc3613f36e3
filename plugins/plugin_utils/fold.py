# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of hosts in few characters: ``node[001-004,007]``. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

_SPLIT = re.compile(r"^(.*?)([0-9]+)([^0-9]*)$", re.DOTALL)
_GROUP = re.compile(r"^(.*)\[([0-9,-]+)\](.*)$", re.DOTALL)
# More names than this are folded; a few are clearer in full.
FOLD_ABOVE = 3


def fold(names: Iterable[str], above: int = FOLD_ABOVE) -> str:
    """Names that differ in their last number only are written once, with the numbers as ranges.

    Numbers keep their width (``node01`` and ``node1`` are two hosts). Lists of up to ``above`` names stay as they are.
    """
    unique = sorted(set(names), key=_order)
    if len(unique) <= above:
        return ",".join(unique)
    groups: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    alone: list[str] = []
    for name in unique:
        match = _SPLIT.match(name)
        # Brackets and commas in a name would make the folded text ambiguous.
        if match and not re.search(r"[\[\],]", name):
            groups[match[1], match[3], len(match[2])].append(int(match[2]))
        else:
            alone.append(name)
    parts = []
    for (head, tail, width), numbers in groups.items():
        if len(numbers) == 1:
            parts.append(f"{head}{numbers[0]:0{width}d}{tail}")
        else:
            ranges = ",".join(_range(first, last, width) for first, last in _runs(numbers))
            parts.append(f"{head}[{ranges}]{tail}")
    return ",".join(parts + alone)


def _order(name: str) -> tuple[str, int, str]:
    match = _SPLIT.match(name)
    return (match[1], int(match[2]), name) if match else (name, -1, name)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    start = previous = numbers[0]
    for number in numbers[1:]:
        if number != previous + 1:
            yield start, previous
            start = number
        previous = number
    yield start, previous


def _range(first: int, last: int, width: int) -> str:
    return f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}"


def expand(text: str) -> list[str]:
    """The names that a folded text stands for. Raises ``ValueError`` for a range that runs backwards."""
    names: list[str] = []
    for part in _split_outside_brackets(text):
        match = _GROUP.match(part)
        if not match:
            names.append(part)
            continue
        for piece in match[2].split(","):
            first, _dash, last = piece.partition("-")
            if not first.isdigit() or (last and (not last.isdigit() or int(last) < int(first))):
                raise ValueError(f"{piece!r} in {part!r} is no range such as 001-004")
            for number in range(int(first), int(last or first) + 1):
                names.append(f"{match[1]}{number:0{len(first)}d}{match[3]}")
    return names


def _split_outside_brackets(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]
