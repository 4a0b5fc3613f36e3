# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources: realistic sysfs trees, sick hardware, scripted tools."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.serialise import plain
from ansible_collections.rdma.infiniband.plugins.module_utils._source import node as node_source
from ansible_collections.rdma.infiniband.plugins.module_utils._source import sysfs
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError, ToolRun

from tests.support.sysfs_tree import (
    FakeFunction,
    FakeHca,
    FakeNetdev,
    Link,
    build_tree,
    down_port,
    eight_ndr_hcas,
    ethernet_port,
    gpu_beside,
    ndr_hca,
    virtual_function,
)


def hcas(root):
    return {hca.name: hca for hca in sysfs.read_node(str(root)).hcas}


def test_eight_hcas(tmp_path):
    node = sysfs.read_node(eight_ndr_hcas(str(tmp_path)))
    assert [hca.name for hca in node.hcas] == ["mlx5_%d" % n for n in range(8)]
    hca = node.hcas[5]
    assert (hca.product, hca.psid, hca.firmware, hca.numa_node) == ("ConnectX-7", "MT_0000000838", "28.43.2026", 1)
    assert (hca.pci_address, hca.driver, hca.virtual_function) == ("0000:3b:00.0", "mlx5_core", False)
    assert len(hca.irqs) == 64
    assert [gpu.pci_address for gpu in hca.gpus] == ["0000:3c:00.0"]
    assert [hop.address for hop in hca.pcie.hops] == ["0000:3b:00.0", "0000:3a:00.0", "0000:39:00.0", "0000:38:01.0"]
    port = hca.ports[0]
    assert (port.state, port.rate_gbps, port.width, port.speed, port.lid) == ("ACTIVE", 400.0, "4X", "NDR", 16)
    assert port.port_guid == hca.node_guid
    assert [(key.pkey, key.membership) for key in port.pkeys] == [("0x7fff", "full")]
    assert [(device.name, device.kind, device.port, device.mtu_bytes) for device in hca.net_devices] == [
        ("ib5", "infiniband", 1, 4092)
    ]
    assert node.umad_abi == 5 and len(node.umads) == 8 and not any(hca.errors for hca in node.hcas)
    assert plain(node)["hcas"][5]["ports"][0]["lid_assigned"] is True


def test_virtual_function_and_text_counters(tmp_path):
    card = ndr_hca()
    build_tree(str(tmp_path), hcas=[card, virtual_function(card)])
    virtual = hcas(tmp_path)["mlx5_9"]
    assert (virtual.virtual_function, virtual.physical_function) == (True, card.function.pci)
    assert virtual.ports[0].lid_assigned is False
    assert virtual.ports[0].counters["symbol_error"] is None
    assert not virtual.errors, "a counter without PMA is no error of the device"


def test_narrowest_hop_above_the_card(tmp_path):
    card = ndr_hca()
    slow = Link("16.0 GT/s PCIe", "8")
    root = card.function.bridges[0]
    function = replace(card.function, bridge_links={root: slow, card.function.bridges[1]: slow})
    build_tree(str(tmp_path), hcas=[replace(card, function=function)])
    path = hcas(tmp_path)["mlx5_0"].pcie
    assert path.narrowest.address == card.function.bridges[1]
    assert (path.narrowest.speed_gts, path.narrowest.width) == (16.0, 8)


def test_gpu_at_the_root_port_is_not_near(tmp_path):
    function = FakeFunction(bridges=("0000:15:01.0",))
    gpu = FakeFunction(
        pci="0000:19:00.0", bridges=("0000:15:02.0",), vendor="0x10de", pci_class="0x030200", driver="nvidia"
    )
    build_tree(str(tmp_path), hcas=[FakeHca(function=function)], functions=[gpu])
    assert hcas(tmp_path)["mlx5_0"].gpus == ()


def test_unbound_and_verbless_functions(tmp_path):
    unbound = FakeFunction(pci="0000:81:00.0", root="pci0000:80", bridges=("0000:80:01.0",), driver=None)
    verbless = FakeFunction(pci="0000:91:00.0", root="pci0000:90", bridges=("0000:90:01.0",))
    build_tree(str(tmp_path), hcas=[ndr_hca()], functions=[unbound, verbless, gpu_beside(ndr_hca())])
    node = sysfs.read_node(str(tmp_path))
    assert [(item.address, item.driver) for item in node.without_rdma] == [
        ("0000:81:00.0", None),
        ("0000:91:00.0", "mlx5_core"),
    ]


