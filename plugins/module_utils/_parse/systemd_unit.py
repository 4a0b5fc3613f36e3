# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit and manager files of systemd, and what ``systemctl show`` prints. Private to the collection. Pure.

Behaviour: src/basic/rlimit-util.c (rlimit_parse), src/basic/parse-util.c (parse_size) of systemd.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import UNLIMITED, Assignment, Limit, Unit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal

UNIT_PROPERTIES = (
    "Id", "Names", "LoadState", "ActiveState", "MainPID", "LimitMEMLOCK", "LimitMEMLOCKSoft", "NeedDaemonReload",
    "FragmentPath", "DropInPaths",
)  # fmt: skip
MANAGER_PROPERTIES = ("DefaultLimitMEMLOCK", "DefaultLimitMEMLOCKSoft")
# Two numbers with units may follow each other (1G 512M), from large to small.
_TERM = re.compile(r"\s*([0-9]{1,20})(\.[0-9]{1,20})?\s*([KMGTPE]?)(?:B|(?=[\s0-9]|\Z))", re.ASCII)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def parse_size(text: str) -> int:
    """``8M``, ``1.5G``, ``infinity`` to bytes."""
    if text == "infinity":
        return UNLIMITED
    position, total = 0, 0
    while position < len(text):
        match = _TERM.match(text, position)
        if not match:
            raise ParseError("systemd", "a size such as 8M, or infinity, was expected", text)
        factor = 1024 ** _POWERS[match.group(3)]
        total += int(match.group(1)) * factor
        if match.group(2):
            if not match.group(3):
                raise ParseError("systemd", "bytes have no fraction", text)
            total += int(float("0" + match.group(2)) * factor)
        position = match.end()
    if not text or total >= UNLIMITED:
        raise ParseError("systemd", "a size such as 8M, or infinity, was expected", text)
    return total


def parse_limit(text: str) -> Limit:
    """``SOFT:HARD``, or one value for both."""
    soft, separator, hard = text.strip().partition(":")
    limit = Limit(parse_size(soft), parse_size(hard if separator else soft))
    if limit.soft > limit.hard:
        raise ParseError("systemd", "the soft limit is above the hard one", text)
    return limit


def parse_file(text: str, path: str, section: str, key: str) -> Tuple[Assignment, ...]:
    """Every assignment of a key in a section. systemd ignores what it cannot read, so such one has no limit."""
    found: List[Assignment] = []
    current, start, pending = "", 0, ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        # A comment inside of a continued line does not end it, an empty line does.
        if line[:1] in ("#", ";") or not (line or pending):
            continue
        if not pending:
            start = number
        pending += line
        if line.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        whole, pending = pending.strip(), ""
        if whole.startswith("["):
            current = whole
            continue
        name, separator, value = whole.partition("=")
        if separator and name.strip() == key and current == "[%s]" % section:
            found.append(Assignment(path, start, "%s=%s" % (key, value.strip()), _limit(value)))
    return tuple(found)


def _limit(value: str) -> Optional[Limit]:
    try:
        return parse_limit(value)
    except ParseError:
        return None


def parse_show(text: str, expected: int) -> Tuple[Dict[str, str], ...]:
    """The output of ``systemctl show`` for so many units, in the order in which they were asked for."""
    blocks: List[Dict[str, str]] = [{}]
    for line in text.split("\n"):
        name, separator, value = line.partition("=")
        if separator:
            blocks[-1].setdefault(name, value)
        elif not line.strip():
            if blocks[-1]:
                blocks.append({})
        else:
            raise ParseError("systemctl show", "lines of the form NAME=VALUE were expected", line)
    full = tuple(block for block in blocks if block)
    if len(full) != expected:
        raise ParseError("systemctl show", "%d blocks were expected and %d came" % (expected, len(full)), text)
    return full


def shown_limit(block: Dict[str, str], name: str) -> Optional[Limit]:
    """The limit in a block of properties; ``None`` when this kind of unit has none."""
    if name not in block:
        return None
    hard = _shown_size(block[name])
    # systemd before 231 shows one value for both.
    soft = _shown_size(block.get(name + "Soft", block[name]))
    return Limit(soft, hard)


def _shown_size(value: str) -> int:
    if value == "infinity":
        return UNLIMITED
    number = decimal(value)
    if number is None:
        raise ParseError("systemctl show", "a limit is infinity or a number of bytes", value)
    return min(number, UNLIMITED)


def parse_unit(block: Dict[str, str]) -> Unit:
    """A unit from its block of properties."""
    try:
        load_state, active_state, name = block["LoadState"], block["ActiveState"], block["Id"]
    except KeyError as missing:
        raise ParseError("systemctl show", "the property %s is not there" % missing, repr(block)) from None
    return Unit(
        name=name,
        load_state=load_state,
        active_state=active_state,
        main_pid=decimal(block.get("MainPID", "0")) or 0,
        limit=shown_limit(block, "LimitMEMLOCK"),
        needs_reload=block.get("NeedDaemonReload") == "yes",
        fragment=block.get("FragmentPath", ""),
        drop_ins=tuple(block.get("DropInPaths", "").split()),
    )
