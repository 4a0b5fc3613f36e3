# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric as a graph, and the two ways to get one: from a size, or from an ``ibnetdiscover`` file. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from .errors import LabError

# Lane rate in Gb/s by generation; what a port's ``rate`` file shows is this times the width.
LANE_GBPS = {
    "SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200,
}  # fmt: skip
SWITCH_PORTS = 64
# Names that can be a host name and a device name; any other node description stays in the fabric only.
_HOST_AND_DEVICE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9-]{0,40}) ([A-Za-z][A-Za-z0-9_]{0,30})$")


@dataclass(frozen=True)
class Node:
    """A switch or a channel adapter. ``node_id`` is the name that the simulator knows it by."""

    node_id: str
    kind: str
    ports: int
    description: str
    guid: int
    device_id: int

    @property
    def is_switch(self) -> bool:
        """Whether the node forwards packets."""
        return self.kind == "Switch"


@dataclass(frozen=True)
class Link:
    """A cable: node and port at both ends, with width (``4``) and speed (``NDR``)."""

    a: str
    a_port: int
    b: str
    b_port: int
    width: int = 4
    speed: str = "NDR"


@dataclass(frozen=True)
class Adapter:
    """An HCA port of a host, as the fabric sees it."""

    host: str
    device: str
    node_id: str
    port_guid: int
    node_guid: int


@dataclass(frozen=True)
class Fabric:
    """All nodes and links."""

    nodes: dict[str, Node]
    links: tuple[Link, ...]
    notes: tuple[str, ...] = field(default=())

    def adapters(self) -> dict[str, list[Adapter]]:
        """The HCAs of each host, by host name, in the order of their device names."""
        found: dict[str, list[Adapter]] = defaultdict(list)
        for node in self.nodes.values():
            match = None if node.is_switch else _HOST_AND_DEVICE.match(node.description)
            if match:
                # The simulator derives the port GUID from the node GUID; sysfs must agree with it.
                found[match[1]].append(Adapter(match[1], match[2], node.node_id, node.guid + 1, node.guid))
        return {host: sorted(found[host], key=_device_order) for host in sorted(found)}

    def link_of(self, node_id: str, port: int) -> Link | None:
        """The cable in a port."""
        for link in self.links:
            if (link.a, link.a_port) == (node_id, port) or (link.b, link.b_port) == (node_id, port):
                return link
        return None


def _device_order(adapter: Adapter) -> tuple[str, int]:
    """mlx5_2 before mlx5_10."""
    match = re.match(r"^(.*?)(\d*)$", adapter.device)
    return (match[1], int(match[2] or 0)) if match else (adapter.device, 0)


