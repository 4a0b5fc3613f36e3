# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits role on a real kernel: what a login and a service really get, and what verbs then allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Vm, loopback

pytestmark = pytest.mark.vm

PLAY = """
- hosts: vm1
  gather_facts: false
  roles:
    - role: rdma.infiniband.limits
"""
# inventories/lab-vm allows the restart; here it has to be allowed.
VARIABLES = {"limits_domains": ["@rdma"], "limits_services": ["cron"], "limits_allow_restart": False}
FILES = "find /etc/security /etc/systemd -type f -printf '%p %m %u:%g ' -exec md5sum {} + | sort"


def run(vm: Vm, folder: Path, *options: str, **variables: Any) -> dict[str, Any]:
    """The role; returns what the report says of the VM."""
    (folder / "play.yml").write_text(PLAY)
    report = folder / "report.json"
    done = vm.ansible(
        "ansible-playbook", *options, "-e", json.dumps({**VARIABLES, **variables}), str(folder / "play.yml"),
        RDMA_INFINIBAND_REPORT=str(report),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(report.read_text())["hosts"]["vm1"], out=done.stdout)


def changed(report: dict[str, Any]) -> list[str]:
    return [change["what"] for change in report["changes"]]


def cron_limit(vm: Vm) -> list[str]:
    """Soft and hard limit of the running daemon, as the kernel has them."""
    pid = vm.ssh("systemctl show -p MainPID --value cron").stdout.strip()
    return vm.ssh(f"grep 'Max locked memory' /proc/{pid}/limits").stdout.split()[3:5]


def test_what_processes_really_get(vm: Vm, tmp_path: Path) -> None:
    before = vm.ssh(FILES).stdout
    large = loopback("ib_write_bw -d mlx5_0 -F -n 5 -s 67108864")
    refused = vm.ssh(large, "alice", check=False)
    assert "Couldn't allocate MR" in refused.stdout + refused.stderr
    try:
        predicted = run(vm, tmp_path, "--check", "--diff")
        assert "+@rdma hard memlock unlimited" in predicted["out"] and vm.ssh(FILES).stdout == before
        assert {item["subject"].split()[0] for item in predicted["findings"]} == {"cron.service", "a"}, "as it is now"
        report = run(vm, tmp_path)
        assert changed(report) == changed(predicted) != []
        assert "takes effect after: service restart" in report["out"]
        assert vm.ssh("ulimit -l; ulimit -Hl", "alice").stdout.split() == ["unlimited", "unlimited"]
        assert vm.ssh("ulimit -l", "bob").stdout.split() == ["8192"], "bob is outside of the group"
        assert vm.python("register_memory.py", "64", user="alice").stdout == "registered 67108864 bytes on mlx5_0\n"
        assert vm.python("register_memory.py", "64", user="bob").returncode == 1
        assert "67108864" in vm.ssh(large, "alice").stdout

        assert cron_limit(vm) == ["8388608", "8388608"], "a daemon that was not restarted keeps its limit"
        again = run(vm, tmp_path)
        assert changed(again) == []
        (pending,) = again["findings"]
        assert pending["code"] == "MEMLOCK_RESTART_PENDING" and pending["subject"].startswith("cron.service (process")
        assert "systemctl restart cron.service" in pending["hint"]
        vm.ssh("systemctl restart cron")
        assert cron_limit(vm) == ["unlimited", "unlimited"]
        assert run(vm, tmp_path)["findings"] == []

        vm.reboot()
        assert vm.ssh("ulimit -l", "alice").stdout.split() == ["unlimited"]
        assert cron_limit(vm) == ["unlimited", "unlimited"]
        run(vm, tmp_path, limits_memlock_soft="64MiB", limits_memlock_hard="64MiB", limits_allow_restart=True)
        assert vm.ssh("ulimit -l; ulimit -Hl", "alice").stdout.split() == ["65536", "65536"]
        assert cron_limit(vm) == ["67108864", "67108864"], "the restart was allowed"
    finally:
        run(vm, tmp_path, limits_state="absent", limits_allow_restart=True)
    assert vm.ssh("ulimit -l", "alice").stdout.split() == ["8192"]
    assert cron_limit(vm) == ["8388608", "8388608"]
    assert vm.ssh(FILES).stdout == before, "every file and mode is as it was"


def test_site_from_the_vms_own_inventory(vm: Vm, tmp_path: Path) -> None:
    """Everything at once, judged by the profile: a real login and the daemon have what the inventory asks for."""
    report = tmp_path / "report.json"
    limit = ("--limit", "vm1,localhost")
    try:
        verify = ("ansible-playbook", "playbooks/verify.yml", *limit)
        before = vm.ansible(*verify, RDMA_INFINIBAND_REPORT=str(report))
        assert before.returncode == 2 and "MEMLOCK_EFFECTIVE_LOW" in before.stdout
        done = vm.ansible("ansible-playbook", "playbooks/site.yml", *limit, RDMA_INFINIBAND_REPORT=str(report))
        assert done.returncode == 0, done.stdout
        host = json.loads(report.read_text())["hosts"]["vm1"]
        assert (host["status"], host["findings"]) == ("ok", [])
    finally:
        run(vm, tmp_path, limits_state="absent", limits_allow_restart=True)
