# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every cause of a low limit: the right code, the place to change, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, List

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock import check_memlock
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_limits import KINDS
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    UNLIMITED,
    Account,
    Assignment,
    Ceiling,
    Limit,
    MemlockView,
    MemlockWanted,
    PamStack,
    Probe,
    Process,
    Propagation,
    Unit,
    Unreadable,
    size_text,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.limits_conf import parse
from hypothesis import given
from hypothesis import strategies as st

LOW, ALL = Limit(8 << 20, 8 << 20), Limit(UNLIMITED, UNLIMITED)
WANTED = MemlockWanted(("slurmd",), ALL)
SLURMD = Process("slurmd", 812, 0, LOW, "service", "slurmd.service")
VENDOR = "/usr/lib/systemd/system/slurmd.service"
UNIT = Unit("slurmd.service", main_pid=812, limit=LOW, fragment=VENDOR)
ALICE = Account("alice", 1000, 1000, ("alice",), (1000,))
BOB = Account("bob", 1001, 1001, ("bob",), (1001,))
SSHD = PamStack("sshd", "/etc/pam.d/sshd", "runs", where="/etc/pam.d/sshd:9")
USERS = MemlockWanted((), ALL)


def found(view: MemlockView, wanted: MemlockWanted = WANTED) -> List[Finding]:
    return list(check_memlock(view, wanted))


def only(view: MemlockView, wanted: MemlockWanted = WANTED) -> Finding:
    findings = found(view, wanted)
    assert len(findings) == 1, findings
    return findings[0]


def service(unit: Unit, **more: Any) -> MemlockView:
    return MemlockView(processes=(SLURMD,), units={"slurmd.service": unit}, init=ALL, **more)


def logins(text: str, *accounts: Account, **more: Any) -> MemlockView:
    values = {"init": LOW, "stacks": (SSHD,), "lines": parse(text, "/l.conf"), "accounts": accounts or (ALICE,)}
    return MemlockView(**{**values, **more})


def test_enough() -> None:
    assert found(MemlockView(processes=(replace(SLURMD, limit=ALL),))) == []
    assert found(MemlockView(processes=(SLURMD,)), MemlockWanted(("slurmd",), LOW)) == []


def test_hard_counts_as_well() -> None:
    half = replace(SLURMD, limit=Limit(LOW.soft, LOW.hard))
    assert only(MemlockView(processes=(half,)), MemlockWanted(("slurmd",), Limit(LOW.soft, UNLIMITED)))


def test_only_a_restart_is_missing() -> None:
    finding = only(service(replace(UNIT, limit=ALL)))
    assert finding.code == "MEMLOCK_RESTART_PENDING" and "process 812" in finding.subject
    assert "systemctl restart slurmd.service" in finding.hint and "daemon-reload" not in finding.hint


def test_the_unit_file_was_not_loaded_yet() -> None:
    line = Assignment("/etc/systemd/system/slurmd.service.d/m.conf", 2, "LimitMEMLOCK=infinity", ALL)
    finding = only(service(replace(UNIT, needs_reload=True, assignments=(line,))))
    assert finding.code == "MEMLOCK_RESTART_PENDING" and "m.conf:2" in finding.observed
    assert "daemon-reload && systemctl restart slurmd.service" in finding.hint


def test_the_manager_was_not_executed_anew() -> None:
    line = Assignment("/etc/systemd/system.conf.d/m.conf", 2, "DefaultLimitMEMLOCK=infinity", ALL)
    finding = only(service(UNIT, manager_lines=(line,)))
    assert finding.code == "MEMLOCK_RESTART_PENDING" and "daemon-reexec" in finding.hint


def test_the_unit_gives_too_little() -> None:
    line = Assignment(VENDOR, 7, "LimitMEMLOCK=8M", LOW)
    finding = only(service(replace(UNIT, assignments=(line,))))
    assert finding.code == "MEMLOCK_EFFECTIVE_LOW" and VENDOR + ":7" in finding.observed
    assert "/etc/systemd/system/slurmd.service.d/memlock.conf" in finding.hint, "the vendor's file is left alone"
    own = replace(line, path="/etc/systemd/system/slurmd.service.d/own.conf")
    assert "in /etc/systemd/system/slurmd.service.d/own.conf" in only(service(replace(UNIT, assignments=(own,)))).hint


