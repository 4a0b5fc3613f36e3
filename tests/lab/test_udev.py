# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role udev on booted hosts: device nodes and names, prediction, and everything back as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.conftest import Lab

pytestmark = pytest.mark.lab

SITE = "playbooks/site.yml"
LOOK = (
    "stat -c '%n %a %U:%G' /dev/infiniband/*; find /etc/udev -type f -printf '%p %m ' -exec md5sum {} + | sort; "
    "ls /sys/class/infiniband"
)
NODES = [{"kind": kind, "group": "rdma", "mode": "0660"} for kind in ("uverbs", "rdma_cm", "umad")]
WANTED = {"udev_nodes": NODES, "udev_create_groups": True}


def udev(lab: Lab, *options: str, check: bool = True, **variables: Any) -> dict[str, Any]:
    """The role alone on one host; returns what the report says of it."""
    arguments = ("--tags", "udev", "--limit", "node004", "-e", json.dumps(variables), *options)
    done, report = lab.playbook(SITE, *arguments, check=check)
    return {**report["hosts"]["node004"], "out": done.stdout, "rc": done.returncode}


def changed(host: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(change["what"], change["before"], change["after"]) for change in host["changes"]]


def codes(host: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in host["findings"]]


@pytest.fixture
def before(lab: Lab) -> Iterator[str]:
    """What is there without the role, and that absent brings all of it back."""
    lab.sh("node004", "groupdel rdma", check=False)
    shown = lab.sh("node004", LOOK)
    try:
        yield shown
    finally:
        udev(lab, udev_state="absent")
        lab.sh("node004", "groupdel rdma", check=False)
        assert lab.sh("node004", LOOK) == shown


def test_check_predicts_and_the_second_run_changes_nothing(lab: Lab, before: str) -> None:
    predicted = udev(lab, "--check", "--diff", **WANTED)
    assert lab.sh("node004", LOOK) == before
    assert '+SUBSYSTEM=="infiniband_verbs", KERNEL=="uverbs*"' in predicted["out"]
    assert "-root:root 0666" in predicted["out"] and "+root:rdma 0660" in predicted["out"]
    host = udev(lab, **WANTED)
    assert changed(host) == changed(predicted) and codes(host) == []
    shown = lab.sh("node004", LOOK)
    for node in ("uverbs0", "umad1", "rdma_cm"):
        assert f"/dev/infiniband/{node} 660 root:rdma\n" in shown, shown
    assert "/dev/infiniband/issm0 600 root:root\n" in shown, "what is not listed is left alone"
    again = udev(lab, **WANTED)
    assert changed(again) == [] and changed(udev(lab, "--check", **WANTED)) == []
    assert again["module_calls"] == 2, "README states the cost: one, and one for the group"
    predicted = udev(lab, "--check", udev_state="absent")
    assert changed(udev(lab, udev_state="absent")) == changed(predicted) != []
    assert changed(udev(lab, udev_state="absent")) == []


def test_names_are_previewed_and_those_in_use_stay(lab: Lab, before: str) -> None:
    host = udev(lab, udev_naming="pci")
    pending = {item["subject"]: item["expected"] for item in host["findings"] if item["code"] == "UDEV_NAME_PENDING"}
    assert pending["mlx5_0"].startswith("ibp19s0") and pending["mlx5_1"].startswith("ibp27s0")
    refused = udev(lab, check=False, udev_naming="guid", udev_names_in_use=["mlx5_1"])
    assert refused["rc"] == 2 and changed(refused) == []
    assert "mlx5_1 (0000:1b:00.0) would become ibx" in refused["failures"][0]["message"]
    profile = {"hcas": [{"match": {"device": "mlx5_0"}, "count": 1}]}
    refused = udev(lab, check=False, udev_naming="guid", infiniband_profile=profile)
    assert refused["rc"] == 2 and "mlx5_0 (0000:13:00.0) would become ibx" in refused["failures"][0]["message"]


def test_without_a_group_nothing_is_changed(lab: Lab, before: str) -> None:
    refused = udev(lab, check=False, udev_nodes=NODES)
    assert refused["rc"] == 2 and "the group 'rdma' does not exist" in refused["failures"][0]["message"]
    assert lab.sh("node004", LOOK) == before


def test_rules_of_others(lab: Lab, before: str) -> None:
    place = "/etc/udev/rules.d/70-persistent-ipoib.rules"
    lab.sh(
        "node004",
        f"""printf '%s\\n' 'SUBSYSTEM=="net", ATTR{{type}}=="32", ATTR{{address}}=="00:0c:29:aa:bb:7a", NAME="ib_a"' > {place}""",
    )
    try:
        host = udev(lab)
        assert [(item["code"], item["subject"]) for item in host["findings"]] == [
            ("UDEV_RULE_NEVER_MATCHES", f"{place}:1")
        ]
        assert changed(host) == []
    finally:
        lab.sh("node004", f"rm {place}")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"udev_nodes": [{"kind": "uverbs", "mode": "660"}]}, "udev_nodes[0].mode: '660' is not allowed; use four octal digits"),
        ({"udev_fixed_names": [{"name": "r", "pci": "0000:13:00.0"}]}, "udev_fixed_names: naming is unmanaged"),
        ({"udev_ipoib_names": [{"name": "a b", "guid": "0x1"}]}, "udev_ipoib_names[0].name: 'a b' is not allowed"),
        ({"udev_naming": "mlx"}, "value of udev_naming must be one of"),
    ],
)  # fmt: skip
def test_bad_input_stops_the_run_before_any_host_is_touched(lab: Lab, variables: dict[str, Any], words: str) -> None:
    shown = lab.sh("node004", LOOK)
    refused = udev(lab, check=False, **variables)
    assert refused["rc"] != 0 and refused["module_calls"] == 0
    assert words in refused["failures"][0]["message"]
    assert lab.sh("node004", LOOK) == shown
