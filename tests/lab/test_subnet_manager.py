# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role subnet_manager with the real OpenSM on a simulated fabric that nobody manages at first."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import NAME, Lab, eventually

pytestmark = pytest.mark.lab

PLAY = """
- hosts: subnet_managers
  gather_facts: false
  roles:
    - role: rdma.infiniband.subnet_manager
"""
# Quick hand-over, so that a test does not take minutes (OpenSM's defaults need about one).
QUICK = {"sweep_interval": 2, "sminfo_polling_timeout": 1000, "polling_retry_number": 2}
WANTED: dict[str, Any] = {
    "subnet_manager_fabrics": [{"name": "rail0", "device": "mlx5_0", "routing_engine": ["ftree", "updn"]}],
    "subnet_manager_options": QUICK,
}
MANAGERS = ("node001", "node002")
GUIDS = ("0xa088c20300000101", "0xa088c20300000201")
CONF = "/etc/rdma-infiniband/opensm/rail0/opensm.conf"
LOOK = (
    "find /etc /usr/lib/systemd /var/cache /var/log -newer /etc/hostname -type f ! -path '*/journal/*' ! -name '*tmp' "
    "! -path '/var/log/[bwl]tmp' ! -path '/var/cache/apt/*' ! -path '/var/log/lastlog' ! -path '/var/cache/ldconfig/*' ! -path '/etc/ld.so*' | sort"
)


@pytest.fixture(scope="module")
def fabric(lab_tools: None) -> Iterator[Lab]:
    """Four hosts and no subnet manager, so that every port is INIT."""
    lab = Lab(NAME[:6] + "sm")
    lab.run("up", "--hosts", "4", "--no-opensm", "--replace", timeout=600)
    try:
        yield lab
    finally:
        lab.run("down")


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("play") / "play.yml"
    path.write_text(PLAY)
    return str(path)


def run(lab: Lab, play: str, *options: str, check: bool = True, **variables: Any) -> dict[str, Any]:
    """The role on both managers; the report by host, with the output and status."""
    given = ("-e", json.dumps({**WANTED, **variables}), *options)
    done, report = lab.playbook(play, *given, check=check)
    return {**report["hosts"], "out": done.stdout, "rc": done.returncode}


def changed(result: dict[str, Any], host: str = "node001") -> list[tuple[str, Any, Any]]:
    return [(change["what"], change["before"], change["after"]) for change in result[host]["changes"]]


def codes(result: dict[str, Any], host: str = "node001") -> list[str]:
    return [finding["code"] for finding in result[host]["findings"]]


def pid(lab: Lab, host: str) -> str:
    return lab.sh(host, "systemctl show -p MainPID --value rdma-opensm@rail0").strip()


def states_of(lab: Lab) -> list[str]:
    """The states of the managers in the master's database."""
    names = {"2": "STANDBY", "3": "MASTER"}
    found = [
        line.split(".")[-1] for line in lab.sh("node003", "saquery SMIR", check=False).splitlines() if "SMState" in line
    ]
    return [names.get(state, state) for state in found]


def states(lab: Lab) -> set[str]:
    return {port["state"] for port in lab.status()["ports"].values()}


def test_a_fabric_in_init_is_brought_up(fabric: Lab, play: str) -> None:
    assert states(fabric) == {"Init"}
    before = fabric.sh("node001", LOOK)
    predicted = run(fabric, play, "--check", "--diff")
    assert fabric.sh("node001", LOOK) == before and states(fabric) == {"Init"}
    assert "+routing_engine ftree,updn" in predicted["out"] and "+guid " + GUIDS[0] in predicted["out"]
    result = run(fabric, play)
    for host in MANAGERS:
        assert changed(result, host) == changed(predicted, host) != []
        assert codes(result, host) == []
    assert eventually(lambda: states(fabric) == {"Active"}, 10)
    conf = fabric.sh("node002", f"cat {CONF}; stat -c %a {CONF}")
    assert "sm_priority 13\n" in conf and f"guid {GUIDS[1]}\n" in conf and conf.endswith("\n600\n")
    assert f"sm guid {GUIDS[0]}, " in fabric.sh("node003", "sminfo")
    again = run(fabric, play)
    assert changed(again) == changed(again, "node002") == [] and codes(again) == []
    assert again["node001"]["module_calls"] <= 6, "README states the cost"
    assert changed(run(fabric, play, "--check")) == []