def test_the_unit_says_nothing_or_what_systemd_cannot_read() -> None:
    assert "the manager's default" in only(service(UNIT)).observed
    bad = Assignment("/etc/x.conf", 3, "LimitMEMLOCK=unlimited")
    assert "systemd cannot read LimitMEMLOCK=unlimited at /etc/x.conf:3" in only(
        service(replace(UNIT, assignments=(bad,)))
    ).observed  # fmt: skip


def test_many_processes_of_a_unit_are_one_finding() -> None:
    many = tuple(replace(SLURMD, pid=pid) for pid in range(100, 120))
    assert "and 15 more" in only(replace(service(UNIT), processes=many)).subject


def test_a_process_under_two_names_is_one_finding() -> None:
    twice = (SLURMD, replace(SLURMD, name="slurmd.service"))
    only(replace(service(UNIT), processes=twice), MemlockWanted(("slurmd", "slurmd.service"), ALL))


def test_without_systemd_it_is_still_low() -> None:
    assert only(MemlockView(processes=(SLURMD,))).code == "MEMLOCK_EFFECTIVE_LOW"
    for origin in ("other", "manager"):
        assert only(MemlockView(processes=(replace(SLURMD, origin=origin),))).code == "MEMLOCK_EFFECTIVE_LOW"


@pytest.mark.parametrize("severity", ["info", "warning", "error"])
def test_no_process_is_no_pass(severity: str) -> None:
    finding = only(MemlockView(), replace(WANTED, absent_severity=severity))
    assert (finding.code, finding.severity) == ("MEMLOCK_PROCESS_ABSENT", severity)
    assert "not measured" in finding.observed
    inactive = replace(UNIT, active_state="failed", main_pid=0)
    assert (
        "slurmd.service is failed, and would get 8 MiB"
        in only(MemlockView(units={"slurmd.service": inactive})).observed
    )
    gone = replace(UNIT, load_state="not-found", limit=None)
    assert "not-found" in only(MemlockView(units={"slurmd.service": gone})).observed


@pytest.mark.parametrize(("asked", "severity"), [("info", "warning"), ("warning", "warning"), ("error", "error")])
def test_a_unit_that_does_not_exist_is_never_mere_information(asked: str, severity: str) -> None:
    view = MemlockView(units={"slurmdd.service": replace(UNIT, name="slurmdd.service", load_state="not-found")})
    finding = only(view, MemlockWanted(("slurmdd.service",), ALL, asked))
    assert (finding.code, finding.severity) == ("MEMLOCK_UNIT_UNKNOWN", severity)


def test_every_code_of_the_family_is_tested_here() -> None:
    texts = "".join((Path(__file__).parent / name).read_text() for name in ("test_memlock.py", "test_limits_conf.py"))
    assert not [kind.code for kind in KINDS if '"%s"' % kind.code not in texts]


def test_what_cannot_be_read_is_no_pass() -> None:
    view = MemlockView(unreadable=(Unreadable("units x.service", "no bus", "systemctl show x.service"),))
    assert only(view, MemlockWanted(("x.service",), ALL)).code == "UNREADABLE_OUTPUT"


CEILING = Ceiling(LOW, "process 1 does not have CAP_SYS_RESOURCE")


def test_a_container_is_one_finding() -> None:
    view = replace(
        service(replace(UNIT, limit=ALL)), init=LOW, ceiling=CEILING, accounts=(ALICE,), stacks=(SSHD,),
        debian_pam=True, lines=parse("* - memlock unlimited", "/l.conf"),
    )  # fmt: skip
    finding = only(view)
    assert finding.code == "MEMLOCK_CANNOT_RAISE" and "slurmd (process 812)" in finding.observed
    assert "a new login of alice" in finding.observed and "--ulimit memlock=-1" in finding.hint


