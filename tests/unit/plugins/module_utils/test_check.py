# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks: each cause gives its finding and nothing else; nothing unobserved passes; nothing crashes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.host import check_node, training_ports
from ansible_collections.rdma.infiniband.plugins.module_utils._check.profile import ProfileError, parse_profile
from ansible_collections.rdma.infiniband.plugins.module_utils._check.selection import select
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import at_or_above
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding_kind import maker
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings import FAMILIES, FINDINGS
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_hca import KINDS, make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import (
    ZERO_GUID,
    Hca,
    NetDevice,
    Node,
    PcieHop,
    PciePath,
    PciFunction,
    Port,
    ToolProblem,
)
from hypothesis import given, settings
from hypothesis import strategies as st

PROFILE = {
    "hcas": [
        {
            "name": "compute rail",
            "match": {"type": "MT4129"},
            "count": 2,
            "link_layer": "InfiniBand",
            "rate_gbps": 400,
            "width": "4X",
            "firmware": ["28.43.2026", "28.43.1014"],
            "psid": ["MT_0000000838"],
            "pcie": {"speed_gts": 32.0, "width": 16},
            "slots": ["0000:13:00.0", "0000:1b:00.0"],
            "counters_max": {"symbol_error": 10},
        }
    ]
}


def port(**changes):
    good = Port(
        number=1,
        state="ACTIVE",
        phys_state="LinkUp",
        rate_gbps=400.0,
        width="4X",
        speed="NDR",
        lid=7,
        sm_lid=1,
        link_layer="InfiniBand",
        port_guid="0xa088c20300bb0001",
        counters={"symbol_error": 0},
    )
    return replace(good, **changes)


def pcie(card, speed=32.0, width=16, root_speed=32.0, root_width=16):
    bus = card[5]
    hops = (
        PcieHop(card, speed, width, 32.0, 16),
        PcieHop("0000:%s2:00.0" % bus, speed, width, 32.0, 16),
        PcieHop("0000:%s1:00.0" % bus, root_speed, root_width, 32.0, 16),
        PcieHop("0000:%s0:01.0" % bus, root_speed, root_width, 32.0, 16),
    )
    return PciePath(hops, hops[0])


def hca(name="mlx5_0", address="0000:13:00.0", number=1, **changes):
    guid = "0xa088c20300bb00%02x" % number
    good = Hca(
        name=name,
        pci_address=address,
        hca_type="MT4129",
        psid="MT_0000000838",
        firmware="28.43.2026",
        node_guid=guid,
        virtual_function=False,
        pcie=pcie(address),
        ports=(port(port_guid=guid),),
    )
    return replace(good, **changes)


def node(first=None, second=None, **changes):
    hcas = (first or hca(), second or hca("mlx5_1", "0000:1b:00.0", 2))
    return replace(Node(hcas=hcas, umad_abi=5, sources={"sysfs": "used"}), **changes)


def codes(observed, profile=None):
    return [finding.code for finding in check_node(observed, parse_profile(profile or PROFILE))]


def with_port(**changes):
    guid = "0xa088c20300bb0001"
    return node(hca(ports=(port(**{"port_guid": guid, **changes}),)))


def profile_with(**changes):
    return {"hcas": [{**PROFILE["hcas"][0], **changes}]}


def test_healthy_host_has_no_finding():
    assert codes(node()) == []


DOWN = {"rate_gbps": 10.0, "speed": "SDR", "lid": 0xFFFF, "sm_lid": 0}


