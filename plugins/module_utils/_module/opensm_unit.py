# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts, restarts and stops the units of OpenSM instances. Private to the collection."""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._model.change import Change
from ansible_collections.rdma.infiniband.plugins.module_utils._module.runner import runner_of
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import sm_info, systemd_unit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.opensm_files import STATE
from ansible_collections.rdma.infiniband.plugins.module_utils._source.opensm import read_log

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "instances": {"type": "list", "elements": "dict", "required": True},
    "state": {"type": "str", "choices": ["started", "reloaded", "restarted", "stopped"], "required": True},
    "wait_s": {"type": "float", "default": 60.0},
    "timeout": {"type": "float", "default": 60.0},
}
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.ASCII)
_STEP_S = 0.5


@dataclass(frozen=True)
class _Unit:
    name: str
    active: bool
    enabled: bool

    @property
    def shown(self) -> str:
        return "%s, %s" % ("active" if self.active else "inactive", "enabled" if self.enabled else "disabled")


def run_module() -> None:
    """Entry point of the module opensm_unit."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    for item in module.params["instances"]:
        if not _NAME.fullmatch(str(item.get("name"))):
            module.fail_json(msg="instances: the name %r is not allowed; use lower-case words" % item.get("name"))
    state = module.params["state"]
    changes: List[Change] = []
    for item in module.params["instances"]:
        unit = _look(module, item["name"])
        verbs = _verbs(unit, state)
        if not verbs:
            continue
        after = _Unit(unit.name, state != "stopped", state != "stopped")
        text = (
            "restarted" if state == "restarted" and unit.active else "reloaded" if state == "reloaded" else after.shown
        )
        disruptive = unit.active and state in ("restarted", "stopped")
        changes.append(Change(unit.name, unit.shown, text, disruptive=disruptive))
        if not module.check_mode:
            _carry_out(module, item, unit.name, verbs)
    module.exit_json(
        changed=bool(changes),
        changes=[change.to_dict() for change in changes],
        diff=[
            {"before_header": c.what, "after_header": c.what, "before": "%s\n" % c.before, "after": "%s\n" % c.after}
            for c in changes
        ],
    )


def _verbs(unit: _Unit, state: str) -> Sequence[str]:
    if state == "stopped":
        return (["stop"] if unit.active else []) + (["disable"] if unit.enabled else [])
    enable = [] if unit.enabled else ["enable"]
    if not unit.active:
        return [] if state == "reloaded" else enable + ["start"]
    return enable + {"started": [], "reloaded": ["reload"], "restarted": ["restart"]}[state]


def _look(module: AnsibleModule, name: str) -> _Unit:
    unit = "rdma-opensm@%s.service" % name
    argv = ("systemctl", "show", "-p", "ActiveState,UnitFileState", unit)
    run = runner_of(module)(argv, module.params["timeout"])
    if run.failure or run.rc:
        said = run.failure or (run.stderr or run.stdout).strip()[:300]
        module.fail_json(msg="%s: %s. Nothing was changed." % (" ".join(argv), said))
    (block,) = systemd_unit.parse_show(run.stdout, 1)
    # A manager that is just starting again is one that runs, as far as a start or stop is concerned.
    active = block.get("ActiveState") in ("active", "activating", "reloading")
    return _Unit(unit, active, block.get("UnitFileState") == "enabled")


def _carry_out(module: AnsibleModule, item: Dict[str, Any], unit: str, verbs: Sequence[str]) -> None:
    run = runner_of(module)
    for verb in ("daemon-reload",) + tuple(verbs):
        argv = ("systemctl", verb) if verb == "daemon-reload" else ("systemctl", verb, unit)
        done = run(argv, module.params["timeout"])
        if done.failure or done.rc:
            said = done.failure or (done.stderr or done.stdout).strip()[:500]
            module.fail_json(msg="%s: %s. See: systemctl status %s; run this again" % (" ".join(argv), said, unit))
    if "stop" in verbs or "disable" in verbs:
        # What it learned is of no use to anybody else, and tells a later run that it ran here.
        shutil.rmtree("%s/%s" % (STATE, item["name"]), ignore_errors=True)
    if item.get("guid") and set(verbs) & {"start", "restart"}:
        _wait(module, item, unit)


def _wait(module: AnsibleModule, item: Dict[str, Any], unit: str) -> None:
    """Until the manager is known to the fabric as master or standby, so that the next one may go."""
    deadline = time.monotonic() + module.params["wait_s"]
    where = ("-C", item["device"], "-P", str(item["port"]))
    run = runner_of(module)
    while time.monotonic() < deadline:
        try:
            master = sm_info.parse_sminfo(run(("sminfo",) + where, 10).stdout)
            if master is not None:
                known = sm_info.parse_smir(run(("saquery",) + where + ("SMIR",), 10).stdout)
                if any(
                    other.guid == item["guid"] and other.state in ("MASTER", "STANDBY", "DISCOVER") for other in known
                ):
                    return
        except ParseError:
            pass  # a tool that is cut short while the fabric changes hands is asked again
        time.sleep(_STEP_S)
    log = read_log("/var/log/rdma-opensm.%s.log" % item["name"])
    cause = next((event.message for event in log.events if event.err), "") if log else ""
    module.fail_json(
        msg="%s: the fabric does not know %s as a manager after %g s%s. The other managers were left alone. See: systemctl "
        "status %s; sminfo -C %s -P %s"
        % (
            unit,
            item["guid"],
            module.params["wait_s"],
            "; its log says: " + cause[:200] if cause else "",
            unit,
            item["device"],
            item["port"],
        )
    )
