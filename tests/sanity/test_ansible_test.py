# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-test sanity on the built collection, without ignores, on the oldest and the newest supported core."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.outer import environment, passes, python, run

# Newest core and the Python it is tested with; ansible-core 2.19 is that of requirements.txt.
NEWEST = ("3.13", "ansible-core")
OLDEST = ("3.11", "ansible-core>=2.19,<2.20")


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collection as a user gets it: built, and unpacked where Ansible looks."""
    top = tmp_path_factory.mktemp("built")
    passes("ansible-galaxy", "collection", "build", "--force", "--output-path", str(top))
    place = top / "ansible_collections/rdma/infiniband"
    place.mkdir(parents=True)
    (archive,) = top.glob("*.tar.gz")
    passes("tar", "-C", str(place), "-xzf", str(archive))
    assert (place / "README.md").is_file() and not (place / "tests").exists() and not (place / "lab").exists()
    return place


def ansible_test(collection: Path, tools: Path, *arguments: str, path: str = "") -> None:
    """Run ansible-test. It wants to download a script that installs pip; Python carries pip, so we give it one."""
    command = (str(tools / "ansible-test"), "sanity", *arguments)
    search = f"{tools}:{path}:{os.environ['PATH']}" if path else f"{tools}:{os.environ['PATH']}"
    for _attempt in range(4):
        done = run(*command, cwd=collection, timeout=1800, PATH=search)
        wanted = re.search(r"manually downloaded and saved to: (\S+get_pip_\S+\.py)", done.stdout + done.stderr)
        if not wanted:
            break
        script = Path(wanted[1])
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text("import ensurepip\nensurepip.bootstrap(upgrade=True, default_pip=True)\n")
    assert done.returncode == 0, (done.stdout[-6000:], done.stderr[-6000:])


@pytest.mark.slow
@pytest.mark.parametrize(("version", "core"), [OLDEST, NEWEST], ids=["oldest core", "newest core"])
def test_sanity(collection: Path, version: str, core: str) -> None:
    assert not list(collection.glob("tests/sanity/ignore*"))
    ansible_test(collection, environment(version, core), "--venv", "--python", version)


@pytest.mark.slow
def test_modules_import_on_the_lowest_target_python(collection: Path) -> None:
    """Managed nodes have Python 3.8 at least; ansible-core 2.19 is the last core that tests it."""
    interpreter = Path(python("3.8"))
    ansible_test(
        collection, environment(*OLDEST), "--controller", "origin:python=3.11", "--target-python", "3.8",
        "--requirements", "--test", "import", "--test", "compile", path=str(interpreter.parent),
    )  # fmt: skip
