# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples in RDMA_CORPUS that are limits.conf files: entries, what a user gets, and the words for what is wrong.

Layout: config_files/SAMPLE/{input.txt,expected.json}. Every sample whose expected values are of this kind is run.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.limits_config import check_lines, login_limit
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock import check_memlock
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    UNLIMITED,
    Account,
    Limit,
    MemlockView,
    MemlockWanted,
    PamStack,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.limits_conf import parse

FOLDER = Path(os.environ.get("RDMA_CORPUS", "")) / "config_files"
USER = Account("someone", 54321, 54321, ("someone",), (54321,))
START = Limit(8 << 20, 8 << 20)


def of_limits(sample: Path) -> bool:
    expected = sample / "expected.json"
    return expected.is_file() and ("memlock" in (text := expected.read_text()) and '"entries"' in text)


def samples() -> list[Any]:
    if not os.environ.get("RDMA_CORPUS") or not FOLDER.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason="RDMA_CORPUS names no folder with config_files"))]
    found = [pytest.param(path, id=path.name) for path in sorted(FOLDER.iterdir()) if of_limits(path)]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="no sample of limits.conf"))]


def bytes_of(text: str) -> int:
    """``64 (clamped by hard)`` or ``unlimited`` to bytes."""
    if text.split(maxsplit=1)[0] in ("unlimited", "infinity", "-1"):
        return UNLIMITED
    number = re.match(r"\d+", text)
    assert number, text
    return int(number[0]) * 1024


@pytest.mark.parametrize("sample", samples())
def test_limits_conf(sample: Path) -> None:
    expected = json.loads((sample / "expected.json").read_text())
    lines = parse((sample / "input.txt").read_bytes().decode("utf-8", "replace"), "limits.conf")
    wanted = [entry for entry in expected["entries"] if entry[2] == "memlock"]
    assert [[line.domain, line.kind, "memlock", line.value] for line in lines if line.kind != "exempt"] == wanted
    effective = expected.get("effective_for_normal_user")
    if effective:
        given = login_limit(lines, USER, START)
        for part, size in (("soft", given.limit.soft), ("hard", given.limit.hard)):
            assert size == bytes_of(effective[part]), part
    problems = " ".join(expected.get("problems", []))
    if effective and bytes_of(effective["hard"]) < UNLIMITED and problems:
        stack = PamStack("sshd", "/etc/pam.d/sshd", "runs")
        view = MemlockView(lines=lines, accounts=(USER,), stacks=(stack,), init=START)
        (finding, *_others) = check_memlock(view, MemlockWanted((), Limit(UNLIMITED, UNLIMITED)))
        assert finding.code == "MEMLOCK_EFFECTIVE_LOW" and "limits.conf:" in finding.observed
        if "LimitMEMLOCK" in problems:
            assert "LimitMEMLOCK for services only" in finding.hint
        if "clamped" in effective["soft"]:
            assert "LIMITS_SOFT_ABOVE_HARD" in [item.code for item in check_lines(lines)]
            assert "is above hard" in finding.observed
