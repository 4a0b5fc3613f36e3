# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""slurm.conf: is memlock propagated?"""

from __future__ import annotations

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.slurm_conf import parse
from hypothesis import given
from hypothesis import strategies as st

PATH = "/etc/slurm/slurm.conf"


@pytest.mark.parametrize(
    ("text", "propagates"),
    [
        ("ClusterName=x\n", True),
        ("PropagateResourceLimits=ALL\n", True),
        ("PropagateResourceLimits=NONE\n", False),
        ("PropagateResourceLimits=CORE,NOFILE\n", False),
        ("PropagateResourceLimits=CORE,RLIMIT_MEMLOCK\n", True),
        ("propagateresourcelimitsexcept=MEMLOCK\n", False),
        ("PropagateResourceLimitsExcept=NOFILE\n", True),
        ("PropagateResourceLimitsExcept=ALL\n", False),
        ("PropagateResourceLimitsExcept=NONE\n", True),
        ("PropagateResourceLimits=ALL PropagateResourceLimitsExcept=MEMLOCK,CORE\n", False),
        ("#PropagateResourceLimitsExcept=MEMLOCK\n", True),
        ("PropagateResourceLimitsExcept= \\\nMEMLOCK\n", False),
        ("PropagateResourceLimitsExcept=MEMLOCK # why\n", False),
    ],
)
def test_propagation(text: str, propagates: bool) -> None:
    assert parse(text, PATH, lambda path: None).propagates is propagates


def test_includes_and_places() -> None:
    files = {"/etc/slurm/site.conf": "\nPropagateResourceLimitsExcept=MEMLOCK\nInclude site.conf\n"}
    found = parse("Include site.conf\n", PATH, files.get)
    assert (found.propagates, found.where) == (False, "/etc/slurm/site.conf:2")
    assert parse("x=1\n", PATH, files.get).where == PATH


def test_a_name_that_slurm_does_not_know() -> None:
    assert "MEMLOK" in str(parse("PropagateResourceLimitsExcept=MEMLOK\n", PATH, lambda path: None).problem)


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    parse(text, PATH, lambda path: text)
