# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bringing VMs up and down: nothing is left behind, whatever happens in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdmalab.state import alive, wait_until
from vms import image
from vms.state import RUN, VmLab

from tests.conftest import REPOSITORY

from .conftest import Vm, require_host_tools

pytestmark = pytest.mark.vm
TOOL = [str(REPOSITORY / "lab" / "lab"), "vm"]
# Whatever this process is, it is not a session of tests/vm/conftest.py.
NAME = "lifecycl"


def tool(*args: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TOOL, *args], capture_output=True, text=True, timeout=timeout, check=False)


def qemus() -> set[int]:
    """Every QEMU of this lab, found without the lab's own book-keeping."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(argument.startswith(f"{RUN}/{NAME}/".encode()) for argument in arguments):
            found.add(int(place.name))
    return found


@pytest.fixture
def clean() -> Iterator[None]:
    """Start from nothing, and check that the test left nothing."""
    require_host_tools()
    image.ensure()  # so that an interrupt hits the boot and not the build
    tool("down", "--name", NAME)
    yield
    tool("down", "--name", NAME)
    assert not list(RUN.glob(f"{NAME}*"))
    assert not qemus()
    assert not VmLab(NAME).scratch.exists()


def start_up() -> subprocess.Popen[str]:
    """``up`` in the background, to the point where its QEMU runs."""
    started = subprocess.Popen(
        [*TOOL, "up", "--name", NAME, "--accel", "tcg"], text=True, stderr=subprocess.PIPE,
        # Whoever runs the tests in the background has them ignore SIGINT, which a child would inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    assert wait_until(lambda: bool(qemus()), 60), "QEMU did not start"
    return started


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_up_cleans_up_after_itself(signum: signal.Signals, late: bool) -> None:
    started = start_up()
    console = VmLab(NAME).console("vm1")
    if late:
        assert wait_until(lambda: console.exists() and console.stat().st_size > 0, 60), "the kernel did not start"
    started.send_signal(signum)
    _out, said = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "interrupted" in said
    assert not qemus()
    assert not list(RUN.glob(f"{NAME}*"))


@pytest.mark.usefixtures("clean")
def test_after_a_killed_up_the_next_refuses_and_down_removes_all() -> None:
    started = start_up()
    started.kill()
    started.communicate(timeout=60)
    assert qemus(), "nothing to find: the test proves nothing"
    refused = tool("up", "--name", NAME)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert (
        refused.stderr
        == f"lab vm: VMs of the name '{NAME}' are up: take them down with `lab/lab vm down --name {NAME}`\n"
    )
    assert tool("down", "--name", NAME).stdout == f"the VMs '{NAME}' are down\n"
    assert not qemus()
    assert tool("down", "--name", NAME).stdout == f"no VMs '{NAME}' were up\n"


@pytest.mark.usefixtures("clean")
def test_state_of_dead_processes_is_called_what_it_is() -> None:
    started = start_up()
    started.kill()
    started.communicate(timeout=60)
    killed = qemus()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not any(alive(pid) for pid in killed), 10)
    refused = tool("up", "--name", NAME)
    assert refused.returncode == 1
    assert "were left behind by a crash" in refused.stderr


@pytest.mark.usefixtures("clean")
def test_a_boot_that_takes_too_long_leaves_its_console_log() -> None:
    failed = tool("up", "--name", NAME, "--accel", "tcg", "--timeout", "4")
    assert failed.returncode == 1
    assert failed.stderr.startswith("lab vm: vm1: not usable after ")
    assert not qemus()
    log = VmLab(NAME).failed / "vm1.console.log"
    assert f"Its console log is {log}; the end:\n" in failed.stderr
    plain = re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[c78])", "", log.read_text())
    shown = failed.stderr.splitlines()[1:]
    assert shown
    assert all(line.strip() in plain for line in shown)
    assert "\x1b" not in failed.stderr


def test_a_running_name_is_refused_and_left_alone(vm: Vm) -> None:
    before = vm.lab.processes()
    refused = tool("up", "--name", vm.lab.name)
    assert refused.returncode == 1
    assert "are up: take them down with" in refused.stderr
    assert vm.lab.processes() == before


def test_status_and_inventory_and_exec(vm: Vm) -> None:
    shown = tool("status", "--json", "--name", vm.lab.name)
    status = json.loads(shown.stdout)
    assert shown.returncode == 0
    assert status["vms"]["vm1"]["ssh"] is True
    assert status["vms"]["vm1"]["pid"] == vm.lab.processes()["vm1"]
    listing = json.loads(tool("inventory", "--name", vm.lab.name, "--list").stdout)
    assert listing["_meta"]["hostvars"]["vm1"]["ansible_port"] == status["vms"]["vm1"]["port"]
    said = tool("exec", "--name", vm.lab.name, "--user", "bob", "vm1", "--", "printf", "%s|", "two words", "$HOME")
    assert (said.returncode, said.stdout) == (0, "two words|$HOME|")
    assert tool("exec", "--name", vm.lab.name, "vm1", "exit 7").returncode == 7


def test_an_unknown_vm_is_named(vm: Vm) -> None:
    said = tool("exec", "--name", vm.lab.name, "vm9", "true")
    assert said.returncode == 1
    assert "no VM 'vm9'" in said.stderr
