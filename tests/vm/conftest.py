# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""VMs for the tests: booted once a session, taken down always."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rdmalab.errors import LabError
from rdmalab.state import alive, terminable
from vms import inventory, lifecycle, ssh
from vms.state import RUN, VmLab

from tests.conftest import REPOSITORY, skip_or_fail

SCRIPTS = Path(__file__).parent / "guest_scripts"
# Generous: other tests may keep the processors busy, and everything in a VM is emulated.
PATIENCE = 600


# Both ends in one shell: the client starts when the server listens. Needs no name, since either end may be remote.
SERVER_LISTENS = "for _ in $(seq 300); do ss -Hltn 'sport = :18515' | grep -q . && break; sleep 0.1; done"


def loopback(program: str) -> str:
    """A shell command that runs both ends of a perftest or pingpong program; its output and status are the client's."""
    return (
        f"timeout 90 {program} >/dev/null 2>&1 & {SERVER_LISTENS}; timeout 90 {program} 127.0.0.1; s=$?; wait; exit $s"
    )


@dataclass(frozen=True)
class Vm:
    """One running VM."""

    lab: VmLab
    name: str

    @property
    def wire(self) -> str:
        """Its address on the wire, where the RDMA device is."""
        return str(self.lab.load()["vms"][self.name]["wire"])

    def ssh(
        self, command: str, user: str = "root", *, check: bool = True, stdin: str = "", timeout: float = 180
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command in a fresh login of root, alice (in the group rdma) or bob (outside)."""
        done = subprocess.run(
            ssh.argv(self.lab, self.name, user, command),
            input=stdin, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        if check and done.returncode:
            said = f"{done.stdout}\n{done.stderr}".strip()
            raise AssertionError(f"{user}@{self.name}: {command}\nended with status {done.returncode}: {said}")
        return done

    def python(self, script: str, *args: str, user: str = "root") -> subprocess.CompletedProcess[str]:
        """Run one of our ``guest_scripts`` in a fresh login; its status is for the caller to judge."""
        text = (SCRIPTS / script).read_text()
        return self.ssh(f"python3 - {' '.join(args)}", user, check=False, stdin=text)

    def reboot(self) -> None:
        """Reboot it and wait until it can be used again."""
        lifecycle.reboot(self.lab, self.name, PATIENCE)

    def ansible(self, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run ``ansible`` or ``ansible-playbook`` (the first argument) against the VMs of this session."""
        tool = REPOSITORY / ".venv" / "bin" / args[0]
        environment = {
            **os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "RDMA_LAB_VM_NAME": self.lab.name,
            **variables,
        }  # fmt: skip
        return subprocess.run(
            [str(tool) if tool.exists() else args[0], "-i", "inventories/lab-vm", *args[1:]],
            cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip


def require_host_tools() -> None:
    """Skip (in CI: fail) where no VM can be started."""
    if os.geteuid() != 0:
        skip_or_fail("not root: the VMs' image is built as root")
    if missing := lifecycle.missing_tools():
        skip_or_fail(f"not installed: {', '.join(missing)}; run lab/install-vm-packages")


@pytest.fixture(scope="session")
def vm_session(request: pytest.FixtureRequest) -> Iterator[list[Vm]]:
    """All VMs of this session: two when a chosen test needs a wire, otherwise one."""
    require_host_tools()
    _remove_dead_sessions()
    needs_wire = any("vms" in getattr(item, "fixturenames", ()) for item in request.session.items)
    lab = VmLab(f"t{os.getpid()}")
    with terminable():
        try:
            lifecycle.up(lab, count=2 if needs_wire else 1, accel="auto", memory_mib=1024, patience=PATIENCE)
        except LabError as error:
            pytest.fail(f"the VMs did not come up: {error}", pytrace=False)
        try:
            yield [Vm(lab, host) for host in inventory.inventory(lab)["compute"]["hosts"]]
        finally:
            lifecycle.down(lab)


@pytest.fixture
def vm(vm_session: list[Vm]) -> Vm:
    """One VM. Tests share it: whatever a test changes, it puts back."""
    return vm_session[0]


@pytest.fixture
def vms(vm_session: list[Vm]) -> list[Vm]:
    """Two VMs on one wire, shared likewise."""
    return vm_session


def _remove_dead_sessions() -> None:
    """A test run that was killed could not take its VMs down."""
    for place in RUN.glob("t*"):
        if (match := re.fullmatch(r"t(\d+)(\.failed)?", place.name)) and not alive(int(match[1])):
            lifecycle.down(VmLab(f"t{match[1]}"))
