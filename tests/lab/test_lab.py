# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated cluster itself: real tools inside the hosts, faults, failover, and no traces left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.lab.conftest import NAME, Lab, eventually

pytestmark = pytest.mark.lab

GONE, CRASH, FILE = (NAME[:6] + end for end in ("gn", "cr", "fi"))


def sysfs(lab: Lab, host: str, device: str, name: str) -> str:
    return lab.sh(host, f"cat /sys/class/infiniband/{device}/{name}").strip()


def test_real_tools_see_the_hardware(lab: Lab) -> None:
    ibstat = lab.sh("node001", "ibstat mlx5_1")
    for text in ("CA type: MT4129", "State: Active", "Physical state: LinkUp", "Rate: 400", "Link layer: InfiniBand"):
        assert text in ibstat
    assert "rate:\t\t 400 Gb/sec (4X NDR)" in lab.sh("node001", "ibstatus mlx5_1")
    assert lab.sh("node001", "ibstat -l").split() == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
    assert lab.sh("node001", "systemctl is-system-running").strip() == "running"
    assert "mlx5_comp0@pci:0000:13:00.0" in lab.sh("node001", "cat /proc/interrupts")
    assert "host0" in lab.sh("node001", "ls /sys/class/net"), "the rest of sysfs stays visible"


def test_real_management_tools_see_the_fabric(lab: Lab) -> None:
    manager = sysfs(lab, "node003", "mlx5_0", "ports/1/sm_lid")
    for device in ("mlx5_0", "mlx5_1"):
        said = lab.sh("node003", f"sminfo -C {device} -P 1")
        assert f"sm lid {int(manager, 16)} sm guid 0x" in said and "SMINFO_MASTER" in said
    assert lab.sh("node003", "saquery SMIR").count("SMInfoRecord dump") == 2
    assert '"node004 mlx5_1"' in lab.sh("node003", "ibnetdiscover")
    assert "can't open UMAD port" in lab.run("exec", "node003", "--", "sminfo", "-C", "mlx5_2", check=False).stderr, (
        "Ethernet"
    )
    assert lab.sh("node003", "systemctl is-enabled opensm.service || true") == "disabled\n"


def test_cut_and_restore_are_followed(lab: Lab) -> None:
    lab.fault("cut", "node003", "mlx5_1")
    assert sysfs(lab, "node003", "mlx5_1", "ports/1/state") == "1: DOWN"
    assert sysfs(lab, "node003", "mlx5_1", "ports/1/phys_state") == "2: Polling"
    assert sysfs(lab, "node003", "mlx5_0", "ports/1/state") == "4: ACTIVE"
    lab.fault("restore", "node003", "mlx5_1")
    assert eventually(lambda: sysfs(lab, "node003", "mlx5_1", "ports/1/state") == "4: ACTIVE", 10)
    assert sysfs(lab, "node003", "mlx5_1", "ports/1/rate") == "400 Gb/sec (4X NDR)"


def test_a_port_waits_for_a_subnet_manager(lab: Lab) -> None:
    for manager in ("node001", "node002"):
        lab.fault("stop-sm", manager)
    lab.fault("cut", "node004", "mlx5_0")
    lab.fault("restore", "node004", "mlx5_0")
    assert eventually(lambda: sysfs(lab, "node004", "mlx5_0", "ports/1/state") == "2: INIT", 5)
    lab.fault("start-sm", "node001")
    assert eventually(lambda: sysfs(lab, "node004", "mlx5_0", "ports/1/state") == "4: ACTIVE", 20)


def test_the_standby_takes_over(lab: Lab) -> None:
    # The ports say whose LID the subnet manager has, so both ends of the statement are read from the fabric.
    def master() -> int:
        return int(sysfs(lab, "node004", "mlx5_0", "ports/1/sm_lid"), 16)

    lids = {host: int(sysfs(lab, host, "mlx5_0", "ports/1/lid"), 16) for host in ("node001", "node002")}
    assert eventually(lambda: master() == lids["node001"], 20), "the higher priority is master"
    lab.fault("stop-sm", "node001")

    # The standby may renumber the LIDs of a fabric that it never managed; its own LID is read anew.
    def taken_over() -> bool:
        log = lab.sh("node002", "tail -n 20 /var/log/opensm.log")
        return "Entering MASTER state" in log and master() == int(sysfs(lab, "node002", "mlx5_0", "ports/1/lid"), 16)

    assert eventually(taken_over, 40)


