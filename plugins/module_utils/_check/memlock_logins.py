# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory-lock limits of login sessions, and the PAM stacks that give them. Private to the collection. Pure."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.limits_config import login_limit
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_common import Capped, finding, several
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_limits import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    Account,
    Limit,
    LoginLimit,
    MemlockView,
    MemlockWanted,
    PamStack,
    Probe,
    Process,
)

# The program whose limit the sessions of a PAM service start from.
DAEMONS = {"sshd": "sshd", "cron": "cron", "crond": "crond", "slurm": "slurmd"}


def low_sessions(
    subject: str, show: str, members: Sequence[Process], view: MemlockView, wanted: MemlockWanted, capped: Capped
) -> List[Finding]:
    """Running processes of login sessions: pending when a new session of the same user would get enough."""
    account = view.session_accounts.get(members[0].session_uid if members[0].session_uid is not None else -1)
    limit = members[0].limit
    if capped.explains(subject, limit):
        return []
    given = _given(account, _stack(view, "sshd"), view) if account else None
    if account and given and given.limit.reaches(wanted.limit):
        observed = "%s, although a new login of %s gets %s" % (limit, account.name, given.limit)
        return [finding("MEMLOCK_RESTART_PENDING", subject, observed, wanted, "log out and in again", show)]
    observed = "%s, set when the session began" % limit
    if account and given:
        observed += " (%s)" % _line_words(given, account)
    change = "a line in /etc/security/limits.d for the user or its group, then log in anew"
    return [finding("MEMLOCK_EFFECTIVE_LOW", subject, observed, wanted, change, show)]


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


def login_findings(view: MemlockView, wanted: MemlockWanted, capped: Capped) -> List[Finding]:
    """Findings about new logins, and about PAM services whose sessions do not run pam_limits."""
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
                finding(
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
            finding(
                "MEMLOCK_EFFECTIVE_LOW", "a new login of %s" % several(names), "%s: %s" % (limit_text, cause), wanted,
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
    probe: Probe, given: Optional[LoginLimit], account: Account, wanted: MemlockWanted, capped: Capped
) -> List[Finding]:
    """What was really seen counts, whatever the files promise."""
    if probe.limit is None:
        if probe.refused:
            change = "the memlock lines for %s" % account.name
            words = "%s (%s)" % (probe.problem, _line_words(given, account) if given else "limits.d was not judged")
            return [finding("MEMLOCK_LOGIN_REFUSED", probe.subject, words, wanted, change, probe.command)]
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
    return [finding("MEMLOCK_EFFECTIVE_LOW", probe.subject, observed, wanted, change, probe.command)]


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