CASES = [
    (with_port(state="DOWN", phys_state="Polling", **DOWN), ["PORT_DOWN"]),
    (with_port(state="DOWN", phys_state="Sleep", **DOWN), ["PORT_DOWN"]),
    (with_port(state="DOWN", phys_state="Disabled", **DOWN), ["PORT_DISABLED"]),
    (with_port(state="DOWN", phys_state="PortConfigurationTraining", **DOWN), ["PORT_TRAINING"]),
    (with_port(state="ACTIVE", phys_state="LinkErrorRecovery"), ["PORT_TRAINING"]),
    (with_port(state="INIT", lid=0xFFFF, sm_lid=0), ["PORT_INIT_NO_SM"]),
    (with_port(state="ARMED", sm_lid=0), ["PORT_ARMED"]),
    (with_port(state="DOWN", lid=0xFFFF), ["PORT_LOGICAL_DOWN"]),
    (with_port(state=None, errors=("state 'x' is not understood",)), ["DEVICE_UNREADABLE"]),
    (with_port(state=None), ["NOT_OBSERVED"]),
    (with_port(state="NEW"), ["NOT_OBSERVED"]),
    (with_port(state="INIT", port_guid=ZERO_GUID, lid=0xFFFF, sm_lid=0), ["GUID_ZERO"]),
    (with_port(state="DOWN", port_guid=ZERO_GUID, lid=0xFFFF), ["PORT_LOGICAL_DOWN"]),
    (with_port(state="DOWN", phys_state="Polling", counters={"symbol_error": 9000}, **DOWN), ["PORT_DOWN"]),
    (with_port(counters={}), ["NOT_OBSERVED"]),
    (with_port(rate_gbps=200.0, speed="HDR"), ["LINK_SPEED_DEGRADED"]),
    (with_port(rate_gbps=100.0, width="1X"), ["LINK_WIDTH_DEGRADED"]),
    (with_port(rate_gbps=200.0, width="2X"), ["LINK_WIDTH_DEGRADED"]),
    (with_port(rate_gbps=2.5, width="1X", speed="SDR"), ["LINK_WIDTH_DEGRADED", "LINK_SPEED_DEGRADED"]),
    (with_port(rate_gbps=800.0, speed="XDR"), ["LINK_RATE_UNEXPECTED"]),
    (with_port(rate_gbps=200.0, width=None, speed=None), ["LINK_RATE_DEGRADED"]),
    (with_port(rate_gbps=None, width=None, speed=None), ["NOT_OBSERVED"]),
    (with_port(link_layer="Ethernet", lid=0, sm_lid=0), ["LINK_LAYER_MISMATCH"]),
    (with_port(sm_lid=0), ["SM_LID_ZERO"]),
    (with_port(lid=0xFFFF, sm_lid=0), ["LID_UNASSIGNED"]),
    (with_port(port_guid=ZERO_GUID), ["GUID_ZERO"]),
    (with_port(counters={"symbol_error": 11}), ["COUNTER_ABOVE_LIMIT"]),
    (with_port(counters={"symbol_error": None}), ["NOT_OBSERVED"]),
    (node(hca(firmware="28.39.1002")), ["FIRMWARE_MISMATCH"]),
    (node(hca(firmware=None)), ["NOT_OBSERVED"]),
    (node(hca(psid="DEL0000000013")), ["PSID_MISMATCH"]),
    (node(hca(address="0000:c3:00.0")), ["HCA_WRONG_SLOT"]),
    (node(hca(pcie=pcie("0000:13:00.0", speed=16.0))), ["PCIE_SPEED_DEGRADED"]),
    (node(hca(pcie=pcie("0000:13:00.0", width=8))), ["PCIE_WIDTH_DEGRADED"]),
    (node(hca(pcie=pcie("0000:13:00.0", root_width=8))), ["PCIE_WIDTH_DEGRADED"]),
    (node(hca(pcie=None)), ["NOT_OBSERVED"]),
    (node(hca(pcie=pcie("0000:13:00.0", speed=None))), ["NOT_OBSERVED"]),
    (node(hca(pcie=None, psid=None, firmware=None)), ["NOT_OBSERVED"]),
    (node(hca(ports=())), ["NOT_OBSERVED"]),
    (node(hca(node_guid=ZERO_GUID)), ["GUID_ZERO"]),
    (node(hca(node_guid=ZERO_GUID, ports=(port(port_guid=ZERO_GUID),))), ["GUID_ZERO"]),
    (node(hca(hca_type=None, errors=("mlx5_0 vanished while it was read",), ports=())), ["DEVICE_UNREADABLE"]),
    (node(hca(number=2)), ["GUID_DUPLICATE"]),
    (node(umad_abi=None), ["UMAD_MISSING"]),
    (node(hca(errors=("mlx5_0 vanished while it was read",))), ["DEVICE_UNREADABLE"]),
    (Node(umad_abi=5, sources={"sysfs": "used"}), ["NO_HCA"]),
    (Node(sources={"sysfs": "used"}), ["NO_HCA"]),
    (replace(node(), hcas=(hca(),)), ["HCA_COUNT"]),
    (
        replace(node(), hcas=(hca(),), without_rdma=(PciFunction("0000:1b:00.0", "0x15b3", "0x1021", "ConnectX-7"),)),
        ["HCA_DRIVER_UNBOUND"],
    ),
    (
        replace(
            node(),
            hcas=(hca(),),
            without_rdma=(PciFunction("0000:1b:00.0", "0x15b3", "0x1021", "ConnectX-7", "mlx5_core"),),
        ),
        ["HCA_VERBS_MISSING"],
    ),
    (
        node(disagreements=({"subject": "mlx5_0", "field": "firmware", "sysfs": "a", "ibstat": "b"},)),
        ["SOURCES_DISAGREE"],
    ),
    (
        Node(sources={"ibstat": "partial"}, problems=(ToolProblem("ibstat", "error", "cut short", "unreadable"),)),
        ["UNREADABLE_OUTPUT"],
    ),
    (
        Node(sources={"ibstat": "partial"}, problems=(ToolProblem("ibstat", "fatal", "x", "umad_module_missing"),)),
        ["UMAD_MISSING"],
    ),
]


