# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds sysfs trees with the kernel's layout, for tests and benchmarks.

An RDMA device lives below its PCI function, which lives below its bridges; ``class/`` and ``bus/`` hold symbolic
links. ``build_tree(root, hcas=[...])`` writes such a tree below ``root``; ``eight_ndr_hcas(root)`` is a ready GPU
host. Every value is invented. Runs on Python 3.8.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

ZERO_GID = ":".join(["0000"] * 8)

ERROR_COUNTERS = (
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_constraint_errors",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_discards",
    "port_xmit_wait",
    "symbol_error",
)
TRAFFIC_COUNTERS = (
    "multicast_rcv_packets",
    "multicast_xmit_packets",
    "port_rcv_data",
    "port_rcv_packets",
    "port_xmit_data",
    "port_xmit_packets",
    "unicast_rcv_packets",
    "unicast_xmit_packets",
)
HW_COUNTERS = (
    "duplicate_request",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "req_transport_retries_exceeded",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
    "rx_atomic_requests",
    "rx_dct_connect",
    "rx_icrc_encapsulated",
    "rx_read_requests",
    "rx_write_requests",
)


def full_counters() -> Dict[str, str]:
    """Every counter of a healthy busy port."""
    counters = dict.fromkeys(ERROR_COUNTERS, "0")
    counters.update((name, str(1000003 * (index + 1))) for index, name in enumerate(TRAFFIC_COUNTERS))
    return counters


def full_hw_counters() -> Dict[str, str]:
    """Every hardware counter of a healthy busy port."""
    counters = dict.fromkeys(HW_COUNTERS, "0")
    counters["lifespan"] = "12"
    return counters


def colon(guid: int) -> str:
    """A GUID the way sysfs writes it."""
    text = "%016x" % guid
    return ":".join(text[start : start + 4] for start in range(0, 16, 4))


@dataclass(frozen=True)
class FakePort:
    """A port's files. A value of ``None`` leaves the file out; ``files`` overrides anything by relative path."""

    number: int = 1
    guid: int = 0xA088C20300BB0001
    state: Optional[str] = "4: ACTIVE"
    phys_state: Optional[str] = "5: LinkUp"
    rate: Optional[str] = "400 Gb/sec (4X NDR)"
    lid: Optional[str] = "0xb"
    lid_mask_count: Optional[str] = "0"
    sm_lid: Optional[str] = "0x1"
    sm_sl: Optional[str] = "0"
    cap_mask: Optional[str] = "0xa751e848"
    link_layer: Optional[str] = "InfiniBand"
    gids: Optional[Mapping[int, str]] = None
    gid_types: Mapping[int, str] = field(default_factory=dict)
    gid_netdevs: Mapping[int, str] = field(default_factory=dict)
    gid_table: int = 8
    pkeys: Mapping[int, str] = field(default_factory=lambda: {0: "0xffff"})
    pkey_table: int = 16
    counters: Optional[Mapping[str, str]] = field(default_factory=full_counters)
    hw_counters: Optional[Mapping[str, str]] = field(default_factory=full_hw_counters)
    files: Mapping[str, Optional[str]] = field(default_factory=dict)


def ethernet_port(**changes: Any) -> FakePort:
    """A RoCE port as mlx5 shows it: no LID, a GID made from the MAC address."""
    port = FakePort(
        guid=0xA288C2FFFEBB0001,
        rate="100 Gb/sec (4X EDR)",
        lid="0x0",
        sm_lid="0x0",
        cap_mask="0x00010000",
        link_layer="Ethernet",
        gid_types={0: "IB/RoCE v1"},
    )
    return replace(port, **changes)


def down_port(**changes: Any) -> FakePort:
    """An InfiniBand port without a cable."""
    port = FakePort(state="1: DOWN", phys_state="2: Polling", rate="10 Gb/sec (4X SDR)", lid="0xffff", sm_lid="0x0")
    return replace(port, **changes)


@dataclass(frozen=True)
class FakeNetdev:
    """A network device below a PCI function; ``type`` 32 is InfiniBand, 1 Ethernet. ``None`` leaves a file out."""

    name: str
    type: Optional[str] = "32"
    dev_port: Optional[str] = "0"
    operstate: Optional[str] = "up"
    carrier: Optional[str] = "1"
    mtu: Optional[str] = "4092"
    address: Optional[str] = None
    master: Optional[str] = None
    flags: Optional[str] = "0x1003"  # up


