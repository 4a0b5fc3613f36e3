# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory-lock limits that a host's processes, logins and units have, against what is wanted. Pure.

Private to the collection. One cause gives one finding: a host that cannot raise limits explains every process that has
what the host can give, and a service is one finding however many processes it runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.limits_config import check_lines, login_limit
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import SEVERITIES, Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_limits import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    Account,
    Assignment,
    Limit,
    LoginLimit,
    MemlockView,
    MemlockWanted,
    PamStack,
    Probe,
    Process,
    Unit,
)

UNIT_TYPES = (".service", ".scope", ".socket", ".slice", ".mount", ".swap")
# The program whose limit the sessions of a PAM service start from.
DAEMONS = {"sshd": "sshd", "cron": "cron", "crond": "crond", "slurm": "slurmd"}
_SHOWN = 5


def check_memlock(view: MemlockView, wanted: MemlockWanted) -> Tuple[Finding, ...]:
    """Every finding, the worst first."""
    findings = [
        make("UNREADABLE_OUTPUT", item.subject, item.reason, "a limit that can be read", command=item.command)
        for item in view.unreadable
    ]
    capped = _Capped(view, wanted)
    findings += _processes(view, wanted, capped)
    logins, lines = _merged(_logins(view, wanted, capped), view)
    findings += logins
    findings += _new_unit(view, wanted, capped)
    findings += capped.findings()
    findings += lines
    if view.slurm and (view.slurm.propagates or view.slurm.problem):
        findings.append(
            make(
                "SLURM_PROPAGATES_LIMITS",
                view.slurm.where,
                view.slurm.setting + ("; " + view.slurm.problem if view.slurm.problem else ""),
                "PropagateResourceLimitsExcept=MEMLOCK",
                command="scontrol show config | grep -i PropagateResourceLimits",
            )
        )
    return tuple(sorted(findings, key=lambda item: -SEVERITIES.index(item.severity)))


def _merged(logins: List[Finding], view: MemlockView) -> Tuple[List[Finding], List[Finding]]:
    """Findings about logins and about lines. A line that makes a login low is not reported a second time.

    What contradicts it is then told with the login, since that may be somebody else's file.
    """
    left: List[Finding] = []
    for item in check_lines(view.lines):
        own = [line for line in view.lines if item.subject in (line.where, "memlock of %s" % line.domain)]
        named = [
            index for index, login in enumerate(logins) if any("%s '" % line.where in login.observed for line in own)
        ]
        if not named:
            left.append(item)
        elif item.code != "LIMITS_LINE_MISREAD":
            for index in named:
                logins[index] = replace(logins[index], observed="%s; %s" % (logins[index].observed, item.observed))
    return logins, left


class _Capped:
    """Collects what is as high as the host can go, which is one finding for all of it."""

    def __init__(self, view: MemlockView, wanted: MemlockWanted) -> None:
        self.ceiling = view.ceiling if view.ceiling and not view.ceiling.limit.reaches(wanted.limit) else None
        self.wanted = wanted
        self.subjects: List[str] = []

    def explains(self, subject: str, limit: Limit) -> bool:
        """Whether the host's ceiling is why this limit is too low; the subject is then remembered."""
        if self.ceiling is None or not limit.reaches(self.wanted.limit.at_most(self.ceiling.limit)):
            return False
        self.subjects.append(subject)
        return True

    def findings(self) -> List[Finding]:
        """At most one."""
        if self.ceiling is None or not self.subjects:
            return []
        return [
            make(
                "MEMLOCK_CANNOT_RAISE",
                "this host",
                "%s, so nothing gets above %s: %s" % (self.ceiling.reason, self.ceiling.limit, _several(self.subjects)),
                str(self.wanted.limit),
                command="grep 'Max locked' /proc/1/limits; grep Cap /proc/self/status; systemd-detect-virt",
            )
        ]


def _several(texts: Sequence[str]) -> str:
    more = " and %d more" % (len(texts) - _SHOWN) if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def is_unit(name: str) -> bool:
    """Whether a name is that of a unit rather than of a process."""
    return name.endswith(UNIT_TYPES)


