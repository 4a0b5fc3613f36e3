# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boots and stops the hosts: systemd containers over the shared root file system, with a synthetic sysfs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from .errors import LabError
from .hardware import Machine
from .mirror import Mirror
from .state import Lab, run, stop, wait_until
from .sysfs import interrupts, static_tree

CGROUPS = (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
POWEROFF = signal.SIGRTMIN + 4  # systemd(1): start poweroff.target
BOOT_SECONDS = 90


def container(lab: Lab, host: str) -> str:
    """The machine name of a host, unique on this computer."""
    return f"{lab.name}-{host}"


def prepare(lab: Lab, root: Path, machine: Machine) -> None:
    """The host's overlay and its files, before it boots."""
    base = lab.dir / "hosts" / machine.host
    for name in ("up", "work", "root", "static", "sys", "scratch"):
        (base / name).mkdir(parents=True, exist_ok=True)
    Mirror(base / "static", base / "scratch").sync(static_tree(machine))
    (base / "interrupts").write_text(interrupts(machine))
    upper = base / "up"
    ssh = upper / "root/.ssh"
    ssh.mkdir(parents=True, exist_ok=True)
    os.chmod(upper / "root", 0o700)
    os.chmod(ssh, 0o700)
    shutil.copy(lab.key.with_suffix(".pub"), ssh / "authorized_keys")
    (upper / "etc").mkdir(exist_ok=True)
    (upper / "etc/hostname").write_text(machine.host + "\n")
    # Without an identity, systemd takes the boot for a first one and enables units that take the network away.
    identity = hashlib.md5(container(lab, machine.host).encode(), usedforsecurity=False).hexdigest()
    (upper / "etc/machine-id").write_text(identity + "\n")
    # The simulator listens on this machine's abstract sockets, which a container's own network does not see.
    (base / "netns").touch()
    run("mount", "--bind", "/proc/self/ns/net", str(base / "netns"))
    run("mount", "-t", "overlay", "overlay", "-o",
        f"lowerdir={root},upperdir={upper},workdir={base / 'work'}", str(base / "root"))  # fmt: skip


def write_hosts_file(lab: Lab, addresses: dict[str, str]) -> None:
    """Every host can name every other."""
    text = "127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in addresses.items())
    for host in addresses:
        (lab.dir / "hosts" / host / "up/etc/hosts").write_text(text)


def boot(lab: Lab, host: str) -> None:
    """Start the container; returns at once."""
    base = lab.dir / "hosts" / host
    # A cgroup of its own, or all hosts would share one tree of units.
    groups = [top / f"rdma-lab.{container(lab, host)}" for top in CGROUPS[:2] if (top / "cgroup.procs").exists()]
    if not groups and (CGROUPS[2] / "cgroup.procs").exists():
        groups = [CGROUPS[2] / f"rdma-lab.{container(lab, host)}"]
    for group in groups:
        group.mkdir(exist_ok=True)
    enter = "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups)
    command = [
        "systemd-nspawn", "--quiet", f"--directory={base / 'root'}", f"--machine={container(lab, host)}",
        f"--hostname={host}", "--boot", "--register=no", "--keep-unit", f"--network-bridge={lab.bridge}",
        f"--bind={base}:/run/lab", "--kill-signal=SIGRTMIN+4",
    ]  # fmt: skip
    with (base / "console.log").open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", enter + 'exec "$@"', "sh", *command],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    lab.record(f"host-{host}", process.pid)


def leader(lab: Lab, host: str) -> int:
    """The container's init, as seen from here."""
    pid = lab.processes().get(f"host-{host}")
    if pid is None:
        raise LabError(f"{host} does not run; its console is in {lab.dir / 'hosts' / host / 'console.log'}")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else 0


def attach(lab: Lab, host: str, address: str, cards: int) -> None:
    """Give a booting host its address, its synthetic sysfs and its device nodes, then wait for ssh."""
    ready = wait_until(lambda: _booted(lab, host), BOOT_SECONDS)
    if not ready:
        raise LabError(f"{host} did not start within {BOOT_SECONDS} s; see {lab.dir / 'hosts' / host / 'console.log'}")
    pid = str(leader(lab, host))
    run("nsenter", "-t", pid, "-n", "sh", "-c", f"ip address replace {address}/24 dev host0 && ip link set host0 up")
    run("nsenter", "-t", pid, "-m", "-p", "-r", "sh", "-ec", _MOUNT, "sh", str(cards))
    if not wait_until(lambda: _answers(address), BOOT_SECONDS):
        raise LabError(f"{host} ({address}) does not answer on port 22 after {BOOT_SECONDS} s")


# Overlays show the mount points of the moving parts; the parts themselves are bind mounts, so that a change of
# theirs is seen at once (an overlay's lower layer must not change while it is mounted).
_MOUNT = """
lab=/run/lab
mount -t overlay overlay -o lowerdir=$lab/static/class:/sys/class /sys/class
mount -t overlay overlay -o lowerdir=$lab/static/devices:/sys/devices /sys/devices
for class in infiniband infiniband_mad infiniband_verbs; do mount --bind $lab/sys/class/$class /sys/class/$class; done
for root in $lab/static/devices/pci*; do
    mount --bind $lab/sys/devices/${root##*/} /sys/devices/${root##*/}
done
mount --bind $lab/sys/bus/pci /sys/bus/pci
mount --bind $lab/interrupts /proc/interrupts
mkdir -p /dev/infiniband
n=0
while [ $n -lt "$1" ]; do
    mknod -m 600 /dev/infiniband/umad$n c 231 $n
    mknod -m 600 /dev/infiniband/issm$n c 231 $((64 + n))
    mknod -m 666 /dev/infiniband/uverbs$n c 231 $((192 + n))
    n=$((n + 1))
done
mknod -m 666 /dev/infiniband/rdma_cm c 10 121
"""


def spread_pids(lab: Lab, host: str, first: int) -> None:
    """Let the host's next process have the id ``first``.

    The simulator's clients name their sockets by process id, and every container counts from 1: without this, two
    subnet managers would sooner or later want the same name.
    """
    script = f"echo {first - 1} > /proc/sys/kernel/ns_last_pid"
    run("nsenter", "-t", str(leader(lab, host)), "-p", "sh", "-c", script)


def _booted(lab: Lab, host: str) -> bool:
    """Whether the container has come far enough that its own mounts are done and its init runs."""
    pid = leader(lab, host)
    return (
        bool(pid)
        and Path(f"/proc/{pid}/root/run/systemd/system").is_dir()
        and Path(f"/proc/{pid}/root/sys/class/net").is_dir()
    )


def _answers(address: str) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((address, 22), timeout=1) as connection:
        return connection.recv(4).startswith(b"SSH-")
    return False


def stop_all(lab: Lab) -> None:
    """Power every host off, and kill those that do not obey."""
    supervisors = {name: pid for name, pid in lab.processes().items() if name.startswith("host-")}
    inits = []
    for name in supervisors:
        with contextlib.suppress(LabError, OSError, ValueError):
            inits.append(leader(lab, name[len("host-") :]))
    for pid in inits:
        with contextlib.suppress(ProcessLookupError):
            if pid:
                # Everything of a lab host is disposable: its init is killed, and the kernel ends the rest with it.
                os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in supervisors.values()), 10)
    stop(list(supervisors.values()), signal.SIGTERM, 5)


def remove_traces(lab: Lab) -> None:
    """What systemd-nspawn leaves behind: control groups and propagation directories."""
    for top in CGROUPS:
        for group in top.glob(f"rdma-lab.{lab.name}-*"):
            for folder, _names, _files in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
    for place in ("propagate", "unix-export"):
        for left in Path("/run/systemd/nspawn", place).glob(f"{lab.name}-*"):
            run("umount", "-R", str(left), check=False)
            shutil.rmtree(left, ignore_errors=True)
    for lock in Path("/run/systemd/nspawn/locks").glob(f"*{lab.name}-*"):
        lock.unlink(missing_ok=True)