def test_mixed_generations_and_software_devices(tmp_path):
    rxe = FakeHca(name="rxe0", function=None, ports=(ethernet_port(),), hca_type=None, board_id=None, fw_ver=None)
    roce = replace(
        ndr_hca(1, name="rocep81s0"),
        ports=(ethernet_port(gid_netdevs={0: "bond0"}),),
    )
    hfi = replace(ndr_hca(2, name="hfi1_0"), hca_type=None, board_id="Omni-Path HFI")
    down = replace(ndr_hca(3), ports=(down_port(number=1), down_port(number=2, link_layer="Ethernet")))
    build_tree(str(tmp_path), hcas=[rxe, roce, hfi, down])
    found = hcas(tmp_path)
    assert (found["rxe0"].pci_address, found["rxe0"].product, found["rxe0"].vendor) == (
        None,
        "Soft-RoCE (rxe)",
        "linux",
    )
    assert "bond0" in [device.name for device in found["rocep81s0"].net_devices]
    assert (found["hfi1_0"].vendor, found["hfi1_0"].hca_type) == ("omni-path", None)
    assert [port.link_layer for port in found["mlx5_3"].ports] == ["InfiniBand", "Ethernet"]
    assert found["rxe0"].ports[0].port_guid is None


def test_carrier_of_a_network_device_that_is_down(tmp_path):
    card = ndr_hca()
    function = replace(card.function, netdevs=(FakeNetdev("ib0", operstate="down", carrier=None),))
    build_tree(str(tmp_path), hcas=[replace(card, function=function)])
    (device,) = hcas(tmp_path)["mlx5_0"].net_devices
    assert (device.operstate, device.carrier) == ("down", None)


def test_a_device_that_vanishes_does_not_take_the_others(tmp_path, monkeypatch):
    build_tree(str(tmp_path), hcas=[ndr_hca(0), ndr_hca(1)])
    real = sysfs.Files.read
    gone = []

    def read(self, path):
        if path.endswith("mlx5_0/hca_type") and not gone:
            gone.append(path)
            (tmp_path / "class/infiniband/mlx5_0").unlink()
        return real(self, path)

    monkeypatch.setattr(sysfs.Files, "read", read)
    found = hcas(tmp_path)
    assert any("vanished" in error for error in found["mlx5_0"].errors)
    assert not found["mlx5_1"].errors and found["mlx5_1"].firmware


def test_text_that_is_not_understood_is_an_error(tmp_path):
    build_tree(str(tmp_path), hcas=[ndr_hca(0)])
    port = os.path.realpath(str(tmp_path / "class/infiniband/mlx5_0")) + "/ports/1"
    for name in ("state", "rate"):
        with open(os.path.join(port, name), "w") as stream:
            stream.write("quite good\n")
    read = hcas(tmp_path)["mlx5_0"].ports[0]
    assert read.state is None and read.rate_gbps is None
    assert len(read.errors) == 2


@pytest.mark.parametrize("case", ["missing", "file", "empty"])
def test_unreadable_root_is_an_error(tmp_path, case):
    root = tmp_path / "sys"
    if case == "file":
        root.write_text("")
    if case == "empty":
        root.mkdir()
    with pytest.raises(SourceError) as error:
        sysfs.read_node(str(root))
    assert str(root) in str(error.value)


def test_no_rdma_at_all_is_no_error(tmp_path):
    build_tree(str(tmp_path), rdma_core=False, umad=False)
    node = sysfs.read_node(str(tmp_path))
    assert node.hcas == () and node.umad_abi is None


IBSTAT = """CA 'mlx5_0'
	CA type: MT4129
	Number of ports: 1
	Firmware version: %(firmware)s
	Hardware version: 0
	Node GUID: 0xa088c20300bb0001
	System image GUID: 0xa088c20300bb0001
	Port 1:
		State: %(state)s
		Physical state: LinkUp
		Rate: 400
		Base lid: 11
		LMC: 0
		SM lid: 1
		Capability mask: 0xa751e848
		Port GUID: 0xa088c20300bb0001
		Link layer: InfiniBand
"""


def scripted(**answers):
    """A runner that gives canned answers by tool."""

    def run(argv, timeout):
        answer = answers.get(argv[0])
        return answer if answer is not None else ToolRun(argv, failure="missing")

    return run


