# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""limits.conf as pam_limits reads it. The values were compared with the real pam_limits of Debian 12."""

from __future__ import annotations

from typing import Optional

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import UNLIMITED
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import limits_conf
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("value", "size", "complaint"),
    [
        ("unlimited", UNLIMITED, None),
        ("Infinity", UNLIMITED, None),
        ("-1", UNLIMITED, None),
        ("-", UNLIMITED, None),
        ("-5", UNLIMITED, None),
        ("0", 0, None),
        ("64", 65536, None),
        ("64   # KiB", 65536, None),
        ("99999999999999999999", UNLIMITED, None),
        ("18014398509481984", UNLIMITED, None),
        ("64G", 65536, "drops 'g'"),
        ("64 KB", 65536, "drops 'kb'"),
        ("abc", None, "neither unlimited nor a number"),
        ("unlimited x", None, "more than one word"),
        ("unlimited\r", None, "carriage return"),
    ],
)
def test_values(value: str, size: Optional[int], complaint: Optional[str]) -> None:
    (line,) = limits_conf.parse("* hard memlock " + value, "a.conf")
    assert line.size == size
    assert (complaint is None and line.problem is None) or complaint in str(line.problem)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("* memlock unlimited", "domain, type, item and value"),
        ("* both memlock 64", "not soft, hard or -"),
        ("%hpc - memlock 64", "% is for maxlogins"),
        ("x:y - memlock 64", "not a range"),
        (": - memlock 64", "not a range"),
        ("memlock - * unlimited", "third word should be memlock"),
    ],
)
def test_lines_that_do_nothing(text: str, complaint: str) -> None:
    (line,) = limits_conf.parse(text, "a.conf")
    assert line.size is None and complaint in str(line.problem)


def test_places_and_what_is_passed_over() -> None:
    text = "\n# * hard memlock 1\n* hard nofile 1\n\t @hpc\tSOFT  MemLock\t 8 \nalice -\n1000: - memlock 5\n"
    lines = limits_conf.parse(text, "/etc/security/limits.d/x.conf")
    assert [(line.line, line.domain, line.kind, line.size) for line in lines] == [
        (4, "@hpc", "soft", 8192),
        (5, "alice", "exempt", None),
        (6, "1000:", "-", 5120),
    ]
    assert lines[0].where == "/etc/security/limits.d/x.conf:4" and lines[0].says == "@hpc soft memlock 8"


def test_a_no_break_space_belongs_to_the_word() -> None:
    (line,) = limits_conf.parse("*\u00a0- memlock unlimited", "x")
    assert line.size is None and line.problem


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    for line in limits_conf.parse(text, "x"):
        assert line.line >= 1 and (line.size is None or 0 <= line.size <= UNLIMITED)


@given(st.text(alphabet="*@%a1:- \tsofthardmemlockunlimited0\n\r#"))
def test_what_looks_like_lines_does_not_break_it(text: str) -> None:
    for line in limits_conf.parse(text, "x"):
        assert line.size is not None or line.problem or line.kind == "exempt"
