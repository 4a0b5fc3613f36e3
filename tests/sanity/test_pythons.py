# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit tests on the other Pythons: code of managed nodes on the lowest one, everything on the newest core's."""

from __future__ import annotations

import re

import pytest

from tests.support.outer import environment, passes


def closing_line(text: str) -> int:
    """How many tests passed."""
    found = re.search(r"(\d+) passed", text)
    assert found, text[-2000:]
    return int(found[1])


@pytest.mark.slow
def test_managed_node_code_on_python_3_8() -> None:
    tools = environment("3.8", "pytest", "hypothesis")
    text = passes(str(tools / "python"), "-m", "pytest", "-q", "tests/unit/plugins/module_utils", RDMA_CI="")
    assert closing_line(text) > 100


@pytest.mark.slow
def test_unit_tests_on_the_newest_core() -> None:
    tools = environment("3.13", "ansible-core", "pytest", "hypothesis", "jsonschema", "pyyaml")
    assert "2.19" not in passes(str(tools / "ansible"), "--version").splitlines()[0]
    text = passes(str(tools / "python"), "-m", "pytest", "-q", "tests/unit", RDMA_CI="")
    assert closing_line(text) > 150