def _processes(view: MemlockView, wanted: MemlockWanted, capped: _Capped) -> List[Finding]:
    findings: List[Finding] = []
    reported: List[int] = []  # a process that goes by two of the names is one cause
    for name in wanted.names:
        own = [process for process in view.processes if process.name == name]
        if not own:
            if not (is_unit(name) and name not in view.units and view.unreadable):
                findings.append(_absent(name, view, wanted))
            continue
        groups: Dict[Tuple[str, Optional[str], Limit], List[Process]] = {}
        for process in own:
            if not process.limit.reaches(wanted.limit) and process.pid not in reported:
                unit = process.unit if process.origin in ("service", "manager") else None
                groups.setdefault((process.origin, unit, process.limit), []).append(process)
                reported.append(process.pid)
        for members in groups.values():
            findings += _low_processes(name, members, view, wanted, capped)
    return findings


def _absent(name: str, view: MemlockView, wanted: MemlockWanted) -> Finding:
    unit = view.units.get(name if is_unit(name) else name + ".service")
    observed = "no such process"
    if unit and unit.load_state != "loaded":
        observed += " (its unit %s is %s)" % (unit.name, unit.load_state)
    elif unit:
        given = ", and would get %s" % unit.limit if unit.limit else ""
        observed += " (its unit %s is %s%s)" % (unit.name, unit.active_state, given)
    return make(
        "MEMLOCK_PROCESS_ABSENT",
        name,
        observed + ": not measured",
        "a running process with %s" % wanted.limit,
        wanted.absent_severity,
        command="systemctl status %s; pgrep -a %s" % (name, name.partition(".")[0][:15]),
    )


def _pids(members: Sequence[Process]) -> str:
    return "process%s %s" % ("es" if len(members) > 1 else "", _several([str(item.pid) for item in members]))


def _low_processes(
    name: str, members: Sequence[Process], view: MemlockView, wanted: MemlockWanted, capped: _Capped
) -> List[Finding]:
    first = members[0]
    subject = "%s (%s)" % (name, _pids(members))
    show = "grep 'Max locked' /proc/%d/limits" % first.pid
    if first.origin == "session":
        return _low_sessions(subject, show, members, view, wanted, capped)
    if capped.explains(subject, first.limit):
        return []
    unit = view.units.get(first.unit or "")
    if first.origin == "service" and unit and unit.limit:
        show += "; systemctl show -p LimitMEMLOCK %s" % unit.name
        main = [item for item in view.processes if item.pid == unit.main_pid]
        if unit.limit.reaches(wanted.limit) or _will_do(unit, view, wanted):
            pending = _pending(unit, view, wanted)
            observed = "%s, although %s" % (first.limit, pending[0])
            return [_finding("MEMLOCK_RESTART_PENDING", subject, observed, wanted, pending[1], show)]
        started = ""
        if main and main[0].limit.reaches(wanted.limit):
            started = "; its main process %d has %s" % (unit.main_pid, main[0].limit)
        observed = "%s, from %s%s" % (first.limit, _source(unit, view), started)
        return [_finding("MEMLOCK_EFFECTIVE_LOW", subject, observed, wanted, _unit_change(unit, wanted), show)]
    if first.origin == "service":
        observed = "%s, from the unit %s" % (first.limit, first.unit)
        change = "LimitMEMLOCK=%s in a drop-in of %s, then restart it" % (_systemd(wanted.limit), first.unit)
    elif first.origin == "manager":
        observed = "%s, from the user manager %s" % (first.limit, first.unit)
        change = "LimitMEMLOCK=%s in a drop-in of user@.service, then log in anew" % _systemd(wanted.limit)
    else:
        observed = "%s, inherited from what started it%s" % (first.limit, " in " + first.unit if first.unit else "")
        change = "the limit of what starts it (a container's --ulimit memlock=-1, slurmd's LimitMEMLOCK), then restart"
    return [_finding("MEMLOCK_EFFECTIVE_LOW", subject, observed, wanted, change, show)]