@pytest.mark.parametrize(("observed", "expected"), CASES)
def test_one_cause_one_finding(observed, expected):
    assert codes(observed) == expected


def test_every_code_is_produced_by_a_check():
    """The other codes of the family have tests of their own below."""
    elsewhere = {"IPOIB_DOWN", "PROFILE_AMBIGUOUS", "PORT_NOT_UNCABLED"}
    ours = {kind.code for kind in KINDS} | {"UNREADABLE_OUTPUT"}
    assert {code for _observed, expected in CASES for code in expected} | elsewhere == ours


def test_split_cables_are_right_where_they_are_intended():
    for rate, speed in ((100.0, "HDR"), (200.0, "NDR")):
        split = with_port(rate_gbps=rate, width="2X", speed=speed)
        split = replace(split, hcas=split.hcas[:1])
        assert codes(split, profile_with(rate_gbps=rate, width="2X", count=1)) == []
    hdr = with_port(rate_gbps=200.0, width="4X", speed="HDR")
    assert codes(replace(hdr, hcas=hdr.hcas[:1]), profile_with(rate_gbps=200, width="2X", count=1)) == [
        "LINK_SPEED_DEGRADED"
    ]


def test_the_width_cannot_be_vouched_for_without_sysfs():
    found = check_node(with_port(width=None, speed=None), parse_profile(PROFILE))
    assert [(item.code, item.severity) for item in found] == [("NOT_OBSERVED", "warning")]


def test_ports_down_by_design():
    dark = node(hca(ports=(port(), port(number=2, state="DOWN", phys_state="Polling"))))
    assert codes(dark) == ["PORT_DOWN"]
    for listed in (2, "mlx5_0/2", "0000:13:00.0/2", "13:00.0/2"):
        assert codes(dark, profile_with(uncabled_ports=[listed])) == []
    assert codes(dark, profile_with(uncabled_ports=["mlx5_1/2"])) == ["PORT_DOWN"]


def test_a_port_that_is_down_by_design_and_up():
    for state in ("ACTIVE", "INIT"):
        found = check_node(with_port(state=state), parse_profile(profile_with(uncabled_ports=["mlx5_0/1"])))
        assert [(item.code, item.severity) for item in found] == [("PORT_NOT_UNCABLED", "warning")]


def ethernet(state, phys_state, *devices):
    dark = port(state=state, phys_state=phys_state, link_layer="Ethernet", lid=0, sm_lid=0)
    card = hca(ports=(dark,), net_devices=devices)
    return replace(node(), hcas=(card,))


@pytest.mark.parametrize(
    ("devices", "code", "waited"),
    [
        ((), "PORT_DOWN", 1),
        ((NetDevice("eth0", 1, "ethernet", "down", False),), "PORT_DOWN", 1),
        ((NetDevice("eth0", 1, "ethernet", "down", None),), "PORT_DISABLED", 0),
        ((NetDevice("eth0", 2, "ethernet", "down", None),), "PORT_DOWN", 1),
    ],
)
def test_an_ethernet_port_without_a_carrier_is_not_switched_off(devices, code, waited):
    """Drivers show both as Disabled."""
    profile = parse_profile(profile_with(count=1, link_layer="Ethernet"))
    observed = ethernet("DOWN", "Disabled", *devices)
    found = check_node(observed, profile)
    assert [item.code for item in found] == [code]
    assert len(training_ports(observed, profile)) == waited
    if code == "PORT_DISABLED":
        assert "ip link set eth0 up" in found[0].hint


