# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module memlock_check as Ansible runs it, over synthetic hosts and scripted tools: results, thresholds, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.infiniband.plugins.module_utils._module import memlock_check as implementation
from ansible_collections.rdma.infiniband.plugins.module_utils._source import limits
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import ToolRun
from ansible_collections.rdma.infiniband.plugins.modules import memlock_check

Run = Callable[..., dict[str, Any]]
FULL = "000001ffffffffff"


def limits_text(limit: str) -> str:
    return f"Max locked memory         {limit:20} {limit:20} bytes\n"


def add_process(proc: Path, pid: int, comm: str, limit: str, cgroup: str = "0::/") -> None:
    place = proc / str(pid)
    place.mkdir(parents=True)
    files = {
        "comm": comm + "\n",
        "cmdline": f"/usr/sbin/{comm}\0",
        "cgroup": cgroup + "\n",
        "limits": limits_text(limit),
        "status": f"State:\tS (sleeping)\nUid:\t0\t0\t0\t0\nCapEff:\t{FULL}\nCapBnd:\t{FULL}\n",
    }
    for name, text in files.items():
        (place / name).write_text(text)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with one service whose unit was changed after it was started, and a user without a line in limits.d."""
    add_process(tmp_path / "proc", 1, "systemd", "unlimited")
    add_process(tmp_path / "proc", 812, "slurmd", "8388608", "0::/system.slice/slurmd.service")
    etc = tmp_path / "etc"
    for name, text in {
        "passwd": "alice:x:1000:1000::/:/bin/sh\n",
        "group": "rdma:x:200:alice\n",
        "os-release": "ID=rocky\n",
        "pam.d/sshd": "session required pam_limits.so\n",
        "security/limits.conf": "@rdma - memlock 64\n",
    }.items():
        (etc / name).parent.mkdir(parents=True, exist_ok=True)
        (etc / name).write_text(text)
    return tmp_path


@pytest.fixture
def run(host: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the module over the host and returns what it printed."""

    def call(**options: Any) -> dict[str, Any]:
        arguments = {"proc_path": str(host / "proc"), "etc_path": str(host / "etc"), **options}
        with patch_module_args(arguments), pytest.raises(SystemExit) as ended:
            memlock_check.main()
        result: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert bool(ended.value.code) == bool(result.get("failed"))
        return result

    return call


