# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory-lock limits of running processes and of new units. Private to the collection. Pure.

A service is one finding however many processes it runs.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_common import Capped, finding, several
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_logins import low_sessions
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_limits import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    Assignment,
    Limit,
    MemlockView,
    MemlockWanted,
    Process,
    Unit,
)

UNIT_TYPES = (".service", ".scope", ".socket", ".slice", ".mount", ".swap")


def is_unit(name: str) -> bool:
    """Whether a name is that of a unit rather than of a process."""
    return name.endswith(UNIT_TYPES)


def process_findings(view: MemlockView, wanted: MemlockWanted, capped: Capped) -> List[Finding]:
    """Findings about running processes, and about those that do not run."""
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
    if is_unit(name) and unit and unit.load_state == "not-found":
        return make(
            "MEMLOCK_UNIT_UNKNOWN",
            name,
            "systemd knows no such unit: not measured",
            "a running unit with %s" % wanted.limit,
            # A name that is not right is never mere information.
            "warning" if wanted.absent_severity == "info" else wanted.absent_severity,
            command="systemctl list-units --all '%s*'" % name[:3],
        )
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
    return "process%s %s" % ("es" if len(members) > 1 else "", several([str(item.pid) for item in members]))


def _low_processes(
    name: str, members: Sequence[Process], view: MemlockView, wanted: MemlockWanted, capped: Capped
) -> List[Finding]:
    first = members[0]
    subject = "%s (%s)" % (name, _pids(members))
    show = "grep 'Max locked' /proc/%d/limits" % first.pid
    if first.origin == "session":
        return low_sessions(subject, show, members, view, wanted, capped)
    if capped.explains(subject, first.limit):
        return []
    unit = view.units.get(first.unit or "")
    if first.origin == "service" and unit and unit.limit:
        show += "; systemctl show -p LimitMEMLOCK %s" % unit.name
        main = [item for item in view.processes if item.pid == unit.main_pid]
        if unit.limit.reaches(wanted.limit) or _will_do(unit, view, wanted):
            pending = _pending(unit, view, wanted)
            observed = "%s, although %s" % (first.limit, pending[0])
            return [finding("MEMLOCK_RESTART_PENDING", subject, observed, wanted, pending[1], show)]
        started = ""
        if main and main[0].limit.reaches(wanted.limit):
            started = "; its main process %d has %s" % (unit.main_pid, main[0].limit)
        observed = "%s, from %s%s" % (first.limit, _source(unit, view), started)
        return [finding("MEMLOCK_EFFECTIVE_LOW", subject, observed, wanted, _unit_change(unit, wanted), show)]
    if first.origin == "service":
        observed = "%s, from the unit %s" % (first.limit, first.unit)
        change = "LimitMEMLOCK=%s in a drop-in of %s, then restart it" % (_systemd(wanted.limit), first.unit)
    elif first.origin == "manager":
        observed = "%s, from the user manager %s" % (first.limit, first.unit)
        change = "LimitMEMLOCK=%s in a drop-in of user@.service, then log in anew" % _systemd(wanted.limit)
    else:
        observed = "%s, inherited from what started it%s" % (first.limit, " in " + first.unit if first.unit else "")
        change = "the limit of what starts it (a container's --ulimit memlock=-1, slurmd's LimitMEMLOCK), then restart"
    return [finding("MEMLOCK_EFFECTIVE_LOW", subject, observed, wanted, change, show)]


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


def new_unit_findings(view: MemlockView, wanted: MemlockWanted, capped: Capped) -> List[Finding]:
    """Findings about the unit that was started to be measured."""
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
        return [finding("MEMLOCK_RESTART_PENDING", probe.subject, observed, wanted, change, probe.command)]
    source = "%s at %s" % (line.text, line.where) if line else "the manager's default (%s)" % (loaded or "not shown")
    change = "%s in /etc/systemd/system.conf.d/memlock.conf ([Manager]), then: systemctl daemon-reexec" % setting
    observed = "%s, from %s" % (probe.limit, source)
    return [finding("MEMLOCK_EFFECTIVE_LOW", probe.subject, observed, wanted, change, probe.command)]
