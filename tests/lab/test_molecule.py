# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role's Molecule scenario: check mode on a fresh host, converge, idempotence, verify."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.lab.conftest import Lab

pytestmark = pytest.mark.lab

SCENARIOS = sorted(path.parent.name for path in (REPOSITORY / "extensions/molecule").glob("*/molecule.yml"))
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str, lab_tools: None) -> None:
    try:
        done = subprocess.run(
            [str(BIN / "molecule"), "test", "-s", scenario],
            cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL,
            env={**os.environ, "NO_COLOR": "1", "PATH": f"{BIN}:{os.environ['PATH']}"},
        )  # fmt: skip
    finally:
        Lab("molecule").run("down")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    for step in ("create", "check", "converge", "idempotence", "verify", "destroy"):
        assert f"{scenario} > {step}: Executed: Successful" in done.stdout + done.stderr, step
