# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that stand in more than one file are the same in each."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml

from tests.support.source import PLUGINS, REPOSITORY

GALAXY = yaml.safe_load((REPOSITORY / "galaxy.yml").read_text())


def load(name: str) -> Any:
    return yaml.safe_load((REPOSITORY / name).read_text())


def test_action_groups_name_every_module() -> None:
    modules = sorted(path.stem for path in (PLUGINS / "modules").glob("*.py"))
    assert load("meta/runtime.yml")["action_groups"]["all"] == modules


def test_collections_needed_are_the_same_everywhere() -> None:
    needed = GALAXY["dependencies"]
    assert all(re.fullmatch(r">=\d+\.\d+\.\d+", bound) for bound in needed.values())
    for listed in (load("requirements.yml"), load("meta/execution-environment.yml")["dependencies"]["galaxy"]):
        assert {entry["name"]: entry["version"] for entry in listed["collections"]} == needed


def test_python_packages_needed_are_the_same_everywhere() -> None:
    def packages(name: str) -> set[str]:
        lines = (line.split("#")[0].strip() for line in (REPOSITORY / name).read_text().splitlines())
        return {line for line in lines if line}

    image = packages(load("meta/execution-environment.yml")["dependencies"]["python"])
    # An execution environment brings ansible-core itself.
    assert {line for line in packages("requirements.txt") if not line.startswith("ansible")} == image


def test_the_version_is_the_same_everywhere() -> None:
    version = GALAXY["version"]
    for path in sorted(PLUGINS.rglob("*.py")):
        for found in re.findall(r"^_VERSION = [\"'](.+)[\"']$", path.read_text(), re.MULTILINE):
            assert found == version, path


def test_the_checkout_is_usable_in_place() -> None:
    link = REPOSITORY / ".collections/ansible_collections" / GALAXY["namespace"] / GALAXY["name"]
    assert link.is_symlink() and not Path(os.readlink(link)).is_absolute(), "an absolute link breaks a copied checkout"
    assert link.resolve() == REPOSITORY
    assert "collections_path = .collections\n" in (REPOSITORY / "ansible.cfg").read_text()
