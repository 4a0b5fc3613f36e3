# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module hca_check as Ansible runs it, over synthetic hosts: results, thresholds, waiting, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.infiniband.plugins.module_utils._module import hca_check as implementation
from ansible_collections.rdma.infiniband.plugins.modules import hca_check

from tests.support.sysfs_tree import (
    FakeHca,
    FakeNetdev,
    FakePort,
    Link,
    build_tree,
    down_port,
    eight_ndr_hcas,
    ethernet_port,
    listing,
    ndr_hca,
    virtual_function,
)

RAIL: dict[str, Any] = {
    "name": "compute rail",
    "match": {"type": "MT4129"},
    "count": 2,
    "link_layer": "InfiniBand",
    "rate_gbps": 400,
    "width": "4X",
    "firmware": ["28.43.2026"],
    "psid": ["MT_0000000838"],
    "pcie": {"speed_gts": 32.0, "width": 16},
    "slots": ["0000:13:00.0", "0000:1b:00.0"],
    "counters_max": {"symbol_error": 10, "link_downed": 10},
}
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the module over the tree in tmp_path and returns what it printed."""

    def call(**options: Any) -> dict[str, Any]:
        arguments = {"profile": {"hcas": [RAIL]}, "sysfs_path": str(tmp_path), **options}
        with patch_module_args(arguments), pytest.raises(SystemExit) as ended:
            hca_check.main()
        result = json.loads(capsys.readouterr().out)
        assert bool(ended.value.code) == bool(result.get("failed"))
        return result

    return call


def port_of(card: FakeHca, **changes: Any) -> FakeHca:
    return replace(card, ports=(replace(card.ports[0], **changes),))


def codes(result: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in result["findings"]]


def test_a_healthy_host(run: Run, tmp_path: Path) -> None:
    card = ndr_hca(0)
    storage = replace(ndr_hca(5, name="rocep1s0"), hca_type="MT4125", ports=(ethernet_port(),))
    build_tree(str(tmp_path), hcas=[card, ndr_hca(1), storage, virtual_function(card)])
    before = listing(str(tmp_path))
    result = run(_ansible_check_mode=True)
    assert (result["failed"], result["changed"], result["findings"]) == (False, False, [])
    assert result["covered"] == ["mlx5_0", "mlx5_1"]
    assert {item["device"]: item["reason"] for item in result["uncovered"]} == {
        "rocep1s0": "no entry of the profile matches it (ConnectX-7 Ethernet)",
        "mlx5_9": "virtual function of 0000:13:00.0",
    }
    assert result["waited"] == {"seconds": 0.0, "reasons": []}
    assert result["summary"] == "4 RDMA devices (1 virtual), 3 of 4 ports active; no findings"
    assert [item["name"] for item in result["overview"]] == ["mlx5_0", "mlx5_1", "mlx5_9", "rocep1s0"]
    assert result["overview"][0]["ports"][0]["rate_gbps"] == 400.0
    assert listing(str(tmp_path)) == before


CARD, OTHER = ndr_hca(0), ndr_hca(1)
assert CARD.function and OTHER.function and CARD.ports[0].counters
CARD_FUNCTION, OTHER_FUNCTION = CARD.function, OTHER.function
ERROR_FREE = dict(CARD.ports[0].counters)
NARROW = Link("32.0 GT/s PCIe", "8")
HOSTS: dict[str, tuple[dict[str, Any], str, str]] = {
    # what is wrong: the host, the one code, what the hint tells to run
    "cut": (
        {"hcas": [CARD, replace(OTHER, ports=(down_port(guid=OTHER.ports[0].guid),))]},
        "PORT_DOWN",
        "mlxlink -d 0000:1b:00.0",
    ),
    "disabled": (
        {"hcas": [CARD, replace(OTHER, ports=(down_port(guid=OTHER.ports[0].guid, phys_state="3: Disabled"),))]},
        "PORT_DISABLED",
        "ibportstate -C mlx5_1",
    ),
    "no subnet manager": (
        {"hcas": [CARD, port_of(OTHER, state="2: INIT", lid="0xffff", sm_lid="0x0")]},
        "PORT_INIT_NO_SM",
        "sminfo -C mlx5_1 -P 1",
    ),
    "narrow": ({"hcas": [CARD, port_of(OTHER, rate="200 Gb/sec (2X NDR)")]}, "LINK_WIDTH_DEGRADED", "mlxlink"),
    "slow": ({"hcas": [CARD, port_of(OTHER, rate="200 Gb/sec (4X HDR)")]}, "LINK_SPEED_DEGRADED", "mlxlink"),
    "firmware": (
        {"hcas": [CARD, replace(OTHER, fw_ver="28.39.1002")]},
        "FIRMWARE_MISMATCH",
        "mstflint -d 0000:1b:00.0 q",
    ),
    "psid": ({"hcas": [CARD, replace(OTHER, board_id="DEL0000000013")]}, "PSID_MISMATCH", "mstflint"),
    "pcie": (
        {
            "hcas": [
                CARD,
                replace(
                    OTHER,
                    function=replace(OTHER_FUNCTION, link=NARROW, bridge_links={"0000:1a:00.0": NARROW}),
                ),
            ]
        },
        "PCIE_WIDTH_DEGRADED",
        "lspci -s 0000:1b:00.0 -vv",
    ),
    "removed": ({"hcas": [CARD]}, "HCA_COUNT", "lspci -d 15b3:"),
    "unbound": (
        {"hcas": [CARD], "functions": [replace(OTHER_FUNCTION, driver=None)]},
        "HCA_DRIVER_UNBOUND",
        "lspci -k -s 0000:1b:00.0",
    ),
    "no verbs": ({"hcas": [CARD], "functions": [OTHER_FUNCTION]}, "HCA_VERBS_MISSING", "modprobe mlx5_ib"),
    "no umad": ({"hcas": [CARD, OTHER], "umad": False}, "UMAD_MISSING", "modprobe ib_umad"),
    "nothing": ({"rdma_core": False, "umad": False}, "NO_HCA", "lspci -d 15b3:"),
    "ethernet": ({"hcas": [CARD, replace(OTHER, ports=(ethernet_port(),))]}, "LINK_LAYER_MISMATCH", "LINK_TYPE_P1"),
    "no sm lid": ({"hcas": [CARD, port_of(OTHER, sm_lid="0x0")]}, "SM_LID_ZERO", "sminfo"),
    "unreadable": ({"hcas": [CARD, port_of(OTHER, state="quite good")]}, "DEVICE_UNREADABLE", "dmesg"),
    "clone": (
        {"hcas": [CARD, replace(port_of(OTHER, guid=CARD.ports[0].guid), node_guid=CARD.node_guid)]},
        "GUID_DUPLICATE",
        "ibstat -p",
    ),
}


@pytest.mark.parametrize("name", HOSTS)
def test_one_fault_one_finding(run: Run, tmp_path: Path, name: str) -> None:
    host, code, command = HOSTS[name]
    build_tree(str(tmp_path), **host)
    result = run()
    assert codes(result) == [code]
    assert result["failed"] and result["msg"].startswith("1 of 1 findings fail this check:\n" + code)
    (finding,) = result["findings"]
    assert command in finding["hint"] and finding["observed"] and finding["expected"]
    assert result["summary"].endswith("; 1 error")


def test_a_switched_off_ethernet_interface(run: Run, tmp_path: Path) -> None:
    eth = FakeNetdev("eth0", type="1", operstate="down", carrier=None)
    dark = ethernet_port(state="1: DOWN", phys_state="3: Disabled")
    card = replace(CARD, ports=(dark,), function=replace(CARD_FUNCTION, netdevs=(eth,)))
    build_tree(str(tmp_path), hcas=[card])
    storage = {"hcas": [{"match": {"device": "mlx5_0"}, "link_layer": "Ethernet"}]}
    result = run(profile=storage, wait_s=30)
    assert codes(result) == ["PORT_DISABLED"] and result["waited"]["seconds"] == 0
    assert "ip link set eth0 up" in result["msg"]


@pytest.mark.parametrize(("fail_on", "fails"), [("info", True), ("warning", True), ("error", False), ("never", False)])
def test_the_threshold(run: Run, tmp_path: Path, fail_on: str, fails: bool) -> None:
    counters = {**ERROR_FREE, "symbol_error": "77"}
    build_tree(str(tmp_path), hcas=[port_of(CARD, counters=counters), OTHER])
    result = run(fail_on=fail_on)
    assert codes(result) == ["COUNTER_ABOVE_LIMIT"]
    assert bool(result["failed"]) == fails
    assert result["summary"].endswith("; 1 warning")


def test_the_message_counts_and_does_not_flood(run: Run, tmp_path: Path) -> None:
    eight_ndr_hcas(str(tmp_path))
    entry = {"match": {"type": "MT4129"}, "count": 8, "firmware": ["28.99.1"]}
    result = run(profile={"hcas": [entry]})
    lines = result["msg"].splitlines()
    assert lines[0] == "8 of 8 findings fail this check:" and lines[-1] == "and 3 more" and len(lines) == 7
    assert result["summary"] == "8 RDMA devices, 8 of 8 ports active; 8 errors"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profile": {"hcas": [{**RAIL, "cuont": 2}]}}, ["profile.hcas[0]", "'cuont'", "did you mean 'count'?"]),
        ({"profile": {"hcas": [{**RAIL, "rate_gbps": "fast"}]}}, ["profile.hcas[0].rate_gbps", "'fast'", "400"]),
        ({"profile": {"hcas": [{**RAIL, "count": -1}]}}, ["profile.hcas[0].count", "-1", "0 or more"]),
        ({"wait_s": -1}, ["wait_s", "-1", "0 or more"]),
        ({"wait_s": float("inf")}, ["wait_s", "inf"]),
        ({"wait_s": "nan"}, ["wait_s", "nan"]),
        ({"timeout": 0}, ["timeout", "0"]),
        ({"sysfs_path": "/nowhere"}, ["sysfs_path", "/nowhere", "normally /sys"]),
        ({"source": "guess"}, ["source", "guess", "ibstat"]),
        ({"fail_on": "always"}, ["fail_on", "always", "never"]),
    ],
)
def test_bad_input_is_one_clear_error(run: Run, tmp_path: Path, options: dict[str, Any], words: list[str]) -> None:
    build_tree(str(tmp_path), hcas=[CARD, OTHER])
    result = run(**options)
    assert result["failed"] and "findings" not in result
    assert [word for word in words if word not in result["msg"]] == []


class Clock:
    """Time that passes only while somebody sleeps, and a host that changes with it."""

    def __init__(self, tree: Path, steps: dict[float, FakePort]) -> None:
        self.now, self.tree, self.steps = 0.0, tree, steps
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
        for at in sorted(at for at in self.steps if at <= self.now):
            build_tree(str(self.tree / "again"), hcas=[replace(CARD, ports=(self.steps.pop(at),)), OTHER])
            port = "devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0/infiniband/mlx5_0/ports/1/"
            for name in ("state", "phys_state", "rate", "lid", "sm_lid"):
                (self.tree / port / name).write_text((self.tree / "again" / port / name).read_text())


TRAINING = replace(CARD.ports[0], state="1: DOWN", phys_state="4: PortConfigurationTraining", rate="10 Gb/sec (4X SDR)")
INIT = replace(CARD.ports[0], state="2: INIT", lid="0xffff", sm_lid="0x0")


def test_it_waits_for_a_port_on_its_way_up(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_tree(str(tmp_path), hcas=[replace(CARD, ports=(TRAINING,)), OTHER])
    clock = Clock(tmp_path, {2.0: INIT, 4.0: CARD.ports[0]})
    monkeypatch.setattr(implementation, "time", clock)
    result = run(wait_s=30)
    assert not result["failed"] and codes(result) == []
    assert result["waited"] == {
        "seconds": 4.0,
        "reasons": ["mlx5_0 port 1: DOWN/PortConfigurationTraining", "mlx5_0 port 1: INIT/LinkUp"],
    }
    assert clock.sleeps == [1.0] * 4, "it looks about every second"


def test_it_gives_up_when_the_time_is_over(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_tree(str(tmp_path), hcas=[replace(CARD, ports=(TRAINING,)), OTHER])
    clock = Clock(tmp_path, {2.0: INIT})
    monkeypatch.setattr(implementation, "time", clock)
    result = run(wait_s=2.5)
    assert codes(result) == ["PORT_INIT_NO_SM"]
    assert result["waited"]["seconds"] == 2.5 and result["waited"]["reasons"][-1] == "mlx5_0 port 1: INIT/LinkUp"
    assert clock.sleeps == [1.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("port", "entry"),
    [
        (down_port(phys_state="3: Disabled"), RAIL),
        (down_port(), {**RAIL, "uncabled_ports": ["0000:13:00.0/1"]}),
        (FakePort(), RAIL),
    ],
)
def test_what_does_not_come_up_by_itself_is_not_waited_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: FakePort, entry: dict[str, Any]
) -> None:
    build_tree(str(tmp_path), hcas=[replace(CARD, ports=(port,)), OTHER])
    clock = Clock(tmp_path, {})
    monkeypatch.setattr(implementation, "time", clock)
    result = run(wait_s=30, profile={"hcas": [entry]})
    assert result["waited"] == {"seconds": 0.0, "reasons": []} and clock.sleeps == []
