# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the memory-lock limits that processes, logins and units really have. Private to the collection."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock import check_memlock
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_logins import DAEMONS
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_units import is_unit
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import at_or_above
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    UNLIMITED,
    Account,
    Limit,
    MemlockView,
    MemlockWanted,
    Process,
    Unit,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._module.runner import runner_of
from ansible_collections.rdma.infiniband.plugins.module_utils._source import limits, processes
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import Runner, SourceError

LIVE_PROC = "/proc"
# Longer texts cannot be read in a task's output.
_SHOWN = 5
_SIZE = re.compile(r"^([0-9]{1,15})\s*(|B|K|KiB|M|MiB|G|GiB|T|TiB)\Z", re.ASCII)
_POWERS = {"": 0, "B": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.@:+\\-]*\Z", re.ASCII)
_USER = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]*\$?\Z", re.ASCII)

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "processes": {"type": "list", "elements": "str", "default": []},
    "soft": {"type": "str", "default": "unlimited"},
    "hard": {"type": "str"},
    "users": {"type": "list", "elements": "str", "default": []},
    "login_probe": {"type": "bool", "default": False},
    "unit_probe": {"type": "bool", "default": False},
    "sessions": {"type": "bool", "default": False},
    "pam_services": {
        "type": "list",
        "elements": "str",
        "default": ["sshd", "login", "su", "cron", "crond", "slurm"],
    },
    "absent_severity": {"type": "str", "choices": ["info", "warning", "error"], "default": "error"},
    "proc_path": {"type": "path", "default": LIVE_PROC},
    "etc_path": {"type": "path", "default": limits.LIVE_ETC},
    "timeout": {"type": "float", "default": 10.0},
    "fail_on": {"type": "str", "choices": ["info", "warning", "error", "never"], "default": "error"},
}