def clos(leaves: int, spines: int, hosts: int, rails: int = 2) -> Fabric:
    """A two-level fat tree, rail by rail: HCA k of every host goes to the leaves of rail k.

    Every leaf has as many uplinks as downlinks where its ports allow it, spread evenly over the spines.
    """
    for name, value, low in (("leaves", leaves, 1), ("spines", spines, 0), ("hosts", hosts, 1), ("rails", rails, 1)):
        if value < low:
            raise LabError(f"--{name} {value}: must be {low} or more")
    if leaves > 1 and spines < 1:
        raise LabError(f"--spines {spines}: {leaves} leaves need at least one spine to reach each other")
    nodes: dict[str, Node] = {}
    links: list[Link] = []
    leaf_ids = [_switch(nodes, f"leaf{n + 1:02d}", 0xFC6A1C0300A00000 + 0x40 * n) for n in range(leaves)]
    spine_ids = [_switch(nodes, f"spine{n + 1:02d}", 0xFC6A1C0300B00000 + 0x40 * n) for n in range(spines)]
    next_port = dict.fromkeys(leaf_ids + spine_ids, 1)

    def take(switch: str) -> int:
        port = next_port[switch]
        if port > SWITCH_PORTS:
            raise LabError(
                f"{nodes[switch].description} would need more than its {SWITCH_PORTS} ports: use more leaves or spines"
            )
        next_port[switch] = port + 1
        return port

    for number in range(hosts):
        for rail in range(rails):
            rail_leaves = leaf_ids[rail % leaves :: rails] or leaf_ids
            leaf = rail_leaves[number * len(rail_leaves) // hosts]
            guid = 0xA088C20300000000 + ((number + 1) << 8) + (rail << 4)
            node_id = f"H-{guid:016x}"
            nodes[node_id] = Node(node_id, "Ca", 1, f"node{number + 1:03d} mlx5_{rail}", guid, 0x1021)
            links.append(Link(node_id, 1, leaf, take(leaf)))
    for leaf in leaf_ids if spines else ():
        down = next_port[leaf] - 1
        wanted = max(1, -(-down // spines))
        room = (SWITCH_PORTS - down) // spines
        for spine in spine_ids:
            for _ in range(max(1, min(wanted, room))):
                links.append(Link(leaf, take(leaf), spine, take(spine)))
    return Fabric(nodes, tuple(links))


def _switch(nodes: dict[str, Node], name: str, guid: int) -> str:
    node_id = f"S-{guid:016x}"
    nodes[node_id] = Node(node_id, "Switch", SWITCH_PORTS, f"MF0;{name}:MQM9700/U1", guid, 0xD2F2)
    return node_id


_NODE = re.compile(r'^(Switch|Ca|Rt|Hca)\s+(\d+)\s+"([^"]+)"\s*#\s*"(.*)"(?:\s|$)')
_PORT = re.compile(
    r'^\[(\d+)\](?:\[ext \d+\])?(?:\([0-9a-fA-F]+\))?\s+"([^"]+)"\[(\d+)\](?:\[ext \d+\])?.*?(\d+)x\s?([A-Z]+\d*)'
)
_DEVID = re.compile(r"^devid=(0x[0-9a-fA-F]+)")


def from_ibnetdiscover(text: str, source: str) -> Fabric:
    """Read the output of ``ibnetdiscover``; lines that are not understood are noted, not fatal."""
    nodes: dict[str, Node] = {}
    ends: dict[tuple[str, int], tuple[str, int, int, str]] = {}
    notes: list[str] = []
    current, device_id = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if match := _DEVID.match(line):
            device_id = int(match[1], 16)
        elif match := _NODE.match(line):
            current = match[3]
            guid = int(re.sub(r"[^0-9a-f]", "", current.split("-")[-1].lower()) or "0", 16)
            kind = "Ca" if match[1] == "Hca" else match[1]
            nodes[current] = Node(current, kind, int(match[2]), match[4].strip(), guid, device_id)
        elif (match := _PORT.match(line)) and current:
            ends[current, int(match[1])] = (match[2], int(match[3]), int(match[4]), match[5])
        elif line.strip() and not re.match(r"^(#|vendid=|sysimgguid=|switchguid=|caguid=|rtguid=|hcaguids=)", line):
            notes.append(f"{source}:{number}: not understood, left out: {line[:80]!r}")
    links = []
    for (node, port), (peer, peer_port, width, speed) in ends.items():
        if peer not in nodes or speed not in LANE_GBPS:
            notes.append(f"{source}: link {node}[{port}] - {peer}[{peer_port}] {width}x{speed} left out")
        elif (node, port) < (peer, peer_port):
            links.append(Link(node, port, peer, peer_port, width, speed))
    if not links:
        raise LabError(f"{source}: no link found; this must be the output of ibnetdiscover (without -p)")
    return Fabric(nodes, tuple(links), tuple(notes))


def to_ibsim(fabric: Fabric) -> str:
    """The fabric in the simulator's format, which is that of ``ibnetdiscover``."""
    by_node: dict[str, list[tuple[int, str, int, Link]]] = defaultdict(list)
    for link in fabric.links:
        by_node[link.a].append((link.a_port, link.b, link.b_port, link))
        by_node[link.b].append((link.b_port, link.a, link.a_port, link))
    lines: list[str] = []
    for node in sorted(fabric.nodes.values(), key=lambda item: (not item.is_switch, item.node_id)):
        label = "switchguid" if node.is_switch else "caguid"
        # Quotes and newlines would end the string in the simulator's parser.
        text = re.sub(r'["\r\n]', "'", node.description)
        lines += [
            "vendid=0x2c9",
            f"devid={node.device_id:#x}",
            f"sysimgguid={node.guid:#018x}",
            f"{label}={node.guid:#018x}",
        ]
        tail = " enhanced port 0 lid 0 lmc 0" if node.is_switch else ""
        lines.append(f'{"Switch" if node.is_switch else "Ca"}\t{node.ports} "{node.node_id}"\t\t# "{text}"{tail}')
        for port, peer, peer_port, link in sorted(by_node[node.node_id], key=lambda item: item[0]):
            remote = re.sub(r'["\r\n]', "'", fabric.nodes[peer].description)
            lines.append(f'[{port}]\t"{peer}"[{peer_port}]\t\t# "{remote}" lid 0 {link.width}x{link.speed}')
        lines.append("")
    return "\n".join(lines)