@pytest.mark.parametrize(
    ("fault", "file", "shown"),
    [
        (("degrade", "node002", "mlx5_0", "--width", "1X"), "ports/1/rate", "100 Gb/sec (1X NDR)"),
        (("degrade", "node002", "mlx5_0", "--speed", "HDR"), "ports/1/rate", "200 Gb/sec (4X HDR)"),
        (("firmware", "node002", "mlx5_0", "28.39.1002"), "fw_ver", "28.39.1002"),
        (("psid", "node002", "mlx5_0", "DEL0000000013"), "board_id", "DEL0000000013"),
        (("counter", "node002", "mlx5_0", "symbol_error", "77"), "ports/1/counters/symbol_error", "77"),
        (("disable", "node002", "mlx5_0"), "ports/1/phys_state", "3: Disabled"),
        (("train", "node002", "mlx5_0"), "ports/1/phys_state", "4: PortConfigurationTraining"),
        (("link-layer", "node002", "mlx5_0", "Ethernet"), "ports/1/link_layer", "Ethernet"),
        (("guid", "node002", "mlx5_0", "0x0"), "node_guid", "0000:0000:0000:0000"),
        (("pcie", "node002", "mlx5_0", "--width", "8"), "device/current_link_width", "8"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_each_fault_changes_what_it_says(lab: Lab, fault: tuple[str, ...], file: str, shown: str) -> None:
    # What a subnet manager writes is left out: it may take over, and number the ports anew, at any time.
    snapshot = "cd /sys/class/infiniband && grep -rH . mlx5_1/ 2>/dev/null | grep -vE '/(lid|sm_lid|state):' | sort"
    neighbour = lab.sh("node002", snapshot)
    before = sysfs(lab, "node002", "mlx5_0", file)
    lab.fault(*fault)
    assert sysfs(lab, "node002", "mlx5_0", file) == shown != before
    assert lab.sh("node002", snapshot) == neighbour
    lab.fault("restore")
    assert eventually(lambda: sysfs(lab, "node002", "mlx5_0", file) == before, 5)


def test_removed_and_unbound_devices(lab: Lab) -> None:
    lab.fault("remove", "node002", "mlx5_0")
    assert lab.sh("node002", "ibstat -l").split() == ["mlx5_1", "mlx5_2"], "the virtual function goes with its card"
    assert "0000:13:00.0" not in lab.sh("node002", "ls /sys/bus/pci/devices")
    lab.fault("restore")
    lab.fault("unbind", "node002", "mlx5_1")
    assert "mlx5_1" not in lab.sh("node002", "ls /sys/class/infiniband")
    assert lab.sh("node002", "ls /sys/bus/pci/devices/0000:1b:00.0/driver 2>&1", check=False).count("No such file")
    lab.fault("restore")
    lab.fault("no-umad", "node002")
    assert "is ib_umad module loaded?" in lab.run("exec", "node002", "--", "sminfo", check=False).stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("cut", "node009", "mlx5_0"), "no host or switch 'node009'"),
        (("cut", "node001", "mlx5_7"), "node001 has no device 'mlx5_7'; it has mlx5_0"),
        (("cut", "node001", "mlx5_2"), "is not on the simulated fabric"),
        (("cut", "leaf01", "63"), "leaf01 has no cable in port '63'"),
        (("degrade", "node001", "mlx5_0", "--width", "9X"), "--width 9X: use 1X, 2X or 4X"),
        (("stop-sm", "node003"), "'node003' runs no subnet manager"),
    ],
)
def test_bad_faults_are_refused(lab: Lab, arguments: tuple[str, ...], text: str) -> None:
    done = lab.run("fault", *arguments, check=False)
    assert done.returncode == 1 and text in done.stderr
    assert not any(values for devices in lab.status()["faults"].values() for values in devices.values())


def test_it_refuses_a_second_lab_of_the_name(lab: Lab) -> None:
    done = lab.run("up", "--hosts", "1", check=False)
    assert done.returncode == 1
    assert "exists already" in done.stderr and f"lab/lab down --name {NAME}" in done.stderr
    assert len(lab.status()["running"]) == 4, "the running lab is untouched"


def traces(name: str) -> dict[str, str]:
    """What a lab of this name has on this machine."""
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if f"/rdma-lab/{name}" in line]
    processes = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"/run/rdma-lab/{name}/" in text or f"rdmalab.fabricd {name}" in text:
            processes.append(text[:100])
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/rdma-lab.{name}-*")]
    left = {
        "mounts": "\n".join(mounts),
        "processes": "\n".join(processes),
        "links": "\n".join(line for line in links.splitlines() if f"rlab-{name}" in line or f"vb-{name}-" in line),
        "groups": "\n".join(groups),
        "state": str(Path(f"/run/rdma-lab/{name}").exists() or ""),
    }
    return {key: value for key, value in left.items() if value}