def test_other_devices_are_left_out_and_named():
    spare = hca(
        "mlx5_2",
        "0000:e1:00.0",
        9,
        hca_type="MT4125",
        ports=(port(state="DOWN", phys_state="Disabled", link_layer="Ethernet"),),
    )
    virtual = hca(
        "mlx5_3",
        "0000:13:00.1",
        8,
        virtual_function=True,
        physical_function="0000:13:00.0",
        ports=(port(state="DOWN", port_guid="0x02"),),
    )
    mixed = replace(node(), hcas=node().hcas + (spare, virtual))
    assert codes(mixed) == []
    selection = select(mixed, parse_profile(PROFILE))
    assert selection.covered == ("mlx5_0", "mlx5_1")
    assert {item.device: item.reason for item in selection.uncovered}["mlx5_3"] == "virtual function of 0000:13:00.0"
    covered = {"hcas": [{"match": {"device": "mlx5_3", "virtual": True}}]}
    assert codes(mixed, covered) == ["PORT_LOGICAL_DOWN"]


def test_ethernet_ports_need_no_lid():
    roce = port(link_layer="Ethernet", lid=0, sm_lid=0, port_guid=ZERO_GUID)
    assert (
        codes(
            node(hca(ports=(roce,)), hca("mlx5_1", "0000:1b:00.0", 2, ports=(roce,))),
            profile_with(link_layer="Ethernet"),
        )
        == []
    )


def test_a_slow_link_shared_by_two_hcas_is_reported_once():
    shared = pcie("0000:13:00.0", root_speed=16.0)
    second = hca(
        "mlx5_1",
        "0000:1b:00.0",
        2,
        pcie=PciePath((PcieHop("0000:1b:00.0", 32.0, 16), PcieHop("0000:1a:00.0", 32.0, 16)) + shared.hops[2:]),
    )
    found = check_node(node(hca(pcie=shared), second), parse_profile(PROFILE))
    assert [item.code for item in found] == ["PCIE_SPEED_DEGRADED"]
    assert "between 0000:11:00.0 and 0000:10:01.0 (at the root port)" in found[0].observed
    assert "0000:11:00.0" in found[0].hint


def test_guids_of_ethernet_and_software_devices_come_from_macs():
    twins = tuple(
        hca(
            name,
            "0000:f0:00.0",
            7,
            pci_address=None,
            pcie=None,
            hca_type=None,
            ports=(port(link_layer="Ethernet", lid=0, sm_lid=0),),
        )
        for name in ("rxe0", "siw0")
    )
    nameless = hca(
        "mlx5_7", "0000:f1:00.0", node_guid=ZERO_GUID, ports=(port(link_layer="Ethernet"),), hca_type="MT4125"
    )
    assert codes(replace(node(), hcas=node().hcas + twins + (nameless,))) == []


def test_a_module_that_is_not_loaded_is_one_finding():
    functions = tuple(
        PciFunction("0000:%s:00.0" % bus, "0x15b3", "0x1021", "ConnectX-7", "mlx5_core") for bus in ("13", "1b")
    )
    observed = Node(umad_abi=5, sources={"sysfs": "used"}, without_rdma=functions)
    (found,) = check_node(observed, parse_profile(PROFILE))
    assert (found.code, found.subject) == ("HCA_VERBS_MISSING", "2 devices of compute rail")
    assert "0000:13:00.0, 0000:1b:00.0" in found.observed
    one = replace(observed, without_rdma=functions[:1])
    assert codes(one) == ["HCA_VERBS_MISSING", "HCA_COUNT"]


def test_a_missing_card_names_its_empty_slot():
    (found,) = check_node(replace(node(), hcas=(hca(),)), parse_profile(PROFILE))
    assert (found.subject, found.observed) == ("compute rail", "1 (mlx5_0), nothing at 0000:1b:00.0")


def test_a_foreign_device_does_not_stand_for_a_missing_card():
    foreign = hca("hfi1_0", "0000:e1:00.0", 9, hca_type=None)
    assert codes(replace(node(), hcas=(hca(), foreign))) == ["HCA_COUNT"]
    vanished = replace(foreign, name="mlx5_9", errors=("mlx5_9 vanished while it was read",))
    found = check_node(replace(node(), hcas=node().hcas + (vanished,)), parse_profile(PROFILE))
    assert [(item.code, item.severity) for item in found] == [("DEVICE_UNREADABLE", "info")]


