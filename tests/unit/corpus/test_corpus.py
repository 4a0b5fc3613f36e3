# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a folder of real outputs with their right values, given in RDMA_CORPUS, through the parsers and checks.

Layout: KIND/SAMPLE/{input.txt,expected.json}. The field names there are descriptive, so they are mapped here. Every
sample of the kinds that we read is run, whatever their names, and every key that we understand is compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.host import check_node
from ansible_collections.rdma.infiniband.plugins.module_utils._check.profile import parse_profile
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Node, Port, ToolProblem
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import ibstat, rdma, tool_errors
from ansible_collections.rdma.infiniband.plugins.module_utils._source import sysfs

CORPUS = os.environ.get("RDMA_CORPUS", "")
STATES = {"Active": "ACTIVE", "Initializing": "INIT", "Armed": "ARMED", "Down": "DOWN"}


def samples(kind: str) -> list[Any]:
    folder = Path(CORPUS) / kind if CORPUS else None
    if folder is None or not folder.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason="RDMA_CORPUS names no folder with " + kind))]
    return [pytest.param(sample, id=sample.name) for sample in sorted(folder.iterdir()) if sample.is_dir()]


def load(sample: Path) -> tuple[str, Any]:
    return (sample / "input.txt").read_bytes().decode("utf-8", "replace"), json.loads(
        (sample / "expected.json").read_text()
    )


def same(expected: Any, actual: Any, where: str) -> None:
    if isinstance(expected, (int, float)) and not isinstance(expected, bool) and actual is not None:
        assert float(actual) == float(expected), where
    else:
        assert actual == expected, where


# expected key of a port: how to get our value
PORT: dict[str, Any] = {
    "port": lambda port: port.number,
    "state": lambda port: port.state,
    "physical_state": lambda port: port.phys_state,
    "phys_state": lambda port: port.phys_state,
    "rate": lambda port: port.rate_gbps,
    "rate_gbps": lambda port: port.rate_gbps,
    "width": lambda port: port.width,
    "speed": lambda port: port.speed,
    "base_lid": lambda port: port.lid,
    "lid": lambda port: port.lid,
    "lid_assigned": lambda port: port.lid_assigned,
    "lmc": lambda port: port.lmc,
    "sm_lid": lambda port: port.sm_lid,
    "capability_mask": lambda port: port.capability_mask,
    "port_guid": lambda port: port.port_guid,
    "link_layer": lambda port: port.link_layer,
}
CA: dict[str, Any] = {
    "name": lambda hca: hca.name,
    "device": lambda hca: hca.name,
    "type": lambda hca: hca.hca_type,
    "hca_type": lambda hca: hca.hca_type,
    "board_id": lambda hca: hca.psid,
    "vendor": lambda hca: hca.vendor,
    "firmware": lambda hca: hca.firmware,
    "hardware": lambda hca: hca.hw_revision,
    "node_guid": lambda hca: hca.node_guid,
    "system_image_guid": lambda hca: hca.sys_image_guid,
    "is_virtual_function": lambda hca: hca.virtual_function,
    "num_ports": lambda hca: len(hca.ports),
}


def compare_port(expected: dict[str, Any], port: Port, where: str) -> int:
    compared = 0
    for key, value in expected.items():
        if key in PORT:
            wanted = STATES.get(value, value) if key == "state" else value
            if key in ("physical_state", "phys_state") and value == "PhyTest":
                wanted = "Phy Test"
            if key == "link_layer" and value == "IB":
                wanted = "InfiniBand"
            same(wanted, PORT[key](port), f"{where} {key}")
            compared += 1
        elif key.startswith(("port_", "symbol_", "link_", "excessive_", "local_", "VL15")):
            name = key.removesuffix("_words")
            counters = {**port.counters, **(port.hw_counters or {})}
            if name in counters or value is None:
                same(value, counters.get(name), f"{where} {key}")
                compared += 1
    return compared


def compare_hca(expected: dict[str, Any], hca: Hca, where: str) -> int:
    compared = 0
    for key, value in expected.items():
        if key in CA and not isinstance(value, (dict, list)):
            same(value, CA[key](hca), f"{where} {key}")
            compared += 1
    ports = expected.get("ports", [])
    entries = ports.items() if isinstance(ports, dict) else [(entry["port"], entry) for entry in ports]
    by_number = {port.number: port for port in hca.ports}
    for number, entry in entries:
        compared += compare_port(entry, by_number[int(number)], f"{where} port {number}")
    return compared


