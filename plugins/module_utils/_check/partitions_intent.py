# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions in an inventory's words to what OpenSM is given. Private to the collection. Pure.

OpenSM drops, shortens and reinterprets in silence, and one line that it cannot read opens the whole fabric, so that
everything is judged here before anything is written.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.partitions import (
    DEFAULT_MTU_CODE,
    DEFAULT_PKEY,
    DEFAULT_RATE_CODE,
    KEYWORDS,
    MEMBERSHIPS,
    MTU_CODES,
    RATE_CODES,
    Group,
    Member,
    Partition,
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,31}", re.ASCII)
_GUID = re.compile(r"0x[0-9a-f]{16}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,4}")
_KEYS = ("name", "pkey", "ipoib", "mtu_bytes", "rate_gbps", "sl", "scopes", "q_key", "members", "multicast_groups")
_MEMBER_KEYS = ("guid", "host", "group", "ports", "membership")
_GROUP_KEYS = ("mgid", "sl", "q_key", "mtu_bytes", "rate_gbps")
# Group numbers that IP over InfiniBand uses (RFC 4391).
_IP_SIGNATURES = (0x401B, 0x601B)


@dataclass(frozen=True)
class PortFacts:
    """What is known of a port that is a member: of whom, node GUID, rate, MTU and how many P_Keys it can hold."""

    host: str
    guid: str
    node_guid: Optional[str] = None
    rate_gbps: Optional[float] = None
    max_mtu_bytes: Optional[int] = None
    pkey_slots: Optional[int] = None


@dataclass(frozen=True)
class Fabric:
    """The ports of an inventory by host, and the hosts of its groups."""

    ports: Mapping[str, Tuple[PortFacts, ...]] = field(default_factory=dict)
    groups: Mapping[str, Tuple[str, ...]] = field(default_factory=dict)

    @property
    def by_guid(self) -> Dict[str, PortFacts]:
        """Every known port."""
        return {port.guid: port for ports in self.ports.values() for port in ports}

    @property
    def node_guids(self) -> Dict[str, PortFacts]:
        """Node GUIDs that are no port GUID as well."""
        known = self.by_guid
        return {
            port.node_guid: port
            for port in known.values()
            if port.node_guid is not None and port.node_guid not in known
        }


class _Problems(List[str]):
    def add(self, where: str, value: Any, allowed: str) -> None:
        self.append("%s: %r is not allowed; use %s" % (where, value, allowed))


def parse_partitions(
    raw: Any, fabric: Fabric = Fabric(), *, qos: bool = False, both: bool = False, where: str = "partitions"
) -> Tuple[Tuple[Partition, ...], Tuple[str, ...]]:
    """The partitions, and every problem with its place, value and what is allowed.

    ``qos`` and ``both`` say whether OpenSM's options qos and allow_both_pkeys are on, without which it drops service
    levels and memberships of both kinds.
    """
    problems = _Problems()
    if not isinstance(raw, (list, tuple)):
        problems.add(where, raw, "a list of partitions")
        return (), tuple(problems)
    partitions: List[Partition] = []
    for index, entry in enumerate(raw):
        place = "%s[%d]" % (where, index)
        if not isinstance(entry, Mapping):
            problems.add(place, entry, "a mapping with %s" % ", ".join(_KEYS))
            continue
        for key in entry:
            if key not in _KEYS:
                problems.append("%s: unknown key %r; use %s" % (place, key, ", ".join(_KEYS)))
        partitions.append(_partition(place, entry, fabric, qos, both, problems))
    if not problems:
        _together(where, partitions, fabric, problems)
    return tuple(partitions), tuple(problems)