def run_module() -> None:
    """Entry point of the module memlock_check."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    wanted = _wanted(module)
    try:
        view = _view(module, wanted)
    except SourceError as error:
        module.fail_json(
            msg="proc_path, etc_path: cannot read %s. Give the directories where the host's /proc and /etc are." % error
        )
        return
    findings = check_memlock(view, wanted)
    result: Dict[str, Any] = {
        "changed": False,
        "findings": [finding.to_dict() for finding in findings],
        "processes": [_process(item) for item in view.processes if item.name in wanted.names],
        "logins": [
            {"user": probe.subject.rpartition(" ")[2], "limit": _limit(probe.limit), "problem": probe.problem}
            for probe in view.logins
        ],
        "new_unit": _limit(view.new_unit.limit) if view.new_unit else None,
        "summary": _summary(view, wanted, len(findings)),
    }
    failing = at_or_above(findings, module.params["fail_on"])
    if failing:
        lines = ["%d of %d findings fail this check:" % (len(failing), len(findings))]
        lines += [str(finding) for finding in failing[:_SHOWN]]
        lines += ["and %d more" % (len(failing) - _SHOWN)] if len(failing) > _SHOWN else []
        module.fail_json(msg="\n".join(lines), **result)
    module.exit_json(failed=False, **result)


def _refuse(module: AnsibleModule, option: str, value: Any, allowed: str) -> None:
    module.fail_json(msg="%s: %r is not allowed; use %s" % (option, value, allowed))


def _size(module: AnsibleModule, option: str, value: str) -> int:
    if value == "unlimited":
        return UNLIMITED
    size = _SIZE.match(value)
    if not size:
        _refuse(module, option, value, "unlimited, bytes, or a size such as 64GiB")
        return 0  # not reached: fail_json ends the module
    return min(int(size.group(1)) * 1024 ** _POWERS[size.group(2)[:1]], UNLIMITED)


def _wanted(module: AnsibleModule) -> MemlockWanted:
    """What is asked for; one clear error for what cannot be."""
    given = module.params
    # Written this way round, "not a number" is refused as well.
    if not 0 < given["timeout"] <= 3600:
        _refuse(module, "timeout", given["timeout"], "seconds above 0 and up to 3600")
    soft = _size(module, "soft", given["soft"])
    hard = soft if given["hard"] is None else _size(module, "hard", given["hard"])
    if soft > hard:
        module.fail_json(
            msg="soft: %s is above hard: %s; a soft limit can be at most the hard one" % (given["soft"], given["hard"])
        )
    for option, form in (("processes", _NAME), ("users", _USER), ("pam_services", _NAME)):
        for name in given[option]:
            if not form.match(name):
                _refuse(module, option, name, "names such as sshd, slurmd.service, alice")
    if not (given["processes"] or given["users"] or given["unit_probe"] or given["sessions"]):
        module.fail_json(msg="processes, users, sessions, unit_probe: nothing to measure; give at least one of them")
    if given["login_probe"] and not given["users"]:
        module.fail_json(msg="login_probe: needs users, the accounts whose login is opened")
    if given["login_probe"] and os.geteuid() != 0:
        module.fail_json(msg="login_probe: opening a session of another user takes root; use become: true")
    live = given["proc_path"] == LIVE_PROC and given["etc_path"] == limits.LIVE_ETC
    if (given["login_probe"] or given["unit_probe"]) and not live:
        module.fail_json(
            msg="login_probe, unit_probe: only possible with the running host's own proc_path and etc_path"
        )
    names = tuple(dict.fromkeys(given["processes"]))
    return MemlockWanted(names, Limit(soft, hard), given["absent_severity"])


def _view(module: AnsibleModule, wanted: MemlockWanted) -> MemlockView:
    """Look at the host. Tools are run only where what was read needs an explanation, or a probe was asked for."""
    given = module.params
    config, runner, timeout = limits.Config(given["etc_path"]), runner_of(module), given["timeout"]
    live = given["proc_path"] == LIVE_PROC
    users = _accounts(module, config)
    asked = [name for name in wanted.names if is_unit(name)]
    units, unreadable = limits.units(runner, asked, timeout) if live else ({}, ())
    real = {name: units[name].name for name in asked if name in units}  # an alias is another name of its unit
    names = [name for name in wanted.names if not is_unit(name)]
    watched = names + [name for name in sorted(set(DAEMONS.values())) if name not in names]
    found = processes.scan(given["proc_path"], watched, [real.get(name, name) for name in asked])
    back = {unit: name for name, unit in real.items()}
    seen = tuple(replace(item, name=back.get(item.name, item.name)) for item in found.processes)
    host = processes.host_limits(given["proc_path"])
    ours = [item for item in seen if item.name in wanted.names]
    if live:
        units, more = _explained(runner, timeout, units, ours, wanted)
        unreadable += more
    units = {name: config.with_assignments(unit) for name, unit in units.items()}
    sessions = [item for item in ours if item.origin == "session" and not item.limit.reaches(wanted.limit)]
    lookup = config.accounts()
    by_uid = {uid: lookup(str(uid)) for uid in {item.session_uid for item in sessions if item.session_uid is not None}}
    stacks = config.stacks(given["pam_services"]) if users or sessions or given["sessions"] else ()
    return MemlockView(
        processes=seen,
        units=units,
        manager=limits.manager_default(runner, timeout) if live and given["unit_probe"] else None,
        manager_lines=config.manager_lines(),
        lines=config.limit_lines(),
        conf_lines={stack.conf: config.limit_lines(stack.conf) for stack in stacks if stack.conf},
        accounts=users,
        session_accounts={uid: user for uid, user in by_uid.items() if user is not None},
        stacks=stacks,
        daemons=_daemons(seen),
        slurm=config.slurm(),
        init=host.init,
        ceiling=host.ceiling,
        debian_pam=config.debian_pam(),
        logins=tuple(limits.probe_login(runner, user.name, timeout) for user in users if given["login_probe"]),
        new_unit=limits.probe_unit(runner, timeout) if given["unit_probe"] else None,
        unreadable=unreadable + found.unreadable + host.unreadable + tuple(config.unreadable),
    )


def _accounts(module: AnsibleModule, config: limits.Config) -> Tuple[Account, ...]:
    lookup = config.accounts()
    found: List[Account] = []
    for name in dict.fromkeys(module.params["users"]):
        user = lookup(name)
        if user is None:
            _refuse(module, "users", name, "users that exist on this host; see: getent passwd %s" % name)
            continue
        found.append(user)
    return tuple(found)


def _explained(
    runner: Runner, timeout: float, units: Mapping[str, Unit], ours: List[Process], wanted: MemlockWanted
) -> Tuple[Dict[str, Unit], Tuple[Any, ...]]:
    """The units of processes whose limit is too low, and of names without a process."""
    low = [
        item.unit for item in ours if item.unit and item.origin == "service" and not item.limit.reaches(wanted.limit)
    ]
    running = {item.name for item in ours}
    absent = [name + ".service" for name in wanted.names if name not in running and not is_unit(name)]
    missing = [name for name in dict.fromkeys(low + absent) if name not in units]
    more, unreadable = limits.units(runner, missing, timeout)
    # That systemd says nothing about a name that may not be a unit at all is no trouble of its own.
    return {**units, **more}, unreadable if low else ()


def _daemons(seen: Tuple[Process, ...]) -> Dict[str, Limit]:
    """The limits that sessions inherit: those of the daemons themselves, not of the sessions that they opened."""
    found: Dict[str, Limit] = {}
    for item in seen:
        if item.name in DAEMONS.values() and item.origin != "session":
            found.setdefault(item.name, item.limit)
    return found


def _limit(limit: Optional[Limit]) -> Optional[Dict[str, str]]:
    """A limit as the module returns it: bytes as text, or unlimited."""
    if limit is None:
        return None
    values = ("unlimited" if size >= UNLIMITED else str(size) for size in (limit.soft, limit.hard))
    return dict(zip(("soft", "hard"), values))


def _process(item: Process) -> Dict[str, Any]:
    return {
        "name": item.name,
        "pid": item.pid,
        "uid": item.uid,
        "origin": item.origin,
        "unit": item.unit,
        "limit": _limit(item.limit),
    }


def _summary(view: MemlockView, wanted: MemlockWanted, findings: int) -> str:
    ours = [item for item in view.processes if item.name in wanted.names]
    enough = sum(item.limit.reaches(wanted.limit) for item in ours)
    text = "%d of %d processes have the wanted memory-lock limit (%s)" % (enough, len(ours), wanted.limit)
    return "%s; %s" % (text, "%d finding%s" % (findings, "" if findings == 1 else "s") if findings else "no findings")