def test_what_can_be_reloaded_is_not_restarted(fabric: Lab, play: str) -> None:
    run(fabric, play)
    before = [pid(fabric, host) for host in MANAGERS]
    result = run(fabric, play, subnet_manager_options={**QUICK, "sweep_interval": 3})
    assert ("rdma-opensm@rail0.service", "active, enabled", "reloaded") in changed(result)
    assert [pid(fabric, host) for host in MANAGERS] == before and codes(result) == []
    assert changed(run(fabric, play, subnet_manager_options={**QUICK, "sweep_interval": 3})) == []


def test_a_restart_is_pending_until_it_is_allowed_and_then_rolls(fabric: Lab, play: str) -> None:
    run(fabric, play)
    before = [pid(fabric, host) for host in MANAGERS]
    longer = {**QUICK, "transaction_timeout": 300}
    for _attempt in range(2):
        result = run(fabric, play, subnet_manager_options=longer)
        assert codes(result) == codes(result, "node002") == ["SM_RESTART_PENDING"]
    assert [pid(fabric, host) for host in MANAGERS] == before
    missing: list[float] = []
    done = threading.Event()

    def sample() -> None:
        while not done.is_set():
            said = fabric.sh("node003", "sminfo", check=False)
            if "SMINFO_MASTER" not in said:
                missing.append(time.monotonic())
            time.sleep(0.2)

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        allowed = {"subnet_manager_options": longer, "subnet_manager_allow_restart": True}
        predicted = run(fabric, play, "--check", **allowed)
        result = run(fabric, play, **allowed)
    finally:
        done.set()
        watcher.join()
    assert changed(result) == changed(predicted) and (
        "rdma-opensm@rail0.service",
        "active, enabled",
        "restarted",
    ) in changed(result)
    assert codes(result) == codes(result, "node002") == []
    after = [pid(fabric, host) for host in MANAGERS]
    assert after[0] != before[0] and after[1] != before[1]
    # A hand-over takes as long as the polls of the standby; nobody was away for longer.
    assert len(missing) * 0.2 < 10, missing
    assert changed(run(fabric, play, **allowed)) == []


def test_partitions_are_those_that_ports_get(fabric: Lab, play: str) -> None:
    partitions = [
        {"name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"ports": "ALL", "membership": "full"}]},
        {
            "name": "storage", "pkey": "0x0002", "ipoib": True, "mtu_bytes": 4096, "rate_gbps": 100,
            "members": [{"host": "node004", "membership": "full"}, {"host": "node003", "membership": "limited"}],
        },
    ]  # fmt: skip
    try:
        result = run(fabric, play, subnet_manager_partitions=partitions, subnet_manager_allow_restart=True)
        assert codes(result) == []
        text = fabric.sh("node001", f"cat {Path(CONF).parent}/partitions.conf")
        assert "storage=0x0002, ipoib, rate=16, mtu=5:\n" in text and "\t0xa088c20300000401=full" in text

        def keys(host: str) -> list[str]:
            lid = int(fabric.sh(host, "cat /sys/class/infiniband/mlx5_0/ports/1/lid"), 16)
            said = fabric.sh("node001", f"smpquery pkeys {lid} 1")
            return [word for word in said.split() if word.startswith("0x") and word != "0x0000" and len(word) == 6]

        assert eventually(lambda: "0x8002" in keys("node004") and "0x0002" in keys("node003"), 20)
        assert "0x8002" not in keys("node001") and "0xffff" in keys("node001")
        assert changed(run(fabric, play, subnet_manager_partitions=partitions)) == []
    finally:
        run(fabric, play, subnet_manager_allow_restart=True)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"subnet_manager_options": {"sm_prioritty": 3}}, "options.sm_prioritty: this OpenSM has no such option; did you mean sm_priority?"),
        ({"subnet_manager_options": {"fat_tree_links": 1}}, "options.fat_tree_links: this OpenSM has no such option"),
        ({"subnet_manager_options": {"sm_priority": 3}}, "options.sm_priority: has a variable of its own"),
        ({"subnet_manager_options": {"sweep_interval": 4294967297}}, "OpenSM says: -E- Parsing error in field sweep_interval"),
        ({"subnet_manager_options": {"lmc": 9}}, "options.lmc: 9 is not allowed; use a number from 0 to 7"),
        ({"subnet_manager_priority": 16}, "priority): 16 is not allowed; use a number from 0 to 15"),
        ({"subnet_manager_fabrics": [{"name": "r", "device": "mlx5_2"}]}, "mlx5_2 has no InfiniBand port there (link layer Ethernet)"),
        ({"subnet_manager_fabrics": [{"name": "r"}]}, "needs the port of its fabric, by device, pci or guid; this host has 0x"),
        (
            {"subnet_manager_fabrics": [{"name": "r", "guid": "0xa088c20300000100"}]},
            "0xa088c20300000100 is the node GUID of mlx5_0, and OpenSM binds to a port; use 0xa088c20300000101",
        ),
        ({"subnet_manager_fabrics": [{"name": "r", "device": "mlx5_0", "routing_engine": ["ftre"]}]}, "did you mean ftree?"),
        ({"subnet_manager_fabrics": []}, "use a list with at least one fabric"),
        (
            {"subnet_manager_partitions": [{"name": "A", "pkey": "0x8001", "members": [{"ports": "ALL", "membership": "full"}]}]},
            "subnet_manager_partitions[0].pkey: '0x8001' has the membership bit",
        ),
    ],
)  # fmt: skip
def test_bad_input_changes_nothing(fabric: Lab, play: str, variables: dict[str, Any], words: str) -> None:
    run(fabric, play)
    before = fabric.sh("node001", f"cat {CONF}")
    result = run(fabric, play, "--limit", "node001", check=False, **variables)
    assert result["rc"] == 2 and changed(result) == []
    message = " ".join(" ".join(failure["message"] for failure in result["node001"]["failures"]).split())
    assert words in message, message
    assert fabric.sh("node001", f"cat {CONF}") == before


