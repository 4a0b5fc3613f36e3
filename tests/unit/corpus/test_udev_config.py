# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples in RDMA_CORPUS that are udev rules: what each rule names, and whether it can match.

Layout: config_files/SAMPLE/{input.txt,expected.json}. Every sample whose expected values are of this kind is run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint import problems
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.udev_rules import parse

FOLDER = Path(os.environ.get("RDMA_CORPUS", "")) / "config_files"


def samples() -> list[Any]:
    if not os.environ.get("RDMA_CORPUS") or not FOLDER.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason="RDMA_CORPUS names no folder with config_files"))]
    found = [
        pytest.param(path, id=path.name)
        for path in sorted(FOLDER.iterdir())
        if (path / "expected.json").is_file() and '"rules"' in (path / "expected.json").read_text()
    ]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="no sample of udev rules"))]


@pytest.mark.parametrize("sample", samples())
def test_udev_rules(sample: Path) -> None:
    expected = json.loads((sample / "expected.json").read_text())
    rules = {rule.line: rule for rule in parse((sample / "input.txt").read_bytes().decode("utf-8", "replace"))}
    assert sorted(rules) == [entry["line"] for entry in expected["rules"]], "comments are no rules"
    for entry in expected["rules"]:
        rule = rules[entry["line"]]
        name = rule.assigned("NAME")
        if entry.get("name"):
            assert name is not None and name.value == entry["name"]
        addresses = [token.value for token in rule.conditions("ATTR", "address")]
        if entry.get("guid"):
            assert [value.lower()[-23:] for value in addresses] == [entry["guid"]]
        if entry.get("address"):
            assert addresses == [entry["address"]]
        found = problems(rule)
        assert (not found) == entry["ok"], (entry, found)
        for theirs, ours in (("6-byte", "6-byte"), ("QPN", "queue pair number")):
            if theirs in entry.get("why", ""):
                assert ours in found[0][1], (entry, found)