def test_what_ibstat_does_not_show_is_not_missing_hardware():
    bare = hca(pci_address=None, psid=None, pcie=None)
    observed = Node(hcas=(replace(bare, ports=(port(width=None, counters={}),)),), sources={"ibstat": "used"})
    (found,) = check_node(observed, parse_profile({"hcas": [{"name": "rail", "match": {"psid": "MT_0000000838"}}]}))
    assert (found.code, found.subject, found.observed) == ("NOT_OBSERVED", "rail", "mlx5_0 without psid")
    found = check_node(observed, parse_profile(profile_with(count=1)))
    assert [(item.code, item.severity, item.observed) for item in found] == [
        ("NOT_OBSERVED", "error", "no PSID, no slot, no PCIe speed and width"),
        ("NOT_OBSERVED", "warning", "400 Gb/s (NDR), width not shown, no counter symbol_error"),
    ]
    cut = replace(observed, problems=(ToolProblem("ibstat", "error", "cut short", "unreadable"),))
    assert [
        item.code for item in check_node(cut, parse_profile({"hcas": [{"match": {"type": "MT4129"}, "count": 2}]}))
    ] == ["UNREADABLE_OUTPUT"]
    # A problem of a tool does not hide that sysfs shows nothing.
    blank = Node(sources={"sysfs": "used"}, problems=cut.problems)
    assert "NO_HCA" in codes(blank)


def test_width_alone_can_be_judged():
    narrow = with_port(rate_gbps=None, width="2X", speed=None)
    narrow = replace(narrow, hcas=narrow.hcas[:1])
    assert codes(narrow, profile_with(count=1, rate_gbps=None)) == ["LINK_WIDTH_DEGRADED"]
    assert codes(narrow, profile_with(count=1, rate_gbps=None, width="1X")) == ["LINK_RATE_UNEXPECTED"]


def test_a_port_of_the_wrong_link_layer_is_not_waited_for():
    observed = with_port(state="DOWN", phys_state="Polling", link_layer="Ethernet")
    assert training_ports(observed, parse_profile(PROFILE)) == ()


def test_two_entries_that_claim_one_hca():
    both = {"hcas": PROFILE["hcas"] + [{"name": "again", "match": {"device": "mlx5_0"}}]}
    assert codes(node(), both) == ["PROFILE_AMBIGUOUS"]


def test_count_rules():
    assert codes(node(), profile_with(count=0)) == ["HCA_COUNT"]
    assert codes(node(), profile_with(count=None)) == []
    assert codes(node(), {"hcas": [{"match": {"type": "MT4123"}}]}) == ["HCA_COUNT"]
    assert codes(Node(sources={"sysfs": "used"}), profile_with(count=0)) == []
    passed_through = (PciFunction("0000:1b:00.0", "0x15b3", "0x1021", "ConnectX-7", "vfio-pci"),)
    assert codes(replace(node(), hcas=(hca(),), without_rdma=passed_through)) == ["HCA_DRIVER_UNBOUND"]
    spare_vf = (PciFunction("0000:1b:00.3", "0x15b3", "0x101e", "VF", None, True),)
    assert codes(replace(node(), without_rdma=spare_vf)) == []


def test_saturated_counter_says_that_it_may_be_more():
    observed = with_port(counters={"symbol_error": 65535}, saturated_counters=("symbol_error",))
    (found,) = check_node(observed, parse_profile(PROFILE))
    assert found.observed == "symbol_error = 65535 or more (at its ceiling)"


def test_ipoib_down_only_where_others_are_up():
    up, down = NetDevice("ib0", 1, "infiniband", "up"), NetDevice("ib1", 1, "infiniband", "down")
    second = hca("mlx5_1", "0000:1b:00.0", 2, net_devices=(down,))
    found = check_node(node(hca(net_devices=(up,)), second), parse_profile(PROFILE))
    assert [(item.code, item.severity, item.subject) for item in found] == [("IPOIB_DOWN", "info", "mlx5_1 port 1")]
    assert codes(node(hca(net_devices=(replace(down, name="ib0"),)), second)) == []