def test_somebody_elses_manager_is_refused(fabric: Lab, play: str) -> None:
    run(fabric, play, subnet_manager_state="absent", subnet_manager_allow_restart=True)
    refused = run(fabric, play, check=False, subnet_manager_allow_unsupported=False)
    assert refused["rc"] == 2 and codes(refused) == ["SM_UNSUPPORTED_SWITCHES"]
    assert "4 switches" in refused["node001"]["findings"][0]["observed"]
    assert "inactive" in fabric.sh("node001", "systemctl is-active rdma-opensm@rail0 || true"), "nothing was started"
    foreign = "0xa088c20300000301"
    fabric.sh("node003", f"systemd-run --unit=foreign opensm -p 15 -g {foreign} -f /var/log/foreign.log")
    try:
        assert eventually(lambda: "SMINFO_MASTER" in fabric.sh("node004", "sminfo", check=False), 20)
        result = run(fabric, play, check=False)
        assert result["rc"] == 2 and codes(result) == ["SM_FOREIGN_MASTER"]
        assert foreign in result["node001"]["findings"][0]["observed"]
        assert "inactive" in fabric.sh("node001", "systemctl is-active rdma-opensm@rail0 || true"), (
            "nothing was started"
        )
        external = {"subnet_manager_provider": "external", "subnet_manager_external_guids": [foreign]}
        assert codes(run(fabric, play, **external)) == []
    finally:
        fabric.sh("node003", "systemctl stop foreign")
    assert codes(run(fabric, play)) == []


def test_failover_is_measured_and_restored(fabric: Lab, play: str) -> None:
    run(fabric, play)
    assert eventually(lambda: '"STANDBY"' in json.dumps(states_of(fabric)), 20)
    playbook, given = "playbooks/sm_failover_test.yml", ("-e", json.dumps(WANTED))
    done, _report = fabric.playbook(playbook, *given, check=False)
    assert done.returncode == 2 and "sm_failover_test_allow=true" in done.stdout
    assert f"sm guid {GUIDS[0]}, " in fabric.sh("node003", "sminfo")
    done, _report = fabric.playbook(playbook, *given, "-e", "sm_failover_test_allow=true")
    said = " ".join(done.stdout.split())
    assert f"rail0: {GUIDS[1]} is master" in said and "s after node001 was stopped." in said
    assert f"sm guid {GUIDS[0]}, " in fabric.sh("node003", "sminfo") and states(fabric) == {"Active"}
    fabric.sh("node002", "systemctl stop rdma-opensm@rail0")
    try:
        assert eventually(lambda: len(states_of(fabric)) == 1, 40)
        done, _report = fabric.playbook(playbook, *given, "-e", "sm_failover_test_allow=true", check=False)
        assert done.returncode == 2 and "SM_NOT_RUNNING" in done.stdout
        assert fabric.sh("node001", "systemctl is-active rdma-opensm@rail0").strip() == "active"
        found = run(fabric, play, "--check")
        assert "SM_NO_STANDBY" in codes(found), "and the next run says so"
    finally:
        run(fabric, play)


