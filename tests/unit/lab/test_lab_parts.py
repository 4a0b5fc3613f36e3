# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's pure parts: topologies, the simulator's formats, the synthetic sysfs and its mirror."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._source import sysfs as our_sysfs
from hypothesis import given, settings
from hypothesis import strategies as st
from rdmalab import hardware, mirror, sysfs, topology
from rdmalab.dump import PortState, is_end, parse_dump
from rdmalab.errors import LabError
from rdmalab.state import Lab


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 24), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_every_clos_is_a_fabric(leaves: int, spines: int, hosts: int, rails: int) -> None:
    try:
        fabric = topology.clos(leaves, spines, hosts, rails)
    except LabError as error:
        assert "more than its 64 ports" in str(error)
        return
    ends = Counter(end for link in fabric.links for end in ((link.a, link.a_port), (link.b, link.b_port)))
    assert max(ends.values()) == 1, "a port has one cable"
    assert all(port <= fabric.nodes[node].ports for node, port in ends)
    assert {len(adapters) for adapters in fabric.adapters().values()} == {rails}
    reached, queue = set(), [next(iter(fabric.nodes))]
    neighbours: dict[str, list[str]] = {}
    for link in fabric.links:
        neighbours.setdefault(link.a, []).append(link.b)
        neighbours.setdefault(link.b, []).append(link.a)
    while queue:
        node = queue.pop()
        if node not in reached:
            reached.add(node)
            queue += neighbours[node]
    assert reached == set(fabric.nodes), "everybody reaches everybody"
    again = topology.from_ibnetdiscover(topology.to_ibsim(fabric), "own output")
    assert set(again.links) == set(fabric.links) and again.nodes == fabric.nodes and not again.notes


def test_the_default_lab_has_a_rail_on_each_leaf() -> None:
    fabric = topology.clos(2, 2, 8)
    leaf_of = {link.a: fabric.nodes[link.b].description for link in fabric.links if not fabric.nodes[link.a].is_switch}
    for adapters in fabric.adapters().values():
        assert [leaf_of[adapter.node_id] for adapter in adapters] == ["MF0;leaf01:MQM9700/U1", "MF0;leaf02:MQM9700/U1"]


@pytest.mark.parametrize(
    ("sizes", "text"),
    [((0, 1, 1), "--leaves 0"), ((2, 0, 1), "--spines 0"), ((1, 1, 0), "--hosts 0"), ((1, 1, 65), "64 ports")],
)
def test_impossible_sizes(sizes: tuple[int, int, int], text: str) -> None:
    with pytest.raises(LabError, match=text):
        topology.clos(*sizes)


@given(st.text())
@settings(max_examples=100)
def test_no_fabric_file_crashes(text: str) -> None:
    try:
        topology.from_ibnetdiscover(text, "x")
    except LabError:
        pass
    parse_dump(text.splitlines())


def test_hostile_descriptions_do_not_become_hosts() -> None:
    node = topology.Node("H-1", "Ca", 1, "$(reboot) mlx5_0", 1, 0x1021)
    other = topology.Node("H-2", "Ca", 1, 'a" mlx5_0\nSwitch', 2, 0x1021)
    fabric = topology.Fabric({"H-1": node, "H-2": other}, (topology.Link("H-1", 1, "H-2", 1),))
    assert fabric.adapters() == {}
    assert topology.to_ibsim(fabric).count('"') % 2 == 0 and "\nSwitch" not in topology.to_ibsim(fabric)


DUMP = """Switch 65 "S-1"\tnodeguid 1\tsysimgguid 1
#\tlinearcap 49152 FDBtop 0 portchange 1
1\t[0]\t"Sma Port"[0]\t lid 2 lmc 0 smlid 1  4x  2.5G Active/LinkUp
1\t[1]\t"H-2"[1]\t  4x 100G Init/LinkUp
1\t[2]\t\t\t  4x  2.5G Down/Polling

Ca 1 "H-2"\tnodeguid 2\tsysimgguid 2
3\t[1]\t"S-1"[1]\t lid 7 lmc 1 smlid 2  1x  50G Active/LinkUp
#  dumped 2 nodes
"""


