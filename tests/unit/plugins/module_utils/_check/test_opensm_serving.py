# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether subnet managers serve: every code, its first cause, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, List, Optional, Tuple

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_instance import (
    Bound,
    Instance,
    InstanceError,
    choose_port,
    parse_instances,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_serving import (
    Declared,
    Serving,
    check_serving,
    is_serving,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_sm import KINDS
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Port
from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import LogEvent, Manager, OpensmLog
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import sm_info
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.switches import ndr_switches
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.opensm_pending import Files, pending
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.owned_files import (
    ForeignFile,
    OwnedFile,
    plan_files,
)
from hypothesis import given
from hypothesis import strategies as st

ME, PEER, OTHER = "0x0000000000000001", "0x0000000000000002", "0x00000000000000ff"
MASTER, STANDBY = Manager(ME, 1, 14, "MASTER"), Manager(PEER, 4, 13, "STANDBY")
GOOD = Serving(
    "rail0", "mlx5_0", 1, ME, "rdma-opensm@rail0.service", True, 0, None, "ACTIVE", 1, MASTER, (MASTER, STANDBY),
    OpensmLog(state="MASTER", subnet_up=True, routing_engine="ftree"), "/var/log/x",
)  # fmt: skip
INTENT = Declared("rail0", (ME, PEER), (), ("ftree", "updn"))


def codes(seen: Serving, intent: Declared = INTENT) -> List[str]:
    return [finding.code for finding in check_serving([seen], [intent])]


def event(message: str, err: Optional[str] = None) -> LogEvent:
    return LogEvent("t", "1", 1, message, err=err)


FOREIGN = Manager(OTHER, 9, 15, "MASTER")
CASES: List[Tuple[Any, List[str]]] = [
    ({}, []),
    ({"active": False, "master": None, "managers": ()}, ["SM_NOT_RUNNING"]),
    ({"active": False}, ["SM_NOT_RUNNING"]),
    ({"master": None, "managers": ()}, ["SM_NO_MASTER"]),
    ({"master": FOREIGN, "managers": (FOREIGN, STANDBY), "sm_lid": 9}, ["SM_FOREIGN_MASTER"]),
    ({"managers": (MASTER, STANDBY, replace(FOREIGN, state="STANDBY"))}, ["SM_FOREIGN"]),
    ({"managers": (MASTER,)}, ["SM_NO_STANDBY"]),
    ({"managers": (MASTER, replace(STANDBY, priority=14))}, ["SM_PRIORITY_SHARED"]),
    ({"sm_lid": 3}, ["SM_NOT_SERVING"]),
    ({"port_state": "INIT"}, ["SM_NOT_SERVING"]),
    ({"pending": "restart"}, ["SM_RESTART_PENDING"]),
    ({"log": OpensmLog(state="MASTER", routing_engine="updn")}, ["SM_ROUTING_FALLBACK"]),
    ({"log": OpensmLog(events=(event("Partition configuration in error; retrying"),))}, ["SM_PARTITIONS_IGNORED"]),
    ({"unsupported": ("MF0;spine01",)}, ["SM_UNSUPPORTED_SWITCHES"]),
    ({"unreadable": "sminfo is not installed"}, ["UNREADABLE_OUTPUT"]),
]


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_one_cause_gives_one_finding(changes: Any, expected: List[str]) -> None:
    assert codes(replace(GOOD, **changes)) == expected


def test_every_code_is_produced() -> None:
    assert {code for _changes, expected in CASES for code in expected} == {kind.code for kind in KINDS} | {
        "UNREADABLE_OUTPUT"
    }


def test_without_a_declaration_any_master_will_do() -> None:
    assert codes(replace(GOOD, master=FOREIGN, managers=(FOREIGN,), sm_lid=9), Declared("rail0")) == []
    external = Declared("rail0", (), (OTHER,))
    assert codes(replace(GOOD, unit=None, active=False, master=FOREIGN, managers=(FOREIGN,), sm_lid=9), external) == []


def test_the_first_cause_is_what_is_said() -> None:
    log = OpensmLog(events=(event("Unable to register class 129", "5426"), event("the last line", "5401")))
    (finding,) = check_serving([replace(GOOD, active=False, master=None, log=log, restarts=4)], [INTENT])
    assert "the kernel refuses the agent" in finding.observed and "ERR 5426" in finding.observed
    assert "last line" not in finding.observed and "started 5 times" in finding.observed
    (finding,) = check_serving([replace(GOOD, active=False, log=OpensmLog(fatal="No local ports detected!"))], [INTENT])
    assert "found no InfiniBand port" in finding.observed


def test_when_the_wait_ends() -> None:
    assert is_serving(GOOD) and not is_serving(replace(GOOD, active=False)) and not is_serving(replace(GOOD, sm_lid=2))


PORT = Port(1, link_layer="InfiniBand", port_guid=ME)
HCAS = (
    Hca("mlx5_0", node_guid="0x00000000000000aa", pci_address="0000:13:00.0", ports=(PORT,)),
    Hca("mlx5_1", ports=(replace(PORT, port_guid=PEER), replace(PORT, number=2, port_guid=OTHER))),
    Hca("mlx5_2", ports=(replace(PORT, link_layer="Ethernet"),)),
)


@pytest.mark.parametrize(
    ("given_", "bound"),
    [
        ({"device": "mlx5_0"}, Bound("mlx5_0", 1, ME)),
        ({"pci": "0000:13:00.0"}, Bound("mlx5_0", 1, ME)),
        ({"guid": OTHER}, Bound("mlx5_1", 2, OTHER)),
        ({"device": "mlx5_1", "port": 2}, Bound("mlx5_1", 2, OTHER)),
    ],
)
def test_the_port_that_is_meant(given_: Any, bound: Bound) -> None:
    assert choose_port(Instance("r", 1, **given_), HCAS) == bound
    assert choose_port(Instance("r", 1), HCAS[:1]) == Bound("mlx5_0", 1, ME)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, "needs the port of its fabric, by device, pci or guid; this host has " + ME),
        ({"device": "mlx5_1"}, "give the port of mlx5_1"),
        ({"device": "mlx5_2"}, "mlx5_2 has no InfiniBand port there (link layer Ethernet)"),
        ({"device": "mlx5_9"}, "no RDMA device mlx5_9"),
        ({"device": "mlx5_0", "port": 2}, "has no InfiniBand port there (link layer none)"),
        ({"guid": "0x00000000000000aa"}, "is the node GUID of mlx5_0, and OpenSM binds to a port; use " + ME),
        ({"guid": "0x00000000000000bb"}, "no InfiniBand port of this host has the GUID"),
    ],
)
def test_a_port_that_cannot_be_meant(given_: Any, words: str) -> None:
    with pytest.raises(InstanceError) as error:
        choose_port(Instance("r", 1, **given_), HCAS)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([], "a list with at least one fabric"),
        (["x"], "instances[0]: 'x' is not allowed"),
        ([{"nmae": "r"}], "unknown key 'nmae'"),
        ([{"name": "R 0"}], "instances[0].name: 'R 0'"),
        ([{"device": "a/b"}], "instances[0].device: 'a/b'"),
        ([{"pci": "13:00.0"}], "instances[0].pci: '13:00.0'"),
        ([{"port": 0}], "instances[0].port: 0"),
        ([{"guid": 5}], "instances[0].guid: 5"),
        ([{"device": "mlx5_0", "guid": ME}], "give one of device, pci and guid"),
        ([{"priority": 16}], "instances[0].priority: 16 is not allowed; use a number from 0 to 15"),
        ([{"subnet_prefix": "fe80"}], "instances[0].subnet_prefix: 'fe80'"),
        ([{"routing_engine": "updn"}], "instances[0].routing_engine: 'updn' is not allowed; use a list"),
        ([{"root_guids": ["spine01"]}], "instances[0].root_guids: 'spine01'"),
        ([{"options": [1]}], "instances[0].options: [1]"),
        ([{"name": "r"}, {"name": "r"}], "the name r is given twice"),
    ],
)
def test_instances_that_are_wrong(raw: Any, words: str) -> None:
    with pytest.raises(InstanceError) as error:
        parse_instances(raw)
    assert words in str(error.value)


