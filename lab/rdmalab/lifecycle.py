# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes a lab up and down."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from . import fabricd, hosts, rootfs, simtools
from .errors import LabError
from .hardware import machine
from .state import RUN, Lab, run, stop, wait_until
from .topology import Fabric, to_ibsim

MAX_HOSTS = 240
# Distance between the process ids that the hosts with a subnet manager start from.
PIDS = 28000
# OpenSM needs less than a second for the largest lab; this is for a busy machine.
SETTLE_SECONDS = 10
# The default of 128 makes later hosts hang without a word: each systemd takes a few.
INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_PER_HOST = 16


def up(
    lab: Lab, fabric: Fabric, subnet_managers: int | None, boot_limit: int | None = None, run_opensm: bool = True
) -> None:
    """Build and boot; on any failure nothing is left. Without ``run_opensm`` the fabric stays INIT."""
    adapters = fabric.adapters()
    names = list(adapters)[:boot_limit]
    if not names:
        raise LabError(
            "the fabric has no host: a channel adapter is taken for one when it is described as 'host device'"
        )
    if len(names) > MAX_HOSTS:
        raise LabError(f"{len(names)} hosts: this lab boots {MAX_HOSTS} at most; use --boot N to boot only the first N")
    if subnet_managers is None:
        subnet_managers = min(2, len(names))
    if not 0 <= subnet_managers <= min(len(names), 8):
        raise LabError(f"--subnet-managers {subnet_managers}: must be between 0 and {min(len(names), 8)} here")
    if lab.exists():
        raise LabError(
            f"lab {lab.name!r} exists already ({lab.dir}). Take it down first: lab/lab down --name {lab.name}"
        )
    root = rootfs.ensure()
    try:
        _start(lab, fabric, root, names, subnet_managers, run_opensm)
    except BaseException:
        print("taking down what was started", file=sys.stderr)
        down(lab)
        raise


