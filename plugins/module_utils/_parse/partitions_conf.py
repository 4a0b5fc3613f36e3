# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSM's partitions file. Private to the collection. Pure.

Format: opensm doc/partition-config.txt; what that leaves open, as opensm/osm_prtn_config.c reads it: line by line, a
definition ends at the first colon of its line, names of flags may be cut short, and an unknown membership is limited.
One line that it cannot read makes it ignore the file as a whole, so that everybody is a full member of everything.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.partitions import (
    KEYWORDS,
    MEMBERSHIPS,
    Group,
    Member,
    Partition,
    PartitionsError,
    PartitionsFile,
)

_NUMBER = re.compile(r"^(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\Z")
# Flags of a broadcast or multicast group, with the highest value that OpenSM takes.
_GROUP_FLAGS: Dict[str, Tuple[str, int]] = {
    "mtu": ("mtu", 0xFF),
    "rate": ("rate", 0xFF),
    "scope": ("scopes", 0xF),
    "Q_Key": ("q_key", 0xFFFFFFFF),
    "TClass": ("tclass", 0xFF),
    "sl": ("sl", 15),
    "FlowLabel": ("flow_label", 0xFFFFF),
}
# OpenSM reads a line into a buffer of this size and takes the rest for another line.
LINE_LIMIT = 4094


class _Bad(Exception):
    """OpenSM's message, and the text that it is about."""


@dataclass
class _Reading:
    """What is collected while the file is read."""

    partitions: List[Partition] = field(default_factory=list)
    comments: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    current: Optional[Partition] = None

    def warn(self, line: int, text: str) -> None:
        self.warnings.append("line %d: %s" % (line, text))


def parse(text: str) -> PartitionsFile:
    """The partitions of a file, up to the first line that OpenSM cannot read."""
    reading = _Reading()
    error: Optional[PartitionsError] = None
    number = 0
    for number, raw in enumerate(text.split("\n"), 1):
        if len(raw) > LINE_LIMIT:
            reading.warn(number, "OpenSM reads %d characters of a line and takes the rest for another one" % LINE_LIMIT)
        content, mark, comment = raw.partition("#")
        if mark:
            reading.comments.append(mark + comment.rstrip())
        try:
            _line(content, number, reading)
        except _Bad as bad:
            message, suspect = bad.args
            error = PartitionsError(number, "PARSE ERROR: line %d: %s" % (number, message), suspect)
            break
    if reading.current is not None and error is None:
        reading.warn(number, "the last definition does not end with a semicolon")
        reading.partitions.append(reading.current)
    _duplicates(reading)
    return PartitionsFile(tuple(reading.partitions), tuple(reading.comments), tuple(reading.warnings), error)


def _duplicates(reading: _Reading) -> None:
    seen: Dict[int, str] = {}
    for partition in reading.partitions:
        if partition.pkey is None:
            continue
        if partition.pkey in seen:
            reading.warn(
                partition.line,
                "%s defined twice (0x%04x); OpenSM merges them" % (partition.name or "P_Key", partition.pkey),
            )
        seen.setdefault(partition.pkey, partition.name)


def _line(content: str, number: int, reading: _Reading) -> None:
    """One line: the ends and beginnings of definitions between its semicolons."""
    parts = content.split(";")
    for index, part in enumerate(parts):
        if part.strip(" \t\n\r"):
            _part(part, number, reading)
        if index < len(parts) - 1:
            if reading.current is not None:
                reading.partitions.append(reading.current)
            reading.current = None


def _part(text: str, number: int, reading: _Reading) -> None:
    if reading.current is None:
        definition, colon, text = text.partition(":")
        if not colon:
            raise _Bad("no partition definition found", definition.strip()[:100])
        reading.current = _definition(definition, number, reading)
    words = text.split(",")
    for index, word in enumerate(words):
        name, value = _pair(word)
        if name == "mgid":
            group = _group(value or "", words[index + 1 :], number, reading)
            if group is not None:
                reading.current = replace(reading.current, groups=reading.current.groups + (group,))
            return  # the rest of the line is the group's
        member = _member(name, value, number, reading)
        if member is not None:
            reading.current = replace(reading.current, members=reading.current.members + (member,))


