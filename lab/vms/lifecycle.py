# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings VMs up, waits until they can be used, reboots them and takes them down."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

from rdmalab.errors import LabError
from rdmalab.state import run, stop, wait_until

from . import guest, image, qemu, ssh
from .state import RUN, VmLab

# Colours, and what the firmware and systemd write to place the cursor.
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[c78])")
TOOLS = (qemu.QEMU, "mmdebstrap", "mkfs.ext4", "ssh", "ssh-keygen")


def missing_tools() -> list[str]:
    """What this machine lacks."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def up(lab: VmLab, count: int, accel: str, memory_mib: int, patience: float) -> None:
    """Start ``count`` VMs and wait until all can be used. A failure leaves console logs, an interrupt nothing."""
    if missing := missing_tools():
        raise LabError(f"not installed: {', '.join(missing)}; run lab/install-vm-packages")
    _refuse_existing(lab)
    files = image.ensure()
    chosen = qemu.pick_accel(accel, files)
    shutil.rmtree(lab.failed, ignore_errors=True)
    RUN.mkdir(exist_ok=True)
    try:
        lab.dir.mkdir(mode=0o700)  # who makes the directory has the name: two at once cannot
    except FileExistsError:
        _refuse_existing(lab)
    try:
        lab.scratch.mkdir(mode=0o700, exist_ok=True)
        lab.key.parent.mkdir()
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rdma-lab", "-f", str(lab.key))
        public_key = lab.key.with_suffix(".pub").read_text().strip()
        # Two, also for two VMs on two processors: a boot has phases of both kinds.
        size = qemu.Size(chosen, memory_mib, min(2, os.cpu_count() or 1))
        vms = {}
        for number in range(1, count + 1):
            port = qemu.start(lab, number, files, size, public_key)
            vms[guest.host_name(number)] = {"port": port, "wire": guest.wire_address(number)}
        lab.save({"accel": chosen, "device": guest.DEVICE, "image": str(files.dir), "vms": vms})
        deadline = time.monotonic() + patience
        for host in vms:
            wait_usable(lab, host, deadline, lab.failed / lab.console(host).name)
    except BaseException as reason:
        if isinstance(reason, LabError):
            _keep_consoles(lab)
        _remove(lab)
        raise


def _refuse_existing(lab: VmLab) -> None:
    if not lab.exists():
        return
    lab.adopt()
    state = "are up" if lab.processes() else "were left behind by a crash"
    raise LabError(f"VMs of the name {lab.name!r} {state}: take them down with `lab/lab vm down --name {lab.name}`")


def wait_usable(lab: VmLab, host: str, deadline: float, log: Path, not_boot: str = "") -> None:
    """Wait until the VM answers on ssh, in another boot than ``not_boot``, and systemd has started everything.

    ``log`` is where the console log will be when somebody reads the error message.
    """
    port = lab.load()["vms"][host]["port"]
    began = said = time.monotonic()
    while True:
        if host not in lab.processes():
            raise LabError(f"{host}: QEMU ended during the boot.{_console_tail(lab, host, log)}")
        if ssh.answers(port):
            boot, state = _boot_and_state(lab, host, max(10.0, deadline - time.monotonic()))
            if boot and boot != not_boot:
                if state == "running":
                    return
                if state == "degraded":
                    failed = ssh.call(
                        lab, host, "systemctl --failed --no-legend --plain | cut -d' ' -f1"
                    ).stdout.split()
                    raise LabError(
                        f"{host}: booted, but units failed: {', '.join(failed)}.{_console_tail(lab, host, log)}"
                    )
        now = time.monotonic()
        if now > deadline:
            raise LabError(f"{host}: not usable after {now - began:.0f} s.{_console_tail(lab, host, log)}")
        if now - said > 60:
            print(f"{host}: still booting after {now - began:.0f} s", file=sys.stderr, flush=True)
            said = now
        time.sleep(0.3)


def _boot_and_state(lab: VmLab, host: str, patience: float) -> tuple[str, str]:
    """The kernel's id of this boot, and what systemd says of itself; empty when the VM does not answer."""
    question = "cat /proc/sys/kernel/random/boot_id; systemctl is-system-running --wait"
    with contextlib.suppress(LabError, ValueError):
        boot, state = ssh.call(lab, host, question, timeout=patience).stdout.split()
        return boot, state
    return "", ""


def _console_tail(lab: VmLab, host: str, log: Path, lines: int = 15) -> str:
    try:
        text = lab.console(host).read_text(errors="replace")
    except OSError:
        text = ""
    plain = [_ESCAPES.sub("", line).rstrip() for line in text.splitlines()]
    shown = "\n".join(f"    {line}" for line in [line for line in plain if line][-lines:])
    return f" Its console log is {log}; the end:\n{shown}" if shown else " It wrote nothing to its console."


def reboot(lab: VmLab, host: str, patience: float) -> None:
    """Reboot a VM as its administrator would, and wait until it can be used again."""
    before, _state = _boot_and_state(lab, host, 30)
    if not before:
        raise LabError(f"{host} does not answer on ssh: not rebooted. Its console log: {lab.console(host)}")
    ssh.close_shared(lab)
    with contextlib.suppress(LabError):  # the connection may hang when the VM goes before the status arrives
        ssh.call(lab, host, "systemctl --no-block reboot", timeout=10)
    # A login into a system that is going down hangs: wait for its sshd to go first, unless that was too quick to see.
    port = lab.load()["vms"][host]["port"]
    wait_until(lambda: not ssh.answers(port), 15)
    wait_usable(lab, host, time.monotonic() + patience, lab.console(host), not_boot=before)


def down(lab: VmLab) -> bool:
    """Remove every trace; whether there was any. Safe to repeat, and after a crash at any point."""
    found = lab.exists() or lab.failed.exists()
    shutil.rmtree(lab.failed, ignore_errors=True)
    _remove(lab)
    return found


def _remove(lab: VmLab) -> None:
    if lab.exists():
        ssh.close_shared(lab)
        # The disk is thrown away, so nothing is gained by asking the guest to shut down. One look more after the
        # last one that found something: a QEMU that was just becoming a daemon shows up in between.
        while lab.adopt() or lab.processes():
            stop(list(lab.processes().values()), signal.SIGTERM, 5)
        shutil.rmtree(lab.scratch, ignore_errors=True)
        shutil.rmtree(lab.dir, ignore_errors=True)
    with contextlib.suppress(OSError):
        RUN.rmdir()


def _keep_consoles(lab: VmLab) -> None:
    logs = [path for path in lab.dir.glob("*.console.log") if path.stat().st_size]
    if logs:
        lab.failed.mkdir(exist_ok=True)
        for path in logs:
            shutil.copy2(path, lab.failed)
