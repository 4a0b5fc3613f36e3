# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of /proc/PID."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import UNLIMITED, Limit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import proc_limits
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from hypothesis import given
from hypothesis import strategies as st

LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max locked memory         65536                unlimited            bytes     \n"
    "Max address space         unlimited            unlimited            bytes     \n"
)
STATUS = (
    "Name:\tsshd\nState:\tS (sleeping)\nUid:\t0\t1000\t0\t0\nCapEff:\t000001fffeffffff\nCapBnd:\t000001ffffffffff\n"
)


def test_limits() -> None:
    assert proc_limits.parse_limits(LIMITS) == Limit(65536, UNLIMITED)
    assert proc_limits.parse_limits("Last login: today\n" + LIMITS) == Limit(65536, UNLIMITED), "a login may say more"


@given(st.integers(0, len(LIMITS) - 1))
def test_a_truncated_text_is_no_limit(length: int) -> None:
    end = LIMITS.index("bytes", LIMITS.index("Max locked")) + len("bytes")
    if length >= end:
        assert proc_limits.parse_limits(LIMITS[:length]) == Limit(65536, UNLIMITED)
        return
    with pytest.raises(ParseError):
        proc_limits.parse_limits(LIMITS[:length])


@given(st.text())
def test_no_text_breaks_them(text: str) -> None:
    for parse in (proc_limits.parse_limits, proc_limits.parse_status):
        try:
            parse(text)
        except ParseError:
            pass
    proc_limits.parse_cgroup(text)
    proc_limits.matches("sshd", text, text)
    proc_limits.whole_user_namespace(text)


def test_status() -> None:
    status = proc_limits.parse_status(STATUS)
    assert (status.state, status.uid) == ("S", 1000)
    assert not proc_limits.has_capability(status.effective, proc_limits.CAP_SYS_RESOURCE)
    assert proc_limits.has_capability(status.bounding, proc_limits.CAP_SYS_RESOURCE)
    for line in STATUS.splitlines()[1:]:
        with pytest.raises(ParseError):
            proc_limits.parse_status(STATUS.replace(line + "\n", ""))


def test_user_namespace() -> None:
    assert proc_limits.whole_user_namespace("         0          0 4294967295\n")
    assert not proc_limits.whole_user_namespace("         0     100000      65536\n")


@pytest.mark.parametrize(
    ("name", "comm", "cmdline", "same"),
    [
        ("slurmd", "slurmd", "/usr/sbin/slurmd\0-D\0", True),
        ("sshd", "sshd", "sshd: alice [priv]", True),
        ("sshd", "sshd-session", "sshd-session: alice [priv]", False),
        ("bash", "other", "-bash\0", True),
        ("containerd-shim-runc-v2", "containerd-shim", "/usr/bin/containerd-shim-runc-v2\0", True),
        ("containerd-shim-runc-v2", "containerd-shim", "renamed itself", True),
        ("containerd", "containerd-shim", "/usr/bin/containerd-shim-runc-v2\0", False),
        ("kworker", "kworker", "", False),
        ("sshd", "vim", "vim\0/etc/sshd\0", False),
    ],
)
def test_names(name: str, comm: str, cmdline: str, same: bool) -> None:
    assert proc_limits.matches(name, comm, cmdline) is same


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("0::/system.slice/ssh.service\n", ("service", "ssh.service", None)),
        ("12:pids:/x\n1:name=systemd:/system.slice/slurmd.service/sub\n", ("service", "slurmd.service", None)),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", ("session", "session-3.scope", 1000)),
        ("0::/user.slice/user-7.slice/user@7.service/app.slice/x.service\n", ("manager", "user@7.service", 7)),
        ("0::/system.slice/docker-00ff.scope\n", ("other", "docker-00ff.scope", None)),
        ("0::/\n", ("other", None, None)),
        ("", ("other", None, None)),
    ],
)
def test_cgroup(text: str, answer: object) -> None:
    assert proc_limits.parse_cgroup(text) == answer