def _partition(
    place: str, entry: Mapping[str, Any], fabric: Fabric, qos: bool, both: bool, problems: _Problems
) -> Partition:
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problems.add(place + ".name", name, "a letter and then letters, digits, _ . and -, 32 characters at most")
    broadcast = _parameters(place, entry, qos, problems)
    ipoib = entry.get("ipoib", False)
    if not isinstance(ipoib, bool):
        problems.add(place + ".ipoib", ipoib, "true or false")
    elif not ipoib and (broadcast.mtu or broadcast.rate or broadcast.q_key or broadcast.scopes):
        problems.append(
            "%s: mtu_bytes, rate_gbps, scopes and q_key are those of the IPoIB group; set ipoib: true" % place
        )
    return Partition(
        name=str(name),
        line=0,
        written=_pkey(place + ".pkey", entry.get("pkey"), problems),
        ipoib=ipoib is True,
        broadcast=broadcast,
        members=_members(place + ".members", entry.get("members"), fabric, both, problems),
        groups=_groups(place + ".multicast_groups", entry.get("multicast_groups", ()), broadcast, qos, problems),
    )


def _pkey(where: str, value: Any, problems: _Problems) -> Optional[int]:
    allowed = "a number from 0x0001 to 0x7fff, in quotes when written with 0x"
    number: Optional[int] = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and _HEX.fullmatch(value):
        number = int(value, 16)
    if number is not None and 0x8000 < number <= 0xFFFF:
        problems.append(
            "%s: %r has the membership bit; use '0x%04x' and say with membership of each member whether it is full"
            % (where, value, number & 0x7FFF)
        )
        return None
    if number is None or not 1 <= number <= 0x7FFF:
        problems.add(where, value, allowed)
        return None
    return number


def _parameters(place: str, entry: Mapping[str, Any], qos: bool, problems: _Problems) -> Group:
    """MTU, rate, service level and the like, in OpenSM's codes."""
    sl = _number(place + ".sl", entry.get("sl"), 0, 15, problems)
    if sl and not qos:
        problems.append(
            "%s.sl: %d has no effect, since OpenSM uses 0 for all while its option qos is off" % (place, sl)
        )
    scopes = entry.get("scopes", ())
    if not isinstance(scopes, (list, tuple)) or not all(_is_number(scope, 1, 15) for scope in scopes):
        problems.add(place + ".scopes", scopes, "a list of numbers from 1 to 15")
        scopes = ()
    return Group(
        mtu=_code(place + ".mtu_bytes", entry.get("mtu_bytes"), MTU_CODES, problems),
        rate=_code(place + ".rate_gbps", entry.get("rate_gbps"), RATE_CODES, problems),
        sl=sl,
        scopes=tuple(sorted(set(scopes))),
        q_key=_number(place + ".q_key", entry.get("q_key"), 1, 0xFFFFFFFF, problems),
    )


