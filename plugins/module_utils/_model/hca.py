# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's RDMA hardware is, as frozen dataclasses with units. Private to the collection.

Every observation is a value of these types, whichever source (sysfs, ibstat, rdma) it was read from.
``None`` means absent or unknown, never zero and never the empty string. GUIDs are ``0x`` and 16 lower-case
hex digits, LIDs are integers, bandwidth is in Gb/s (10^9 bits), PCIe speed in GT/s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Mapping, Optional, Tuple

# A port without a LID shows 0xffff (mlx5) or 0 (others); on InfiniBand neither is a usable unicast LID
# (IBTA: unicast LIDs are 0x0001 to 0xbfff).
UNASSIGNED_LIDS = (0, 0xFFFF)
ZERO_GUID = "0x" + "0" * 16


@dataclass(frozen=True)
class Gid:
    """One entry of a port's GID table; ``type`` and ``netdev`` exist only where the kernel shows gid_attrs."""

    index: int
    gid: str
    type: Optional[str] = None
    netdev: Optional[str] = None


@dataclass(frozen=True)
class Pkey:
    """One entry of a port's P_Key table: the 15-bit key as ``0x7fff`` and ``full`` or ``limited`` membership."""

    index: int
    pkey: str
    membership: str


@dataclass(frozen=True)
class Port:
    """One port of an HCA.

    ``state`` is the logical state in the kernel's words (NOP, DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER);
    ``phys_state`` the physical one (Sleep, Polling, Disabled, PortConfigurationTraining, LinkUp,
    LinkErrorRecovery, Phy Test). ``width`` is ``4X``, ``speed`` is ``NDR``. Counters that hold text are ``None``;
    names of counters that stand at their ceiling are in ``saturated_counters``. ``hw_counters`` is ``None`` where
    the driver has none.
    """

    number: int
    state: Optional[str] = None
    phys_state: Optional[str] = None
    rate_gbps: Optional[float] = None
    width: Optional[str] = None
    speed: Optional[str] = None
    lid: Optional[int] = None
    lmc: Optional[int] = None
    sm_lid: Optional[int] = None
    sm_sl: Optional[int] = None
    link_layer: Optional[str] = None
    port_guid: Optional[str] = None
    capability_mask: Optional[str] = None
    active_mtu_bytes: Optional[int] = None
    max_mtu_bytes: Optional[int] = None
    gids: Tuple[Gid, ...] = ()
    pkeys: Tuple[Pkey, ...] = ()
    counters: Mapping[str, Optional[int]] = field(default_factory=dict)
    hw_counters: Optional[Mapping[str, Optional[int]]] = None
    saturated_counters: Tuple[str, ...] = ()
    errors: Tuple[str, ...] = ()

    @property
    def lid_assigned(self) -> Optional[bool]:
        """Whether the subnet manager gave the port a LID; ``None`` where LIDs mean nothing or are unknown."""
        if self.lid is None or self.link_layer == "Ethernet":
            return None
        return self.lid not in UNASSIGNED_LIDS


@dataclass(frozen=True)
class PcieHop:
    """One PCI function on the way from the HCA (first) to the root port (last), with the link above it."""

    address: str
    speed_gts: Optional[float] = None
    width: Optional[int] = None
    max_speed_gts: Optional[float] = None
    max_width: Optional[int] = None


@dataclass(frozen=True)
class PciePath:
    """The PCIe links between an HCA and the root complex. ``hops[0]`` is the HCA itself."""

    hops: Tuple[PcieHop, ...]
    narrowest: Optional[PcieHop] = None


@dataclass(frozen=True)
class NetDevice:
    """A network device on top of an HCA's port; ``kind`` is ``infiniband`` (IPoIB) or ``ethernet``."""

    name: str
    port: Optional[int] = None
    kind: Optional[str] = None
    operstate: Optional[str] = None
    carrier: Optional[bool] = None
    mtu_bytes: Optional[int] = None
    mac: Optional[str] = None


@dataclass(frozen=True)
class Gpu:
    """A GPU that shares a PCIe switch with the HCA (peer-to-peer traffic need not reach the root complex)."""

    pci_address: str
    vendor_id: Optional[str] = None
    device_id: Optional[str] = None


@dataclass(frozen=True)
class Hca:
    """One RDMA device. ``name`` is a label; the PCI address and the node GUID survive a reboot."""

    name: str
    pci_address: Optional[str] = None
    vendor: Optional[str] = None
    vendor_id: Optional[str] = None
    device_id: Optional[str] = None
    product: Optional[str] = None
    hca_type: Optional[str] = None
    psid: Optional[str] = None
    firmware: Optional[str] = None
    hw_revision: Optional[str] = None
    node_type: Optional[str] = None
    node_guid: Optional[str] = None
    sys_image_guid: Optional[str] = None
    node_description: Optional[str] = None
    numa_node: Optional[int] = None
    numa_cpus: Optional[str] = None
    pcie: Optional[PciePath] = None
    virtual_function: Optional[bool] = None
    physical_function: Optional[str] = None
    driver: Optional[str] = None
    irqs: Tuple[int, ...] = ()
    net_devices: Tuple[NetDevice, ...] = ()
    gpus: Tuple[Gpu, ...] = ()
    ports: Tuple[Port, ...] = ()
    errors: Tuple[str, ...] = ()


@dataclass(frozen=True)
class PciFunction:
    """An RDMA-capable PCI function that gives the host no RDMA device, and the driver bound to it, if any."""

    address: str
    vendor_id: Optional[str] = None
    device_id: Optional[str] = None
    product: Optional[str] = None
    driver: Optional[str] = None
    virtual_function: Optional[bool] = None


@dataclass(frozen=True)
class Umad:
    """A management device node: ``name`` is umadN, of port ``port`` of ``device``."""

    name: str
    device: Optional[str] = None
    port: Optional[int] = None


@dataclass(frozen=True)
class ToolProblem:
    """What a tool complained about. ``cause`` is our reading of it, ``None`` when we have none.

    ``severity`` is ``warning`` (ibwarn), ``error`` (iberror) or ``fatal`` (ibpanic, Fatal error).
    ``kind`` is a stable word such as ``umad_module_missing``, ``umad_open_failed``, ``device_not_found``,
    ``no_rdma_device``, ``no_subnet_manager``, ``no_answer``, ``timeout``, ``unreadable``, ``other``. ``reason`` is
    the operating system's, such as ``Permission denied``.
    """

    tool: str
    severity: str
    message: str
    kind: str = "other"
    cause: Optional[str] = None
    function: Optional[str] = None
    pid: Optional[int] = None
    device: Optional[str] = None
    reason: Optional[str] = None


@dataclass(frozen=True)
class Node:
    """Everything seen of one host's RDMA hardware.

    ``umad_abi`` is ``None`` when the ib_umad module is not loaded. ``sources`` says per source (``sysfs``,
    ``ibstat``, ``rdma``) whether it was ``used``, ``absent``, ``failed`` or ``skipped``.
    """

    hcas: Tuple[Hca, ...] = ()
    without_rdma: Tuple[PciFunction, ...] = ()
    umad_abi: Optional[int] = None
    umads: Tuple[Umad, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    problems: Tuple[ToolProblem, ...] = ()
    disagreements: Tuple[Dict[str, str], ...] = ()
