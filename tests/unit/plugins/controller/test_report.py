# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report document and what is made of it, and the callback in real runs of ansible-playbook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ansible_collections.rdma.infiniband.plugins.plugin_utils.report import document, terminal
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sysfs_tree import build_tree, ndr_hca

REPOSITORY = Path(__file__).resolve().parents[4]
SCHEMA = json.loads((REPOSITORY / "docs/report.schema.json").read_text())
FINDING = {
    "code": "PORT_DOWN",
    "severity": "error",
    "subject": "mlx5_0 port 1",
    "observed": "DOWN/Polling",
    "expected": "ACTIVE/LinkUp",
    "hint": "No cable.",
}
RUN = {
    "id": "1", "playbook": "site.yml", "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:01:00Z",
    "check_mode": False, "ansible_version": "2.19.0", "collection_version": "0.1.0",
}  # fmt: skip


def record(findings: list[dict[str, str]] | None = None, guid: str = "0x1", **changes: Any) -> document.HostRecord:
    done = document.HostRecord()
    port = {"number": 1, "state": "ACTIVE", "rate_gbps": 400.0, "link_layer": "InfiniBand", "port_guid": guid}
    done.observe(
        "task",
        {
            "overview": [
                {
                    "name": "mlx5_0",
                    "firmware": "28.43.2026",
                    "node_guid": guid,
                    "virtual_function": False,
                    "ports": [port],
                }
            ],
            "findings": findings or [],
        },
    )
    for name, value in changes.items():
        setattr(done, name, value)
    return done


def test_statuses() -> None:
    failure = {"task": "t", "message": "m", "explained": False}
    report = document.build(
        RUN,
        {
            "a": record(guid="0x1"),
            "b": record([FINDING], guid="0x2", failures=[{**failure, "explained": True}]),
            "c": record(guid="0x3", failures=[failure]),
            "d": document.HostRecord(unreachable="no route"),
            "e": document.HostRecord(),
            "f": record([{**FINDING, "severity": "info"}], guid="0x4"),
        },
    )
    jsonschema.validate(report, SCHEMA)
    assert [host["status"] for host in report["hosts"].values()] == [
        "ok",
        "findings",
        "failed",
        "unreachable",
        "no_result",
        "ok",
    ]
    assert report["summary"]["hosts"] == {"ok": 2, "findings": 1, "failed": 1, "unreachable": 1, "no_result": 1}
    assert report["summary"]["findings"] == {"error": 1, "warning": 0, "info": 1}
    text = terminal.render(report, "/tmp/report.json")
    assert "ERROR PORT_DOWN b mlx5_0 port 1: DOWN/Polling, expected ACTIVE/LinkUp" in text
    assert "UNREACHABLE d: no route" in text and "FAILED c, task 't': m" in text and "NOT LOOKED AT" in text
    assert text.rstrip().endswith("Report: /tmp/report.json")


def test_hosts_that_look_alike_share_a_row() -> None:
    hosts = {f"node{n:03d}": record(guid=f"0x{n}") for n in range(1, 9)}
    hosts["node005"] = record([FINDING], guid="0x5")
    rows = [line for line in terminal.render(document.build(RUN, hosts)).splitlines() if "400 Gb/s" in line]
    assert len(rows) == 2
    assert rows[0].split()[:2] == ["node005", "FINDINGS"], "what is wrong comes first"
    assert rows[1].split()[0] == "node[001-004,006-008]"


def test_shared_guids_are_found_when_the_document_is_built() -> None:
    report = document.build(RUN, {"a": record(guid="0x7"), "b": record(guid="0x7")})
    assert [finding["code"] for finding in report["findings"]] == ["GUID_DUPLICATE"]
    assert "GUID_DUPLICATE a mlx5_0 and b mlx5_0" in terminal.render(report)


def test_changes_and_what_they_need() -> None:
    result = {
        "diff": [{"before": "", "after": "a\n"}],
        "item": {"path": "/etc/x", "needs": "service_restart"},
        "ansible_loop_var": "item",
    }
    entry = document.changes("write", {"dest": "{{ item.path }}"}, result)[0]
    assert (entry["what"], entry["before"], entry["after"], entry["needs"]) == (
        "/etc/x",
        None,
        "a\n",
        "service_restart",
    )
    hosts = {name: record(guid=f"0x{name}", changes=[entry], notes=["left out"]) for name in ("a1", "a2")}
    report = document.build({**RUN, "check_mode": True}, hosts)
    jsonschema.validate(report, SCHEMA)
    assert report["summary"]["pending"] == 2
    text = terminal.render(report)
    assert "would change /etc/x on a1,a2 (takes effect after: service restart)" in text
    assert "note, a1,a2: left out" in text