def test_down_leaves_nothing_and_may_be_repeated(lab_tools: None) -> None:
    inotify = Path("/proc/sys/fs/inotify/max_user_instances").read_text()
    other = Lab(GONE)
    other.run("up", "--hosts", "2", "--replace")
    try:
        assert {"mounts", "processes", "links", "state"} <= set(traces(GONE))
        names = other.run("inventory").stdout
        assert '"node002"' in names
    finally:
        other.run("down")
    assert traces(GONE) == {}
    assert "was not up" in other.run("down").stdout
    if not Path("/run/rdma-lab").exists():
        assert Path("/proc/sys/fs/inotify/max_user_instances").read_text() == inotify
    done = other.run("inventory", check=False)
    assert done.returncode == 1 and "make demo" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_crash_in_the_middle(lab_tools: None, how: signal.Signals) -> None:
    other = Lab(CRASH)
    try:
        for seconds in (0.15, 0.4, random.uniform(0.5, 1.5)):
            process = subprocess.Popen(
                [sys.executable, str(REPOSITORY / "lab/lab"), "up", "--name", CRASH, "--hosts", "3"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            time.sleep(seconds)
            os.kill(process.pid, how)
            process.communicate(timeout=60)
            if how == signal.SIGTERM and process.returncode != 0:
                assert traces(CRASH) == {}, "an interrupted start cleans up after itself"
            other.run("down")
            assert traces(CRASH) == {}
        assert "3 hosts" in other.run("up", "--hosts", "3", "--replace").stdout
        assert "2 hosts" in other.run("up", "--hosts", "2", "--replace").stdout, "--replace takes the old one down"
    finally:
        other.run("down")
    assert traces(CRASH) == {}


FABRIC = """#
vendid=0x2c9
devid=0xd2f2
switchguid=0xfc6a1c0300cc0000(fc6a1c0300cc0000)
Switch\t64 "S-fc6a1c0300cc0000"\t\t# "MF0;lone:MQM9700/U1" enhanced port 0 lid 3 lmc 0
[1]\t"H-a088c20300dd0000"[1](a088c20300dd0001) \t\t# "alpha mlx5_0" lid 7 4xNDR
[2]\t"H-a088c20300dd0100"[1](a088c20300dd0101) \t\t# "beta ibp65s0" lid 8 4xHDR
[3]\t"H-a088c20300dd0200"[1](a088c20300dd0201) \t\t# "; rm -rf <b>x</b>" lid 9 4xHDR
what is this line

vendid=0x2c9
devid=0x1021
caguid=0xa088c20300dd0000
Ca\t1 "H-a088c20300dd0000"\t\t# "alpha mlx5_0"
[1](a088c20300dd0001) \t"S-fc6a1c0300cc0000"[1]\t\t# lid 7 lmc 0 "MF0;lone:MQM9700/U1" lid 3 4xNDR

caguid=0xa088c20300dd0100
Ca\t1 "H-a088c20300dd0100"\t\t# "beta ibp65s0"
[1](a088c20300dd0101) \t"S-fc6a1c0300cc0000"[2]\t\t# lid 8 lmc 0 "MF0;lone:MQM9700/U1" lid 3 4xHDR

caguid=0xa088c20300dd0200
Ca\t1 "H-a088c20300dd0200"\t\t# "; rm -rf <b>x</b>"
[1](a088c20300dd0201) \t"S-fc6a1c0300cc0000"[3]\t\t# lid 9 lmc 0 "MF0;lone:MQM9700/U1" lid 3 4xHDR
"""


def test_a_fabric_from_a_file(lab_tools: None, tmp_path: Path) -> None:
    (tmp_path / "site.txt").write_text(FABRIC)
    other = Lab(FILE)
    try:
        done = other.run("up", "--fabric", str(tmp_path / "site.txt"), "--subnet-managers", "1", "--replace")
        assert "2 hosts, 1 switches" in done.stdout and "what is this line" in done.stderr
        assert sysfs(other, "alpha", "mlx5_0", "ports/1/rate") == "400 Gb/sec (4X NDR)"
        assert sysfs(other, "beta", "ibp65s0", "ports/1/rate") == "200 Gb/sec (4X HDR)"
    finally:
        other.run("down")
    done = other.run("up", "--fabric", str(tmp_path / "none.txt"), check=False)
    assert done.returncode == 1 and "No such file" in done.stderr
    (tmp_path / "empty.txt").write_text("nothing\n")
    done = other.run("up", "--fabric", str(tmp_path / "empty.txt"), check=False)
    assert done.returncode == 1 and "must be the output of ibnetdiscover" in done.stderr
    assert traces(FILE) == {}
