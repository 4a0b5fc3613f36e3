# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a udev rules file to rules. Private to the collection. Pure.

Syntax: udev(7), and src/udev/udev-rules.c of systemd for what it leaves out. What udev would not understand becomes
a rule with a ``problem``, since udev skips such a line and goes on.
"""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import Rule, Token

_KEY = re.compile(r"([A-Z_]+)(?:\{([^}]*)\})?\s*(==|!=|\+=|-=|:=|=)\s*([ei]{0,2})\"")
_SEPARATORS = " \t,"


def parse(text: str) -> Tuple[Rule, ...]:
    """The rules of a file, with the number of the line that each starts at."""
    return tuple(_rule(line, content) for line, content in _logical_lines(text))


def _logical_lines(text: str) -> List[Tuple[int, str]]:
    """Lines joined at a final backslash, without comments and blanks. A comment inside of a joined line is skipped."""
    found: List[Tuple[int, str]] = []
    start, held = 0, ""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        stripped = line.strip(" \t\r\f\v")
        if stripped.startswith("#"):
            continue
        if not held:
            start = number
        if stripped.endswith("\\") and number < len(lines):
            held += stripped[:-1]
            continue
        content = held + stripped
        held = ""
        if content:
            found.append((start, content))
    if held:
        found.append((start, held))
    return found


def _rule(line: int, content: str) -> Rule:
    tokens: List[Token] = []
    place = 0
    while True:
        while place < len(content) and content[place] in _SEPARATORS:
            place += 1
        if place >= len(content):
            return Rule(line, tuple(tokens))
        match = _KEY.match(content, place)
        if not match:
            return Rule(line, tuple(tokens), 'not of the form KEY=="value": %s' % content[place : place + 40])
        value, place = _value(content, match.end(), "e" in match.group(4))
        if value is None:
            return Rule(line, tuple(tokens), "the quote after %s is not closed" % match.group(1))
        tokens.append(Token(match.group(1), match.group(3), value, match.group(2), "i" in match.group(4)))


def _value(content: str, place: int, escaped: bool) -> Tuple[Optional[str], int]:
    """The text up to the closing quote and the place after it. Outside of e"" only the quote can be escaped."""
    parts: List[str] = []
    while place < len(content):
        char = content[place]
        if char == '"':
            return "".join(parts), place + 1
        if char == "\\" and place + 1 < len(content) and (escaped or content[place + 1] == '"'):
            place += 1
            char = content[place]
        parts.append(char)
        place += 1
    return None, place
