# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a VM offers before anything is configured: a real RDMA device, and the real default limits."""

from __future__ import annotations

import json
import re

import pytest

from .conftest import SERVER_LISTENS, Vm, loopback

pytestmark = pytest.mark.vm


def test_device_is_there(vm: Vm) -> None:
    assert re.search(r"^\s+mlx5_0\s+[0-9a-f]{16}$", vm.ssh("ibv_devices").stdout, re.MULTILINE)
    assert "state ACTIVE physical_state LINK_UP netdev wire0" in vm.ssh("rdma link show mlx5_0/1").stdout
    assert "link_layer:\t\tEthernet" in vm.ssh("ibv_devinfo -d mlx5_0").stdout


def test_device_nodes_have_the_kernels_modes(vm: Vm) -> None:
    modes = vm.ssh("stat -c '%n %a %U:%G' /dev/infiniband/*[a-z0-9] | grep -v by-").stdout.split("\n")
    assert [line for line in modes if line] == [
        "/dev/infiniband/rdma_cm 666 root:root",
        "/dev/infiniband/umad0 600 root:root",
        "/dev/infiniband/uverbs0 666 root:root",
    ]


def test_users(vm: Vm) -> None:
    assert "rdma" in vm.ssh("id -nG", "alice").stdout.split()
    assert "rdma" not in vm.ssh("id -nG", "bob").stdout.split()


def test_hca_info_sees_the_soft_device(vm: Vm) -> None:
    done = vm.ansible("ansible", "vm1", "-m", "rdma.infiniband.hca_info")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout[done.stdout.index("{") :])
    (device,) = result["hcas"]
    assert device["name"] == "mlx5_0"
    assert device["pci_address"] is None
    (port,) = device["ports"]
    assert (port["link_layer"], port["state"]) == ("Ethernet", "ACTIVE")
    assert (port["active_mtu_bytes"], port["max_mtu_bytes"]) == (4096, 4096)
    assert [netdev["name"] for netdev in device["net_devices"]] == ["wire0"]
    assert result["node"]["sources"] == {"sysfs": "used", "ibstat": "used", "rdma": "used", "ibv_devinfo": "used"}
    assert result["findings"] == [] and result["node"]["disagreements"] == []


def test_traffic_inside_one_vm(vm: Vm) -> None:
    done = vm.ssh(loopback("ibv_rc_pingpong -d mlx5_0 -g 0 -n 100"), "bob")
    assert re.search(r"^100 iters in [0-9.]+ seconds", done.stdout, re.MULTILINE)


def test_bandwidth_between_two_vms(vms: list[Vm]) -> None:
    first, second = vms
    program = "ib_write_bw -d mlx5_0 -F --report_gbits -n 200 -s 65536 --out_json --out_json_file=/tmp/bw.json"
    first.ssh(f"rm -f /tmp/bw.json; nohup timeout 120 {program} >/tmp/bw.log 2>&1 & {SERVER_LISTENS}")
    second.ssh(f"timeout 120 {program} {first.wire} >/dev/null")
    results = json.loads(second.ssh("cat /tmp/bw.json; rm /tmp/bw.json").stdout)["results"]
    assert results["MsgSize"] == 65536
    assert results["BW_average"] > 0


def test_a_fresh_login_may_lock_8_mib(vm: Vm) -> None:
    for user in ("root", "alice", "bob"):
        assert vm.ssh("ulimit -l; ulimit -Hl", user).stdout.split() == ["8192", "8192"]


def test_registering_more_is_refused_with_the_reason(vm: Vm) -> None:
    small, large = (vm.python("register_memory.py", size, user="alice") for size in ("4", "64"))
    assert (small.returncode, small.stdout) == (0, "registered 4194304 bytes on mlx5_0\n")
    assert (large.returncode, large.stdout) == (1, "ibv_reg_mr of 67108864 bytes on mlx5_0: Cannot allocate memory\n")
    # Root has CAP_IPC_LOCK, for which the limit does not count: a check as root proves nothing.
    assert vm.python("register_memory.py", "64").returncode == 0


def test_perftest_fails_for_the_same_reason(vm: Vm) -> None:
    done = vm.ssh(loopback("ib_write_bw -d mlx5_0 -F -n 5 -s 67108864"), "alice", check=False)
    assert done.returncode != 0
    assert "Couldn't allocate MR" in done.stdout + done.stderr


def test_a_reboot_keeps_files_and_brings_the_device_back(vm: Vm) -> None:
    vm.ssh("echo kept >/root/kept")
    before = vm.ssh("cat /proc/sys/kernel/random/boot_id").stdout
    vm.reboot()
    assert vm.ssh("cat /proc/sys/kernel/random/boot_id").stdout != before
    assert vm.ssh("cat /root/kept; rm /root/kept").stdout == "kept\n"
    assert "state ACTIVE" in vm.ssh("rdma link show mlx5_0/1").stdout
    assert vm.ssh("test -c /dev/infiniband/uverbs0 && ulimit -l", "alice").stdout == "8192\n"
