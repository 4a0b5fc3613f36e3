# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a set of VMs keeps its state, and how it finds its own QEMU processes again."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdmalab.errors import LabError
from rdmalab.state import Lab

RUN = Path("/run/rdma-lab-vm")
SCRATCH = Path("/var/tmp")


@dataclass(frozen=True)
class VmLab(Lab):
    """The names and places of one set of VMs. The book-keeping of processes is the container lab's."""

    @property
    def dir(self) -> Path:
        """All state; taking the VMs down removes it."""
        return RUN / self.name

    @property
    def failed(self) -> Path:
        """Console logs of the last ``up`` that failed; goes with the next ``up`` or ``down``."""
        return RUN / f"{self.name}.failed"

    @property
    def scratch(self) -> Path:
        """What the VMs write to their disks. On a disk, since it may be more than /run has room for."""
        return SCRATCH / f"rdma-lab-vm-{self.name}"

    @property
    def wire_group(self) -> str:
        """The multicast group that is this set's wire: two sets on one machine do not hear each other."""
        value = zlib.crc32(self.name.encode())
        return f"239.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"

    def console(self, host: str) -> Path:
        """What the VM wrote to its serial line since it was started."""
        return self.dir / f"{host}.console.log"

    def pidfile(self, host: str) -> Path:
        """Where QEMU itself writes its process id."""
        return self.dir / f"{host}.pid"

    def load(self) -> dict[str, Any]:
        """What ``up`` wrote: the VMs and their ports."""
        try:
            return super().load()
        except LabError:
            raise LabError(f"no VMs of the name {self.name!r} are up. Start them with: lab/lab vm up") from None

    def adopt(self) -> bool:
        """Record every QEMU that started just before ``up`` ended, too early to be recorded; whether there was one.

        Its command line names our pid file, which no other process does. The file itself may not be written yet, and
        a QEMU that is becoming a daemon is two processes for a moment.
        """
        found = False
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                arguments = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
                pidfile = Path(arguments[arguments.index("-pidfile") + 1])
                known = self.processes()
                if pidfile.parent == self.dir and int(place.name) not in known.values():
                    role = pidfile.stem if pidfile.stem not in known else f"{pidfile.stem}.{place.name}"
                    self.record(role, int(place.name))
                    found = True
        return found
