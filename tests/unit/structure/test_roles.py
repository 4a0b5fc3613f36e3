# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role's variables are the same in defaults, argument specification and README."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from rdmalab.state import Lab

from tests.support.source import REPOSITORY
from tests.tools import make_docs

MOLECULE = REPOSITORY / "extensions/molecule"
ROLES = sorted(path for path in (REPOSITORY / "roles").iterdir() if path.is_dir())


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_variables_are_the_same_everywhere(role: Path) -> None:
    defaults = load(role / "defaults/main.yml")
    assert defaults
    for entry, spec in load(role / "meta/argument_specs.yml")["argument_specs"].items():
        assert set(spec["options"]) == set(defaults), entry
        for name, option in spec["options"].items():
            assert name.startswith(role.name + "_") and option["description"] and option["type"], name
            # A default that is a template has no type yet, so a specification may leave it out.
            templated = "{{" in str(defaults[name]) and "default" not in option
            assert templated or option.get("default") == defaults[name], f"{entry}: {name}"


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_each_role_has_a_scenario(role: Path) -> None:
    for name in ("molecule.yml", "converge.yml", "verify.yml"):
        path = MOLECULE / role.name / name
        assert path.exists(), f"{path} is missing"
    plays = load(path.parent / "converge.yml")
    assert [item["role"] for play in plays for item in play["roles"]] == [f"rdma.infiniband.{role.name}"]
    # A scenario's own are the variables of the environment at most, such as the size of its cluster.
    own = load(path.parent / "molecule.yml") or {"ansible": {"env": {}}}
    shared = load(MOLECULE / "config.yml")["ansible"]["env"]
    assert set(own) == {"ansible"} and set(own["ansible"]) == {"env"}, "the rest is in extensions/molecule/config.yml"
    assert set(own["ansible"]["env"]) <= set(shared), "a name that nothing reads"


def test_each_scenario_is_of_a_role() -> None:
    scenarios = {path.parent.name for path in MOLECULE.glob("*/*.yml")} - {"base"}
    assert scenarios == {role.name for role in ROLES}


def test_each_scenario_has_a_lab_of_its_own(tmp_path: Path) -> None:
    """Also another checkout's."""
    other = tmp_path / "checkout"
    (other / "extensions/molecule/base").mkdir(parents=True)
    (other / "lab").mkdir()
    shutil.copy(MOLECULE / "base/lab", other / "extensions/molecule/base")
    names = set()
    for top in (REPOSITORY, other):
        for role in ROLES:
            done = subprocess.run(
                [str(top / "extensions/molecule/base/lab"), "name"],
                env={**os.environ, "MOLECULE_SCENARIO_NAME": role.name},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            names.add(Lab(done.stdout.strip()).name)
    assert len(names) == 2 * len(ROLES) and not names & {"demo", "test"}


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_internal_names_are_marked(role: Path) -> None:
    for path in sorted((role / "vars").glob("*.yml")):
        for name in load(path) or {}:
            assert name.startswith(f"__{role.name}_"), (
                f"{path}: {name} is not for users, so it begins with __{role.name}_"
            )


@pytest.mark.parametrize("path", list(make_docs.pages()), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_generated_pages_are_current(path: Path) -> None:
    assert path.read_text() == make_docs.pages()[path], "run: make docs"


def test_a_role_table_shows_each_variable(tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / "defaults").mkdir()
    (tmp_path / "defaults/main.yml").write_text('x_how: fast\nx_what: "{{ a | default({}) }}"\n')
    (tmp_path / "meta/argument_specs.yml").write_text(
        "argument_specs:\n  main:\n    description: [Does things.]\n    options:\n"
        "      x_how: {type: str, default: fast, choices: [fast, slow], description: 'How, see O(x_what).'}\n"
        "      x_what: {type: dict, description: What.}\n"
    )
    table = make_docs.role_table(tmp_path)
    assert "| `x_how` | str | `fast` | How, see `x_what`. One of `fast`, `slow`. |" in table
    assert "| `x_what` | dict | `'{{ a \\| default({}) }}'` | What. |" in table
