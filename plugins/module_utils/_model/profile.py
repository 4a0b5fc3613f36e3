# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The expected hardware of a host: intent, from the inventory. Private to the collection.

Expectations never come from what a host shows today: a degraded port must never become its own baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple


@dataclass(frozen=True)
class Match:
    """Which HCAs an entry speaks of; all that is given must match.

    Virtual functions are matched only when ``virtual`` says so, since they come and go with the workload.
    """

    type: Optional[str] = None
    psid: Optional[str] = None
    pci: Optional[str] = None
    device: Optional[str] = None
    guid: Optional[str] = None
    virtual: bool = False


@dataclass(frozen=True)
class PcieIntent:
    """The PCIe link that was bought, per hop: GT/s per lane and number of lanes."""

    speed_gts: Optional[float] = None
    width: Optional[int] = None


@dataclass(frozen=True)
class UncabledPort:
    """A port that is down by design: of one HCA (its name or PCI address), or of every one the entry matches."""

    port: int
    device: Optional[str] = None


@dataclass(frozen=True)
class HcaIntent:
    """One kind of HCA on the host and what each of its ports must show. ``None`` and empty mean not judged.

    ``slots`` are the intended PCI addresses; ``counters_max`` the highest acceptable value per error counter.
    """

    name: str
    match: Match
    count: Optional[int] = None
    link_layer: Optional[str] = None
    rate_gbps: Optional[float] = None
    width: Optional[str] = None
    firmware: Tuple[str, ...] = ()
    psid: Tuple[str, ...] = ()
    pcie: PcieIntent = PcieIntent()
    slots: Tuple[str, ...] = ()
    uncabled_ports: Tuple[UncabledPort, ...] = ()
    counters_max: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MemlockIntent:
    """The memory-lock limit, in bytes (``None`` is unlimited), that processes and new logins of users must have."""

    processes: Tuple[str, ...] = ()
    users: Tuple[str, ...] = ()
    soft_bytes: Optional[int] = None


@dataclass(frozen=True)
class Profile:
    """A host's expected hardware."""

    hcas: Tuple[HcaIntent, ...] = ()
    memlock: Optional[MemlockIntent] = None