def test_faults_give_exactly_their_finding(fabric: Lab, play: str) -> None:
    run(fabric, play)
    assert eventually(lambda: '"STANDBY"' in json.dumps(states_of(fabric)), 20)
    try:
        # Somebody edits the file behind our back: the next run puts it right.
        fabric.sh("node001", f"echo 'sm_prioritty 3' >> {CONF}")
        assert [what for what, _before, _after in changed(run(fabric, play))] == [CONF]
        # A manager that cannot start says its first cause, not its last line.
        fabric.sh(
            "node001",
            f"sed -i 's/^guid .*/guid 0x00000000000000ff/' {CONF}; systemctl restart rdma-opensm@rail0; sleep 1",
        )
        looked = fabric.playbook(play, "--check", "-e", json.dumps(WANTED), check=False)[1]["hosts"]["node001"]
        assert "SM_NOT_RUNNING" in [finding["code"] for finding in looked["findings"]], looked["findings"]
    finally:
        run(fabric, play, subnet_manager_allow_restart=True)


def test_a_run_on_one_manager_knows_its_place(fabric: Lab, play: str) -> None:
    run(fabric, play)
    result = run(fabric, play, "--limit", "node002")
    assert changed(result, "node002") == [] and codes(result, "node002") == [], "the master is no stranger"


def test_a_fabric_that_is_taken_out_is_never_left_to_itself(fabric: Lab, play: str) -> None:
    # Both devices are on one simulated fabric, so that each pair of managers is foreign to the other.
    second = [*WANTED["subnet_manager_fabrics"], {"name": "rail1", "device": "mlx5_1"}]
    foreign = {"subnet_manager_allow_foreign_master": True, "subnet_manager_fail_on": "never"}
    run(fabric, play, subnet_manager_fabrics=second, **foreign)
    assert fabric.sh("node002", "systemctl is-active rdma-opensm@rail1").strip() == "active"
    refused = run(fabric, play, check=False)
    assert refused["rc"] == 2 and "rail1 ran here and is not among them" in refused["node001"]["failures"][0]["message"]
    assert fabric.sh("node001", "ls /etc/rdma-infiniband/opensm").split() == ["rail0", "rail1"]
    predicted = run(fabric, play, "--check", subnet_manager_allow_restart=True)
    result = run(fabric, play, subnet_manager_allow_restart=True)
    assert changed(result) == changed(predicted)
    assert ("rdma-opensm@rail1.service", "active, enabled", "inactive, disabled") in changed(result)
    assert fabric.sh("node001", "ls /etc/rdma-infiniband/opensm").split() == ["rail0"]
    assert changed(run(fabric, play)) == []


def test_the_distributions_unit_does_not_run_beside_ours(fabric: Lab, play: str) -> None:
    run(fabric, play, subnet_manager_state="absent", subnet_manager_allow_restart=True)
    fabric.sh(
        "node001", "sed -i 's/^PORTS=.*/PORTS=0xa088c20300000101/' /etc/default/opensm; systemctl enable --now opensm"
    )
    try:
        refused = run(fabric, play, check=False)
        assert (
            refused["rc"] == 2
            and "opensm.service of the distribution runs" in refused["node001"]["failures"][0]["message"]
        )
        assert fabric.sh("node001", "systemctl is-active opensm").strip() == "active"
        result = run(fabric, play, subnet_manager_allow_restart=True)
        assert codes(result) == [] and changed(run(fabric, play)) == []
        assert fabric.sh("node001", "systemctl is-active opensm; systemctl is-enabled opensm", check=False).split() == [
            "inactive", "disabled",
        ]  # fmt: skip
    finally:
        fabric.sh("node001", "sed -i 's/^PORTS=.*/PORTS=ALL/' /etc/default/opensm; systemctl disable --now opensm")
        run(fabric, play, subnet_manager_allow_restart=True)


def test_absent_leaves_nothing_and_is_never_silent(fabric: Lab, play: str) -> None:
    run(fabric, play)
    refused = run(fabric, play, check=False, subnet_manager_state="absent")
    assert refused["rc"] == 2 and "subnet_manager_allow_restart" in refused["node001"]["failures"][0]["message"]
    assert pid(fabric, "node001") != "0"
    allowed = {"subnet_manager_state": "absent", "subnet_manager_allow_restart": True}
    predicted = run(fabric, play, "--check", **allowed)
    result = run(fabric, play, **allowed)
    assert changed(result) == changed(predicted) != []
    left = fabric.sh(
        "node001", "find / -xdev \\( -name '*rdma-opensm*' -o -path '/etc/rdma-infiniband*' \\) ! -path '/proc/*'"
    )
    assert [line for line in left.split() if not line.startswith("/var/log/")] == []
    assert changed(run(fabric, play, **allowed)) == []
    run(fabric, play)
