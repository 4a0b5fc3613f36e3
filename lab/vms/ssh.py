# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Talks to the VMs over ssh."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from pathlib import Path

from rdmalab.errors import LabError
from rdmalab.state import run

from .state import VmLab

# The VMs are made anew each time and all have the image's host key: nothing worth remembering.
# A VM that reboots does not close its connections, hence the keep-alives.
OPTIONS = (
    "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
    "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20",
    "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=6",
)  # fmt: skip


def argv(lab: VmLab, host: str, user: str, command: str) -> list[str]:
    """A fresh login that runs ``command``: never a shared connection, whose limits would be those of its start."""
    vms = lab.load()["vms"]
    if host not in vms:
        raise LabError(f"no VM {host!r} in {lab.name!r}; there is: {', '.join(vms)}")
    return ["ssh", *OPTIONS, "-i", str(lab.key), "-p", str(vms[host]["port"]), f"{user}@127.0.0.1", command]


def call(
    lab: VmLab, host: str, command: str, user: str = "root", timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it said and its status (255: no connection)."""
    try:
        return run(*argv(lab, host, user, command), check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise LabError(f"{host}: no answer within {timeout:.0f} s to: {command}") from None


def answers(port: int) -> bool:
    """Whether sshd greets. QEMU accepts connections long before the guest does, so connecting proves nothing."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.settimeout(1.5)
        return connection.recv(4) == b"SSH-"
    return False


def control_path(lab: VmLab) -> Path:
    """Where Ansible keeps its shared connections, so that a reboot and ``down`` can end them."""
    return lab.key.parent / "shared-%r-%p"


def close_shared(lab: VmLab) -> None:
    """End the connections that Ansible left open."""
    for path in lab.key.parent.glob("shared-*"):
        run("ssh", "-o", f"ControlPath={path}", "-O", "exit", "127.0.0.1", check=False)
        path.unlink(missing_ok=True)