@pytest.mark.parametrize(
    ("args", "result", "what", "needs"),
    [
        ({"path": "/a"}, {}, "/a", "nothing"),
        ({"path": "/a"}, {"dest": "/b"}, "/b", "nothing"),
        ({"path": "{{ item }}"}, {"item": "/c"}, "/c", "nothing"),
        ({}, {"thing": {"name": "d"}, "ansible_loop_var": "thing"}, "d", "nothing"),
        ({}, {"needs": "reboot"}, "the task", "reboot"),
        ({}, {"needs": "a miracle", "item": 3}, "the task", "nothing"),
        ({}, {"diff": "no diff", "path": ["x"]}, "the task", "nothing"),
    ],
)
def test_what_a_change_is_called(args: dict[str, Any], result: dict[str, Any], what: str, needs: str) -> None:
    entry = document.changes("the task", args, result)[0]
    assert (entry["what"], entry["needs"], entry["before"], entry["after"]) == (what, needs, None, None)


def test_a_module_lists_its_own_changes() -> None:
    result = {
        "diff": [{"before": "", "after": "x"}],
        "changes": [
            {
                "what": "/dev/x",
                "before": "root:root 0666",
                "after": "root:rdma 0660",
                "disruptive": False,
                "needs": "nothing",
            },
            {"what": "name", "before": None, "after": "rail0", "disruptive": True, "needs": "reboot"},
        ],
    }
    first, second = document.changes("the task", {}, result)
    assert (first["what"], first["before"], first["after"]) == ("/dev/x", "root:root 0666", "root:rdma 0660")
    assert (second["before"], second["disruptive"], second["needs"]) == (None, True, "reboot")
    assert document.changes("t", {}, {"changes": [], "changed": False}) == []


@given(st.text())
@settings(max_examples=200)
def test_hostile_text_cannot_control_the_terminal(text: str) -> None:
    finding = {**FINDING, "subject": text, "observed": text, "hint": text}
    report = document.build(
        RUN, {"a": record([finding], failures=[{"task": text, "message": text, "explained": False}])}
    )
    shown = terminal.render(report)
    assert all(letter == "\n" or letter.isprintable() for letter in shown)
    assert len(shown.splitlines()) < 20


PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Write a file
      ansible.builtin.copy:
        dest: "{{ place }}/made"
        content: "x\\n"
        mode: "0600"
    - name: Secret
      ansible.builtin.copy:
        dest: "{{ place }}/secret"
        content: "hunter2\\n"
        mode: "0600"
      no_log: true
    - name: Look
      rdma.infiniband.hca_check:
        sysfs_path: "{{ place }}/sys"
        profile: "{{ infiniband_profile }}"
