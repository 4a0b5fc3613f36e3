# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for a set of files: what differs is written, what is not wanted goes, and then nothing is left to do."""

from __future__ import annotations

import hashlib
import posixpath
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.filter.file_plan import file_plan
from hypothesis import given
from hypothesis import strategies as st

CONF, OTHER = "/etc/x.d/90.conf", "/etc/y.d/90.conf"
NOTHING_TO_DO = {"make": [], "write": [], "remove": []}


def seen(path: str, content: str = "a\n", **different: Any) -> dict[str, Any]:
    checksum = hashlib.sha256(content.encode()).hexdigest()
    entry = {"path": path, "isreg": True, "isdir": False, "mode": "0644", "uid": 0, "gid": 0, "checksum": checksum}
    return {**entry, **different}


def folder(path: str) -> dict[str, Any]:
    return {"path": path, "isreg": False, "isdir": True, "mode": "0755", "uid": 0, "gid": 0}


WANTED = [{"paths": [CONF], "content": "a\n"}]


@pytest.mark.parametrize(
    ("found", "make", "exists"),
    [
        ([], ["/etc/x.d"], False),
        ([folder("/etc/x.d")], [], False),
        ([seen(CONF, "b\n")], [], True),
        ([seen(CONF, mode="0600")], [], True),
        ([seen(CONF, uid=1000)], [], True),
        ([seen(CONF, gid=5)], [], True),
        ([seen(CONF, isreg=False, islnk=True)], [], True),
        ([{"path": CONF}], [], True),
    ],
)
def test_what_differs_is_written(found: list[dict[str, Any]], make: list[str], exists: bool) -> None:
    plan = file_plan(found, WANTED)
    assert [entry["path"] for entry in plan["make"]] == make
    assert plan["write"] == [{"path": CONF, "content": "a\n", "exists": exists, "needs": "nothing"}]
    assert plan["remove"] == []


def test_what_is_as_wanted_stays_and_the_rest_goes() -> None:
    assert file_plan([folder("/etc/x.d"), seen(CONF)], WANTED) == NOTHING_TO_DO
    plan = file_plan([seen(CONF), seen(OTHER), folder("/etc/y.d")], WANTED, {"/etc/": "reboot", "/etc/y": "fw_reset"})
    assert plan == {**NOTHING_TO_DO, "remove": [{"path": OTHER, "needs": "fw_reset"}]}
    assert file_plan([], [], None) == NOTHING_TO_DO


def test_needs_by_the_longest_start() -> None:
    wanted = [{"paths": [CONF, OTHER, "/usr/z"], "content": ""}]
    needs = {"/etc/": "service_restart", "/etc/y.d/": "reboot"}
    plan = file_plan([], wanted, needs)
    assert [entry["needs"] for entry in plan["write"]] == ["service_restart", "reboot", "nothing"]


names = st.sampled_from(["/etc/a/f", "/etc/b/f", "/etc/c/f", "/etc/a/g"])


@given(st.dictionaries(names, st.text()), st.dictionaries(names, st.text()))
def test_after_the_plan_was_done_nothing_is_left_to_do(before: dict[str, str], after: dict[str, str]) -> None:
    wanted = [{"paths": [path], "content": content} for path, content in after.items()]
    plan = file_plan([seen(path, content) for path, content in before.items()], wanted)
    files = {**before, **{entry["path"]: entry["content"] for entry in plan["write"]}}
    for entry in plan["remove"]:
        del files[entry["path"]]
    assert files == after
    folders = {posixpath.dirname(path) for path in before} | {entry["path"] for entry in plan["make"]}
    assert {posixpath.dirname(path) for path in after} <= folders
    assert file_plan([seen(path, content) for path, content in files.items()], wanted) == NOTHING_TO_DO


@pytest.mark.parametrize(
    ("found", "wanted", "needs", "text"),
    [
        ("x", [], {}, "'x'"),
        ([{}], [], {}, "[{}]"),
        ([], {"a": 1}, {}, "{'a': 1}"),
        ([], [{"paths": []}], {}, "[{'paths': []}]"),
        ([], [], "reboot", "'reboot'"),
    ],
)
def test_bad_input_names_the_value(found: Any, wanted: Any, needs: Any, text: str) -> None:
    with pytest.raises(AnsibleFilterError) as error:
        file_plan(found, wanted, needs)
    assert text in str(error.value)