def _pair(word: str) -> Tuple[str, Optional[str]]:
    name, equals, value = word.partition("=")
    return name.strip(), value.strip() if equals else None


def _definition(text: str, number: int, reading: _Reading) -> Partition:
    words = text.split(",")
    name, value = _pair(words[0])
    if value is None and name[:1] in tuple("0123456789"):
        name, value = "", name
    if value is not None and not _NUMBER.match(value):
        raise _Bad("bad partition definition", value[:100])
    partition = Partition(name, number, None if value is None else _value(value) & 0xFFFF)
    for word in words[1:]:
        partition = _flag(partition, word, number, reading)
    return partition


def _flag(partition: Partition, word: str, number: int, reading: _Reading) -> Partition:
    name, value = _pair(word)
    broadcast = _group_flag(partition.broadcast, name, value, number, reading)
    if broadcast is not None:
        return replace(partition, broadcast=broadcast)
    if _means(name, "ipoib"):
        return replace(partition, ipoib=True)
    if _means(name, "indx0"):
        return replace(partition, index0=True)
    if _means(name, "defmember"):
        membership = next((word for word in MEMBERSHIPS if value and _means(value, word)), None)
        if membership is None:
            reading.warn(number, "defmember=%s is skipped; use %s" % (value, ", ".join(MEMBERSHIPS)))
        return replace(partition, default_membership=membership)
    reading.warn(number, "the flag %r is ignored" % name)
    return partition


def _means(word: str, full: str) -> bool:
    """OpenSM compares as many characters as the word has. An empty one would mean everything."""
    return bool(word) and full.startswith(word)


def _group_flag(group: Group, name: str, value: Optional[str], number: int, reading: _Reading) -> Optional[Group]:
    """The group with a flag, or ``None`` when it is no flag of a group."""
    full = next((flag for flag in _GROUP_FLAGS if _means(name, flag)), None)
    if full is None:
        return None
    attribute, highest = _GROUP_FLAGS[full]
    size = _value(value) if value is not None and _NUMBER.match(value) else None
    if size is None or size > highest or (size == 0 and full not in ("sl", "TClass", "FlowLabel")):
        reading.warn(number, "%s=%s is skipped; it must be a number up to %d" % (full, value, highest))
        return group
    if attribute == "scopes":
        return replace(group, scopes=tuple(sorted({*group.scopes, size})))
    changes: Dict[str, Any] = {attribute: size}
    return replace(group, **changes)


def _group(mgid: str, words: List[str], number: int, reading: _Reading) -> Optional[Group]:
    try:
        address = ipaddress.IPv6Address(mgid)
    except ValueError:
        address = None
    if address is None or not address.is_multicast:
        reading.warn(number, "mgid %r is no multicast GID, so the group is not made" % mgid[:60])
        return None
    group = Group(mgid=str(address))
    for word in words:
        name, value = _pair(word)
        changed = _group_flag(group, name, value, number, reading)
        if changed is None and name:
            reading.warn(number, "the flag %r of a multicast group is ignored" % name)
        group = changed or group
    return group


def _member(name: str, value: Optional[str], number: int, reading: _Reading) -> Optional[Member]:
    if not name or _means(name, "NONE"):
        return None
    if value is not None:
        membership = next((word for word in MEMBERSHIPS if _means(value, word)), None)
        if membership is None:
            reading.warn(number, "the membership %r of %s is taken for limited" % (value, name))
            membership = "limited"
    else:
        default = reading.current.default_membership if reading.current else None
        membership = default or "limited"
    keyword = next((word for word in KEYWORDS if _means(name, word)), None)
    if keyword is not None:
        if keyword != name:
            reading.warn(number, "%r is taken for %s" % (name, keyword))
        return Member(keyword, membership)
    if not _NUMBER.match(name) or not _value(name):
        raise _Bad("bad PortGUID", name[:100])
    return Member("0x%016x" % _value(name), membership)


def _value(text: str) -> int:
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text, 10)
