# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts one VM."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import tempfile
import uuid
from dataclasses import dataclass

from rdmalab.errors import LabError
from rdmalab.state import run

from . import guest
from .image import Image
from .state import VmLab

QEMU = "qemu-system-x86_64"
WIRE_PORT = 14791
# Without acceleration, kvm takes a CPU that the emulator cannot offer and the reverse.
_CPU = {"kvm": "host", "tcg": "max"}
_ACCEL = {"kvm": "kvm", "tcg": "tcg,thread=multi"}


@dataclass(frozen=True)
class Size:
    """What one VM gets."""

    accel: str
    memory_mib: int
    cpus: int


def pick_accel(wanted: str, image: Image, patience: float = 8) -> str:
    """``tcg`` or ``kvm``. ``auto`` takes KVM only when our kernel runs on it up to its first program.

    A /dev/kvm proves little: nested ones abort at once or hang in the kernel's first second.
    """
    if wanted != "auto":
        return wanted
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    # The first program ends at once, the kernel panics, reboots, and -no-reboot makes that an exit with status 0.
    argv = [
        *_machine(Size("kvm", 512, 1)), "-no-reboot", "-kernel", str(image.kernel), "-initrd", str(image.initrd),
        "-append", "quiet panic=-1 rdinit=/usr/bin/true",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:  # an abort may leave a core there
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=patience, check=False, cwd=scratch
            )
        except subprocess.TimeoutExpired:
            return "tcg"
    return "tcg" if done.returncode else "kvm"


def _machine(size: Size) -> list[str]:
    """The board, without devices that nobody uses."""
    return [
        QEMU, "-accel", _ACCEL[size.accel], "-cpu", _CPU[size.accel],
        "-smp", str(size.cpus), "-m", str(size.memory_mib), "-nodefaults", "-no-user-config", "-display", "none",
    ]  # fmt: skip


def arguments(lab: VmLab, number: int, image: Image, size: Size, port: int, public_key: str) -> list[str]:
    """The command line of VM ``number``."""
    host = guest.host_name(number)
    # systemd-tmpfiles writes the key at every boot; so the image is the same for every lab.
    credential = base64.b64encode(f"f+ {guest.KEYS} 0644 root root - {public_key}\n".encode()).decode()
    machine_id = uuid.uuid5(uuid.NAMESPACE_DNS, f"{lab.name}.{host}").hex
    kernel = (
        "root=/dev/vda rootfstype=ext4 rw console=ttyS0 loglevel=5 mitigations=off systemd.show_status=1 "
        f"systemd.hostname={host} systemd.machine_id={machine_id} "
        f"systemd.set_credential_binary=tmpfiles.extra:{credential}"
    )
    return [
        *_machine(size),
        "-daemonize", "-pidfile", str(lab.pidfile(host)), "-name", f"{lab.name}-{host}",
        "-serial", f"file:{lab.console(host)}",
        "-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", kernel,
        # What the VM writes goes to a temporary file, which lives as long as QEMU: through reboots.
        "-drive", f"file={image.disk},if=virtio,format=raw,snapshot=on,cache=unsafe",
        "-device", "virtio-rng-pci",
        "-netdev", f"user,id=mgmt,hostfwd=tcp:127.0.0.1:{port}-:22",
        "-device", f"virtio-net-pci,netdev=mgmt,romfile=,mac={guest.MGMT_MAC}",
        "-netdev", f"socket,id=wire,mcast={lab.wire_group}:{WIRE_PORT},localaddr=127.0.0.1",
        "-device", f"virtio-net-pci,netdev=wire,romfile=,mac={guest.wire_mac(number)}",
    ]  # fmt: skip


def start(lab: VmLab, number: int, image: Image, size: Size, public_key: str) -> int:
    """Start VM ``number``, record its process and return the local port that leads to its sshd."""
    host = guest.host_name(number)
    environment = {**os.environ, "TMPDIR": str(lab.scratch)}
    for attempt in range(3):
        port = _free_port()
        done = run(*arguments(lab, number, image, size, port, public_key), check=False, env=environment)
        if done.returncode == 0:
            lab.adopt()
            if host not in lab.processes():
                raise LabError(f"{host}: QEMU started and ended at once; its console log: {lab.console(host)}")
            return port
        # Somebody else took the port between our look and QEMU's.
        if "host forwarding" not in done.stderr or attempt == 2:
            raise LabError(f"{host}: QEMU did not start (status {done.returncode}): {done.stderr.strip()}")
    raise AssertionError("unreachable")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
