# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every file of the repository."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.support.source import PLUGINS, REPOSITORY

# Paths of the machine where a file was written. They are spelt in parts, so that this file needs no exception.
ELSEWHERE = re.compile(r"(?<![\w.$}-])/" + r"work(?![\w-])|\.\./" + r"shared\b|/home/[a-z]+/")
# The one file that may look beside the checkout.
LOOKS_BESIDE = REPOSITORY / ".ci/run"


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files under version control."""
    if not shutil.which("git") or not (REPOSITORY / ".git").exists():
        skip_or_fail("not a git checkout")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True)
    names = [name for name in done.stdout.decode().split("\0") if name]
    return [path for path in (REPOSITORY / name for name in names) if path.is_file()]


def test_nothing_names_the_place_where_it_was_written(tracked: list[Path]) -> None:
    assert len(tracked) > 100
    for path in tracked:
        found = ELSEWHERE.search(path.read_text(errors="replace"))
        assert path == LOOKS_BESIDE or not found, f"{path}: {found}"


def test_every_python_file_says_its_licence(tracked: list[Path]) -> None:
    for path in tracked:
        if path.suffix == ".py" and path.read_text().strip():
            assert "SPDX-License-Identifier: GPL-3.0-or-later" in path.read_text()[:600], path


def test_scripts_can_be_executed(tracked: list[Path]) -> None:
    """Modules are the exception: Ansible runs them, and wants them without the bit."""
    for path in tracked:
        if path.read_bytes()[:2] == b"#!" and not path.is_relative_to(PLUGINS):
            assert path.stat().st_mode & 0o100, f"{path} has a first line for execution and no permission for it"


def test_every_finding_code_is_raised_by_a_check() -> None:
    from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings import FINDINGS

    text = "\n".join(path.read_text() for path in PLUGINS.rglob("*.py") if path.name != "findings.py")
    for code in FINDINGS:
        assert f'"{code}"' in text, f"nothing raises {code}"
