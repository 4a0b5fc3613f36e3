# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a lab keeps its state, and how it finds its own processes again.

Everything of a lab lives below one directory, which is a tmpfs of its own: taking the lab down is killing the
recorded processes and unmounting it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import LabError

RUN = Path("/run/rdma-lab")
_NAME = re.compile(r"^[a-z][a-z0-9]{0,7}$")


@dataclass(frozen=True)
class Lab:
    """The names and places of one lab."""

    name: str

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise LabError(f"lab name {self.name!r}: use 1 to 8 lower-case letters and digits, a letter first")

    @property
    def dir(self) -> Path:
        """The lab's own tmpfs."""
        return RUN / self.name

    @property
    def bridge(self) -> str:
        """The management bridge's interface name."""
        return f"rlab-{self.name}"

    @property
    def subnet(self) -> str:
        """First three octets of the management network, from the benchmarking range 198.18.0.0/15 (RFC 2544)."""
        value = zlib.crc32(self.name.encode()) % 500
        return f"198.{18 + value // 250}.{value % 250 + 1}"

    @property
    def key(self) -> Path:
        """The ssh key that opens the hosts."""
        return self.dir / "ssh" / "id_ed25519"

    @property
    def pid_offset(self) -> int:
        """Keeps the process ids of two labs' subnet managers apart (see :func:`rdmalab.hosts.spread_pids`)."""
        return zlib.crc32(self.name.encode()) % 1500

    @property
    def sim_socket(self) -> str:
        """The simulator's abstract socket name. (Over UDP, a MAD to a killed client is lost and OpenSM waits for ever.)"""
        return f"rdma-lab-{self.name}"

    def exists(self) -> bool:
        """Whether a lab of this name is up, or something is left of one."""
        return self.dir.exists()

    def load(self) -> dict[str, Any]:
        """What ``up`` wrote: sizes, hosts, adapters."""
        try:
            data: dict[str, Any] = json.loads((self.dir / "lab.json").read_text())
        except FileNotFoundError:
            raise LabError(f"lab {self.name!r} is not up. Start it with: lab/lab up (or: make demo)") from None
        return data

    def save(self, data: dict[str, Any]) -> None:
        """Write the state atomically."""
        write_atomically(self.dir / "lab.json", json.dumps(data, indent=1))

    def record(self, role: str, pid: int) -> None:
        """Remember a process that we started, with its start time so that a reused id is not taken for it."""
        place = self.dir / "pids"
        place.mkdir(exist_ok=True)
        write_atomically(place / role, f"{pid} {_start_time(pid)}")

    def processes(self) -> dict[str, int]:
        """The recorded processes that are alive and still the ones we started."""
        alive = {}
        place = self.dir / "pids"
        for entry in sorted(place.iterdir()) if place.is_dir() else ():
            with contextlib.suppress(ValueError, OSError):
                pid, started = entry.read_text().split()
                if _start_time(int(pid)) == started:
                    alive[entry.name] = int(pid)
        return alive


def write_atomically(path: Path, text: str) -> None:
    """Replace a file so that no reader sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    os.replace(temporary, path)


def _start_time(pid: int) -> str:
    """Clock ticks after boot at which the process started; empty when there is none or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    return _start_time(pid) != ""


def stop(pids: list[int], first: int, patience: float) -> None:
    """Ask processes to end with signal ``first``, and kill those that have not after ``patience`` seconds."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, first)
    wait_until(lambda: not any(alive(pid) for pid in pids), patience)
    for pid in pids:
        if alive(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in pids), 5)


def wait_until(condition, seconds: float, step: float = 0.05) -> bool:  # type: ignore[no-untyped-def]
    """Poll until the condition holds; whether it did in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step)
    return True


def run(*argv: str, check: bool = True, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; a failure shows the command, its status and what it said."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **kwargs)
    except FileNotFoundError:
        raise LabError(f"{argv[0]} is not installed; run lab/install-host-packages") from None
    if check and done.returncode:
        raise LabError(f"{' '.join(argv)} ended with status {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, so that clean-up runs for them too."""

    def interrupt(signum: int, _frame: Any) -> None:
        raise KeyboardInterrupt(signal.Signals(signum).name)

    old = {sig: signal.signal(sig, interrupt) for sig in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for sig, handler in old.items():
            signal.signal(sig, handler)