def test_sminfo_and_its_records() -> None:
    said = "sminfo: sm lid 11 sm guid 0xa088c20300bb0011, activity count 406 priority 14 state 3 SMINFO_MASTER\n"
    assert sm_info.parse_sminfo(said) == Manager("0xa088c20300bb0011", 11, 14, "MASTER")
    assert sm_info.parse_sminfo("") is None
    with pytest.raises(ParseError):
        sm_info.parse_sminfo("sminfo: sm lid eleven")
    records = "SMInfoRecord dump:\n\t\tLID....11\n\t\tGUID....0x11\n\t\tPriority....14\n\t\tSMState....2\n"
    assert sm_info.parse_smir(records * 2) == (Manager("0x0000000000000011", 11, 14, "STANDBY"),) * 2
    with pytest.raises(ParseError, match="SMState"):
        sm_info.parse_smir(records.replace("SMState", "State"))


def test_switches_of_ndr_and_later() -> None:
    switch = 'devid=0x%s\nsysimgguid=0x1\nSwitch\t64 "S-1"\t\t# "%s" enhanced port 0 lid 11 lmc 0\n'
    ca = 'devid=0xd2f2\nCa\t1 "H-1"\t\t# "x"\n'
    assert ndr_switches(switch % ("d2f2", "a # b") + ca + switch % ("cb20", "hdr") + switch % ("d2f4", "xdr")) == (
        "a # b",
        "xdr",
    )


