# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The synthetic sysfs of a host, as a mapping from path to content. Pure.

The layout is the kernel's: the RDMA device lives below its PCI function, class directories hold symbolic links.
Paths are relative to /sys. A value of type :class:`Symlink` is a link, ``None`` an empty directory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .dump import PortState
from .hardware import CPUS_PER_NODE, Card, Machine
from .topology import LANE_GBPS

ERROR_COUNTERS = (
    "VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
    "local_link_integrity_errors", "port_rcv_constraint_errors", "port_rcv_errors",
    "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_constraint_errors",
    "port_xmit_discards", "port_xmit_wait", "symbol_error",
)  # fmt: skip
TRAFFIC_COUNTERS = (
    "port_rcv_data", "port_rcv_packets", "port_xmit_data", "port_xmit_packets", "unicast_rcv_packets",
    "unicast_xmit_packets", "multicast_rcv_packets", "multicast_xmit_packets",
)  # fmt: skip
HW_COUNTERS = (
    "duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "out_of_buffer", "out_of_sequence",
    "packet_seq_err", "req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors",
    "req_remote_invalid_request", "req_transport_retries_exceeded", "resp_cqe_error", "resp_cqe_flush_error",
    "resp_local_length_error", "resp_remote_access_errors", "rnr_nak_retry_err", "rx_atomic_requests",
    "rx_read_requests", "rx_write_requests",
)  # fmt: skip
# What the simulator's port states are called in sysfs.
_STATES = {"Down": "1: DOWN", "Init": "2: INIT", "Armed": "3: ARMED", "Active": "4: ACTIVE"}
_PHYS = {
    "Sleep": "1: Sleep", "Polling": "2: Polling", "Disabled": "3: Disabled",
    "Training": "4: PortConfigurationTraining", "LinkUp": "5: LinkUp", "Recovery": "6: LinkErrorRecovery",
}  # fmt: skip
_CAP_MASK = "0xa751e848"
_SM_CAP = 0x2


@dataclass(frozen=True)
class Symlink:
    """A symbolic link to ``target``."""

    target: str


Tree = dict[str, "str | Symlink | None"]


def render(
    machine: Machine,
    ports: dict[str, PortState],
    faults: dict[str, dict[str, Any]],
    is_subnet_manager: bool = False,
) -> Tree:
    """Everything below /sys of one host.

    ``ports`` holds the simulated port of each device name, ``faults`` the overrides of each device name (and of
    the host itself under the empty name).
    """
    tree: Tree = {
        "class/infiniband": None,
        "class/infiniband_mad": None,
        "class/infiniband_verbs": None,
        "bus/pci/devices": None,
        "bus/pci/drivers/mlx5_core": None,
    }
    no_umad = bool(faults.get("", {}).get("no_umad"))
    if not no_umad:
        tree["class/infiniband_mad/abi_version"] = "5"
    tree["class/infiniband_verbs/abi_version"] = "6"
    umad = 0
    for index, card in enumerate(machine.cards):
        fault = faults.get(card.device, {})
        if card.physical_function is not None and faults.get(card.physical_function, {}).get("removed"):
            continue  # a virtual function goes with its card
        if fault.get("removed"):
            tree[f"devices/{card.root}"] = None
            continue
        function = _pci(tree, card, fault)
        if fault.get("unbound"):
            continue
        tree[f"{function}/driver"] = Symlink(_up(function) + f"bus/pci/drivers/{card.model.driver}")
        port = ports.get(card.device) or _unmanaged_port(card)
        _rdma_device(tree, function, card, port, fault, machine.host, is_subnet_manager)
        tree[f"{function}/infiniband_verbs/uverbs{index}/ibdev"] = card.device
        tree[f"{function}/infiniband_verbs/uverbs{index}/abi_version"] = "1"
        tree[f"class/infiniband_verbs/uverbs{index}"] = Symlink(f"../../{function}/infiniband_verbs/uverbs{index}")
        if not no_umad:
            for kind in ("umad", "issm"):
                place = f"{function}/infiniband_mad/{kind}{umad}"
                tree[f"{place}/ibdev"] = card.device
                tree[f"{place}/port"] = "1"
                tree[f"class/infiniband_mad/{kind}{umad}"] = Symlink(f"../../{place}")
            umad += 1
    return tree


