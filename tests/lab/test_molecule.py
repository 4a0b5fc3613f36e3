# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role's Molecule scenario: check mode foretells converge on a fresh host, idempotence, verify, and no trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.lab

MOLECULE = REPOSITORY / "extensions/molecule"
SCENARIOS = sorted(path.parent.name for path in MOLECULE.glob("*/molecule.yml"))
BIN = Path(sys.executable).parent
STEPS = ("destroy", "create", "check", "side_effect", "converge", "verify", "idempotence", "verify", "destroy")


def take_down(scenario: str) -> str:
    """Remove what is left of the scenario's lab; returns what the tool says."""
    done = subprocess.run(
        [str(MOLECULE / "base/lab"), "down"],
        env={**os.environ, "MOLECULE_SCENARIO_NAME": scenario},
        capture_output=True, text=True, check=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout


def molecule(scenario: str, place: Path) -> tuple[int, str]:
    """Test one scenario; when the time is over or the tests are interrupted, Molecule is ended and waited for."""
    process = subprocess.Popen(
        [str(BIN / "molecule"), "test", "--scenario-name", scenario],
        cwd=REPOSITORY, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
        # Molecule's own place is shared by checkouts whose folders have the same name.
        env={**os.environ, "NO_COLOR": "1", "PATH": f"{BIN}:{os.environ['PATH']}", "MOLECULE_EPHEMERAL_DIRECTORY": str(place)},
    )  # fmt: skip
    try:
        output, _errors = process.communicate(timeout=600)
    except BaseException:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        raise
    return process.returncode, output


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str, lab_tools: None, tmp_path: Path) -> None:
    start = time.monotonic()
    try:
        status, output = molecule(scenario, tmp_path)
    finally:
        left = take_down(scenario)
    assert status == 0, f"after {time.monotonic() - start:.0f} s:\n{output[-12000:]}"
    # A playbook that Molecule does not find is a warning and no failure.
    steps = [line.strip() for line in output.splitlines() if line.startswith(f"{scenario} > ")]
    assert steps == [f"{scenario} > {step}: Executed: Successful" for step in STEPS]
    assert "was not up" in left, "Molecule has taken it down itself"