def words_of_problem(problem: ToolProblem) -> str:
    return " ".join(str(part) for part in (problem.kind, problem.cause, problem.message)).lower()


@pytest.mark.parametrize("sample", samples("ibstat"))
def test_ibstat(sample: Path) -> None:
    text, expected = load(sample)
    output = ibstat.parse(text)
    assert [hca.name for hca in output.hcas] == [entry["name"] for entry in expected["cas"]]
    compared = sum(
        compare_hca(entry, hca, entry["name"]) for entry, hca in zip(expected["cas"], output.hcas, strict=True)
    )
    assert compared or not expected["cas"]
    errors = expected.get("errors", [])
    assert len(output.problems) >= len(errors)
    for wanted, problem in zip(errors, output.problems, strict=False):
        for key in ("message", "pid", "device", "function"):
            if key in wanted:
                assert getattr(problem, key) == wanted[key], key
        if "severity" in wanted:
            assert problem.severity == {"warn": "warning"}.get(wanted["severity"], wanted["severity"])
        if "cause" in wanted:
            assert problem.cause
    if "umad" in str(expected.get("cause", "")):
        assert any(problem.kind == "umad_module_missing" for problem in output.problems)
        assert tool_errors.NOT_A_SIGN_OF["umad_module_missing"] == "no InfiniBand hardware"
    clean = expected.get("rc", 0) == 0 and not errors
    clean = clean and expected.get("complete", True) and not expected.get("truncated") and not expected.get("partial")
    assert output.complete == clean, (output.missing, output.problems)
    judged(output.hcas, expected.get("diagnosis", ""), {"ibstat": "used"})


def judged(hcas: tuple[Hca, ...], diagnosis: str, sources: dict[str, str]) -> None:
    """The check reaches the diagnosis that the sample gives, in its own words."""
    code = None
    if "no subnet manager" in diagnosis:
        code = "PORT_INIT_NO_SM"
    elif "logical link down" in diagnosis:
        code = "PORT_LOGICAL_DOWN"
    if code is None:
        return
    profile = parse_profile({"hcas": [{"match": {"device": hca.name, "virtual": True}} for hca in hcas]})
    assert code in [finding.code for finding in check_node(Node(hcas=hcas, umad_abi=5, sources=sources), profile)]


@pytest.mark.parametrize("sample", samples("rdma_link"))
def test_rdma_link(sample: Path) -> None:
    text, expected = load(sample)
    links = rdma.parse_links(text)
    assert len(links) == len(expected["links"])
    for wanted, link in zip(expected["links"], links, strict=True):
        assert set(wanted) & {"device", "state"}
        for key, value in wanted.items():
            if hasattr(link, key):
                assert getattr(link, key) == value, (key, link)


def build(text: str, top: Path) -> None:
    """A sysfs tree from lines of path, tab, JSON string."""
    for line in text.splitlines():
        path, value = line.split("\t", 1)
        parts = path.split("/")
        if ":" in parts[0]:  # a PCI function with what is below it
            place = top / "devices/pci0000:00" / path
            for kind in ("infiniband", "net"):
                if parts[1] == kind:
                    link = top / "class" / kind / parts[2]
                    link.parent.mkdir(parents=True, exist_ok=True)
                    if not link.is_symlink():
                        link.symlink_to(Path("../../devices/pci0000:00") / parts[0] / kind / parts[2])
                        device = top / "devices/pci0000:00" / parts[0] / kind / parts[2] / "device"
                        device.parent.mkdir(parents=True, exist_ok=True)
                        device.symlink_to("../..")
        else:
            place = top / "class/infiniband" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.loads(value), newline="")
    (top / "class").mkdir(exist_ok=True)