@pytest.fixture
def live(host: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The synthetic host as the running one: tools are asked, and answer from here. Their commands are returned."""
    monkeypatch.setattr(implementation, "LIVE_PROC", str(host / "proc"))
    monkeypatch.setattr(limits, "LIVE_ETC", str(host / "etc"))
    monkeypatch.setattr(limits, "account", limits.Config(str(host / "etc"))._accounts_of_files())
    monkeypatch.setattr("os.geteuid", lambda: 0)
    commands: list[list[str]] = []

    def runner(argv: Sequence[str], timeout: float) -> ToolRun:
        commands.append(list(argv))
        if argv[0] == "systemctl" and "--" not in argv:
            return ToolRun(argv, stdout="DefaultLimitMEMLOCK=8388608\nDefaultLimitMEMLOCKSoft=8388608\n")
        if argv[0] == "systemctl":
            names = argv[list(argv).index("--") + 1 :]
            text = (
                "LoadState=loaded\nActiveState=active\nMainPID=812\nLimitMEMLOCK=infinity\nLimitMEMLOCKSoft=infinity\n"
            )
            return ToolRun(argv, stdout="\n".join(f"Id={name.replace('alias', 'slurmd')}\n{text}" for name in names))
        return ToolRun(argv, stdout=limits_text("unlimited" if argv[0] == "su" else "8388608"))

    monkeypatch.setattr(implementation, "runner_of", lambda module: runner)
    return commands


def codes(result: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in result["findings"]]


def listing(top: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in sorted(top.rglob("*")) if path.is_file()}


def test_all_is_well(run: Run, host: Path) -> None:
    before = listing(host)
    result = run(processes=["slurmd"], soft="8MiB", _ansible_check_mode=True)
    assert (result["failed"], result["changed"], result["findings"]) == (False, False, [])
    assert result["processes"] == [
        {
            "name": "slurmd",
            "pid": 812,
            "uid": 0,
            "origin": "service",
            "unit": "slurmd.service",
            "limit": {"soft": "8388608", "hard": "8388608"},
        }
    ]
    assert result["summary"] == "1 of 1 processes have the wanted memory-lock limit (8 MiB); no findings"
    assert listing(host) == before


def test_a_restart_is_pending(run: Run, live: list[list[str]]) -> None:
    result = run(processes=["slurmd"])
    assert codes(result) == ["MEMLOCK_RESTART_PENDING"] and "systemctl restart slurmd.service" in result["msg"]
    assert [command[0] for command in live] == ["systemctl"], "one call explains all units"
    assert not run(processes=["slurmd"], fail_on="never")["failed"]


def test_units_and_their_aliases(run: Run, live: list[list[str]]) -> None:
    result = run(processes=["alias.service"])
    assert codes(result) == ["MEMLOCK_RESTART_PENDING"]
    assert result["processes"][0]["name"] == "alias.service"


def test_no_tool_is_run_without_need(run: Run, live: list[list[str]]) -> None:
    assert not run(processes=["slurmd"], soft="8388608")["failed"] and live == []


def test_an_absent_process(run: Run, live: list[list[str]]) -> None:
    result = run(processes=["gone"])
    assert result["failed"] and codes(result) == ["MEMLOCK_PROCESS_ABSENT"]
    assert not run(processes=["gone"], absent_severity="warning")["failed"]


def test_pam_is_judged_without_a_user_when_asked(run: Run, host: Path) -> None:
    (host / "etc/pam.d/sshd").write_text("session required pam_unix.so\n")
    assert codes(run(processes=["slurmd"], soft="0")) == []
    assert codes(run(sessions=True)) == ["PAM_LIMITS_MISSING"]


def test_logins(run: Run, host: Path) -> None:
    result = run(users=["alice"])
    assert codes(result) == ["MEMLOCK_EFFECTIVE_LOW"] and "limits.conf:1 '@rdma - memlock 64'" in result["msg"]
    (host / "etc/security/limits.d").mkdir()
    (host / "etc/security/limits.d/90.conf").write_text("@rdma - memlock unlimited\n")
    assert codes(run(users=["alice"])) == ["LIMITS_CONTRADICTION"]
    (host / "etc/pam.d/sshd").write_text("session sufficient pam_permit.so\nsession required pam_limits.so\n")
    result = run(users=["alice"], fail_on="never")
    assert codes(result) == ["PAM_LIMITS_MISSING", "LIMITS_CONTRADICTION"]


def test_probes(run: Run, live: list[list[str]]) -> None:
    result = run(users=["alice"], login_probe=True, unit_probe=True)
    assert codes(result) == ["MEMLOCK_EFFECTIVE_LOW"], "the login was measured, and is well"
    assert result["logins"] == [{"user": "alice", "limit": {"soft": "unlimited", "hard": "unlimited"}, "problem": None}]
    assert result["new_unit"] == {"soft": "8388608", "hard": "8388608"}


def test_slurm_is_a_warning(run: Run, host: Path) -> None:
    (host / "etc/slurm").mkdir()
    (host / "etc/slurm/slurm.conf").write_text("PropagateResourceLimits=ALL\n")
    result = run(processes=["slurmd"], soft="1MiB")
    assert not result["failed"] and codes(result) == ["SLURM_PROPAGATES_LIMITS"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"processes": ["slurmd"], "soft": "fast"}, ["soft: 'fast'", "64GiB"]),
        ({"processes": ["slurmd"], "soft": "-1"}, ["soft: '-1'"]),
        ({"processes": ["slurmd"], "hard": "8 mib"}, ["hard: '8 mib'"]),
        ({"processes": ["slurmd"], "soft": "2GiB", "hard": "1GiB"}, ["soft: 2GiB is above hard: 1GiB"]),
        ({"processes": ["a b"]}, ["processes: 'a b'"]),
        ({"processes": ["--version"]}, ["processes: '--version'"]),
        ({"users": ["-c"]}, ["users: '-c'"]),
        ({"users": ["mallory"]}, ["users: 'mallory'", "getent passwd mallory"]),
        ({"users": ["alice"], "pam_services": ["../x"]}, ["pam_services: '../x'"]),
        ({"processes": ["slurmd"], "timeout": 0}, ["timeout: 0"]),
        ({"processes": ["slurmd"], "timeout": "nan"}, ["timeout: nan"]),
        ({}, ["nothing to measure"]),
        ({"processes": ["x"], "login_probe": True}, ["login_probe: needs users"]),
        ({"processes": ["slurmd"], "proc_path": "/nowhere"}, ["proc_path", "/nowhere"]),
        ({"processes": ["slurmd"], "etc_path": "/nowhere"}, ["etc_path", "/nowhere"]),
    ],
)
def test_bad_input_is_one_clear_error(run: Run, options: dict[str, Any], words: list[str]) -> None:
    result = run(**options)
    assert result["failed"] and all(word in result["msg"] for word in words), result["msg"]
    assert "findings" not in result


def test_probes_need_the_running_host_and_root(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "only possible with the running host" in run(unit_probe=True)["msg"]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "takes root" in run(users=["alice"], login_probe=True)["msg"]


def test_defaults_are_the_documented_ones() -> None:
    import yaml

    documented = yaml.safe_load(memlock_check.DOCUMENTATION)["options"]
    assert {name: option.get("default") for name, option in documented.items()} == {
        name: option.get("default") for name, option in implementation.ARGUMENTS.items()
    }
