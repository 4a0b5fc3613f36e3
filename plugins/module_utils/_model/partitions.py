# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions of a fabric, and OpenSM's codes for them. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Tuple

DEFAULT_PKEY = 0x7FFF
MEMBERSHIPS = ("full", "limited", "both")
KEYWORDS = ("ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF")
# InfiniBand Architecture Specification, PortInfo:MTUCap; PathRecord:Rate (opensm include/iba/ib_types.h).
MTU_CODES: Mapping[int, int] = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
RATE_CODES: Mapping[float, int] = {
    2.5: 2, 10: 3, 30: 4, 5: 5, 20: 6, 40: 7, 60: 8, 80: 9, 120: 10, 14: 11, 56: 12, 112: 13, 168: 14, 25: 15,
    100: 16, 200: 17, 300: 18, 28: 19, 50: 20, 400: 21, 600: 22, 800: 23, 1200: 24,
}  # fmt: skip
# What OpenSM gives an IPoIB broadcast group that says nothing: 2048 bytes and 10 Gb/s.
DEFAULT_MTU_CODE, DEFAULT_RATE_CODE = 4, 3
# IPoIB puts a header of 4 bytes in front (RFC 4391).
IPOIB_HEADER = 4


@dataclass(frozen=True)
class Member:
    """A port by its port GUID, or one of the keywords. ``membership`` as it was written, else the partition's own."""

    who: str
    membership: str


@dataclass(frozen=True)
class Group:
    """Parameters of a multicast group, in OpenSM's codes. ``mgid`` is ``None`` for the partition's broadcast group."""

    mgid: Optional[str] = None
    mtu: Optional[int] = None
    rate: Optional[int] = None
    sl: Optional[int] = None
    scopes: Tuple[int, ...] = ()
    q_key: Optional[int] = None
    tclass: Optional[int] = None
    flow_label: Optional[int] = None


@dataclass(frozen=True)
class Partition:
    """One statement of a file. ``written`` is the P_Key as it stands there, ``pkey`` its low 15 bits.

    ``None`` as a P_Key: OpenSM makes one up.
    """

    name: str
    line: int
    written: Optional[int] = None
    ipoib: bool = False
    index0: bool = False
    default_membership: Optional[str] = None
    broadcast: Group = Group()
    members: Tuple[Member, ...] = ()
    groups: Tuple[Group, ...] = ()

    @property
    def pkey(self) -> Optional[int]:
        """Without the membership bit."""
        return None if self.written is None else self.written & 0x7FFF


@dataclass(frozen=True)
class PartitionsError:
    """Why OpenSM does not take a file: then it ignores all of it. ``message`` is its own, ``suspect`` the text."""

    line: int
    message: str
    suspect: str = ""


@dataclass(frozen=True)
class PartitionsFile:
    """A file as OpenSM reads it. ``warnings`` are what it takes otherwise than it seems to say."""

    partitions: Tuple[Partition, ...] = ()
    comments: Tuple[str, ...] = ()
    warnings: Tuple[str, ...] = ()
    error: Optional[PartitionsError] = None


def ipoib_mtu_bytes(code: Optional[int]) -> Optional[int]:
    """The largest IP packet of a broadcast group's MTU code."""
    found = [size for size, known in MTU_CODES.items() if known == (code or DEFAULT_MTU_CODE)]
    return found[0] - IPOIB_HEADER if found else None
