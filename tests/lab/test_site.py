# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks against booted hosts: prediction, converge, unchanged, every fault its finding, bad input, absent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import Lab

pytestmark = pytest.mark.lab

SITE, VERIFY = "playbooks/site.yml", "playbooks/verify.yml"
HOSTS = ["node001", "node002", "node003", "node004"]
# Faults are there when the command returns, so there is nothing to wait for.
AT_ONCE = ("-e", "verify_wait_s=0")
NAME = "90-rdma-infiniband.conf"
OUR_FILES = (f"/etc/security/limits.d/{NAME}", f"/etc/systemd/system/cron.service.d/{NAME}")
MANAGER = f"/etc/systemd/system.conf.d/{NAME}"


def changes(report: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    return {
        (name, entry["task"], entry["what"], str(entry["after"]))
        for name, host in report["hosts"].items()
        for entry in host["changes"]
    }


def findings(report: dict[str, Any]) -> set[tuple[str, str, str]]:
    found = {
        (name, item["code"], item["subject"]) for name, host in report["hosts"].items() for item in host["findings"]
    }
    return found | {("", item["code"], item["subject"]) for item in report["findings"]}


def etc(lab: Lab, host: str) -> str:
    """Content and mode of everything in /etc."""
    script = "cd /etc && find . -type f -exec sha256sum {} + ; find . -printf '%p %m %u %g %y\\n'"
    return "\n".join(sorted(lab.sh(host, script).splitlines()))


def clean(lab: Lab) -> None:
    for host in HOSTS:
        lab.sh(
            host,
            f"rm -rf {OUR_FILES[0]}* /etc/systemd/system/cron.service.d /etc/systemd/system.conf.d; systemctl daemon-reload",
        )


def limits(lab: Lab, *arguments: str, **variables: Any) -> dict[str, Any]:
    """The role alone, on one host."""
    options = ("--tags", "limits", "--limit", "node004", "-e", json.dumps(variables), *arguments)
    return lab.playbook(SITE, *options)[1]


def paths(report: dict[str, Any]) -> list[str]:
    return [entry["what"] for entry in report["hosts"]["node004"]["changes"]]


def test_check_predicts_converge_and_the_second_run_changes_nothing(lab: Lab) -> None:
    clean(lab)
    before = {host: etc(lab, host) for host in HOSTS}
    done, predicted = lab.playbook(SITE, "--check", "--diff")
    assert {host: etc(lab, host) for host in HOSTS} == before, "check mode changes nothing"
    assert "+* hard memlock 8192" in done.stdout, "--diff shows it"
    _done, converged = lab.playbook(SITE, "--diff")
    assert changes(predicted) == changes(converged)
    assert {(host, path) for host, _task, path, _after in changes(converged)} >= {
        (h, p) for h in HOSTS for p in OUR_FILES
    }
    assert findings(converged) == set() and {host["status"] for host in converged["hosts"].values()} == {"ok"}
    pending = {
        entry["what"]
        for host in converged["hosts"].values()
        for entry in host["changes"]
        if entry["needs"] == "service_restart"
    }
    assert pending == {OUR_FILES[1]}, "a service that was not restarted is pending"
    after = {host: etc(lab, host) for host in HOSTS}
    done, second = lab.playbook(SITE)
    assert changes(second) == set() and not re.search(r"changed=[1-9]", done.stdout)
    assert {host: etc(lab, host) for host in HOSTS} == after
    _done, dry = lab.playbook(SITE, "--check")
    assert changes(dry) == set()
    assert second["summary"]["module_calls_per_host"] == 4, "README states the cost of an unchanged run"


def test_written_limits(lab: Lab) -> None:
    clean(lab)
    before = etc(lab, "node004")
    limits(lab)
    assert lab.sh("node004", f"cat {OUR_FILES[0]}").splitlines()[-2:] == [
        "* soft memlock 8192",
        "* hard memlock 8192",
    ]
    assert "LimitMEMLOCK=8192K" in lab.sh("node004", f"cat {OUR_FILES[1]}")
    report = limits(
        lab,
        limits_memlock_soft=65536,
        limits_memlock_hard="2 GiB",
        limits_domains=["@rdma"],
        limits_manager_default=True,
    )
    assert "@rdma soft memlock 65536\n@rdma hard memlock 2097152\n" in lab.sh("node004", f"cat {OUR_FILES[0]}")
    assert "[Service]\nLimitMEMLOCK=65536K:2097152K\n" in lab.sh("node004", f"cat {OUR_FILES[1]}")
    assert "[Manager]\nDefaultLimitMEMLOCK=65536K:2097152K\n" in lab.sh("node004", f"cat {MANAGER}")
    needs = {entry["what"]: entry["needs"] for entry in report["hosts"]["node004"]["changes"]}
    assert (needs[OUR_FILES[0]], needs[OUR_FILES[1]], needs[MANAGER]) == ("nothing", "service_restart", "reboot")
    predicted = limits(lab, "--check", limits_state="absent")
    removed = limits(lab, limits_state="absent")
    assert changes(predicted) == changes(removed) != set()
    assert etc(lab, "node004") == before, "absent leaves no file, no directory and no backup"
    assert changes(limits(lab, limits_state="absent")) == set()


def test_what_is_not_wanted_any_more_goes(lab: Lab) -> None:
    clean(lab)
    other = f"/etc/systemd/system/ssh.service.d/{NAME}"
    limits(lab, limits_services=["cron", "ssh"], limits_manager_default=True)
    lab.sh("node004", "touch /etc/systemd/system/ssh.service.d/admin.conf")
    report = limits(lab, limits_services=["cron"])
    assert set(paths(report)) == {other, MANAGER, "/etc/systemd/system.conf.d"}
    left = lab.sh("node004", "ls /etc/systemd/system/ssh.service.d; rm -r /etc/systemd/system/ssh.service.d")
    assert left == "admin.conf\n", "what is not ours stays"


def test_a_service_that_the_host_lacks_gets_no_file_and_a_finding(lab: Lab) -> None:
    clean(lab)
    for attempt in range(2):
        report = limits(lab, limits_services=["cron", "slurmd"])
        assert not [path for path in paths(report) if "slurmd" in path]
        assert attempt == 0 or changes(report) == set()
        (finding,) = report["hosts"]["node004"]["findings"]
        assert (finding["code"], finding["severity"]) == ("MEMLOCK_UNIT_UNKNOWN", "warning")
        assert finding["subject"] == "slurmd.service"


def test_groups_and_users_that_the_host_does_not_know(lab: Lab) -> None:
    clean(lab)
    before = etc(lab, "node004")
    for domain, words in (
        ("@nobodys", "@nobodys is no group of this host"),
        ("alicf", "alicf is no user of this host"),
    ):
        done, report = lab.playbook(
            SITE, "--tags", "limits", "--limit", "node004", "-e", json.dumps({"limits_domains": [domain]}), check=False
        )
        assert done.returncode == 2 and words in report["hosts"]["node004"]["failures"][0]["message"]
        assert etc(lab, "node004") == before
    try:
        asked = {"limits_domains": ["@nobodys"], "limits_create_groups": True}
        predicted = limits(lab, "--check", **asked)
        report = limits(lab, **asked)
        assert changes(predicted) == changes(report) and "nobodys" in paths(report)
        assert lab.sh("node004", "getent group nobodys")
        assert changes(limits(lab, **asked)) == set()
    finally:
        limits(lab, limits_state="absent")
        lab.sh("node004", "groupdel nobodys", check=False)


def test_what_would_undo_the_limits_is_found(lab: Lab) -> None:
    clean(lab)
    found = "/etc/security/limits.d/95-site.conf"
    breaks = {
        f"printf '* - memlock 64\n' > {found}": ("LIMITS_CONTRADICTION", found + ":1 '* - memlock 64'"),
        f"printf '* hard memlock 64\n' > {found}": ("LIMITS_SOFT_ABOVE_HARD", found + ":1 '* hard memlock 64'"),
        "sed -i.bak '/pam_limits/d' /etc/pam.d/sshd": ("PAM_LIMITS_MISSING", "absent"),
        "mkdir -p /etc/slurm; printf 'ClusterName=x\n' > /etc/slurm/slurm.conf": ("SLURM_PROPAGATES_LIMITS", ""),
    }
    repair = f"rm -rf {found} /etc/slurm; [ ! -e /etc/pam.d/sshd.bak ] || mv /etc/pam.d/sshd.bak /etc/pam.d/sshd"
    try:
        for command, (code, words) in breaks.items():
            lab.sh("node004", command)
            # Above the host's own limit, so that the daemon's limit is not enough where PAM is passed over.
            findings = limits(lab, limits_memlock_soft="9MiB", limits_memlock_hard="9MiB")["hosts"]["node004"][
                "findings"
            ]
            named = [item for item in findings if item["code"] == code]
            assert len(named) == 1 and words in named[0]["observed"], findings
            lab.sh("node004", repair)
    finally:
        lab.sh("node004", repair)
        clean(lab)


def test_a_file_of_somebody_else_is_never_lost(lab: Lab) -> None:
    clean(lab)
    lab.sh("node004", f"echo '* hard memlock 1' > {OUR_FILES[0]}")
    report = limits(lab, limits_state="absent")
    assert changes(report) == set() and "was not written by the role limits" in report["hosts"]["node004"]["notes"][0]
    limits(lab)
    assert lab.sh("node004", f"cat {OUR_FILES[0]}.*~") == "* hard memlock 1\n"
    lab.sh("node004", f"chmod 600 {OUR_FILES[0]}")
    assert paths(limits(lab)) == [OUR_FILES[0]], "the mode is put right"
    limits(lab, limits_memlock_soft="1024")
    assert len(lab.sh("node004", f"ls {OUR_FILES[0]}.*~").split()) == 1, "files of our own need no backup"
    clean(lab)


def test_only_services_whose_limit_changed_are_restarted_and_only_when_allowed(lab: Lab) -> None:
    clean(lab)
    sizes = {"limits_memlock_soft": "65536", "limits_memlock_hard": "131072"}
    pids = "systemctl show -p MainPID --value cron dbus"
    before = lab.sh("node004", pids).split()
    report = limits(lab, **sizes, limits_services=["cron"])
    assert report["summary"]["pending"] == 1
    shown = lab.sh("node004", "systemctl show -p LimitMEMLOCK -p LimitMEMLOCKSoft cron").split()
    assert sorted(shown) == ["LimitMEMLOCK=134217728", "LimitMEMLOCKSoft=67108864"], "systemd has read it"
    assert lab.sh("node004", pids).split() == before, "a restart needs to be allowed"
    limits(lab, **sizes, limits_services=["cron", "rdma-load-modules@"], limits_allow_restart=True)
    assert lab.sh("node004", pids).split() == before, "the limit of cron has not changed"
    # A limit can only be lowered here: containers lack the right to raise one. The VM tests raise it.
    low = {"limits_memlock_soft": "4096", "limits_memlock_hard": "4096", "limits_services": ["cron"]}
    predicted = limits(lab, "--check", **low, limits_allow_restart=True)
    report = limits(lab, **low, limits_allow_restart=True)
    assert changes(predicted) == changes(report) and "cron.service" in paths(report)
    assert report["summary"]["pending"] == 0
    after = lab.sh("node004", pids).split()
    assert after[0] != before[0] and after[1] == before[1]
    assert "4194304" in lab.sh("node004", f"grep 'Max locked memory' /proc/{after[0]}/limits")
    limits(lab, limits_state="absent")
    assert "LimitMEMLOCK=4194304" not in lab.sh("node004", "systemctl show -p LimitMEMLOCK cron")


PORT = "mlx5_1 port 1"
FAULTS: list[tuple[tuple[str, ...], str, str]] = [
    (("cut", "node003", "mlx5_1"), "PORT_DOWN", PORT),
    (("disable", "node003", "mlx5_1"), "PORT_DISABLED", PORT),
    (("train", "node003", "mlx5_1"), "PORT_TRAINING", PORT),
    (("degrade", "node003", "mlx5_1", "--width", "1X"), "LINK_WIDTH_DEGRADED", PORT),
    (("degrade", "node003", "mlx5_1", "--speed", "HDR"), "LINK_SPEED_DEGRADED", PORT),
    (("firmware", "node003", "mlx5_1", "28.39.1002"), "FIRMWARE_MISMATCH", "mlx5_1"),
    (("psid", "node003", "mlx5_1", "DEL0000000013"), "PSID_MISMATCH", "mlx5_1"),
    (("counter", "node003", "mlx5_1", "symbol_error", "77"), "COUNTER_ABOVE_LIMIT", PORT),
    (("remove", "node003", "mlx5_1"), "HCA_COUNT", "compute rail"),
    (("unbind", "node003", "mlx5_1"), "HCA_DRIVER_UNBOUND", "ConnectX-7 at 0000:1b:00.0"),
    (("pcie", "node003", "mlx5_1", "--width", "8"), "PCIE_WIDTH_DEGRADED", "mlx5_1"),
    (("pcie", "node003", "mlx5_1", "--speed", "16.0", "--hop", "root"), "PCIE_SPEED_DEGRADED", "mlx5_1"),
    (("link-layer", "node003", "mlx5_1", "Ethernet"), "LINK_LAYER_MISMATCH", PORT),
    (("guid", "node003", "mlx5_1", "0xa088c20300000300"), "GUID_DUPLICATE", "mlx5_0 and mlx5_1"),
    (("no-umad", "node003"), "UMAD_MISSING", "host"),
]


@pytest.mark.parametrize(
    ("fault", "code", "subject"), FAULTS, ids=[" ".join(fault[:1] + fault[3:4]) for fault, _c, _s in FAULTS]
)
def test_each_fault_gives_its_finding_and_nothing_else(
    lab: Lab, fault: tuple[str, ...], code: str, subject: str
) -> None:
    lab.fault(*fault)
    done, report = lab.playbook(VERIFY, *AT_ONCE, "-e", "verify_fail_on=warning", check=False)
    assert findings(report) == {("node003", code, subject)}
    assert done.returncode == 2 and {name: host["status"] for name, host in report["hosts"].items()} == {
        "node001": "ok", "node002": "ok", "node003": "findings", "node004": "ok",
    }  # fmt: skip
    assert f"{code} node003" in done.stdout.rsplit("InfiniBand report", 1)[1]


def test_a_port_without_subnet_manager(lab: Lab) -> None:
    for manager in HOSTS[:2]:
        lab.fault("stop-sm", manager)
    lab.fault("cut", "node004", "mlx5_0")
    lab.fault("restore", "node004", "mlx5_0")
    _done, report = lab.playbook(VERIFY, *AT_ONCE, check=False)
    assert findings(report) == {("node004", "PORT_INIT_NO_SM", "mlx5_0 port 1")}


def test_a_guid_on_two_hosts(lab: Lab) -> None:
    lab.fault("guid", "node003", "mlx5_1", "0xa088c20300000200")
    done, report = lab.playbook(VERIFY, *AT_ONCE, check=False)
    assert done.returncode == 2
    assert findings(report) == {("", "GUID_DUPLICATE", "node002 mlx5_0 and node003 mlx5_1")}
    assert {host["status"] for host in report["hosts"].values()} == {"ok"}, "no single host is to blame"
    # A host with findings of its own takes part in the comparison.
    lab.fault("firmware", "node003", "mlx5_0", "28.39.1002")
    done, report = lab.playbook(VERIFY, *AT_ONCE, check=False)
    assert findings(report) == {
        ("", "GUID_DUPLICATE", "node002 mlx5_0 and node003 mlx5_1"),
        ("node003", "FIRMWARE_MISMATCH", "mlx5_0"),
    }
    assert "Hosts share what must be unique" in done.stdout and report["hosts"]["node003"]["status"] == "findings"


def test_it_waits_for_ports_that_come_up(lab: Lab) -> None:
    for manager in HOSTS[:2]:
        lab.fault("stop-sm", manager)
    lab.fault("cut", "node004", "mlx5_0")
    lab.fault("restore", "node004", "mlx5_0")
    # The subnet manager starts while the check waits.
    lab.sh(
        "node001",
        "systemctl reset-failed lab-opensm; systemd-run --quiet --timer-property=AccuracySec=100ms --on-active=4 systemctl start lab-opensm",
    )
    done, report = lab.playbook(VERIFY, "-e", "verify_wait_s=40", "-v")
    assert findings(report) == set()
    assert "mlx5_0 port 1: INIT/LinkUp" in done.stdout, "the reason why it waited is shown"


BAD = [
    ({"infiniband_profile": {"hcas": [{"match": {"type": "MT4129"}, "cuont": 2}]}}, "infiniband_profile.hcas[0]: unknown key 'cuont' (did you mean 'count'?)"),
    ({"infiniband_profile": {"hcas": [{"match": {"type": "MT4129"}, "rate_gbps": "fast"}]}}, "infiniband_profile.hcas[0].rate_gbps: 'fast' is not allowed"),
    ({"infiniband_profile": {"hcas": [{"match": {"type": "MT4129"}, "count": -1}]}}, "infiniband_profile.hcas[0].count: -1 is not allowed"),
    ({"infiniband_profile": {}}, "infiniband_profile: no profile for node001"),
    ({"limits_memlock_soft": "lots"}, "limits_memlock_soft: 'lots' is not allowed; use unlimited, a number of KiB, or a size"),
    ({"limits_memlock_hard": "0"}, "limits_memlock_hard: '0' is not allowed"),
    ({"limits_memlock_soft": "3GiB", "limits_memlock_hard": "2048 MiB"}, "limits_memlock_soft: '3GiB' is above limits_memlock_hard: '2048 MiB'"),
    ({"limits_memlock_hard": "64"}, "limits_memlock_soft: '8MiB' is above limits_memlock_hard: '64'"),
    ({"limits_services": ["sshd.service"]}, "names of services without '.service'"),
    ({"limits_services": ["../../tmp/x"]}, "names of services without '.service'"),
    ({"limits_domains": ["a b\n* hard memlock 1"]}, "use users, @groups, *"),
    ({"limits_domains": ["alice\n"]}, "use users, @groups, *"),
    ({"limits_domains": [], "limits_services": []}, "so there is no limit to write"),
    ({"limits_check_users": ["a b"]}, "limits_check_users: 'a b' is not allowed; use names of users"),
    ({"limits_state": "gone"}, "value of limits_state must be one of: present, absent"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "text"), BAD, ids=[text.split(":")[0] + str(n) for n, (_v, text) in enumerate(BAD)]
)
def test_bad_input_is_one_clear_error_and_changes_nothing(lab: Lab, variables: dict[str, Any], text: str) -> None:
    clean(lab)
    before = etc(lab, "node001")
    done, report = lab.playbook(SITE, "--limit", "node001", "-e", json.dumps(variables), check=False)
    assert done.returncode not in (0, 4)
    messages = [failure["message"] for host in report["hosts"].values() for failure in host["failures"]]
    assert len(messages) == 1 and text in " ".join(messages[0].split()), messages
    assert etc(lab, "node001") == before
    assert changes(report) == set()


def test_bad_input_of_one_host_stops_the_run_before_any_host_is_changed(lab: Lab, tmp_path: Path) -> None:
    clean(lab)
    before = {host: etc(lab, host) for host in HOSTS}
    (tmp_path / "bad.ini").write_text("[infiniband]\nnode003 limits_memlock_soft=lots\n")
    done, report = lab.playbook(SITE, "-i", str(tmp_path / "bad.ini"), check=False)
    assert done.returncode not in (0, 4) and report["hosts"]["node003"]["status"] == "failed"
    assert {host: etc(lab, host) for host in HOSTS} == before


def test_unreadable_sysfs_root(lab: Lab) -> None:
    done, report = lab.playbook(VERIFY, *AT_ONCE, "-e", "verify_sysfs_path=/nowhere", check=False)
    assert done.returncode == 2
    for host in report["hosts"].values():
        assert host["status"] == "failed", "not clean, and not a host without HCAs"
        assert host["failures"][0]["message"].startswith("sysfs_path: cannot read /nowhere: No such file or directory.")


def test_an_unreachable_host_is_reported_and_never_clean(lab: Lab, tmp_path: Path) -> None:
    # An address of the lab's own network that no host has.
    network = json.loads(lab.run("inventory").stdout)["_meta"]["hostvars"]["node001"]["ansible_host"].rsplit(".", 1)[0]
    (tmp_path / "ghost.ini").write_text(f"[infiniband]\nghost ansible_host={network}.250 ansible_ssh_timeout=3\n")
    done, report = lab.playbook(
        VERIFY, *AT_ONCE, "--limit", "node001,ghost", "-i", str(tmp_path / "ghost.ini"), check=False
    )
    assert done.returncode == 4 and report["hosts"]["ghost"]["status"] == "unreachable", done.stdout
    assert report["hosts"]["node001"]["status"] == "ok"
    assert "UNREACHABLE ghost" in done.stdout


@pytest.mark.parametrize("playbook", [SITE, VERIFY])
def test_no_host_is_never_a_pass(lab: Lab, playbook: str) -> None:
    done, report = lab.playbook(playbook, "-e", "infiniband_hosts=nothing", check=False)
    assert done.returncode == 2 and report == {}
    assert "infiniband_hosts: 'nothing' matches no host of this inventory" in " ".join(done.stdout.split())
    done, _report = lab.playbook(playbook, check=False, RDMA_LAB_NAME="nolab")
    assert done.returncode not in (0, 2) and "make demo" in done.stdout + done.stderr
