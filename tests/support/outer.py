# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the outer tests share: interpreters, environments of their own, running a command."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY, skip_or_fail

CACHE = REPOSITORY / ".cache"


def run(*argv: str, cwd: Path = REPOSITORY, timeout: float = 900, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the test environment's tools first on PATH; its output is in the failure message."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        argv,
        cwd=cwd,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", **env},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=timeout,
    )


def passes(*argv: str, cwd: Path = REPOSITORY, timeout: float = 900, **env: str) -> str:
    """Run a command that must succeed; returns its output."""
    done = run(*argv, cwd=cwd, timeout=timeout, **env)
    assert done.returncode == 0, (
        f"{' '.join(argv)} ended with {done.returncode}\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    )
    return done.stdout


def python(version: str) -> str:
    """An interpreter of this version: RDMA_PYTHON_3_8, a pyenv version, or one on PATH."""
    named = os.environ.get("RDMA_PYTHON_" + version.replace(".", "_"))
    if named:
        return named
    for folder in sorted(Path.home().glob(f".pyenv/versions/{version}.*"), reverse=True):
        if (folder / "bin/python").exists():
            return str(folder / "bin/python")
    found = shutil.which(f"python{version}")
    if not found:
        skip_or_fail(f"no Python {version} here")
    return str(found)


def environment(version: str, *requirements: str) -> Path:
    """A virtual environment of this Python with these packages, kept for the next run; returns its bin folder."""
    interpreter = python(version)
    digest = hashlib.sha256("\n".join((interpreter, *requirements)).encode()).hexdigest()[:10]
    place = CACHE / f"venv-{version}-{digest}"
    if not (place / "complete").exists():
        passes(interpreter, "-m", "venv", "--clear", str(place))
        passes(str(place / "bin/python"), "-m", "pip", "install", "--quiet", *requirements)
        (place / "complete").touch()
    return place / "bin"
