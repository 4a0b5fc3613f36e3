# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the collection, the lab and the test helpers importable from a checkout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
for place in (REPOSITORY / ".collections", REPOSITORY / "lab", REPOSITORY):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))

# Cheap tests first, so that a mistake is seen early.
_ORDER = ("tests/unit", "tests/sanity/test_lint", "tests/lab", "tests/sanity", "tests/vm")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the layers."""

    def rank(item: pytest.Item) -> int:
        path = str(item.path.relative_to(REPOSITORY))
        return next((index for index, start in enumerate(_ORDER) if path.startswith(start)), len(_ORDER))

    items.sort(key=rank)


def skip_or_fail(reason: str) -> None:
    """A missing tool is a skip with its reason on a laptop, and a failure in CI."""
    if os.environ.get("RDMA_CI"):
        pytest.fail(f"{reason} (RDMA_CI is set, so this is not skipped)")
    pytest.skip(reason)