def test_below_what_a_container_can_give_is_another_cause() -> None:
    tiny = Limit(65536, 65536)
    view = replace(service(replace(UNIT, limit=tiny)), ceiling=CEILING, processes=(replace(SLURMD, limit=tiny),))
    assert only(view).code == "MEMLOCK_EFFECTIVE_LOW"
    assert found(replace(service(UNIT), ceiling=CEILING), MemlockWanted(("slurmd",), LOW)) == []


def test_logins() -> None:
    assert found(logins("* - memlock unlimited"), USERS) == []
    finding = only(logins("@hpc - memlock unlimited\n* - memlock 64"), USERS)
    assert finding.code == "MEMLOCK_EFFECTIVE_LOW" and "/l.conf:2 '* - memlock 64'" in finding.observed
    assert "no line of limits.conf" in only(logins(""), USERS).observed
    both = only(logins("", ALICE, BOB), USERS)
    assert both.subject == "a new login of alice, bob", "one cause"
    assert "takes alice out of all limits" in only(logins("* - memlock unlimited\nalice -"), USERS).observed


def test_a_misread_line_that_makes_a_login_low_is_one_finding() -> None:
    finding = only(logins("* - memlock 64G"), USERS)
    assert finding.code == "MEMLOCK_EFFECTIVE_LOW" and "64 KiB" in finding.observed and "drops" in finding.observed


def test_a_file_that_undoes_another_is_told_with_the_login() -> None:
    lines = parse("* - memlock unlimited", "/d/10-ours.conf") + parse("* - memlock 64", "/d/99-theirs.conf")
    finding = only(logins("", lines=lines), USERS)
    assert finding.code == "MEMLOCK_EFFECTIVE_LOW"
    assert "/d/10-ours.conf:1" in finding.observed and "/d/99-theirs.conf:1" in finding.observed
    clamped = only(logins("* soft memlock unlimited\n* hard memlock 64"), USERS)
    assert clamped.code == "MEMLOCK_EFFECTIVE_LOW" and "is above hard 64 KiB" in clamped.observed


def test_where_a_session_starts_from() -> None:
    assert found(logins("", daemons={"sshd": ALL}), USERS) == []
    assert found(logins("", daemons={"sshd": LOW}, init=ALL, debian_pam=True), USERS) == []
    assert only(logins("", init=None), USERS).code == "UNREADABLE_OUTPUT"


def test_a_login_that_would_be_refused() -> None:
    view = logins("* - memlock unlimited", ceiling=CEILING)
    assert only(view, USERS).code == "MEMLOCK_LOGIN_REFUSED"
    assert only(replace(view, debian_pam=True), USERS).code == "MEMLOCK_CANNOT_RAISE", "Debian opens it all the same"


@pytest.mark.parametrize("state", ["missing", "skipped", "sometimes"])
def test_a_stack_without_pam_limits(state: str) -> None:
    broken = replace(SSHD, state=state, reason="/etc/pam.d/sshd:3 (pam_x) ends the stack before it")
    finding = only(logins("* - memlock unlimited", stacks=(broken,)), USERS)
    assert finding.code == "PAM_LIMITS_MISSING" and finding.subject == "sessions of sshd"
    assert found(logins("", stacks=(broken,), daemons={"sshd": ALL}), USERS) == [], "what they inherit is enough"
    off = replace(broken, reason="sshd uses no PAM: /etc/ssh/sshd_config:1 UsePAM no")
    assert "UsePAM yes" in only(logins("", stacks=(off,)), USERS).hint


def test_its_own_file_of_limits() -> None:
    stack = replace(SSHD, conf="/etc/own.conf")
    own = {"/etc/own.conf": parse("* - memlock unlimited", "/etc/own.conf")}
    assert found(logins("", stacks=(stack,), conf_lines=own), USERS) == []


def probe(limit: Any = None, **more: Any) -> Probe:
    return Probe("a new login of alice", "su -l alice", limit, **more)


