# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Linters, types and documentation: fast, and before anything that boots."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.outer import passes


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("mypy", "plugins", "lab/rdmalab", "lab/vms", "tests/tools"),
        ("yamllint", "--strict", "."),
        ("ansible-lint",),
        ("antsibull-changelog", "lint"),
        (
            "ansible-playbook",
            "--syntax-check",
            "-i",
            "inventories/example",
            "playbooks/site.yml",
            "playbooks/verify.yml",
        ),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_linter(command: tuple[str, ...]) -> None:
    passes(*command)


PLUGINS = [
    (kind, path.stem)
    for kind, folder in (("module", "modules"), ("filter", "filter"), ("callback", "callback"))
    for path in sorted((REPOSITORY / "plugins" / folder).glob("*.py"))
]


@pytest.mark.parametrize(("kind", "name"), PLUGINS, ids=[name for _kind, name in PLUGINS])
def test_documentation_renders(kind: str, name: str) -> None:
    text = passes("ansible-doc", "--type", kind, f"rdma.infiniband.{name}")
    assert name in text.splitlines()[0]


@pytest.mark.parametrize("role", sorted(path.name for path in (REPOSITORY / "roles").iterdir()))
def test_role_documentation_renders(role: str) -> None:
    assert role in passes("ansible-doc", "--type", "role", f"rdma.infiniband.{role}")


def test_example_inventory_is_complete(tmp_path: Path) -> None:
    """Every host of the example has a profile, and every profile is valid."""
    play = tmp_path / "play.yml"
    play.write_text(
        "- hosts: infiniband\n  gather_facts: false\n  tasks:\n"
        "    - name: Validate\n      ansible.builtin.import_role: {name: rdma.infiniband.verify, tasks_from: assert}\n"
    )
    text = passes(
        "ansible-playbook", "-i", "inventories/example", str(play), RDMA_INFINIBAND_REPORT=str(tmp_path / "r.json")
    )
    assert "failed=0" in text and "ok=3" in text
