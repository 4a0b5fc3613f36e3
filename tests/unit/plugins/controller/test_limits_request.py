# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits that an inventory asks for: units, and every kind of bad input with its variable and value."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.filter.limits_request import limits_request
from ansible_collections.rdma.infiniband.plugins.plugin_utils.limits_request import parse_request
from hypothesis import given, settings
from hypothesis import strategies as st

DEFAULTS: dict[str, Any] = {
    "limits_state": "present",
    "limits_domains": ["*"],
    "limits_memlock_soft": "unlimited",
    "limits_memlock_hard": "unlimited",
    "limits_services": [],
    "limits_manager_default": False,
    "limits_check_users": [],
}


@pytest.mark.parametrize(
    ("soft", "hard", "kib", "systemd"),
    [
        ("unlimited", "unlimited", ("unlimited", "unlimited"), "infinity"),
        ("64", 128, ("64", "128"), "64K:128K"),
        ("64GiB", "unlimited", ("67108864", "unlimited"), "67108864K:infinity"),
        ("2 GiB", "2G", ("2097152", "2097152"), "2097152K"),
        ("1M", "1MiB", ("1024", "1024"), "1024K"),
        ("1K", "1 KiB", ("1", "1"), "1K"),
    ],
)
def test_sizes(soft: Any, hard: Any, kib: tuple[str, str], systemd: str) -> None:
    request = parse_request({**DEFAULTS, "limits_memlock_soft": soft, "limits_memlock_hard": hard})
    assert not request.problems and (request.soft, request.hard) == kib and request.systemd == systemd


def test_names_that_the_host_must_know() -> None:
    domains = ["*", "@rdma", "alice", "1000:", "@100:200", ":0", "machine$"]
    request = parse_request({**DEFAULTS, "limits_domains": domains})
    assert (request.users, request.groups, request.problems) == (("alice", "machine$"), ("rdma",), ())


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (
            {"limits_memlock_soft": "lots"},
            ["limits_memlock_soft: 'lots' is not allowed; use unlimited, a number of KiB"],
        ),
        ({"limits_memlock_hard": True}, ["limits_memlock_hard: True is not allowed"]),
        ({"limits_memlock_hard": "0"}, ["limits_memlock_hard: '0' is not allowed"]),
        ({"limits_memlock_hard": "-1"}, ["limits_memlock_hard: '-1'"]),
        ({"limits_memlock_hard": "\u0663"}, ["limits_memlock_hard: '\u0663'"]),
        ({"limits_memlock_hard": "64"}, ["limits_memlock_soft: 'unlimited' is above limits_memlock_hard: '64'"]),
        (
            {"limits_memlock_soft": "3GiB", "limits_memlock_hard": "2048 MiB"},
            ["limits_memlock_soft: '3GiB' is above limits_memlock_hard: '2048 MiB'"],
        ),
        (
            {"limits_domains": ["%rdma"]},
            ["limits_domains: '%rdma' is not allowed; use users, @groups", "written @name"],
        ),
        ({"limits_domains": ["alice", "alice"]}, ["limits_domains: 'alice' is not allowed; it is given twice"]),
        ({"limits_domains": ["a b\n* hard memlock 1"]}, ["limits_domains: 'a b\\n"]),
        ({"limits_domains": ["alice\n"]}, ["limits_domains: 'alice\\n'"]),
        ({"limits_services": ["sshd.service"]}, ["limits_services: 'sshd.service' is not allowed", "such as slurmd"]),
        ({"limits_services": ["../../tmp/x"]}, ["limits_services: '../../tmp/x'"]),
        ({"limits_check_users": ["a;b"]}, ["limits_check_users: 'a;b' is not allowed; use names of users"]),
        ({"limits_domains": []}, ["so there is no limit to write"]),
        (
            {"limits_memlock_soft": "x", "limits_domains": ["%"], "limits_services": [".."]},
            ["limits_memlock_soft: 'x'", "limits_domains: '%'", "limits_services: '..'"],
        ),
    ],
)
def test_bad_input_is_named_and_all_of_it_at_once(variables: dict[str, Any], words: list[str]) -> None:
    problems = limits_request({**DEFAULTS, **variables})["problems"]
    assert all(word in "\n".join(problems) for word in words), problems


def test_absent_needs_no_limit() -> None:
    assert not parse_request({**DEFAULTS, "limits_state": "absent", "limits_domains": []}).problems


def test_what_is_no_request() -> None:
    for value in ([], {"limits_state": "present"}):
        with pytest.raises(AnsibleFilterError, match="limits_request"):
            limits_request(value)


@given(st.text(), st.text(), st.text())
@settings(max_examples=100)
def test_nothing_but_plain_words_reaches_a_file(domain: str, size: str, service: str) -> None:
    given_here = {"limits_domains": [domain], "limits_memlock_hard": size, "limits_services": [service]}
    request = parse_request({**DEFAULTS, **given_here})
    if not request.problems:
        text = domain + request.hard + service
        assert text.isascii() and not set(text) & set(" \t\n\r/'\"#;$(){}") - {"$"}