def _finding(code: str, subject: str, observed: str, wanted: MemlockWanted, change: str, command: str) -> Finding:
    return make(code, subject, observed, str(wanted.limit), change=change, command=command)


def _systemd(limit: Limit) -> str:
    """A limit as a unit file writes it."""
    soft, hard = (
        "infinity" if str(Limit(size, size)) == "unlimited" else str(size) for size in (limit.soft, limit.hard)
    )
    return soft if soft == hard else "%s:%s" % (soft, hard)


def _last(lines: Sequence[Assignment]) -> Optional[Assignment]:
    valid = [line for line in lines if line.limit is not None]
    return valid[-1] if valid else None


def _will_do(unit: Unit, view: MemlockView, wanted: MemlockWanted) -> bool:
    """Whether the files give enough, although what systemd has loaded does not."""
    line = unit.on_disk or _last(view.manager_lines)
    return line is not None and line.limit is not None and line.limit.reaches(wanted.limit)


def _pending(unit: Unit, view: MemlockView, wanted: MemlockWanted) -> Tuple[str, str]:
    """What already gives enough, and what still has to be run."""
    restart = "systemctl restart %s" % unit.name
    if unit.limit and unit.limit.reaches(wanted.limit) and not unit.needs_reload:
        return "the unit %s gives %s" % (unit.name, unit.limit), restart
    if unit.limit and unit.limit.reaches(wanted.limit):
        return "the unit %s gives %s" % (unit.name, unit.limit), "systemctl daemon-reload && " + restart
    line = unit.on_disk
    if line:
        return "%s says %s (not loaded yet)" % (line.where, line.text), "systemctl daemon-reload && " + restart
    line = _last(view.manager_lines)
    said = "%s says %s" % (line.where, line.text) if line else "the manager's default is enough"
    return said + " (not loaded yet)", "systemctl daemon-reexec && " + restart


def _source(unit: Unit, view: MemlockView) -> str:
    """Where the limit of a unit comes from."""
    ignored = [line for line in unit.assignments if line.limit is None]
    note = "; systemd cannot read %s at %s" % (ignored[-1].text, ignored[-1].where) if ignored else ""
    line = unit.on_disk
    if line:
        return "%s at %s%s" % (line.text, line.where, note)
    default = _last(view.manager_lines)
    place = "%s at %s" % (default.text, default.where) if default else "DefaultLimitMEMLOCK"
    return "the manager's default (%s), since %s sets none%s" % (place, unit.name, note)


def _unit_change(unit: Unit, wanted: MemlockWanted) -> str:
    setting = "LimitMEMLOCK=%s" % _systemd(wanted.limit)
    line = unit.on_disk
    administrators = line is not None and line.path.startswith("/etc/")
    place = line.path if line and administrators else "/etc/systemd/system/%s.d/memlock.conf ([Service])" % unit.name
    return "%s in %s, then: systemctl daemon-reload && systemctl restart %s" % (setting, place, unit.name)


# Logins


def _low_sessions(
    subject: str, show: str, members: Sequence[Process], view: MemlockView, wanted: MemlockWanted, capped: _Capped
) -> List[Finding]:
    """Running processes of login sessions: pending when a new session of the same user would get enough."""
    account = view.session_accounts.get(members[0].session_uid if members[0].session_uid is not None else -1)
    limit = members[0].limit
    if capped.explains(subject, limit):
        return []
    given = _given(account, _stack(view, "sshd"), view) if account else None
    if account and given and given.limit.reaches(wanted.limit):
        observed = "%s, although a new login of %s gets %s" % (limit, account.name, given.limit)
        return [_finding("MEMLOCK_RESTART_PENDING", subject, observed, wanted, "log out and in again", show)]
    observed = "%s, set when the session began" % limit
    if account and given:
        observed += " (%s)" % _line_words(given, account)
    change = "a line in /etc/security/limits.d for the user or its group, then log in anew"
    return [_finding("MEMLOCK_EFFECTIVE_LOW", subject, observed, wanted, change, show)]


def _stack(view: MemlockView, service: str) -> Optional[PamStack]:
    named = [stack for stack in view.stacks if stack.service == service] or list(view.stacks)
    return named[0] if named else None


