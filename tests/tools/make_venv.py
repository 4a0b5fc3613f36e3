# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a virtual environment from a requirements file, and nothing when it is made from this very file already.

Usage: make_venv.py DIRECTORY REQUIREMENTS. Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path


def text_of(requirements: Path) -> str:
    """The file with the files that it includes."""
    parts = [requirements.read_text()]
    for name in re.findall(r"^-r\s+(\S+)", parts[0], re.MULTILINE):
        parts.append(text_of(requirements.parent / name))
    return "\n".join(parts)


def main(venv: Path, requirements: Path) -> None:
    """Make it."""
    python = venv / "bin" / "python"
    stamps = venv / "stamps"
    digest = hashlib.sha256((sys.version + text_of(requirements)).encode()).hexdigest()
    stamp = stamps / requirements.name
    # What the tests need includes what the demo needs.
    wider = stamps / "requirements-test.txt"
    if python.exists() and stamp.exists() and stamp.read_text() == digest:
        return
    if requirements.name == "requirements.txt" and wider.exists() and python.exists():
        included = hashlib.sha256((sys.version + text_of(requirements.parent / wider.name)).encode()).hexdigest()
        if wider.read_text() == included:
            return
    print(f"installing {requirements.name} into {venv}", flush=True)
    if (
        subprocess.run([str(python), "-c", "pass"], check=False, capture_output=True).returncode
        if python.exists()
        else True
    ):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
        check=True,
    )
    stamps.mkdir(exist_ok=True)
    stamp.write_text(digest)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} ended with status {error.returncode}")
