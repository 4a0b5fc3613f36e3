# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lines of limits.d come to. The cases were compared with the real pam_limits of Debian 12."""

from __future__ import annotations

from typing import List, Tuple

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.limits_config import (
    check_lines,
    login_limit,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    UNLIMITED,
    Account,
    Limit,
    LimitLine,
    LoginLimit,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.limits_conf import parse
from hypothesis import given
from hypothesis import strategies as st

ALICE = Account("alice", 4242, 4242, ("hpc", "extra"), (4242, 4343))
ROOT = Account("root", 0, 0, ("root",), (0,))
START = Limit(8192 << 10, 8192 << 10)
KIB = 1024


def given_to(text: str, account: Account = ALICE, debian: bool = False) -> LoginLimit:
    return login_limit(parse(text, "f"), account, START, debian)


@pytest.mark.parametrize(
    ("text", "soft", "hard"),
    [
        ("", 8192, 8192),
        ("* hard memlock 64", 64, 64),
        ("* soft memlock 64", 64, 8192),
        ("* soft memlock 64\n* hard memlock 64\n* soft memlock unlimited\n@nobody hard memlock unlimited", 64, 64),
        ("* - memlock 1\n* - memlock 2", 2, 2),
        ("@hpc - memlock 5\n* - memlock 9", 5, 5),
        ("alice - memlock 3\n@hpc - memlock 5\n* - memlock 9", 3, 3),
        # The soft part of a user's line is stronger, and then the hard part of the group's line is not looked at.
        ("alice soft memlock 50\n@hpc - memlock 100", 50, 8192),
        ("@hpc soft memlock 10\n@extra soft memlock 20", 20, 8192),
        (":4242 - memlock 100\n* - memlock 200", 100, 100),
        ("4243: - memlock 1\n4000:4241 - memlock 1", 8192, 8192),
        ("4000:5000 - memlock 7", 7, 7),
        ("@4000:5000 - memlock 7", 7, 7),
        ("@4343:5000 - memlock 7", 8192, 8192),
        ("@:4343 - memlock 7", 7, 7),
        ("%hpc - memlock 7", 8192, 8192),
        ("Alice - memlock 7", 8192, 8192),
        ("* - memlock 64G", 64, 64),
        ("* - memlock many", 8192, 8192),
        ("* - memlock 7\nalice -", 8192, 8192),
        ("* - memlock 7\n@extra -", 8192, 8192),
        ("* - memlock 7\n* -", 7, 7),
    ],
)
def test_who_wins(text: str, soft: int, hard: int) -> None:
    assert given_to(text).limit == Limit(soft * KIB, hard * KIB)


@pytest.mark.parametrize(
    ("text", "debian", "upstream"),
    [
        ("* - memlock 7", 8192, 7),
        ("@root - memlock 7", 8192, 7),
        ("root - memlock 7", 7, 7),
        ("0:100 - memlock 7", 7, 7),
        ("root - memlock 7\n@root -", 8192, 8192),
    ],
)
def test_root(text: str, debian: int, upstream: int) -> None:
    assert given_to(text, ROOT, True).limit.hard == debian * KIB
    assert given_to(text, ROOT, False).limit.hard == upstream * KIB


def test_it_names_the_lines() -> None:
    found = given_to("* soft memlock 64\n@hpc hard memlock unlimited\n")
    assert (found.soft_line and found.soft_line.where, found.hard_line and found.hard_line.where) == ("f:1", "f:2")
    assert found.touched and not given_to("").touched
    exempt = given_to("alice -\n").exempt_line
    assert exempt and exempt.where == "f:1"


def codes(text: str) -> List[Tuple[str, str]]:
    return [(item.code, item.subject) for item in check_lines(parse(text, "f"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* - memlock unlimited\n", []),
        ("* soft memlock 64\n* hard memlock 64\n@hpc - memlock unlimited\n", []),
        ("* soft memlock unlimited\n* hard memlock 64\n", [("LIMITS_SOFT_ABOVE_HARD", "memlock of *")]),
        (
            "* soft memlock 64\n* hard memlock 64\n* soft memlock unlimited\n",
            [("LIMITS_SOFT_ABOVE_HARD", "memlock of *")],
        ),
        ("* hard memlock 64\n* hard memlock unlimited\n", [("LIMITS_CONTRADICTION", "memlock of *")]),
        ("* - memlock 64\n* - memlock 64\n", []),
        ("* - memlock 64G\n", [("LIMITS_LINE_MISREAD", "f:1")]),
        ("%hpc - memlock 64\n", [("LIMITS_LINE_MISREAD", "f:1")]),
    ],
)
def test_findings(text: str, expected: List[Tuple[str, str]]) -> None:
    assert codes(text) == expected


def test_a_contradiction_names_both_files() -> None:
    lines = parse("* - memlock unlimited\n", "/d/10-ours.conf") + parse("* - memlock 64\n", "/d/99-theirs.conf")
    (finding,) = check_lines(lines)
    assert "/d/10-ours.conf:1" in finding.observed and "/d/99-theirs.conf:1" in finding.observed


LINES = st.lists(
    st.builds(
        LimitLine,
        path=st.just("f"),
        line=st.integers(1, 9),
        domain=st.sampled_from(["*", "alice", "@hpc", "%", "%hpc", "root", "0:", ":4242", "@0:9", "@:0", ""]),
        kind=st.sampled_from(["soft", "hard", "-", "exempt"]),
        size=st.one_of(st.none(), st.integers(0, UNLIMITED)),
        problem=st.one_of(st.none(), st.just("x")),
    )
)


@given(LINES, st.booleans())
def test_a_session_never_has_a_soft_limit_above_the_hard_one(lines: List[LimitLine], debian: bool) -> None:
    for account in (ALICE, ROOT):
        limit = login_limit(lines, account, START, debian).limit
        assert 0 <= limit.soft <= limit.hard
    check_lines(lines)
