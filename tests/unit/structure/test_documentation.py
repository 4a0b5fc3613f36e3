# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every plugin's documentation promises to its reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.source import PLUGINS, documents

MODULES = sorted((PLUGINS / "modules").glob("*.py"))
FILTERS = sorted((PLUGINS / "filter").glob("*.py"))
TASK_WORDS = {
    "name", "register", "vars", "when", "loop", "loop_control", "delegate_to", "run_once", "become", "notify", "tags",
    "check_mode", "diff", "failed_when", "changed_when", "until", "retries", "delay", "environment", "no_log", "async",
    "poll", "ignore_errors",
}  # fmt: skip
# Keyed by what the kernel or a driver calls things, or (the last two) described elsewhere.
OPEN_ENDED = {
    "hca_info.hcas.ports.counters",
    "hca_info.hcas.ports.hw_counters",
    "hca_info.node.sources",
    "hca_info.node.disagreements",
    "hca_info.overview",
}


def name(path: Path) -> str:
    return path.stem


def read(path: Path, block: str) -> Any:
    return yaml.safe_load(documents(path)[block])


@pytest.mark.parametrize("path", MODULES + FILTERS, ids=name)
def test_examples_are_tasks_with_full_names(path: Path) -> None:
    tasks = read(path, "EXAMPLES")
    assert tasks and path.stem in documents(path)["EXAMPLES"]
    for task in tasks:
        action = set(task) - TASK_WORDS
        assert len(action) == 1 and next(iter(action)).count(".") >= 2, f"{sorted(action)}: one action by its full name"
        assert task["name"][0].isupper()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_says_what_it_does_in_check_mode(path: Path) -> None:
    documentation = read(path, "DOCUMENTATION")
    assert documentation["module"] == path.stem
    attributes = set(documentation.get("attributes", {}))
    for fragment in documentation.get("extends_documentation_fragment", []):
        _namespace, _collection, file, *block = fragment.split(".")
        text = class_texts(PLUGINS / "doc_fragments" / f"{file}.py")[block[0].upper() if block else "DOCUMENTATION"]
        attributes |= set(yaml.safe_load(text).get("attributes", {}))
    assert attributes >= {"check_mode", "diff_mode", "idempotent"}


def class_texts(path: Path) -> dict[str, str]:
    """The blocks of a documentation fragment."""
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return {key: text for key, text in vars(scope["ModuleDocFragment"]).items() if key.isupper()}


def open_ended(values: dict[str, Any], where: str = "") -> Iterator[str]:
    """Returned values whose contents nobody described."""
    for key, value in values.items():
        inner = value.get("contains")
        if inner:
            yield from open_ended(inner, f"{where}{key}.")
        elif value["type"] == "dict" or value.get("elements") == "dict":
            yield where + key


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_what_a_module_returns_is_described_to_the_bottom(path: Path) -> None:
    undescribed = {f"{path.stem}.{place}" for place in open_ended(read(path, "RETURN"))}
    assert undescribed <= OPEN_ENDED