def test_waiting_accepts_only_active():
    profile = parse_profile(PROFILE)
    for state, phys in (
        ("DOWN", "Polling"),
        ("DOWN", "LinkUp"),
        ("INIT", "LinkUp"),
        ("ARMED", "LinkUp"),
        ("DOWN", "PortConfigurationTraining"),
    ):
        assert training_ports(with_port(state=state, phys_state=phys), profile) == (
            "mlx5_0 port 1: %s/%s" % (state, phys),
        )
    assert training_ports(node(), profile) == ()
    assert training_ports(with_port(state="DOWN", phys_state="Disabled"), profile) == ()
    assert (
        training_ports(with_port(state="DOWN", phys_state="Polling"), parse_profile(profile_with(uncabled_ports=[1])))
        == ()
    )


TEXT = st.one_of(
    st.none(),
    st.sampled_from(["ACTIVE", "DOWN", "INIT", "LinkUp", "4X", "NDR", "MT4129", "InfiniBand", ZERO_GUID]),
    st.text(max_size=8),
)
PORTS = st.builds(
    Port,
    number=st.integers(1, 3), state=TEXT, phys_state=TEXT, rate_gbps=st.one_of(st.none(), st.floats(0, 1e4)), width=TEXT,
    speed=TEXT, lid=st.one_of(st.none(), st.integers(0, 70000)), sm_lid=st.one_of(st.none(), st.integers(0, 70000)),
    link_layer=TEXT, port_guid=TEXT, counters=st.dictionaries(st.sampled_from(["symbol_error", "x"]), st.one_of(st.none(), st.integers(0, 70000))),
)  # fmt: skip
HOPS = st.builds(
    PcieHop,
    address=st.text(max_size=8),
    speed_gts=st.one_of(st.none(), st.floats(0, 64)),
    width=st.one_of(st.none(), st.integers(0, 32)),
)
HCAS = st.builds(
    Hca,
    name=st.text(max_size=8), pci_address=TEXT, hca_type=TEXT, psid=TEXT, firmware=TEXT, node_guid=TEXT,
    pcie=st.one_of(st.none(), st.builds(PciePath, hops=st.lists(HOPS, max_size=4).map(tuple))),
    virtual_function=st.one_of(st.none(), st.booleans()), ports=st.lists(PORTS, max_size=2).map(tuple),
    errors=st.lists(st.text(max_size=5), max_size=2).map(tuple),
)  # fmt: skip


@given(
    st.builds(
        Node,
        hcas=st.lists(HCAS, max_size=3).map(tuple),
        umad_abi=st.one_of(st.none(), st.just(5)),
        sources=st.just({"sysfs": "used"}),
    )
)
@settings(max_examples=150, deadline=None)
def test_no_observation_crashes_a_check(observed):
    for finding in check_node(observed, parse_profile(PROFILE)):
        assert finding.code in FINDINGS and not any(
            name in finding.hint for name in ("{device", "{port", "{pci", "{hop")
        )
    training_ports(observed, parse_profile(PROFILE))


def test_the_table_of_findings():
    assert len(FINDINGS) == sum(len(kinds) for kinds in FAMILIES), "a code belongs to one family"
    for code, kind in FINDINGS.items():
        assert kind.code == code and code == code.upper() and kind.meaning and kind.hint
        assert maker((kind,))(code, "x", "a", "b").severity == kind.severity
    with pytest.raises(KeyError):
        make("NO_SUCH_CODE", "x", "a", "b")