def _inherited(stack: Optional[PamStack], view: MemlockView) -> Optional[Limit]:
    """The limit of the program that opens the sessions."""
    return view.daemons.get(DAEMONS.get(stack.service, "") if stack else "", view.init)


def _given(account: Account, stack: Optional[PamStack], view: MemlockView) -> Optional[LoginLimit]:
    """What a new session of a user would get through a service that runs pam_limits."""
    inherited = _inherited(stack, view)
    all_set = view.debian_pam or (stack is not None and stack.set_all)
    start = view.init if all_set else inherited
    if start is None or inherited is None:
        return None
    lines = view.conf_lines.get(stack.conf, ()) if stack and stack.conf else view.lines
    given = login_limit(lines, account, start, view.debian_pam)
    if given.exempt_line:
        return LoginLimit(inherited, exempt_line=given.exempt_line)
    return given


def _refused(given: LoginLimit, stack: PamStack, view: MemlockView) -> Optional[Limit]:
    """What a session keeps when its limits cannot be set; ``None`` when they can."""
    inherited = _inherited(stack, view)
    if view.ceiling is None or inherited is None or not (given.touched or view.debian_pam or stack.set_all):
        return None
    return inherited if given.limit.hard > inherited.hard else None


def _line_words(given: LoginLimit, account: Account) -> str:
    if given.exempt_line:
        return "%s '%s' takes %s out of all limits" % (given.exempt_line.where, given.exempt_line.says, account.name)
    lines = [line for line in (given.soft_line, given.hard_line) if line is not None]
    if not lines:
        return "no line of limits.conf or limits.d speaks of %s" % account.name
    parts: List[str] = []
    for line in lines:
        text = "%s '%s'" % (line.where, line.says)
        if line.problem:
            text += " (%s)" % line.problem
        if text not in parts:
            parts.append(text)
    return "; ".join(parts)


def _logins(view: MemlockView, wanted: MemlockWanted, capped: _Capped) -> List[Finding]:
    findings = _stacks(view, wanted)
    measured = {probe.subject: probe for probe in view.logins}
    # Users for whom the same lines count are one cause.
    groups: Dict[Tuple[str, str], List[str]] = {}
    for account in view.accounts:
        subject = "a new login of %s" % account.name
        probe = measured.get(subject)
        stack = _running_stack(view)
        given = _given(account, stack, view) if stack else None
        if probe:
            findings += _measured(probe, given, account, wanted, capped)
            continue
        if stack is None:
            continue  # each stack was reported
        if given is None:
            findings.append(
                make(
                    "UNREADABLE_OUTPUT", subject, "the limit it starts from is not known", "a limit that can be read",
                    command="cat /proc/1/limits",
                )
            )  # fmt: skip
            continue
        kept = _refused(given, stack, view)
        if kept is not None and not view.debian_pam:
            findings.append(
                _finding(
                    "MEMLOCK_LOGIN_REFUSED", subject,
                    "%s asks for %s, which this host cannot give" % (_line_words(given, account), given.limit), wanted,
                    "the line, to at most %s, or the host's own limit from outside" % kept,
                    "su -l %s -c 'ulimit -l'" % account.name,
                )
            )  # fmt: skip
            continue
        limit = kept if kept is not None else given.limit
        if limit.reaches(wanted.limit) or capped.explains(subject, limit):
            continue
        words = _line_words(given, account)
        no_line = not given.touched and not given.exempt_line
        cause = "no line of limits.conf or limits.d speaks of it" if no_line else words
        groups.setdefault((str(limit), cause), []).append(account.name)
    for (limit_text, cause), names in groups.items():
        findings.append(
            _finding(
                "MEMLOCK_EFFECTIVE_LOW", "a new login of %s" % _several(names), "%s: %s" % (limit_text, cause), wanted,
                "soft and hard memlock in a limits.d file that is read last, such as 90-rdma-infiniband.conf",
                "su -l %s -c 'ulimit -S -l; ulimit -H -l'" % names[0],
            )
        )  # fmt: skip
    return findings


