# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits role on a real kernel: what a login and a service really get, and what verbs then allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Vm

pytestmark = pytest.mark.vm

PLAY = """
- hosts: vm1
  gather_facts: false
  roles:
    - role: rdma.infiniband.limits
"""
VARIABLES = {"limits_domains": ["@rdma"], "limits_services": ["cron"]}


def run(vm: Vm, folder: Path, *options: str, **variables: Any) -> str:
    (folder / "play.yml").write_text(PLAY)
    done = vm.ansible(
        "ansible-playbook", *options, "-e", json.dumps({**VARIABLES, **variables}), str(folder / "play.yml")
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def cron_limit(vm: Vm) -> list[str]:
    """Soft and hard limit of the running daemon, as the kernel has them."""
    pid = vm.ssh("systemctl show -p MainPID --value cron").stdout.strip()
    return vm.ssh(f"grep 'Max locked memory' /proc/{pid}/limits").stdout.split()[3:5]


def test_what_processes_really_get(vm: Vm, tmp_path: Path) -> None:
    try:
        out = run(vm, tmp_path)
        assert "takes effect after: service restart" in out
        assert vm.ssh("ulimit -l; ulimit -Hl", "alice").stdout.split() == ["unlimited", "unlimited"]
        assert vm.ssh("ulimit -l", "bob").stdout.split() == ["8192"], "bob is outside of the group"
        assert vm.python("register_memory.py", "64", user="alice").stdout == "registered 67108864 bytes on mlx5_0\n"
        assert vm.python("register_memory.py", "64", user="bob").returncode == 1
        assert cron_limit(vm) == ["8388608", "8388608"], "a daemon that was not restarted keeps its limit"
        assert "changed=0" in run(vm, tmp_path)
        vm.ssh("systemctl restart cron")
        assert cron_limit(vm) == ["unlimited", "unlimited"]
        vm.reboot()
        assert vm.ssh("ulimit -l", "alice").stdout.split() == ["unlimited"]
        assert cron_limit(vm) == ["unlimited", "unlimited"]
        run(vm, tmp_path, limits_memlock_soft="65536", limits_memlock_hard="65536", limits_allow_restart=True)
        assert vm.ssh("ulimit -l; ulimit -Hl", "alice").stdout.split() == ["65536", "65536"]
        assert cron_limit(vm) == ["67108864", "67108864"], "the restart was allowed"
    finally:
        run(vm, tmp_path, limits_state="absent", limits_allow_restart=True)
    assert vm.ssh("ulimit -l", "alice").stdout.split() == ["8192"]
    assert cron_limit(vm) == ["8388608", "8388608"]