def test_what_was_measured_counts() -> None:
    assert found(logins("", logins=(probe(ALL),)), USERS) == []
    finding = only(logins("* - memlock unlimited", logins=(probe(LOW),)), USERS)
    assert "measured 8 MiB" in finding.observed and "/etc/profile" in finding.hint
    assert only(logins("", logins=(probe(LOW),)), USERS).code == "MEMLOCK_EFFECTIVE_LOW"
    assert only(logins("", logins=(probe(problem="no output"),)), USERS).code == "UNREADABLE_OUTPUT"
    refused = probe(problem="cannot open session", refused=True)
    assert only(logins("", logins=(refused,)), USERS).code == "MEMLOCK_LOGIN_REFUSED"
    assert only(logins("", logins=(probe(LOW),), ceiling=CEILING), USERS).code == "MEMLOCK_CANNOT_RAISE"


SESSION = Process("sshd", 900, 0, LOW, "session", "session-3.scope", 1000)


def test_a_session_that_began_before() -> None:
    view = MemlockView(
        processes=(SESSION,), session_accounts={1000: ALICE}, stacks=(SSHD,), init=LOW,
        lines=parse("alice - memlock unlimited", "/l.conf"),
    )  # fmt: skip
    wanted = MemlockWanted(("sshd",), ALL)
    finding = only(view, wanted)
    assert finding.code == "MEMLOCK_RESTART_PENDING" and "log out and in again" in finding.hint
    assert only(replace(view, lines=()), wanted).code == "MEMLOCK_EFFECTIVE_LOW"
    assert only(replace(view, session_accounts={}), wanted).code == "MEMLOCK_EFFECTIVE_LOW"


def test_a_new_unit() -> None:
    unit = Probe("a new systemd unit", "systemd-run cat", LOW)
    finding = only(MemlockView(new_unit=unit, manager=LOW), USERS)
    assert finding.code == "MEMLOCK_EFFECTIVE_LOW" and "DefaultLimitMEMLOCK=infinity" in finding.hint
    line = Assignment("/etc/systemd/system.conf", 2, "DefaultLimitMEMLOCK=infinity", ALL)
    assert only(MemlockView(new_unit=unit, manager_lines=(line,)), USERS).code == "MEMLOCK_RESTART_PENDING"
    assert found(MemlockView(new_unit=replace(unit, limit=ALL)), USERS) == []
    assert only(MemlockView(new_unit=replace(unit, limit=None, problem="x")), USERS).code == "UNREADABLE_OUTPUT"


def test_slurm() -> None:
    view = MemlockView(slurm=Propagation("/etc/slurm/slurm.conf", True, "PropagateResourceLimits=ALL"))
    assert (only(view, USERS).code, only(view, USERS).severity) == ("SLURM_PROPAGATES_LIMITS", "warning")
    assert found(MemlockView(slurm=Propagation("x", False, "y")), USERS) == []


def test_the_worst_comes_first() -> None:
    view = replace(logins("@x hard memlock 1\n@x hard memlock 2\n* - memlock 64"))
    assert [item.severity for item in found(view, USERS)] == ["error", "warning"]


@given(
    st.lists(
        st.builds(
            Process, st.sampled_from(["a", "b.service"]), st.integers(1, 9), st.integers(0, 2),
            st.sampled_from([LOW, ALL, Limit(0, UNLIMITED)]), st.sampled_from(["service", "session", "manager", "other"]),
            st.sampled_from([None, "slurmd.service"]), st.sampled_from([None, 0, 1000]),
        )
    ),
    st.sampled_from([None, CEILING]),
    st.booleans(),
    st.sampled_from([None, LOW, ALL]),
)  # fmt: skip
def test_what_is_low_is_never_a_pass(processes: List[Process], ceiling: Any, debian: bool, init: Any) -> None:
    view = MemlockView(
        processes=tuple(processes), units={"slurmd.service": UNIT}, ceiling=ceiling, debian_pam=debian, init=init,
        session_accounts={0: ALICE, 1000: BOB}, stacks=(SSHD,),
    )  # fmt: skip
    findings = found(view, MemlockWanted(("a", "b.service"), ALL))
    names = {item.name for item in processes}
    if any(item.limit != ALL for item in processes) or names != {"a", "b.service"}:
        assert findings
    else:
        assert findings == []


@pytest.mark.parametrize(
    ("size", "text"),
    [(UNLIMITED, "unlimited"), (8 << 20, "8 MiB"), (65536, "64 KiB"), (1000, "1000 bytes"), (0, "0 bytes")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert size_text(size) == text
