# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks whether a host's subnet managers serve their fabrics. Private to the collection."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional, Sequence, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_instance import (
    Bound,
    InstanceError,
    choose_port,
    parse_instances,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_serving import (
    Declared,
    Serving,
    check_serving,
    is_serving,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding, at_or_above
from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import Manager
from ansible_collections.rdma.infiniband.plugins.module_utils._module.runner import runner_of
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import sm_info, systemd_unit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.switches import ndr_switches
from ansible_collections.rdma.infiniband.plugins.module_utils._source import opensm, sysfs
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError

ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "instances": {"type": "list", "elements": "dict", "required": True},
    "managed": {"type": "bool", "default": True},
    "managers": {"type": "dict", "default": {}},
    "external_guids": {"type": "list", "elements": "str", "default": []},
    "pending": {"type": "dict", "default": {}},
    "before_start": {"type": "bool", "default": False},
    "upstream": {"type": "bool", "default": False},
    "master_is": {"type": "str"},
    "master_not": {"type": "str"},
    "wait_s": {"type": "float", "default": 0.0},
    "sysfs_path": {"type": "path", "default": "/sys"},
    "timeout": {"type": "float", "default": 10.0},
    "fail_on": {"type": "str", "choices": ["info", "warning", "error", "never"], "default": "error"},
}
_SHOWN = 5
_STEP_S = 0.5
# What stops a start.
_BEFORE = ("SM_FOREIGN_MASTER", "SM_FOREIGN", "SM_UNSUPPORTED_SWITCHES", "UNREADABLE_OUTPUT")


def run_module() -> None:
    """Entry point of the module opensm_check."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    given = module.params
    for option in ("timeout", "wait_s"):
        # Written this way round, "not a number" is refused as well.
        if not (0 < given[option] <= 3600 or (option == "wait_s" and given[option] == 0)):
            module.fail_json(msg="%s: %r is not allowed; give seconds up to 3600" % (option, given[option]))
    try:
        instances = parse_instances(given["instances"])
        bound = [choose_port(item, sysfs.read_node(given["sysfs_path"]).hcas) for item in instances]
    except (InstanceError, SourceError) as error:
        module.fail_json(msg=str(error))
        return
    declared = [
        Declared(
            item.name,
            tuple(given["managers"].get(item.name) or ()),
            tuple(given["external_guids"]),
            item.routing_engine,
        )
        for item in instances
    ]
    begin = time.monotonic()
    while True:
        seen = [_look(module, item.name, port) for item, port in zip(instances, bound)]
        findings = check_serving(seen, declared)
        waited = time.monotonic() - begin
        if waited >= given["wait_s"] or _is_settled(module, seen, findings):
            break
        time.sleep(_STEP_S)
    if given["before_start"]:
        findings = tuple(finding for finding in findings if finding.code in _BEFORE)
    result: Dict[str, Any] = {
        "changed": False,
        "findings": [finding.to_dict() for finding in findings],
        "instances": [_told(item) for item in seen],
        "waited_s": round(waited, 1),
        "summary": "; ".join(_sentence(item) for item in seen),
    }
    failing = at_or_above(findings, given["fail_on"])
    if failing:
        lines = ["%d of %d findings fail this check:" % (len(failing), len(findings))]
        lines += [str(finding) for finding in failing[:_SHOWN]]
        lines += ["and %d more" % (len(failing) - _SHOWN)] if len(failing) > _SHOWN else []
        module.fail_json(msg="\n".join(lines), **result)
    module.exit_json(failed=False, **result)


def _is_settled(module: AnsibleModule, seen: Sequence[Serving], findings: Sequence[Finding]) -> bool:
    """Whether nothing is left to wait for. A new master takes a sweep until it knows of its standby."""
    waiting = any(finding.code == "SM_NO_STANDBY" for finding in findings)
    return not waiting and all(is_serving(item) and _is_meant(module, item) for item in seen)


def _is_meant(module: AnsibleModule, seen: Serving) -> bool:
    """Whether the master is the one to wait for."""
    guid = seen.master.guid if seen.master else None
    return module.params["master_is"] in (None, guid) and module.params["master_not"] != guid


def _look(module: AnsibleModule, name: str, bound: Bound) -> Serving:
    runner, timeout = runner_of(module), module.params["timeout"]
    unit = "rdma-opensm@%s.service" % name if module.params["managed"] else None
    where = ("-C", bound.device, "-P", str(bound.port))
    unreadable: Optional[str] = None
    master: Optional[Manager] = None
    managers: Tuple[Manager, ...] = ()
    run = runner(("sminfo",) + where, timeout)
    if run.failure:
        unreadable = "sminfo %s" % ("is not installed" if run.failure == "missing" else "did not end in time")
    else:
        try:
            master = sm_info.parse_sminfo(run.stdout)
            if master is not None:
                managers = sm_info.parse_smir(runner(("saquery",) + where + ("SMIR",), timeout).stdout)
        except ParseError as error:
            unreadable = str(error)
    state, sm_lid = _port(module, bound)
    active, restarts = _unit(module, unit) if unit else (False, 0)
    unsupported: Tuple[str, ...] = ()
    if module.params["upstream"] and not active:
        # Directed routes need no manager, so the switches can be seen before there is one.
        unsupported = ndr_switches(runner(("ibnetdiscover",) + where, module.params["timeout"] * 6).stdout)
    path = "/var/log/rdma-opensm.%s.log" % name
    return Serving(
        name=name,
        device=bound.device,
        port=bound.port,
        guid=bound.guid,
        unit=unit,
        active=active,
        restarts=restarts,
        pending=module.params["pending"].get(name),
        port_state=state,
        sm_lid=sm_lid,
        master=master,
        managers=managers,
        log=opensm.read_log(path) if unit else None,
        log_path=path if unit else "",
        unreadable=unreadable,
        unsupported=unsupported,
    )


def _port(module: AnsibleModule, bound: Bound) -> Tuple[Optional[str], Optional[int]]:
    for hca in sysfs.read_node(module.params["sysfs_path"]).hcas:
        for port in hca.ports:
            if (hca.name, port.number) == (bound.device, bound.port):
                return port.state, port.sm_lid
    return None, None


def _unit(module: AnsibleModule, unit: str) -> Tuple[bool, int]:
    """Whether a unit is active, and how often systemd started it again."""
    run = runner_of(module)(
        ("systemctl", "show", "-p", "ActiveState,NRestarts,SubState", unit), module.params["timeout"]
    )
    if run.failure or run.rc:
        return False, 0
    (block,) = systemd_unit.parse_show(run.stdout, 1)
    return block.get("ActiveState") == "active", decimal(block.get("NRestarts", "")) or 0


def _told(seen: Serving) -> Dict[str, Any]:
    return {
        "name": seen.name,
        "guid": seen.guid,
        "device": seen.device,
        "port": seen.port,
        "active": seen.active,
        "serving": is_serving(seen),
        "is_master": seen.master is not None and seen.master.guid == seen.guid,
        "master_guid": seen.master.guid if seen.master else None,
        "managers": [
            {"guid": item.guid, "lid": item.lid, "priority": item.priority, "state": item.state}
            for item in seen.managers
        ],
        "routing_engine": seen.log.routing_engine if seen.log else None,
    }


def _sentence(seen: Serving) -> str:
    if seen.master is None:
        return "%s: no master" % seen.name
    role = "master here" if seen.master.guid == seen.guid else "master is %s" % seen.master.guid
    return "%s: %s, %d managers" % (seen.name, role, len(seen.managers))
