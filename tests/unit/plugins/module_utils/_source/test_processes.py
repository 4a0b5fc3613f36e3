# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes and configuration below synthetic directories, and tools by a scripted runner."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import UNLIMITED, Account, Limit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.systemd_unit import parse_show, parse_unit
from ansible_collections.rdma.infiniband.plugins.module_utils._source import limits, processes
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError, ToolRun

MIB8 = 8 << 20
FULL, LESS = "000001ffffffffff", "000001fffeffffff"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def limits_text(soft: str, hard: str) -> str:
    return (
        "Limit                     Soft Limit           Hard Limit           Units\nMax locked memory %s %s bytes\n"
        % (
            soft,
            hard,
        )
    )


def process(
    proc: Path, pid: Any, comm: str, soft: str = "8388608", hard: str = "8388608", cgroup: str = "0::/",
    state: str = "S", effective: str = FULL, bounding: str = FULL,
) -> Path:  # fmt: skip
    place = proc / str(pid)
    write(place / "comm", comm + "\n")
    write(place / "cmdline", "/usr/sbin/%s\0-D\0" % comm)
    write(place / "cgroup", cgroup + "\n")
    write(place / "limits", limits_text(soft, hard))
    write(
        place / "status",
        "State:\t%s (x)\nUid:\t0\t0\t0\t0\nCapEff:\t%s\nCapBnd:\t%s\n" % (state, effective, bounding),
    )
    return place


def test_processes_by_name_and_unit(tmp_path: Path) -> None:
    process(tmp_path, 10, "slurmd", "unlimited", "unlimited", "0::/system.slice/slurmd.service")
    process(tmp_path, 9, "slurmd")
    process(tmp_path, 11, "helper", cgroup="0::/system.slice/slurmd.service")
    process(tmp_path, 12, "slurmd", state="Z")
    process(tmp_path, 13, "other")
    write(tmp_path / "cpuinfo", "")
    found = processes.scan(str(tmp_path), ["slurmd"])
    assert [(item.pid, item.origin, item.limit.soft) for item in found.processes] == [
        (9, "other", MIB8),
        (10, "service", UNLIMITED),
    ]
    by_unit = processes.scan(str(tmp_path), [], ["slurmd.service"]).processes
    assert [(item.pid, item.name) for item in by_unit] == [(10, "slurmd.service"), (11, "slurmd.service")]


def test_a_process_that_vanishes_is_none_and_one_that_hides_is_reported(tmp_path: Path) -> None:
    (process(tmp_path, 10, "slurmd") / "limits").unlink()
    (tmp_path / "11").mkdir()
    write(process(tmp_path, 12, "slurmd") / "limits", "Max locked memory 83886")
    found = processes.scan(str(tmp_path), ["slurmd"])
    assert found.processes == () and [item.subject for item in found.unreadable] == ["process 12"]
    with pytest.raises(SourceError):
        processes.scan(str(tmp_path / "none"), ["x"])