def devices_of(expected: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    devices = expected.get("devices")
    if isinstance(devices, dict):
        yield from devices.items()
    elif isinstance(devices, list):
        yield from ((entry.get("name") or entry["device"], entry) for entry in devices if isinstance(entry, dict))
    elif "device" in expected:
        yield expected["device"], expected
    elif isinstance(expected.get("ports"), dict):
        for name, ports in expected["ports"].items():
            if isinstance(ports, dict) and all(str(number).isdigit() for number in ports):
                yield name, {"ports": ports}


@pytest.mark.parametrize("sample", samples("sysfs"))
def test_sysfs(sample: Path, tmp_path: Path) -> None:
    text, expected = load(sample)
    build(text, tmp_path)
    node = sysfs.read_node(str(tmp_path))
    by_name = {hca.name: hca for hca in node.hcas}
    compared = sum(compare_hca(entry, by_name[name], name) for name, entry in devices_of(expected))
    for key, layer in (("infiniband_devices", "InfiniBand"), ("ethernet_devices", "Ethernet")):
        if key in expected:
            found = [hca.name for hca in node.hcas if any(port.link_layer == layer for port in hca.ports)]
            assert sorted(expected[key]) == found
            compared += 1
    if "hw_counters" in expected and expected["hw_counters"] is None:
        assert all(port.hw_counters is None for hca in node.hcas for port in hca.ports)
    if "ib_ports_active" in expected:
        active = [
            port
            for hca in node.hcas
            for port in hca.ports
            if port.link_layer == "InfiniBand" and port.state == "ACTIVE"
        ]
        assert len(active) == expected["ib_ports_active"]
        compared += 1
    for wanted in expected.get("problem_netdevs", []):
        hca = by_name[wanted["device"]]
        assert hca.pci_address == wanted["pci"]
        down = [device.name for device in hca.net_devices if device.operstate == wanted["operstate"]]
        assert down == [wanted["netdev"]]
        profile = parse_profile(
            {"hcas": [{"match": {"device": wanted["device"]}}, {"match": {"device": node.hcas[0].name}}]}
        )
        reported = [item.observed for item in check_node(node, profile) if item.code == "IPOIB_DOWN"]
        assert len(reported) == 1 and wanted["netdev"] in reported[0]
        compared += 1
    assert compared, "nothing of this sample was compared"


def kinds_meant(wanted: str) -> set[str]:
    """Our kinds for a sample's word for a class of errors, which is descriptive: by meaning."""
    words = set(wanted.lower().replace("-", "_").split("_"))
    if "umad" in words:
        loaded = words & {"module", "loaded", "missing", "abi"}
        return {"umad_module_missing"} if loaded else {"umad_open_failed"}
    if words & {"sm", "sa"}:
        return {"no_subnet_manager", "no_answer", "umad_open_failed"}
    if words & {"timeout", "timed"}:
        return {"timeout", "no_answer"}
    if words & {"device", "hca"}:
        return {"device_not_found", "no_rdma_device"}
    if words & {"ethernet", "register", "infiniband"}:
        return {"not_infiniband"}
    return {kind for _pattern, kind, _cause in tool_errors._COMPILED}


@pytest.mark.parametrize("sample", samples("tool_errors"))
def test_tool_errors(sample: Path) -> None:
    text, expected = load(sample)
    problems = tool_errors.parse(text)
    assert problems
    for wanted in expected["errors"]:
        fitting = [problem for problem in problems if wanted.get("tool") in (None, problem.tool)]
        if "class" in wanted:
            fitting = [problem for problem in fitting if problem.kind in kinds_meant(wanted["class"])]
        if "reason" in wanted:
            fitting = [problem for problem in fitting if problem.reason == wanted["reason"]]
        if "message" in wanted:
            fitting = [problem for problem in fitting if problem.message == wanted["message"]]
        assert fitting, wanted
    if "must_not_be_reported_as" in expected and "SM" in expected["must_not_be_reported_as"]:
        assert not any(problem.kind == "no_subnet_manager" for problem in problems)
        assert all("subnet manager" not in words_of_problem(problem) for problem in problems)


@pytest.mark.parametrize("sample", samples("ibstatus"))
def test_ibstatus_failures(sample: Path) -> None:
    """ibstatus itself is not read (it prints sysfs), but its complaints are understood."""
    text, expected = load(sample)
    problems = tool_errors.parse(text, "ibstatus")
    wanted = expected.get("errors", [])
    assert [problem.message for problem in problems] == [entry["message"] for entry in wanted]
    assert all(problem.cause and problem.severity == "fatal" for problem in problems)