def _is_number(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _number(where: str, value: Any, low: int, high: int, problems: _Problems) -> Optional[int]:
    if value is None or _is_number(value, low, high):
        return value
    problems.add(where, value, "a number from %d to %d" % (low, high))
    return None


def _code(where: str, value: Any, codes: Mapping[Any, int], problems: _Problems) -> Optional[int]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value not in codes:
        problems.add(where, value, "one of %s" % ", ".join("%g" % size for size in sorted(codes)))
        return None
    return codes[value]


def _members(where: str, raw: Any, fabric: Fabric, both: bool, problems: _Problems) -> Tuple[Member, ...]:
    if not isinstance(raw, (list, tuple)) or not raw:
        problems.add(where, raw, "a list with at least one member")
        return ()
    found: List[Member] = []
    for index, entry in enumerate(raw):
        place = "%s[%d]" % (where, index)
        if not isinstance(entry, Mapping) or len([key for key in _MEMBER_KEYS[:4] if key in entry]) != 1:
            problems.add(place, entry, "a mapping with one of guid, host, group, ports, and membership")
            continue
        for key in entry:
            if key not in _MEMBER_KEYS:
                problems.append("%s: unknown key %r; use %s" % (place, key, ", ".join(_MEMBER_KEYS)))
        membership = entry.get("membership")
        if membership not in MEMBERSHIPS:
            problems.add(place + ".membership", membership, "one of %s" % ", ".join(MEMBERSHIPS))
            continue
        if membership == "both" and not both:
            problems.append("%s.membership: both is full only while OpenSM's option allow_both_pkeys is off" % place)
        found += [Member(who, membership) for who in _who(place, entry, fabric, problems)]
    return tuple(found)


def _who(place: str, entry: Mapping[str, Any], fabric: Fabric, problems: _Problems) -> Sequence[str]:
    """The ports that a member's words stand for."""
    if "ports" in entry:
        if entry["ports"] in KEYWORDS:
            return [str(entry["ports"])]
        problems.add(place + ".ports", entry["ports"], "one of %s" % ", ".join(KEYWORDS))
        return []
    if "guid" in entry:
        guid = str(entry["guid"]).lower()
        if not _GUID.fullmatch(guid) or not int(guid, 16):
            problems.add(place + ".guid", entry["guid"], "a port GUID, 0x and 16 hex digits in quotes")
        elif guid in fabric.node_guids:
            port = fabric.node_guids[guid]
            problems.append(
                "%s.guid: %s is the node GUID of %s, and members are ports; its port GUID is %s"
                % (place, guid, port.host, port.guid)
            )
        return [guid]
    if "host" in entry:
        return _ports_of(place + ".host", str(entry["host"]), fabric, problems)
    hosts = fabric.groups.get(str(entry["group"]))
    if not hosts:
        problems.add(place + ".group", entry["group"], "a group of the inventory that has hosts")
        return []
    return [guid for host in hosts for guid in _ports_of(place + ".group", host, fabric, problems)]


def _ports_of(where: str, host: str, fabric: Fabric, problems: _Problems) -> Sequence[str]:
    ports = fabric.ports.get(host)
    if not ports:
        problems.append(
            "%s: no InfiniBand port of %r is known; it must be in this run and show its HCAs" % (where, host)
        )
        return []
    return [port.guid for port in ports]


def _groups(where: str, raw: Any, broadcast: Group, qos: bool, problems: _Problems) -> Tuple[Group, ...]:
    if not isinstance(raw, (list, tuple)):
        problems.add(where, raw, "a list of multicast groups")
        return ()
    found: List[Group] = []
    for index, entry in enumerate(raw):
        place = "%s[%d]" % (where, index)
        if not isinstance(entry, Mapping) or set(entry) - set(_GROUP_KEYS):
            problems.add(place, entry, "a mapping with %s" % ", ".join(_GROUP_KEYS))
            continue
        address = _multicast(entry.get("mgid"))
        if address is None:
            problems.add(place + ".mgid", entry.get("mgid"), "a multicast GID such as ff12:401b::16")
            continue
        parameters = _parameters(place, entry, qos, problems)
        signature = int.from_bytes(address.packed[2:4], "big")
        if signature in _IP_SIGNATURES and (
            (parameters.mtu or broadcast.mtu) != broadcast.mtu or (parameters.rate or broadcast.rate) != broadcast.rate
        ):
            problems.append(
                "%s: OpenSM makes an IP group only with the MTU and rate of the partition's own group" % place
            )
        # OpenSM takes a group without any flag for one with an empty flag, which it then complains about.
        sl = parameters.sl if parameters.sl is not None else broadcast.sl or 0
        found.append(Group(str(address), parameters.mtu, parameters.rate, sl, (), parameters.q_key))
    return tuple(found)


def _multicast(value: Any) -> Optional[ipaddress.IPv6Address]:
    try:
        address = ipaddress.IPv6Address(value if isinstance(value, str) else "")
    except ValueError:
        return None
    return address if address.is_multicast else None


def _together(where: str, partitions: Sequence[Partition], fabric: Fabric, problems: _Problems) -> None:
    """What only the partitions together show."""
    for attribute, word in (("name", "name"), ("written", "P_Key")):
        seen: Set[Any] = set()
        for partition in partitions:
            value = getattr(partition, attribute)
            if value in seen:
                shown = "0x%04x" % value if word == "P_Key" else repr(value)
                problems.append("%s: the %s %s is given twice" % (where, word, shown))
            seen.add(value)
    default = next((partition for partition in partitions if partition.written == DEFAULT_PKEY), None)
    if default is None:
        problems.append(
            "%s: there is no partition with P_Key 0x7fff. Without it OpenSM makes every port a limited member of it, so that "
            "hosts reach the subnet manager and nobody else. Add it, with its members" % where
        )
    for partition in partitions:
        _conflicts(where, partition, problems)
        _joinable(where, partition, fabric, problems)
    _slots(where, partitions, fabric, problems)


def _conflicts(where: str, partition: Partition, problems: _Problems) -> None:
    kinds: Dict[str, Set[str]] = {}
    for member in partition.members:
        kinds.setdefault(member.who, set()).add(member.membership)
    for who, found in kinds.items():
        if len(found) > 1:
            problems.append(
                "%s: %s is %s member of %r; give one" % (where, who, " and ".join(sorted(found)), partition.name)
            )
    if partition.written != DEFAULT_PKEY and all(member.membership == "limited" for member in partition.members):
        problems.append(
            "%s: every member of %r is limited, and limited members do not reach each other; make one of them full"
            % (where, partition.name)
        )


def _ports_in(partition: Partition, fabric: Fabric) -> List[PortFacts]:
    """The known ports that are members, also by keyword."""
    known = fabric.by_guid
    if any(member.who in ("ALL", "ALL_CAS") for member in partition.members):
        return list(known.values())
    return [known[member.who] for member in partition.members if member.who in known]


def _joinable(where: str, partition: Partition, fabric: Fabric, problems: _Problems) -> None:
    """A port that is slower than the group, or has a smaller MTU, cannot join it and gets no IPoIB carrier."""
    if not partition.ipoib:
        return
    code = partition.broadcast.rate or DEFAULT_RATE_CODE
    rate = next(speed for speed, known in RATE_CODES.items() if known == code)
    mtu_code = partition.broadcast.mtu or DEFAULT_MTU_CODE
    mtu = next(size for size, known in MTU_CODES.items() if known == mtu_code)
    ports = _ports_in(partition, fabric)
    slow = [port for port in ports if port.rate_gbps is not None and port.rate_gbps < rate]
    small = [port for port in ports if port.max_mtu_bytes is not None and port.max_mtu_bytes < mtu]
    if slow:
        problems.append(
            "%s: %s cannot join the IPoIB group of %r: rate_gbps is %g, and the port has %g"
            % (where, _some(slow), partition.name, rate, slow[0].rate_gbps or 0)
        )
    if small:
        problems.append(
            "%s: %s cannot join the IPoIB group of %r: mtu_bytes is %d, and the port has at most %d"
            % (where, _some(small), partition.name, mtu, small[0].max_mtu_bytes or 0)
        )


def _some(ports: Sequence[PortFacts]) -> str:
    names = ["%s (%s)" % (port.host, port.guid) for port in ports[:3]]
    return ", ".join(names) + (" and %d more" % (len(ports) - 3) if len(ports) > 3 else "")


def _slots(where: str, partitions: Sequence[Partition], fabric: Fabric, problems: _Problems) -> None:
    count: Dict[str, int] = {}
    for partition in partitions:
        for port in _ports_in(partition, fabric):
            count[port.guid] = count.get(port.guid, 0) + 1
    full = [port for guid, port in fabric.by_guid.items() if port.pkey_slots and count.get(guid, 0) > port.pkey_slots]
    if full:
        problems.append(
            "%s: %s would be in %d partitions, and the port holds %d P_Keys"
            % (where, _some(full), count[full[0].guid], full[0].pkey_slots or 0)
        )