def static_tree(machine: Machine) -> Tree:
    """What never changes while the host is up: the mount points of the moving parts, and the NUMA nodes."""
    tree: Tree = {f"class/{name}": None for name in ("infiniband", "infiniband_mad", "infiniband_verbs")}
    tree["devices/virtual/misc/rdma_cm/dev"] = "10:121"
    tree["devices/virtual/misc/rdma_cm/abi_version"] = "4"
    tree["class/misc/rdma_cm"] = Symlink("../../devices/virtual/misc/rdma_cm")
    for card in machine.cards:
        tree[f"devices/{card.root}"] = None
    for node in range(2):
        first = node * CPUS_PER_NODE
        tree[f"devices/system/node/node{node}/cpulist"] = f"{first}-{first + CPUS_PER_NODE - 1}"
    return tree


def interrupts(machine: Machine) -> str:
    """/proc/interrupts as the mlx5 driver fills it: one async vector and 15 completion vectors a function."""
    lines = ["           CPU0       CPU1       "]
    for card in machine.cards:
        for offset in range(16):
            name = "mlx5_async0" if offset == 0 else f"mlx5_comp{offset - 1}"
            lines.append(
                f"{card.first_irq + offset:4d}: {offset * 7:10d} {offset * 3:10d}   "
                f"PCI-MSIX-{card.address}  {offset:3d}-edge      {name}@pci:{card.address}"
            )
    return "\n".join(lines) + "\n"


def _up(path: str) -> str:
    """The relative way from a directory back to /sys."""
    return "../" * len(path.split("/"))


def _pci(tree: Tree, card: Card, fault: dict[str, Any]) -> str:
    """The PCI functions from the root port to the card (and its GPU); returns the card's path."""
    path = f"devices/{card.root}"
    cpus = f"{card.numa_node * CPUS_PER_NODE}-{(card.numa_node + 1) * CPUS_PER_NODE - 1}"

    def add(place: str, address: str, vendor: str, device: str, kind: str, speed: str, width: int) -> None:
        for name, value in (
            ("vendor", vendor), ("device", device), ("class", kind), ("numa_node", str(card.numa_node)),
            ("local_cpulist", cpus), ("current_link_speed", f"{speed} GT/s PCIe"), ("current_link_width", str(width)),
            ("max_link_speed", f"{card.max_pcie_speed} GT/s PCIe"), ("max_link_width", str(card.max_pcie_width)),
        ):  # fmt: skip
            tree[f"{place}/{name}"] = value
        tree[f"bus/pci/devices/{address}"] = Symlink(f"../../../{place}")

    hop = fault.get("pcie_hop", "device")
    slow = (fault.get("pcie_speed", card.pcie_speed), int(fault.get("pcie_width", card.pcie_width)))
    full = (card.pcie_speed, card.pcie_width)
    for index, bridge in enumerate(card.bridges):
        path += f"/{bridge}"
        # A link has two ends; a slow one between root port and switch shows at both of them and nowhere else.
        at_root = hop == "root" and index < 2
        speed, width = slow if at_root or (hop == "device" and index == len(card.bridges) - 1) else full
        add(path, bridge, "0x1000", "0xc030", "0x060400", speed, width)
    if card.gpu:
        switch = path.rsplit("/", 1)[0]
        bridge = f"{card.bridges[-1][:-4]}01.0"
        add(f"{switch}/{bridge}", bridge, "0x1000", "0xc030", "0x060400", *full)
        add(f"{switch}/{bridge}/{card.gpu}", card.gpu, "0x10de", "0x2330", "0x030200", *full)
    function = f"{path}/{card.address}"
    add(
        function,
        card.address,
        card.model.vendor_id,
        card.model.device_id,
        "0x020000",
        *(slow if hop == "device" else full),
    )
    if card.link_layer == "InfiniBand":
        tree[f"{function}/class"] = "0x020700"
    for irq in range(card.first_irq, card.first_irq + 16):
        tree[f"{function}/msi_irqs/{irq}"] = "msix"
    if card.physical_function is not None:
        tree[f"{function}/physfn"] = Symlink(f"../{card.address[:-1]}0")
    if card.netdev:
        tree[f"{function}/net/{card.netdev}"] = Symlink(_up(f"{function}/net") + f"devices/virtual/net/{card.netdev}")
    return function