def _running_stack(view: MemlockView) -> Optional[PamStack]:
    """The service by which a new login is judged: sshd if it runs pam_limits, else the first that does."""
    running = [stack for stack in view.stacks if stack.state == "runs"]
    return next((stack for stack in running if stack.service == "sshd"), running[0] if running else None)


def _measured(
    probe: Probe, given: Optional[LoginLimit], account: Account, wanted: MemlockWanted, capped: _Capped
) -> List[Finding]:
    """What was really seen counts, whatever the files promise."""
    if probe.limit is None:
        if probe.refused:
            change = "the memlock lines for %s" % account.name
            words = "%s (%s)" % (probe.problem, _line_words(given, account) if given else "limits.d was not judged")
            return [_finding("MEMLOCK_LOGIN_REFUSED", probe.subject, words, wanted, change, probe.command)]
        return [
            make(
                "UNREADABLE_OUTPUT", probe.subject, str(probe.problem), "a limit that can be read",
                command=probe.command,
            )
        ]  # fmt: skip
    if probe.limit.reaches(wanted.limit) or capped.explains(probe.subject, probe.limit):
        return []
    change = "soft and hard memlock in a limits.d file that is read last, such as 90-rdma-infiniband.conf"
    words = _line_words(given, account) if given else "no PAM stack runs pam_limits"
    if given and given.limit.reaches(wanted.limit):
        words += ", and yet something after it lowers the limit"
        change = "what lowers it: ulimit in /etc/profile, /etc/profile.d or the user's profile, or the PAM stack of su"
    observed = "measured %s: %s" % (probe.limit, words)
    return [_finding("MEMLOCK_EFFECTIVE_LOW", probe.subject, observed, wanted, change, probe.command)]


def _stacks(view: MemlockView, wanted: MemlockWanted) -> List[Finding]:
    findings = []
    for stack in view.stacks:
        if stack.state == "runs":
            continue
        # What its sessions inherit may be enough all the same. What was not measured is not.
        daemon = view.daemons.get(DAEMONS.get(stack.service, ""))
        if daemon and daemon.reaches(wanted.limit):
            continue
        change = "a line 'session required pam_limits.so' in %s, before whatever may end the stack" % stack.path
        if "UsePAM" in stack.reason:
            change = "UsePAM yes in sshd_config, then restart sshd"
        findings.append(
            make(
                "PAM_LIMITS_MISSING",
                "sessions of %s" % stack.service,
                "%s: %s"
                % ({"sometimes": "not always run", "skipped": "not run"}.get(stack.state, "absent"), stack.reason),
                "pam_limits in the session part of %s" % stack.path,
                change=change,
                command="grep -n pam_limits %s" % stack.path,
            )
        )
    return findings


def _new_unit(view: MemlockView, wanted: MemlockWanted, capped: _Capped) -> List[Finding]:
    probe = view.new_unit
    if probe is None:
        return []
    if probe.limit is None:
        return [
            make(
                "UNREADABLE_OUTPUT", probe.subject, str(probe.problem), "a limit that can be read",
                command=probe.command,
            )
        ]  # fmt: skip
    if probe.limit.reaches(wanted.limit) or capped.explains(probe.subject, probe.limit):
        return []
    line = _last(view.manager_lines)
    loaded = view.manager
    setting = "DefaultLimitMEMLOCK=%s" % _systemd(wanted.limit)
    if line and line.limit and line.limit.reaches(wanted.limit):
        observed = "%s, although %s says %s" % (probe.limit, line.where, line.text)
        change = "systemctl daemon-reexec"
        return [_finding("MEMLOCK_RESTART_PENDING", probe.subject, observed, wanted, change, probe.command)]
    source = "%s at %s" % (line.text, line.where) if line else "the manager's default (%s)" % (loaded or "not shown")
    change = "%s in /etc/systemd/system.conf.d/memlock.conf ([Manager]), then: systemctl daemon-reexec" % setting
    observed = "%s, from %s" % (probe.limit, source)
    return [_finding("MEMLOCK_EFFECTIVE_LOW", probe.subject, observed, wanted, change, probe.command)]