@given(st.text())
def test_hostile_output_never_crashes(text: str) -> None:
    ndr_switches(text)
    for parse in (sm_info.parse_sminfo, sm_info.parse_smir):
        try:
            parse(text)
        except ParseError:
            pass


def test_what_a_running_manager_needs() -> None:
    old = Files({"sweep_interval": "2", "guid": "0x1"}, {"partitions.conf": "a"})
    assert pending(old, old) is None and pending(None, old) == "restart"
    assert pending(old, replace(old, options={**old.options, "sweep_interval": "3"})) == "reload"
    assert pending(old, replace(old, texts={"partitions.conf": "b"})) == "reload"
    assert pending(old, replace(old, options={**old.options, "qos_sl2vl": "0"})) == "reload"
    for changed in ({"guid": "0x2"}, {"qos_policy_file": "/x"}, {"routing_engine": "updn"}):
        assert pending(old, replace(old, options={**old.options, **changed})) == "restart"
    assert pending(old, replace(old, texts={**old.texts, "root_guids": "x"})) == "restart"


def test_files_of_ours_and_of_others() -> None:
    ours = OwnedFile("# ours\na\n")
    steps = plan_files(
        {"/a": ours, "/gone": ours, "/theirs": OwnedFile("x")}, {"/a": OwnedFile("# ours\nb\n"), "/b": ours}, "# ours"
    )
    assert [(step.path, step.after is None) for step in steps] == [("/a", False), ("/b", False), ("/gone", True)]
    (step,) = plan_files({"/a": ours}, {"/a": replace(ours, mode="0600")}, "# ours")
    assert (step.change.before, step.change.after) == ("mode 0644", "mode 0600")
    with pytest.raises(ForeignFile, match="/a"):
        plan_files({"/a": OwnedFile("x")}, {"/a": ours}, "# ours")


def test_the_page_of_findings_has_these() -> None:
    page = (Path(__file__).resolve().parents[5] / "docs/findings.md").read_text()
    assert all("`%s`" % kind.code in page for kind in KINDS)