def test_who_can_raise_limits(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", "unlimited", "unlimited")
    assert processes.host_limits(str(tmp_path)).ceiling is None
    write(tmp_path / "1/uid_map", "0 100000 65536\n")
    assert "user namespace" in str(processes.host_limits(str(tmp_path)).ceiling)
    write(tmp_path / "1/uid_map", "0 0 4294967295\n")
    process(tmp_path, "self", "python", "65536", "8388608", bounding=LESS)
    below = processes.host_limits(str(tmp_path))
    assert below.init == Limit(UNLIMITED, UNLIMITED) and below.ceiling and below.ceiling.limit == Limit(MIB8, MIB8)
    process(tmp_path, 1, "init", effective=LESS)
    capped = processes.host_limits(str(tmp_path)).ceiling
    assert capped and capped.limit.hard == MIB8 and "process 1 does not" in capped.reason
    assert processes.host_limits(str(tmp_path / "none")).unreadable


def test_limit_files_in_the_order_of_pam_limits(tmp_path: Path) -> None:
    security = tmp_path / "security"
    write(security / "limits.conf", "* - memlock 1\n")
    for name in ("b.conf", "a.conf", "Z.conf", "c.txt", ".h.conf"):
        write(security / "limits.d" / name, "* - memlock 2\n")
    (security / "limits.d/dir.conf").mkdir()
    config = limits.Config(str(tmp_path))
    assert [os.path.basename(line.path) for line in config.limit_lines()] == [
        "limits.conf",
        "Z.conf",
        "a.conf",
        "b.conf",
    ]
    write(tmp_path / "own.conf", "* - memlock 9\n")
    assert [line.size for line in config.limit_lines("/etc/own.conf")] == [9216]
    assert config.unreadable == []
    with pytest.raises(SourceError):
        limits.Config(str(tmp_path / "none"))


def test_accounts_of_files(tmp_path: Path) -> None:
    write(tmp_path / "passwd", "root:x:0:0::/root:/bin/sh\nalice:x:1000:100::/:/bin/sh\nbroken\nbad:x:y:z:::\n")
    write(tmp_path / "group", "users:x:100:\nrdma:x:200:bob,alice\nother:x:300:bob\nbroken\n")
    lookup = limits.Config(str(tmp_path)).accounts()
    alice = Account("alice", 1000, 100, ("users", "rdma"), (100, 200))
    assert lookup("alice") == alice and lookup("1000") == alice
    assert lookup("bad") is None and lookup("nobody") is None


def test_accounts_of_this_system() -> None:
    root = limits.account("root")
    assert root and root.uid == 0 and 0 in root.gids and limits.account("0") == root
    assert limits.account("no-such-user") is None and limits.account("4123456789") is None


def test_stacks_and_sshd(tmp_path: Path) -> None:
    write(tmp_path / "pam.d/sshd", "session include common\n")
    write(tmp_path / "pam.d/common", "session required pam_limits.so\n")
    write(tmp_path / "ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM no\n")
    config = limits.Config(str(tmp_path))
    (stack,) = config.stacks(["sshd", "crond"])
    assert stack.state == "skipped" and "UsePAM no" in stack.reason
    write(tmp_path / "ssh/sshd_config.d/50.conf", "UsePAM yes\n")
    assert config.stacks(["sshd"])[0].state == "runs"


def test_slurm_and_distribution(tmp_path: Path) -> None:
    config = limits.Config(str(tmp_path))
    assert config.slurm() is None and not config.debian_pam()
    write(tmp_path / "slurm/slurm.conf", "Include extra.conf\n")
    write(tmp_path / "slurm/extra.conf", "PropagateResourceLimitsExcept=MEMLOCK\n")
    slurm = config.slurm()
    assert slurm and not slurm.propagates
    for text, debian in (("ID=ubuntu\nID_LIKE=debian\n", True), ('ID="rocky"\nID_LIKE="rhel fedora"\n', False)):
        write(tmp_path / "os-release", text)
        assert config.debian_pam() is debian


SHOW = (
    "Id=x.service\nLoadState=loaded\nActiveState=active\nMainPID=5\nLimitMEMLOCK=8388608\nLimitMEMLOCKSoft=65536\n"
    "FragmentPath=/etc/systemd/system/x.service\nDropInPaths=%s\nNeedDaemonReload=%s\n"
)


def test_assignments_of_a_unit(tmp_path: Path) -> None:
    config = limits.Config(str(tmp_path))
    write(tmp_path / "systemd/system/x.service", "[Service]\nLimitMEMLOCK=8M\n")
    write(tmp_path / "systemd/system/x.service.d/b.conf", "[Service]\nLimitMEMLOCK=infinity\n")
    write(tmp_path / "systemd/system/service.d/a.conf", "[Service]\nLimitMEMLOCK=1M\n")
    loaded = config.with_assignments(parse_unit(parse_show(SHOW % ("", "no"), 1)[0]))
    assert loaded.on_disk and loaded.on_disk.text == "LimitMEMLOCK=8M"
    changed = config.with_assignments(parse_unit(parse_show(SHOW % ("", "yes"), 1)[0]))
    assert [item.text for item in changed.assignments] == [
        "LimitMEMLOCK=8M",
        "LimitMEMLOCK=1M",
        "LimitMEMLOCK=infinity",
    ]
    write(tmp_path / "systemd/system.conf", "[Manager]\nDefaultLimitMEMLOCK=1M\n")
    write(tmp_path / "systemd/system.conf.d/9.conf", "[Manager]\nDefaultLimitMEMLOCK=infinity\n")
    assert [item.text for item in config.manager_lines()] == ["DefaultLimitMEMLOCK=1M", "DefaultLimitMEMLOCK=infinity"]


class Scripted:
    """Answers by the first word of a command."""

    def __init__(self, **answers: Any) -> None:
        self.answers: Dict[str, Any] = answers
        self.commands: List[List[str]] = []

    def __call__(self, argv: Sequence[str], timeout: float) -> ToolRun:
        self.commands.append(list(argv))
        answer = self.answers.get(argv[0].replace("-", "_"))
        if isinstance(answer, str):
            return ToolRun(argv, stdout=answer)
        return answer(argv) if answer else ToolRun(argv, failure="missing")


def test_units() -> None:
    runner = Scripted(systemctl=SHOW % ("", "no") + "\n" + SHOW % ("", "no"))
    units, unreadable = limits.units(runner, ["x.service", "alias.service"], 5)
    assert unreadable == () and units["alias.service"].name == "x.service"
    assert units["x.service"].limit == Limit(65536, MIB8)
    assert limits.units(runner, [], 5) == ({}, ()) and len(runner.commands) == 1
    for answer in (
        lambda argv: ToolRun(argv, rc=1, stderr="Failed to connect to bus\n"),
        lambda argv: ToolRun(argv, failure="timeout"),
        "garbage",
        "",
        None,
    ):
        units, unreadable = limits.units(Scripted(systemctl=answer), ["x.service"], 5)
        assert units == {} and len(unreadable) == 1 and unreadable[0].reason


def test_manager_default() -> None:
    runner = Scripted(systemctl="DefaultLimitMEMLOCK=8388608\nDefaultLimitMEMLOCKSoft=65536\n")
    assert limits.manager_default(runner, 5) == Limit(65536, MIB8)
    assert limits.manager_default(Scripted(), 5) is None
    assert limits.manager_default(Scripted(systemctl="odd"), 5) is None


def test_probes() -> None:
    runner = Scripted(su="Welcome\n" + limits_text("unlimited", "unlimited"), systemd_run=limits_text("0", "8388608"))
    login = limits.probe_login(runner, "alice", 5)
    assert login.limit == Limit(UNLIMITED, UNLIMITED) and login.subject == "a new login of alice"
    assert runner.commands == [["su", "-s", "/bin/sh", "-l", "alice", "-c", "cat /proc/self/limits"]]
    assert limits.probe_unit(runner, 5).limit == Limit(0, MIB8)
    refused = Scripted(su=lambda argv: ToolRun(argv, rc=1, stderr="su: cannot open session: Permission denied\n"))
    probe = limits.probe_login(refused, "alice", 5)
    assert probe.limit is None and probe.refused and "Permission denied" in str(probe.problem)
    for answer in ("This account is not available.\n", None, lambda argv: ToolRun(argv, failure="timeout")):
        probe = limits.probe_login(Scripted(su=answer), "alice", 5)
        assert probe.limit is None and probe.problem and not probe.refused