def _unmanaged_port(card: Card) -> PortState:
    """A port that the fabric simulator does not know: Ethernet is up, a virtual function waits for a LID.

    The open-source OpenSM does not configure virtual functions, so they stay Down with the link up.
    """
    if card.link_layer == "Ethernet":
        return PortState("Active", "LinkUp", 4, "EDR")
    return PortState("Down", "LinkUp", 4, "NDR", lid=0xFFFF)


def _guid(value: int) -> str:
    text = f"{value:016x}"
    return ":".join(text[n : n + 4] for n in range(0, 16, 4))


def _rdma_device(
    tree: Tree,
    function: str,
    card: Card,
    port: PortState,
    fault: dict[str, Any],
    host: str,
    is_subnet_manager: bool,
) -> None:
    base = f"{function}/infiniband/{card.device}"
    tree[f"class/infiniband/{card.device}"] = Symlink(f"../../{base}")
    tree[f"{base}/device"] = Symlink("../..")
    guid = int(fault.get("guid", card.node_guid))
    port_guid = int(fault.get("guid", card.port_guid))
    for name, value in (
        ("fw_ver", fault.get("firmware", card.model.firmware)),
        ("hca_type", card.model.hca_type),
        ("board_id", fault.get("psid", card.model.psid)),
        ("hw_rev", "0"),
        ("node_type", "1: CA"),
        ("node_guid", _guid(guid)),
        ("sys_image_guid", _guid(card.node_guid if card.physical_function is None else card.node_guid & ~(0xFF << 56))),
        ("node_desc", f"{host} {card.device}"),
    ):
        tree[f"{base}/{name}"] = str(value)
    layer = str(fault.get("link_layer", card.link_layer))
    state, phys = port.state, port.phys_state
    if fault.get("disabled"):
        state, phys = "Down", "Disabled"
    if fault.get("training"):
        state, phys = "Down", "Training"
    width, speed = int(fault.get("width", port.width)), str(fault.get("speed", port.speed))
    if phys != "LinkUp":
        width, speed = 4, "SDR"
    gbps = width * LANE_GBPS[speed]
    down_infiniband = layer == "InfiniBand" and state == "Down"
    lid = 0 if layer == "Ethernet" else (port.lid or 0xFFFF)
    place = f"{base}/ports/1"
    mask = int(_CAP_MASK, 16) | (_SM_CAP if is_subnet_manager else 0)
    for name, value in (
        ("state", _STATES[state]),
        ("phys_state", _PHYS[phys]),
        ("rate", f"{gbps:g} Gb/sec ({width}X {speed})"),
        ("lid", f"{0xFFFF if down_infiniband else lid:#x}"),
        ("lid_mask_count", str(port.lmc)),
        ("sm_lid", f"{0 if layer == 'Ethernet' or down_infiniband else port.sm_lid:#x}"),
        ("sm_sl", "0"),
        ("cap_mask", "0x00010000" if layer == "Ethernet" else f"{mask:#010x}"),
        ("link_layer", layer),
    ):
        tree[f"{place}/{name}"] = value
    for index in range(4):
        tree[f"{place}/gids/{index}"] = (
            f"fe80:0000:0000:0000:{_guid(port_guid)}" if index == 0 else ":".join(["0000"] * 8)
        )
        tree[f"{place}/pkeys/{index}"] = "0xffff" if index == 0 else "0x0000"
    tree[f"{place}/gid_attrs/types/0"] = "RoCE v2" if layer == "Ethernet" else "IB/RoCE v1"
    if card.netdev:
        tree[f"{place}/gid_attrs/ndevs/0"] = card.netdev
    counters = fault.get("counters", {})
    for name in ERROR_COUNTERS:
        tree[f"{place}/counters/{name}"] = str(counters.get(name, 0))
    for name in TRAFFIC_COUNTERS:
        tree[f"{place}/counters/{name}"] = str(counters.get(name, 123456))
    for name in HW_COUNTERS:
        tree[f"{place}/hw_counters/{name}"] = str(counters.get(name, 0))
    tree[f"{place}/hw_counters/lifespan"] = "12"