@dataclass(frozen=True)
class Link:
    """A PCIe link as both of its ends show it."""

    speed: Optional[str] = "32.0 GT/s PCIe"
    width: Optional[str] = "16"
    max_speed: Optional[str] = "32.0 GT/s PCIe"
    max_width: Optional[str] = "16"


@dataclass(frozen=True)
class FakeFunction:
    """A PCI function: ``bridges`` are the functions above it from the root port down, each a hop.

    ``bridge_links`` gives the link of a bridge where it is not the default one.
    """

    pci: str = "0000:18:00.0"
    root: str = "pci0000:15"
    bridges: Tuple[str, ...] = ("0000:15:01.0", "0000:16:00.0", "0000:17:00.0")
    bridge_links: Mapping[str, Link] = field(default_factory=dict)
    vendor: str = "0x15b3"
    device: str = "0x1021"
    pci_class: str = "0x020700"
    driver: Optional[str] = "mlx5_core"
    numa_node: Optional[str] = "0"
    local_cpulist: Optional[str] = "0-31,64-95"
    link: Link = Link()
    irqs: Tuple[int, ...] = ()
    netdevs: Tuple[FakeNetdev, ...] = ()
    physfn: Optional[str] = None
    files: Mapping[str, Optional[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class FakeHca:
    """An RDMA device and the PCI function below it (``None``: a software device such as rxe)."""

    name: str = "mlx5_0"
    function: Optional[FakeFunction] = FakeFunction()
    ports: Tuple[FakePort, ...] = (FakePort(),)
    node_guid: Optional[int] = 0xA088C20300BB0001
    sys_image_guid: Optional[int] = 0xA088C20300BB0001
    node_type: Optional[str] = "1: CA"
    node_desc: Optional[str] = "node001 mlx5_0"
    hca_type: Optional[str] = "MT4129"
    board_id: Optional[str] = "MT_0000000838"
    fw_ver: Optional[str] = "28.43.2026"
    hw_rev: Optional[str] = "0"
    files: Mapping[str, Optional[str]] = field(default_factory=dict)


def ndr_hca(index: int = 0, **changes: Any) -> FakeHca:
    """HCA number ``index`` of a GPU host: own root complex, behind a PCIe switch, with an IPoIB device."""
    bus = 0x10 + 8 * index
    guid = 0xA088C20300BB0000 + 0x100 * index + 1
    mac = "00:00:10:49:fe:80:00:00:00:00:00:00:" + ":".join(
        ("%016x" % guid)[start : start + 2] for start in range(0, 16, 2)
    )
    numa = 0 if index < 4 else 1
    function = FakeFunction(
        pci="0000:%02x:00.0" % (bus + 3),
        root="pci0000:%02x" % bus,
        bridges=("0000:%02x:01.0" % bus, "0000:%02x:00.0" % (bus + 1), "0000:%02x:00.0" % (bus + 2)),
        numa_node=str(numa),
        local_cpulist="0-31,64-95" if numa == 0 else "32-63,96-127",
        irqs=tuple(range(100 + 70 * index, 100 + 70 * index + 64)),
        netdevs=(FakeNetdev("ib%d" % index, address=mac),),
    )
    hca = FakeHca(
        name="mlx5_%d" % index,
        function=function,
        ports=(FakePort(guid=guid, lid=hex(0xB + index), pkey_table=128),),
        node_guid=guid,
        sys_image_guid=guid,
        node_desc="node001 mlx5_%d" % index,
    )
    return replace(hca, **changes)


def virtual_function(of: FakeHca, number: int = 1, name: str = "mlx5_9", **changes: Any) -> FakeHca:
    """A virtual function of an HCA, the way the kernel shows one without an SM that serves it."""
    if of.function is None:
        raise ValueError("a software device has no virtual functions")
    guid = 0x02AA000000000000 + number
    function = replace(
        of.function,
        pci=of.function.pci[:-1] + str(number),
        device="0x101e",
        physfn=of.function.pci,
        link=Link("Unknown", "0", "Unknown", "0"),
        irqs=(),
        netdevs=(),
    )
    hca = replace(
        of,
        name=name,
        function=function,
        hca_type="MT4126",
        node_guid=guid,
        node_desc="node001 " + name,
        ports=(
            FakePort(
                guid=guid,
                state="1: DOWN",
                lid="0xffff",
                sm_lid="0x0",
                counters=dict.fromkeys(ERROR_COUNTERS, "N/A (no PMA)"),
            ),
        ),
    )
    return replace(hca, **changes)


def gpu_beside(hca: FakeHca, vendor: str = "0x10de", device: str = "0x2330") -> FakeFunction:
    """A GPU under the same PCIe switch as ``hca``."""
    if hca.function is None:
        raise ValueError("a software device has no PCIe switch")
    above = hca.function.bridges[:-1]
    bridge = hca.function.bridges[-1][:-4] + "04.0"
    address = "0000:%02x:00.0" % (int(hca.function.pci[5:7], 16) + 1)
    return FakeFunction(
        pci=address,
        root=hca.function.root,
        bridges=above + (bridge,),
        vendor=vendor,
        device=device,
        pci_class="0x030200",
        driver="nvidia",
    )


def build_tree(
    root: str,
    hcas: Sequence[FakeHca] = (),
    functions: Sequence[FakeFunction] = (),
    umad: bool = True,
    rdma_core: bool = True,
) -> str:
    """Write a tree below ``root`` (made if missing) and return ``root``.

    ``functions`` are PCI functions without an RDMA device: GPUs, unbound HCAs, anything else. ``umad=False`` is a
    host without the ib_umad module, ``rdma_core=False`` one without any RDMA module.
    """
    tree = _Tree(str(root))
    tree.directory("class/net")
    tree.directory("bus/pci/devices")
    tree.directory("devices/virtual/net")
    if rdma_core:
        tree.directory("class/infiniband")
    if umad:
        tree.file("class/infiniband_mad/abi_version", "5")
    number = 0
    for function in functions:
        _function(tree, function)
    for hca in hcas:
        place = _hca(tree, hca)
        for port in hca.ports if umad else ():
            for kind in ("umad", "issm"):
                node = "%s/infiniband_mad/%s%d" % (os.path.dirname(os.path.dirname(place)), kind, number)
                tree.file(node + "/ibdev", hca.name)
                tree.file(node + "/port", str(port.number))
                tree.link("class/infiniband_mad/%s%d" % (kind, number), node)
            number += 1
    return str(root)


def eight_ndr_hcas(root: str, gpus: bool = True) -> str:
    """A host with 8 NDR HCAs, each behind a PCIe switch with a GPU, all counters, and 64 IRQs an HCA."""
    hcas = [ndr_hca(index) for index in range(8)]
    return build_tree(root, hcas=hcas, functions=[gpu_beside(hca) for hca in hcas] if gpus else [])


class _Tree:
    """Writes files and relative links below a root."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._made: Dict[str, None] = {}

    def path(self, relative: str) -> str:
        return os.path.join(self.root, relative)

    def directory(self, relative: str) -> None:
        if relative not in self._made:
            os.makedirs(self.path(relative), exist_ok=True)
            self._made[relative] = None

    def file(self, relative: str, content: Optional[str]) -> None:
        """A file with the newline that the kernel ends a value with; text that brings its own end is kept."""
        if content is None:
            if os.path.lexists(self.path(relative)):
                os.unlink(self.path(relative))
            return
        self.directory(os.path.dirname(relative))
        with open(self.path(relative), "w", newline="") as handle:
            handle.write(content if content.endswith("\n") or not content else content + "\n")

    def link(self, relative: str, target: str) -> None:
        """A relative link to ``target``, which is relative to the root."""
        self.directory(os.path.dirname(relative))
        if not os.path.lexists(self.path(relative)):
            os.symlink(os.path.relpath(target, os.path.dirname(relative)), self.path(relative))


def _link_files(tree: _Tree, place: str, link: Link) -> None:
    tree.file(place + "/current_link_speed", link.speed)
    tree.file(place + "/current_link_width", link.width)
    tree.file(place + "/max_link_speed", link.max_speed)
    tree.file(place + "/max_link_width", link.max_width)


def _function(tree: _Tree, function: FakeFunction) -> str:
    place = "devices/" + function.root
    for bridge in function.bridges:
        place += "/" + bridge
        if not os.path.isdir(tree.path(place)):
            tree.file(place + "/vendor", "0x1000")
            tree.file(place + "/device", "0xc030")
            tree.file(place + "/class", "0x060400")
            tree.link("bus/pci/devices/" + bridge, place)
            _link_files(tree, place, function.bridge_links.get(bridge, Link()))
    place += "/" + function.pci
    tree.file(place + "/vendor", function.vendor)
    tree.file(place + "/device", function.device)
    tree.file(place + "/class", function.pci_class)
    tree.file(place + "/numa_node", function.numa_node)
    tree.file(place + "/local_cpulist", function.local_cpulist)
    tree.link("bus/pci/devices/" + function.pci, place)
    _link_files(tree, place, function.link)
    if function.driver is not None:
        tree.directory("bus/pci/drivers/" + function.driver)
        tree.link(place + "/driver", "bus/pci/drivers/" + function.driver)
    if function.physfn is not None:
        tree.link(place + "/physfn", os.path.dirname(place) + "/" + function.physfn)
    for irq in function.irqs:
        tree.file("%s/msi_irqs/%d" % (place, irq), "msix")
    for netdev in function.netdevs:
        _netdev(tree, place, netdev)
    for relative, content in function.files.items():
        tree.file(place + "/" + relative, content)
    return place


def _netdev(tree: _Tree, function: str, netdev: FakeNetdev) -> None:
    place = "%s/net/%s" % (function, netdev.name)
    for name in ("type", "dev_port", "operstate", "carrier", "mtu", "address", "flags"):
        tree.file(place + "/" + name, getattr(netdev, name))
    tree.link(place + "/device", function)
    tree.link("class/net/" + netdev.name, place)
    if netdev.master is not None:
        master = "devices/virtual/net/" + netdev.master
        tree.file(master + "/type", "1")
        tree.file(master + "/mtu", netdev.mtu)
        tree.file(master + "/operstate", netdev.operstate)
        tree.file(master + "/carrier", netdev.carrier)
        tree.link("class/net/" + netdev.master, master)
        tree.link(place + "/master", master)


def _hca(tree: _Tree, hca: FakeHca) -> str:
    above = "devices/virtual" if hca.function is None else _function(tree, hca.function)
    place = "%s/infiniband/%s" % (above, hca.name)
    for name, value in _device_files(hca):
        tree.file(place + "/" + name, value)
    tree.directory(place + "/ports")
    if hca.function is not None:
        tree.link(place + "/device", above)
    tree.link("class/infiniband/" + hca.name, place)
    for port in hca.ports:
        _port(tree, "%s/ports/%d" % (place, port.number), port)
    for relative, content in hca.files.items():
        tree.file(place + "/" + relative, content)
    return place


def _device_files(hca: FakeHca) -> Iterable[Tuple[str, Optional[str]]]:
    yield "node_guid", None if hca.node_guid is None else colon(hca.node_guid)
    yield "sys_image_guid", None if hca.sys_image_guid is None else colon(hca.sys_image_guid)
    for name in ("node_type", "node_desc", "hca_type", "board_id", "fw_ver", "hw_rev"):
        yield name, getattr(hca, name)


def _port(tree: _Tree, place: str, port: FakePort) -> None:
    for name in ("state", "phys_state", "rate", "lid", "lid_mask_count", "sm_lid", "sm_sl", "cap_mask", "link_layer"):
        tree.file(place + "/" + name, getattr(port, name))
    gids = dict(port.gids) if port.gids is not None else {0: "fe80:0000:0000:0000:" + colon(port.guid)}
    for index in range(port.gid_table):
        tree.file("%s/gids/%d" % (place, index), gids.get(index, ZERO_GID))
    for index, kind in port.gid_types.items():
        tree.file("%s/gid_attrs/types/%d" % (place, index), kind)
    for index, name in port.gid_netdevs.items():
        tree.file("%s/gid_attrs/ndevs/%d" % (place, index), name)
    for index in range(port.pkey_table):
        tree.file("%s/pkeys/%d" % (place, index), port.pkeys.get(index, "0x0000"))
    _counters(tree, place + "/counters", port.counters)
    _counters(tree, place + "/hw_counters", port.hw_counters)
    for relative, content in port.files.items():
        tree.file(place + "/" + relative, content)


def _counters(tree: _Tree, place: str, counters: Optional[Mapping[str, str]]) -> None:
    if counters is None:
        return
    tree.directory(place)
    for name, value in counters.items():
        tree.file("%s/%s" % (place, name), value)


def listing(root: str) -> List[str]:
    """Every file of a tree, for a message when a test fails."""
    return sorted(os.path.join(place, name) for place, _dirs, names in os.walk(root) for name in names)
