# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a virtual environment from a requirements file, and nothing when it is made from this very file already.

Usage: make_venv.py DIRECTORY REQUIREMENTS. Standard library only: it runs before anything is installed. What an
interrupted run left is completed by the next one, or made anew when its Python does not run.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

# ansible-core 2.19, the oldest that is supported, runs on this Python.
LOWEST = (3, 11)


def text_of(requirements: Path) -> str:
    """The file with the files that it includes."""
    parts = [requirements.read_text()]
    for name in re.findall(r"^-r\s+(\S+)", parts[0], re.MULTILINE):
        parts.append(text_of(requirements.parent / name))
    return "\n".join(parts)


def works(python: Path) -> bool:
    """Whether this interpreter starts and has pip; half an environment has one without the other."""
    try:
        return subprocess.run([str(python), "-c", "import pip"], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def digest(requirements: Path) -> str:
    """What the environment depends on."""
    return hashlib.sha256((sys.version + text_of(requirements)).encode()).hexdigest()


def is_made(venv: Path, requirements: Path) -> bool:
    """Whether these requirements, or wider ones that include them, were installed to the end."""
    # What the tests need includes what the demo needs.
    wider = requirements.parent / "requirements-test.txt"
    for file in {requirements, wider} if requirements.name == "requirements.txt" else {requirements}:
        stamp = venv / "stamps" / file.name
        if stamp.exists() and file.exists() and stamp.read_text() == digest(file):
            return works(venv / "bin" / "python")
    return False


def main(venv: Path, requirements: Path) -> None:
    """Make it."""
    if sys.version_info < LOWEST:
        wanted, found = (".".join(map(str, version[:2])) for version in (LOWEST, sys.version_info))
        sys.exit(f"{sys.executable} is Python {found}; the controller needs {wanted} or newer: make PYTHON=/path/to/it")
    if is_made(venv, requirements):
        return
    print(f"installing {requirements.name} into {venv}", flush=True)
    python = venv / "bin" / "python"
    if not works(python):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
        check=True,
    )
    stamp = venv / "stamps" / requirements.name
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(digest(requirements))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} ended with status {error.returncode}")
    except KeyboardInterrupt:
        sys.exit("interrupted; the next run completes the environment")
