# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit files and systemctl show."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import UNLIMITED, Limit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import systemd_unit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from hypothesis import given
from hypothesis import strategies as st

SHOW = (
    "MainPID=812\nLimitMEMLOCK=infinity\nLimitMEMLOCKSoft=8388608\nId=slurmd.service\nNames=slurmd.service\n"
    "LoadState=loaded\nActiveState=active\nFragmentPath=/usr/lib/systemd/system/slurmd.service\n"
    "DropInPaths=/etc/systemd/system/slurmd.service.d/a.conf /run/systemd/system/slurmd.service.d/b.conf\n"
    "NeedDaemonReload=yes\n"
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("infinity", UNLIMITED),
        ("0", 0),
        ("65536", 65536),
        ("8M", 8 << 20),
        ("1.5G", 3 << 29),
        ("1G 512M", (1 << 30) + (512 << 20)),
        ("64KB", 65536),
        ("2T", 2 << 40),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert systemd_unit.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "unlimited", "-1", "8m", "1.5", "8 MiB", "99999999999999999999", "16E", "M"])
def test_what_systemd_does_not_read(text: str) -> None:
    with pytest.raises(ParseError):
        systemd_unit.parse_size(text)


def test_limits() -> None:
    assert systemd_unit.parse_limit("8M:infinity") == Limit(8 << 20, UNLIMITED)
    for text in ("infinity:8M", "8M:", ":8M", "8M:9M:10M"):
        with pytest.raises(ParseError):
            systemd_unit.parse_limit(text)


def test_files() -> None:
    text = (
        "[Unit]\nLimitMEMLOCK=1\n[Service]\n# LimitMEMLOCK=2\n; LimitMEMLOCK=3\nExecStart=/bin/x \\\n# inside\n"
        "  LimitMEMLOCK=4\nLimitMEMLOCK = unlimited\nLimitMEMLOCK=8M:infinity\n[Install]\nLimitMEMLOCK=5"
    )
    found = systemd_unit.parse_file(text, "u", "Service", "LimitMEMLOCK")
    assert [(item.line, item.text, item.limit) for item in found] == [
        (9, "LimitMEMLOCK=unlimited", None),
        (10, "LimitMEMLOCK=8M:infinity", Limit(8 << 20, UNLIMITED)),
    ]


def test_show() -> None:
    (block,) = systemd_unit.parse_show(SHOW, 1)
    unit = systemd_unit.parse_unit(block)
    assert (unit.name, unit.main_pid, unit.limit) == ("slurmd.service", 812, Limit(8 << 20, UNLIMITED))
    assert unit.needs_reload and len(unit.drop_ins) == 2
    assert len(systemd_unit.parse_show(SHOW + "\n" + SHOW, 2)) == 2
    for text, expected in ((SHOW, 2), ("", 1), ("Failed to connect to bus\n", 1)):
        with pytest.raises(ParseError):
            systemd_unit.parse_show(text, expected)
    with pytest.raises(ParseError):
        systemd_unit.parse_unit({"Id": "x.service"})
    with pytest.raises(ParseError):
        systemd_unit.shown_limit({"LimitMEMLOCK": "[not set]"}, "LimitMEMLOCK")
    assert systemd_unit.shown_limit({"LimitMEMLOCK": "18446744073709551615"}, "LimitMEMLOCK") == Limit(
        UNLIMITED, UNLIMITED
    )
    assert systemd_unit.shown_limit({}, "LimitMEMLOCK") is None


@given(st.text(), st.text(alphabet="0123456789.KMGTPEB :infty"))
def test_no_text_breaks_them(text: str, size: str) -> None:
    systemd_unit.parse_file(text, "u", "Service", "LimitMEMLOCK")
    for value in (text, size):
        try:
            limit = systemd_unit.parse_limit(value)
            assert 0 <= limit.soft <= limit.hard <= UNLIMITED
        except ParseError:
            pass
    try:
        systemd_unit.parse_unit(systemd_unit.parse_show(text, 1)[0])
    except ParseError:
        pass