def test_severity_threshold():
    findings = [
        make("IPOIB_DOWN", "x", "a", "b"),
        make("LINK_RATE_UNEXPECTED", "x", "a", "b"),
        make("PORT_DOWN", "x", "a", "b"),
    ]
    assert [len(at_or_above(findings, level)) for level in ("info", "warning", "error", "never", None)] == [
        3,
        2,
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"rate_gbps": "fast"},
            "infiniband_profile.hcas[0].rate_gbps: 'fast' is not allowed; use the port's rate in Gb/s",
        ),
        ({"count": -1}, "infiniband_profile.hcas[0].count: -1 is not allowed; use a whole number of 0 or more"),
        ({"count": 1.5}, "infiniband_profile.hcas[0].count: 1.5"),
        ({"count": True}, "infiniband_profile.hcas[0].count: True"),
        ({"rate_gbps": float("inf")}, "rate_gbps: inf"),
        ({"rate_gbps": float("nan")}, "rate_gbps: nan"),
        ({"cuont": 2}, "unknown key 'cuont' (did you mean 'count'?)"),
        ({"width": "4x"}, "infiniband_profile.hcas[0].width: '4x' is not allowed; use one of 1X, 2X, 4X"),
        ({"link_layer": "IB"}, "use one of InfiniBand, Ethernet"),
        ({"firmware": "28.43.2026"}, "a list of"),
        ({"firmware": [28.43]}, "infiniband_profile.hcas[0].firmware[0]: 28.43"),
        ({"psid": ["mt 1"]}, "psid[0]: 'mt 1'"),
        ({"pcie": {"speed": 32}}, "unknown key 'speed'"),
        ({"pcie": {"speed_gts": 31}}, "pcie.speed_gts: 31"),
        ({"slots": ["slot 1"]}, "PCI addresses such as"),
        ({"slots": ["0000:13:00.0"]}, "count: 2 is not allowed; use at most the number of slots (1)"),
        (
            {"match": {"pci": "13:00.0"}},
            "count: 2 is not allowed; use 1 or 0, since the entry's match names one device",
        ),
        (
            {"match": {"pci": 2460.0}},
            "match.pci: 2460.0 is not allowed; use a PCI address such as 0000:41:00.0, in quotes",
        ),
        ({"match": {"guid": 0xA088C20300BB0001}}, "16 hex digits, in quotes, since YAML read a number"),
        ({"match": {"pci": "0000:13:00.0\n"}}, "match.pci"),
        ({"count": "1_0"}, "count: '1_0'"),
        ({"pcie": {"width": "wide"}}, "pcie.width: 'wide'"),
        ({"match": {}}, "at least one of type, psid, pci, device, guid"),
        ({"match": {"type": ""}}, "match.type: ''"),
        ({"match": {"pci": "41"}}, "match.pci: '41'"),
        ({"match": {"type": "MT4129", "virtual": "no"}}, "match.virtual: 'no' is not allowed; use true or false"),
        ({"match": None}, "match"),
        ({"uncabled_ports": [0]}, "uncabled_ports[0]: 0"),
        ({"uncabled_ports": "2"}, "uncabled_ports: '2'"),
        ({"counters_max": {"symbol_error": "few"}}, "counters_max.symbol_error: 'few'"),
        ({"counters_max": [1]}, "counters_max: [1]"),
        ({"name": ""}, "name: ''"),
    ],
)
def test_bad_profiles(changes, text):
    with pytest.raises(ProfileError) as error:
        parse_profile(profile_with(**changes))
    assert text in str(error.value)


def test_every_problem_is_listed_at_once():
    with pytest.raises(ProfileError) as error:
        parse_profile({"hca": [], "memlock": {"soft": "lots", "processes": "sshd"}})
    assert len(str(error.value).splitlines()) == 4
    for bad in (None, [], "x", 3, {}, {"hcas": []}, {"hcas": {}}, {"hcas": [1]}, {"hcas": None, "memlock": 3}):
        with pytest.raises(ProfileError):
            parse_profile(bad)


def test_good_profiles():
    profile = parse_profile(
        {"hcas": [{"match": {"pci": "41:00.0"}}], "memlock": {"processes": ["slurmd"], "soft": "64GiB"}}
    )
    assert profile.hcas[0].match.pci == "0000:41:00.0" and profile.hcas[0].name == "HCA 0000:41:00.0"
    assert profile.memlock.soft_bytes == 64 * 1024**3
    loose = parse_profile(
        profile_with(
            count="2",
            rate_gbps="400",
            pcie={"speed_gts": "32.0", "width": "16"},
            slots=["0000:C3:00.0", "C4:00.0"],
            uncabled_ports=["C3:00.0/2", 1],
        )
    ).hcas[0]
    assert (loose.count, loose.rate_gbps, loose.pcie.speed_gts, loose.pcie.width) == (2, 400.0, 32.0, 16)
    assert loose.slots == ("0000:c3:00.0", "0000:c4:00.0")
    assert [(item.device, item.port) for item in loose.uncabled_ports] == [("0000:c3:00.0", 2), (None, 1)]
    assert parse_profile({**PROFILE, "memlock": {"soft": "unlimited"}}).memlock.soft_bytes is None


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["hcas", "match", "type", "count", "memlock", "soft", "x"]), inner, max_size=3
            ),
        ),
        max_leaves=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_no_profile_raises_anything_but_its_own_error(raw):
    try:
        parse_profile(raw)
    except ProfileError:
        pass
