# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role udev on a real kernel with a real udev: who can open a device node, now and after a reboot."""

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
    - role: rdma.infiniband.udev
"""
WANTED = {"udev_nodes": [{"kind": kind, "group": "rdma", "mode": "0660"} for kind in ("uverbs", "rdma_cm", "umad")]}
LOOK = "stat -c '%n %a %U:%G' /dev/infiniband/*[0-9m]; find /etc/udev -type f -printf '%p %m ' -exec md5sum {} + | sort"


def run(vm: Vm, folder: Path, *options: str, check: bool = True, **variables: Any) -> dict[str, Any]:
    """The role; returns what the report says of the VM."""
    (folder / "play.yml").write_text(PLAY)
    report = folder / "report.json"
    done = vm.ansible(
        "ansible-playbook", *options, "-e", json.dumps(variables), str(folder / "play.yml"),
        RDMA_INFINIBAND_REPORT=str(report),
    )  # fmt: skip
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return dict(json.loads(report.read_text())["hosts"]["vm1"], rc=done.returncode)


def changed(host: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(change["what"], change["before"], change["after"]) for change in host["changes"]]


def opens(vm: Vm, user: str) -> bool:
    """Whether a fresh login of the user can open the verbs device and register memory."""
    return vm.python("register_memory.py", "4", user=user).returncode == 0


def test_who_can_open_the_device_nodes(vm: Vm, tmp_path: Path) -> None:
    before = vm.ssh(LOOK).stdout
    assert opens(vm, "alice") and opens(vm, "bob"), "the kernel gives verbs to everybody"
    try:
        predicted = run(vm, tmp_path, "--check", **WANTED)
        assert vm.ssh(LOOK).stdout == before
        host = run(vm, tmp_path, **WANTED)
        assert changed(host) == changed(predicted) != [] and host["findings"] == []
        assert opens(vm, "alice") and not opens(vm, "bob"), "without a reboot"
        assert vm.ssh("cat /dev/infiniband/umad0 >/dev/null", "bob", check=False).stderr.count("Permission denied") == 1
        assert changed(run(vm, tmp_path, **WANTED)) == []
        # The device goes and comes back: udev, and not we, gives the permissions.
        vm.ssh("rdma link delete mlx5_0 && rdma link add mlx5_0 type rxe netdev wire0 && udevadm settle")
        assert opens(vm, "alice") and not opens(vm, "bob")
        vm.reboot()
        assert opens(vm, "alice") and not opens(vm, "bob")
        assert "/dev/infiniband/rdma_cm 660 root:rdma" in vm.ssh(LOOK).stdout
        assert changed(run(vm, tmp_path, **WANTED)) == []
        # A software device keeps its name whatever the policy, and the preview knows.
        naming = run(vm, tmp_path, **WANTED, udev_naming="guid")
        assert naming["findings"] == []
        vm.ssh("udevadm trigger --action=add --subsystem-match=infiniband && udevadm settle")
        assert "mlx5_0" in vm.ssh("rdma link").stdout
    finally:
        predicted = run(vm, tmp_path, "--check", udev_state="absent")
        assert changed(run(vm, tmp_path, udev_state="absent")) == changed(predicted)
    assert vm.ssh(LOOK).stdout == before, "every file, owner and mode is as it was"
    assert opens(vm, "bob")


def test_a_rule_of_somebody_else_is_named(vm: Vm, tmp_path: Path) -> None:
    theirs = "/etc/udev/rules.d/99-site.rules"
    vm.ssh(f"""printf '%s\\n' 'KERNEL=="uverbs*", MODE="0666"' > {theirs}""")
    try:
        host = run(vm, tmp_path, check=False, **WANTED)
        assert host["rc"] == 2
        (finding,) = host["findings"]
        assert (finding["code"], finding["subject"]) == ("UDEV_RULE_OVERRULED", "/dev/infiniband/uverbs0")
        assert f"{theirs}:1" in finding["observed"]
    finally:
        vm.ssh(f"rm {theirs}")
        run(vm, tmp_path, udev_state="absent")