"""


@pytest.fixture
def play(tmp_path: Path, request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    build_tree(str(tmp_path / "sys"), hcas=[ndr_hca(0), ndr_hca(1)])
    (tmp_path / "play.yml").write_text(getattr(request, "param", PLAY))

    def run(
        profile: dict[str, Any], *arguments: str, host: str = "here,"
    ) -> tuple[subprocess.CompletedProcess[str], Any]:
        variables = {
            "infiniband_profile": profile,
            "place": str(tmp_path),
            "ansible_python_interpreter": sys.executable,
        }
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "ansible-playbook"), "-i", host, "-c", "local",
                "-e", json.dumps(variables), *arguments, str(tmp_path / "play.yml"),
            ],
            cwd=REPOSITORY, env={**os.environ, "RDMA_INFINIBAND_REPORT": str(tmp_path / "report.json"), "ANSIBLE_LOCALHOST_WARNING": "0"},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        return done, json.loads((tmp_path / "report.json").read_text())

    return run


GOOD = {"hcas": [{"match": {"type": "MT4129"}, "count": 2, "rate_gbps": 400, "width": "4X"}]}


def test_callback_prediction_and_run(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done, predicted = play(GOOD, "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert predicted["run"]["check_mode"] is True
    done, report = play(GOOD)
    jsonschema.validate(report, SCHEMA)
    wanted = [change["what"] for change in report["hosts"]["here"]["changes"]]
    assert wanted == [str(tmp_path / "made")], "what is marked no_log stays out"
    assert [change["what"] for change in predicted["hosts"]["here"]["changes"]] == wanted
    assert "hunter2" not in json.dumps(report) and "secret" not in json.dumps(report)
    assert report["hosts"]["here"]["status"] == "ok" and report["hosts"]["here"]["module_calls"] == 3
    assert "InfiniBand report" in done.stdout and "2× 400 Gb/s IB" in done.stdout


def test_callback_keeps_findings_of_a_check_that_failed(play) -> None:  # type: ignore[no-untyped-def]
    done, report = play({"hcas": [{"match": {"type": "MT4129"}, "count": 2, "rate_gbps": 800}]})
    assert done.returncode == 2
    host = report["hosts"]["here"]
    assert (host["status"], [item["code"] for item in host["findings"]]) == ("findings", ["LINK_RATE_DEGRADED"] * 2)


@pytest.mark.parametrize(
    ("hca", "text"),
    [
        ({"rate_gbps": "fast"}, "profile.hcas[0].rate_gbps: 'fast' is not allowed"),
        ({"count": -1}, "profile.hcas[0].count: -1 is not allowed"),
        ({"cuont": 1}, "unknown key 'cuont' (did you mean 'count'?)"),
    ],
)
def test_module_refuses_a_bad_profile(play, hca: dict[str, Any], text: str) -> None:  # type: ignore[no-untyped-def]
    done, report = play({"hcas": [{"match": {"type": "MT4129"}, **hca}]})
    assert done.returncode == 2
    assert text in report["hosts"]["here"]["failures"][0]["message"]


def test_unreadable_sysfs_root_is_one_clear_error(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "sys").rename(tmp_path / "gone")
    done, report = play(GOOD)
    assert done.returncode == 2
    message = report["hosts"]["here"]["failures"][0]["message"]
    assert message.startswith(f"sysfs_path: cannot read {tmp_path}/sys: No such file or directory.")
    assert report["hosts"]["here"]["status"] == "failed", "never clean, never without HCAs"


EVENTS = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Look at the input
      ansible.builtin.assert: {that: true}
- hosts: cluster
  gather_facts: false
  serial: 3
  tasks:
    - name: Not fatal
      ansible.builtin.command: {cmd: "false"}
      ignore_errors: true
    - name: Rescued
      block:
        - name: Fails
          ansible.builtin.fail: {msg: oh}
      rescue:
        - name: Helps
          ansible.builtin.command: {cmd: "true"}
          changed_when: false
    - name: Loop
      ansible.builtin.assert:
        that: item != inventory_hostname
        fail_msg: "{{ item }} is bad"
      loop: [b, c]
    - name: Note
      ansible.builtin.set_stats:
        per_host: true
        data: {rdma_infiniband_notes: [left out]}
    - name: Until it works
      ansible.builtin.command: {cmd: "test -e {{ place }}/sys"}
      register: done
      until: done is success
      retries: 2
      delay: 0
      changed_when: false
    - name: Secret
      ansible.builtin.command: {cmd: "false hunter2"}
      no_log: true
      when: inventory_hostname == 'd'
    - name: Secrets
      ansible.builtin.copy: {dest: "{{ place }}/{{ item }}", content: x, mode: "0600"}
      loop: [hunter2, hunter3]
      no_log: true
      when: inventory_hostname == 'a'
"""


@pytest.mark.parametrize("play", [EVENTS], indirect=True)
def test_callback_collects_what_really_happened(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    inventory = tmp_path / "hosts.ini"
    inventory.write_text(
        "localhost\n[cluster]\na\nb\nd\ngone ansible_connection=ssh ansible_host=127.0.0.1 ansible_port=1\n"
    )
    done, report = play(GOOD, host=str(inventory))
    jsonschema.validate(report, SCHEMA)
    hosts = report["hosts"]
    assert sorted(hosts) == ["a", "b", "d", "gone"], "a play for the controller is about no host: " + done.stdout
    assert hosts["a"]["status"] == "no_result" and hosts["a"]["failures"] == [], "rescued and ignored"
    assert hosts["a"]["notes"] == ["left out"]
    assert hosts["a"]["module_calls"] == 5 and hosts["a"]["changes"][0]["task"] == "Not fatal"
    assert "hunter" not in json.dumps(report)
    assert hosts["b"]["status"] == "failed"
    assert hosts["b"]["failures"] == [{"task": "Loop", "message": "b is bad", "explained": False}]
    assert [failure["task"] for failure in hosts["d"]["failures"]] == ["Secret"]
    assert hosts["gone"]["status"] == "unreachable" and "port 1" in hosts["gone"]["unreachable"]
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("play", [EVENTS.replace("serial: 3", "serial: 1")], indirect=True)
def test_callback_names_hosts_that_no_batch_has_reached(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    inventory = tmp_path / "hosts.ini"
    inventory.write_text("[cluster]\na\nb\nnever\nneither\n")
    _done, report = play(GOOD, "--limit", "!neither", host=str(inventory))
    assert {name: host["status"] for name, host in report["hosts"].items()} == {
        "a": "no_result", "b": "failed", "never": "no_result",
    }  # fmt: skip


def test_callback_without_a_place_for_the_document(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "report.json").mkdir()
    with pytest.raises(IsADirectoryError):
        play(GOOD)
    assert not list(tmp_path.glob(".report-*")), "nothing half-written is left"