def _start(lab: Lab, fabric: Fabric, root: Path, names: list[str], subnet_managers: int, run_opensm: bool) -> None:
    RUN.mkdir(exist_ok=True)
    lab.dir.mkdir()
    run("mount", "-t", "tmpfs", "-o", "mode=755", f"rdma-lab-{lab.name}", str(lab.dir))
    addresses = {host: f"{lab.subnet}.{number}" for number, host in enumerate(names, 10)}
    data: dict[str, Any] = {
        "name": lab.name,
        "hosts": names,
        "addresses": addresses,
        "subnet_managers": names[:subnet_managers],
        "run_opensm": run_opensm,
        "inotify_before": INOTIFY.read_text().strip(),
        "notes": list(fabric.notes),
    }
    lab.save(data)
    if int(data["inotify_before"]) < INOTIFY_PER_HOST * (len(names) + 16):
        INOTIFY.write_text(str(INOTIFY_PER_HOST * (len(names) + 16)))
    lab.key.parent.mkdir(mode=0o700)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"rdma-lab-{lab.name}", "-f", str(lab.key))
    run("ip", "link", "add", lab.bridge, "type", "bridge")
    run("ip", "address", "add", f"{lab.subnet}.1/24", "dev", lab.bridge)
    run("ip", "link", "set", lab.bridge, "up")
    _start_fabric(lab, fabric, root)
    adapters = fabric.adapters()
    machines = [machine(host, adapters[host], number) for number, host in enumerate(names, 1)]
    for item in machines:
        hosts.prepare(lab, root, item)
        simtools.write_map(lab.dir / "hosts" / item.host / "up/etc", adapters[item.host], lab.sim_socket)
    hosts.write_hosts_file(lab, addresses)
    for host in data["subnet_managers"]:
        _configure_subnet_manager(lab, host, 14 - data["subnet_managers"].index(host))
    _start_daemon(lab)
    for host in names:
        hosts.boot(lab, host)
    for item in machines:
        hosts.attach(lab, item.host, addresses[item.host], len(item.cards))
    for number, host in enumerate(names, 1):
        hosts.spread_pids(lab, host, PIDS // (len(names) + 1) * number + lab.pid_offset)
    for host in data["subnet_managers"] if run_opensm else ():
        # One after the other: two that discover the fabric at the same time may wait for each other for ever.
        in_host(lab, host, "systemctl", "start", "lab-opensm.service")
        _wait_for_fabric(lab)


def _start_fabric(lab: Lab, fabric: Fabric, root: Path) -> None:
    for name in ("up", "work", "root"):
        (lab.dir / "fabric" / name).mkdir(parents=True)
    (lab.dir / "fabric/up" / fabricd.SIM_FILE[1:]).write_text(to_ibsim(fabric))
    run("mount", "-t", "overlay", "overlay", "-o",
        f"lowerdir={root},upperdir={lab.dir / 'fabric/up'},workdir={lab.dir / 'fabric/work'}",
        str(lab.dir / "fabric/root"))  # fmt: skip


def _start_daemon(lab: Lab) -> None:
    with (lab.dir / "fabric.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "rdmalab.fabricd", lab.name], cwd=Path(__file__).parent.parent,
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    lab.record("fabricd", process.pid)
    if (
        not wait_until(lambda: fabricd.socket_path(lab).exists() or process.poll() is not None, 10)
        or process.poll() is not None
    ):
        raise LabError(f"the fabric daemon did not start: {(lab.dir / 'fabric.log').read_text()[-500:]}")
    fabricd.ask(lab, {"op": "status"})


def _configure_subnet_manager(lab: Lab, host: str, priority: int) -> None:
    upper = lab.dir / "hosts" / host / "up/etc"
    (upper / "opensm").mkdir(parents=True, exist_ok=True)
    # Quick failover, so that a rehearsal does not take minutes (the defaults need about one).
    (upper / "opensm/opensm.conf").write_text(
        "# Written by the lab.\nsweep_interval 2\nsminfo_polling_timeout 1000\npolling_retry_number 2\n"
        "force_log_flush TRUE\nlog_file /var/log/opensm.log\n"
    )
    (upper / "lab-opensm.env").write_text(
        f"OSM_TMP_DIR=/var/cache/opensm\nOSM_CACHE_DIR=/var/cache/opensm\nPRIORITY={priority}\n"
    )


def settle(lab: Lab) -> bool:
    """Wait until no port waits for a subnet manager; whether that came about.

    The simulator's library knows no time-outs: a datagram to a subnet manager that was killed is lost, and OpenSM
    waits for its answer for ever. What a real fabric recovers from by itself needs a restart of OpenSM here.
    """

    def settled() -> bool:
        ports = fabricd.ask(lab, {"op": "status"})["ports"].values()
        return not any(port["state"] in ("Init", "Armed") for port in ports)

    for _attempt in range(5):
        if wait_until(settled, SETTLE_SECONDS, step=0.3):
            return True
        for host in lab.load()["subnet_managers"]:
            in_host(lab, host, "systemctl", "try-restart", "lab-opensm.service", check=False)
    return wait_until(settled, SETTLE_SECONDS, step=0.3)


def _wait_for_fabric(lab: Lab) -> None:
    if not settle(lab):
        raise LabError(f"the subnet managers did not bring every port to Active.{_what_opensm_says(lab)}")


def _what_opensm_says(lab: Lab) -> str:
    """The ends of the subnet managers' journals, which go with the lab when it is taken down."""
    text = ""
    for host in lab.load()["subnet_managers"]:
        done = in_host(
            lab, host, "journalctl", "--unit=lab-opensm", "--lines=6", "--no-pager", "-o", "cat", check=False
        )
        log = in_host(lab, host, "tail", "-n", "4", "/var/log/opensm.log", check=False)
        text += f"\n{host}: {done.stdout}{log.stdout}"
    return text


def in_host(lab: Lab, host: str, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command inside a host, as root, without the network."""
    data = lab.load()
    if host not in data["hosts"]:
        raise LabError(f"no host {host!r} in lab {lab.name!r}; it has {', '.join(data['hosts'])}")
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/root"}
    pid = str(hosts.leader(lab, host))
    return run("nsenter", "-t", pid, "-a", "-r", "-w", *argv, check=check, env=env)


def down(lab: Lab) -> bool:
    """Remove every trace; whether there was any. Safe to repeat, and after a crash at any point."""
    found = lab.exists()
    inotify = None
    with contextlib.suppress(LabError, ValueError):
        inotify = lab.load().get("inotify_before")
    hosts.stop_all(lab)
    # The daemon first: it ends the simulator, which is its child.
    stop([pid for name, pid in lab.processes().items() if name == "fabricd"], signal.SIGTERM, 3)
    stop(list(lab.processes().values()), signal.SIGTERM, 3)
    if run("ip", "link", "show", lab.bridge, check=False).returncode == 0:
        found = True
        run("ip", "link", "delete", lab.bridge, check=False)
    hosts.remove_traces(lab)
    for mount in reversed(_mounts_below(lab.dir)):
        if run("umount", mount, check=False).returncode:
            run("umount", "-l", mount, check=False)
    shutil.rmtree(lab.dir, ignore_errors=True)
    with contextlib.suppress(OSError):
        RUN.rmdir()
    # Another lab may still need the raised limit.
    if inotify and not (RUN.is_dir() and any(RUN.iterdir())):
        INOTIFY.write_text(inotify)
    return found


def _mounts_below(top: Path) -> list[str]:
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        target = line.split()[1].encode().decode("unicode_escape")
        if target == str(top) or target.startswith(f"{top}{os.sep}"):
            found.append(target)
    return found
