# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab for the tests: started once, always taken down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY, skip_or_fail

# Another name lets two test runs share a machine.
NAME = os.environ.get("RDMA_TEST_LAB", "test")
NEEDED = ("mmdebstrap", "systemd-nspawn", "ip", "ssh", "nsenter")


@dataclass
class Lab:
    """A running lab by its name."""

    name: str

    def run(self, *arguments: str, check: bool = True, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """One command of the lab's tool."""
        done = subprocess.run(
            [sys.executable, str(REPOSITORY / "lab/lab"), "--name", self.name, *arguments],
            capture_output=True, text=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if check:
            assert done.returncode == 0, f"lab {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done

    def fault(self, *arguments: str) -> str:
        """Break something."""
        return self.run("fault", *arguments).stdout

    def sh(self, host: str, script: str, check: bool = True) -> str:
        """Run a shell script inside a host."""
        return self.run("exec", host, "--", "sh", "-c", script, check=check).stdout

    def status(self) -> dict[str, Any]:
        """What the fabric daemon says."""
        return dict(json.loads(self.run("status", "--json").stdout))

    def playbook(
        self, playbook: str, *arguments: str, check: bool = True, **env: str
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
        """Run a playbook against the lab; returns the run and its report."""
        report = Path(f"/tmp/rdma-lab-report-{self.name}.json")
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventories/lab", playbook, *arguments],
            cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300, stdin=subprocess.DEVNULL,
            env={**os.environ, "RDMA_LAB_NAME": self.name, "RDMA_INFINIBAND_REPORT": str(report), "NO_COLOR": "1", **env},
        )  # fmt: skip
        if check:
            assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        try:
            return done, json.loads(report.read_text()) if report.exists() else {}
        finally:
            report.unlink(missing_ok=True)


def eventually(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition holds before the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.2)
    return condition()


@pytest.fixture(scope="session")
def lab_tools() -> None:
    """Root and the programs that the lab needs."""
    missing = [name for name in NEEDED if not shutil.which(name)]
    if os.geteuid() != 0:
        skip_or_fail("the lab needs root")
    if missing:
        skip_or_fail(f"the lab needs {', '.join(missing)}: run lab/install-host-packages")


@pytest.fixture(scope="session")
def running_lab(lab_tools: None) -> Iterator[Lab]:
    """Four hosts on two leaves and two spines, with two subnet managers."""
    lab = Lab(NAME)
    lab.run("up", "--hosts", "4", "--replace", timeout=600)
    try:
        yield lab
    finally:
        lab.run("down")


@pytest.fixture
def lab(running_lab: Lab) -> Iterator[Lab]:
    """The running lab, without faults before and after."""
    try:
        yield running_lab
    finally:
        running_lab.fault("restore")

        def healthy() -> bool:
            return all(port["state"] == "Active" for port in running_lab.status()["ports"].values())

        assert eventually(healthy, 40)