def test_the_simulators_dump() -> None:
    ports = parse_dump(DUMP.splitlines())
    assert ports["H-2", 1] == PortState("Active", "LinkUp", 1, "HDR", 7, 1, 2, "S-1", 1)
    assert (ports["S-1", 1].state, ports["S-1", 1].peer) == ("Init", "H-2")
    assert (ports["S-1", 2].state, ports["S-1", 2].peer) == ("Down", None)
    assert is_end(DUMP.splitlines()[-1]) and not is_end("#  linearcap")


def machine() -> hardware.Machine:
    return hardware.machine("node001", topology.clos(1, 1, 1).adapters()["node001"], 1)


ACTIVE = {
    "mlx5_0": PortState("Active", "LinkUp", 4, "NDR", 3, 0, 1),
    "mlx5_1": PortState("Active", "LinkUp", 4, "NDR", 4, 0, 1),
}


def test_the_synthetic_sysfs_reads_as_hardware(tmp_path: Path) -> None:
    copy = mirror.Mirror(tmp_path / "sys", tmp_path / "scratch")
    copy.sync(sysfs.render(machine(), ACTIVE, {}))
    node = our_sysfs.read_node(str(tmp_path / "sys"))
    assert [hca.name for hca in node.hcas] == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
    assert [hca.product for hca in node.hcas] == [
        "ConnectX-7",
        "ConnectX-7",
        "ConnectX-6 Dx",
        "ConnectX virtual function",
    ]
    assert [hca.ports[0].state for hca in node.hcas] == ["ACTIVE", "ACTIVE", "ACTIVE", "DOWN"]
    assert [len(hca.gpus) for hca in node.hcas][:3] == [1, 1, 0]
    assert node.hcas[3].physical_function == node.hcas[0].pci_address
    assert not any(hca.errors for hca in node.hcas) and node.without_rdma == ()


def snapshot(top: Path) -> dict[str, str]:
    found = {}
    for folder, _names, files in os.walk(top):
        for name in files:
            path = Path(folder) / name
            found[str(path.relative_to(top))] = str(path.readlink()) if path.is_symlink() else path.read_text()
    return found


FAULTS = st.dictionaries(
    st.sampled_from(["", "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]),
    st.fixed_dictionaries(
        {},
        optional={
            "removed": st.booleans(), "unbound": st.booleans(), "disabled": st.booleans(), "no_umad": st.booleans(),
            "firmware": st.sampled_from(["1.2.3"]), "width": st.sampled_from([1, 2]), "pcie_width": st.sampled_from([4, 8]),
        },
    ),
)  # fmt: skip


@given(st.lists(FAULTS, max_size=3))
@settings(max_examples=8, deadline=None)
def test_a_mirror_shows_just_the_last_tree(tmp_path_factory: pytest.TempPathFactory, history: list[dict]) -> None:  # type: ignore[type-arg]
    top = tmp_path_factory.mktemp("mirror")
    used = mirror.Mirror(top / "used", top / "scratch1")
    for faults in [*history, {}]:
        used.sync(sysfs.render(machine(), ACTIVE, faults))
        fresh_top = top / f"fresh{len(list(top.iterdir()))}"
        mirror.Mirror(fresh_top, top / "scratch2").sync(sysfs.render(machine(), ACTIVE, faults))
        assert snapshot(top / "used") == snapshot(fresh_top)
    assert used.sync(sysfs.render(machine(), ACTIVE, {})) == 0, "nothing is written when nothing changed"


@pytest.mark.parametrize("name", ["", "Demo", "a b", "../x", "toolongname", "1x"])
def test_lab_names_are_safe_in_paths_and_interface_names(name: str) -> None:
    with pytest.raises(LabError, match="lab name"):
        Lab(name)
    assert len(Lab("abcdefgh").bridge) <= 15