def live(tmp_path, monkeypatch, runner):
    """Observe as on the running system: the tools are asked only there."""
    build_tree(str(tmp_path), hcas=[ndr_hca()])
    monkeypatch.setattr(node_source, "LIVE_SYSFS", str(tmp_path))
    return node_source.observe("auto", str(tmp_path), runner, 5)


def test_agreeing_sources(tmp_path, monkeypatch):
    text = IBSTAT % {"firmware": "28.43.2026", "state": "Active"}
    link = (
        '[{"ifname":"mlx5_0","port":1,"lid":11,"sm_lid":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"ibx"}]'
    )
    mtu = "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t2048 (4)\n"
    tools = scripted(ibstat=ToolRun((), 0, text), rdma=ToolRun((), 0, link), ibv_devinfo=ToolRun((), 0, mtu))
    node = live(tmp_path, monkeypatch, tools)
    assert node.sources == {"sysfs": "used", "ibstat": "used", "rdma": "used", "ibv_devinfo": "used"}
    assert (node.hcas[0].ports[0].active_mtu_bytes, node.hcas[0].ports[0].max_mtu_bytes) == (2048, 4096)
    assert node.disagreements == () and node.problems == ()
    assert [device.name for device in node.hcas[0].net_devices] == ["ib0", "ibx"]


def test_disagreement_shows_both_values(tmp_path, monkeypatch):
    text = IBSTAT % {"firmware": "28.39.1002", "state": "Initializing"}
    node = live(tmp_path, monkeypatch, scripted(ibstat=ToolRun((), 0, text)))
    assert {(item["subject"], item["field"], item["sysfs"], item["ibstat"]) for item in node.disagreements} == {
        ("mlx5_0", "firmware", "28.43.2026", "28.39.1002"),
        ("mlx5_0 port 1", "state", "ACTIVE", "INIT"),
    }
    assert node.sources["rdma"] == "absent"


def test_a_port_that_moved_between_the_reads_is_no_disagreement(tmp_path, monkeypatch):
    text = IBSTAT % {"firmware": "28.43.2026", "state": "Initializing"}

    def run(argv, timeout):
        # The port moves after sysfs was read and before ibstat looks.
        with open(os.path.realpath(str(tmp_path / "class/infiniband/mlx5_0")) + "/ports/1/state", "w") as stream:
            stream.write("2: INIT\n")
        return ToolRun(argv, 0, text) if argv[0] == "ibstat" else ToolRun(argv, failure="missing")

    assert live(tmp_path, monkeypatch, run).disagreements == ()


@pytest.mark.parametrize(
    ("answer", "status", "kind"),
    [
        (ToolRun((), failure="timeout"), "failed", "timeout"),
        (ToolRun((), 0, IBSTAT[:100]), "partial", "unreadable"),
        (ToolRun((), 1, "", "Segmentation fault"), "partial", "unreadable"),
    ],
)
def test_a_tool_in_trouble_is_said(tmp_path, monkeypatch, answer, status, kind):
    node = live(tmp_path, monkeypatch, scripted(ibstat=answer))
    assert node.sources["ibstat"] == status
    assert kind in [problem.kind for problem in node.problems]
    assert node.hcas[0].ports[0].state == "ACTIVE", "sysfs is complete all the same"


def test_ibstat_that_prints_nothing_disagrees_with_sysfs(tmp_path, monkeypatch):
    node = live(tmp_path, monkeypatch, scripted(ibstat=ToolRun((), 0, "")))
    assert [(item["subject"], item["field"], item["ibstat"]) for item in node.disagreements] == [
        ("mlx5_0", "presence", "False")
    ]


def test_ibstat_as_the_only_source():
    text = IBSTAT % {"firmware": "28.43.2026", "state": "Active"}
    node = node_source.observe("ibstat", "/nowhere", scripted(ibstat=ToolRun((), 0, text)), 5)
    assert [hca.name for hca in node.hcas] == ["mlx5_0"]
    node = node_source.observe("ibstat", "/nowhere", scripted(), 5)
    assert node.hcas == () and node.problems[0].kind == "tool_missing"


def test_other_roots_never_ask_the_tools(tmp_path):
    build_tree(str(tmp_path), hcas=[ndr_hca()])

    def run(argv, timeout):
        raise AssertionError("a tool was run for another root")

    assert node_source.observe("auto", str(tmp_path), run, 5).sources == {"sysfs": "used"}
    shutil.rmtree(str(tmp_path))
