# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the udev rules for RDMA devices and brings present devices into line. Private to the collection."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import Any, Dict, List, Sequence, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev import check_udev
from ansible_collections.rdma.infiniband.plugins.module_utils._model.change import Change
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    NODE_KINDS,
    DeviceNode,
    NameChange,
    UdevHost,
    UdevIntent,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._module.runner import runner_of
from ansible_collections.rdma.infiniband.plugins.module_utils._module.udev import (
    UDEV_ARGUMENTS,
    finish,
    intent_of,
    observed,
    results,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.udev import (
    MOVE,
    REMOVE,
    RESTORE,
    WRITE,
    Allowed,
    FileStep,
    NodeStep,
    PlanError,
    UdevPlan,
    names_only,
    plan,
)

ARGUMENTS: Dict[str, Dict[str, Any]] = dict(
    UDEV_ARGUMENTS,
    state={"type": "str", "choices": ["present", "absent"], "default": "present"},
    names_in_use={"type": "list", "elements": "str", "default": []},
    allow_rename={"type": "bool", "default": False},
    allow_management_path={"type": "bool", "default": False},
    groups_to_come={"type": "list", "elements": "str", "default": []},
    timeout={"type": "float", "default": 60.0},
)


def run_module() -> None:
    """Entry point of the module udev_rules."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    if not 0 < module.params["timeout"] <= 3600:
        module.fail_json(
            msg="timeout: %g is not allowed; give the seconds as a number above 0 and up to 3600"
            % module.params["timeout"]
        )
    intent = intent_of(module)
    if module.params["state"] == "absent":
        intent = UdevIntent()
    host = observed(module, intent)
    try:
        steps = plan(_with_groups(module, host), intent, _allowed(module))
    except PlanError as error:
        module.fail_json(msg="%s. Nothing was changed." % error)
        return
    after, pending = _foretold(host, steps), steps.pending
    if not module.check_mode:
        _apply(module, host, steps)
        after = observed(module, intent)
        pending = _still_pending(steps, names_only(after, intent))
    findings = check_udev(after, intent, pending, steps.unmatched, persistent=not module.check_mode)
    result = results(after, intent, replace(steps, pending=pending), findings)
    result["changed"] = bool(steps.changes)
    result["changes"] = [change.to_dict() for change in steps.changes]
    result["diff"] = _diff(steps.changes)
    finish(module, result, findings)


def _allowed(module: AnsibleModule) -> Allowed:
    given = module.params
    return Allowed(given["names_in_use"], given["allow_rename"], given["allow_management_path"])


def _with_groups(module: AnsibleModule, host: UdevHost) -> UdevHost:
    """In check mode, groups that the caller would have created count as existing."""
    groups = dict.fromkeys(module.params["groups_to_come"] if module.check_mode else (), -1)
    groups.update(host.groups)
    return replace(host, groups=groups)


def _still_pending(steps: UdevPlan, left: UdevPlan) -> Tuple[NameChange, ...]:
    """What the rules in place would still change, and what nothing governs any more since our file is gone."""
    governed = {(name.kind, name.before) for name in left.pending}
    present = {(name.kind, name.before) for name in left.names}
    released = [
        name
        for name in steps.pending + steps.renames
        if (name.kind, name.before) in present and (name.kind, name.before) not in governed
    ]
    return left.pending + tuple(released)


def _foretold(host: UdevHost, steps: UdevPlan) -> UdevHost:
    """The host as it will be, as far as device nodes go."""
    after = {step.node.path: _node_after(step) for step in steps.nodes}
    return replace(host, nodes=tuple(after.get(node.path, node) for node in host.nodes))


def _node_after(step: NodeStep) -> DeviceNode:
    accounts, mode = step.after.split(" ")
    owner, group = accounts.split(":")
    return replace(step.node, owner=owner, group=group, mode=mode)


def _diff(changes: Sequence[Change]) -> List[Dict[str, str]]:
    return [
        {
            "before_header": change.what,
            "after_header": change.what,
            "before": _lines(change.before),
            "after": _lines(change.after),
        }
        for change in changes
    ]


def _lines(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if not text or text.endswith("\n") else text + "\n"


def _apply(module: AnsibleModule, host: UdevHost, steps: UdevPlan) -> None:
    """Carry out the plan. Nodes are reset first: the file that says which were ours is still there if we are ended."""
    for node in steps.nodes:
        if node.reset:
            # udev leaves a node alone that no rule speaks of any more, so it gets back what the kernel gave it.
            _set_node(module, node.node.path, 0, 0, NODE_KINDS[node.node.kind][2])
    for step in steps.files:
        _file_step(module, step)
    if host.running and steps.files:
        _udevadm(module, "control", "--reload")
    if not host.running:
        for node in steps.nodes:
            after = _node_after(node)
            _set_node(module, after.path, host.users[str(after.owner)], host.groups[str(after.group)], str(after.mode))
        return
    if steps.nodes:
        _udevadm(
            module,
            "trigger",
            "--action=change",
            "--subsystem-match=infiniband_verbs",
            "--subsystem-match=infiniband_mad",
        )
        _udevadm(module, "trigger", "--action=change", "--subsystem-match=misc", "--sysname-match=rdma_cm")
    for name in steps.renames:
        subsystem = "infiniband" if name.kind == "rdma" else "net"
        _udevadm(module, "trigger", "--action=add", "--subsystem-match=" + subsystem, "--sysname-match=" + name.before)
    if steps.nodes or steps.renames:
        _udevadm(module, "settle", "--timeout=%d" % max(1, int(module.params["timeout"])))


def _udevadm(module: AnsibleModule, *arguments: str) -> None:
    run = runner_of(module)(["udevadm"] + list(arguments), module.params["timeout"] + 5)
    if run.failure or run.rc:
        said = run.failure or (run.stderr or run.stdout).strip() or "exit status %d" % run.rc
        module.fail_json(
            msg="udevadm %s: %s. The rules are written; udev has not applied all of them. Run this again, or: udevadm control "
            "--reload; udevadm trigger" % (" ".join(arguments), said)
        )


def _in_root(module: AnsibleModule, path: str) -> str:
    return module.params["root"].rstrip("/") + path


def _set_node(module: AnsibleModule, path: str, uid: int, gid: int, mode: str) -> None:
    place = _in_root(module, path)
    try:
        os.chown(place, uid, gid)
        os.chmod(place, int(mode, 8))
    except OSError as error:
        module.fail_json(msg="%s: cannot set its permissions: %s" % (path, error.strerror))


def _file_step(module: AnsibleModule, step: FileStep) -> None:
    path, backup = _in_root(module, step.path), _in_root(module, step.backup)
    try:
        if step.action == MOVE:
            os.rename(path, backup)
        elif step.action == RESTORE:
            os.rename(backup, path)
        elif step.action == REMOVE:
            os.unlink(path)
        elif step.action == WRITE:
            _write(module, path, step.after or "")
    except OSError as error:
        module.fail_json(msg="%s: cannot %s it: %s" % (step.path, step.action, error.strerror))


def _write(module: AnsibleModule, path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=module.tmpdir)
    with os.fdopen(handle, "wb") as stream:
        stream.write(text.encode("utf-8"))
    os.chmod(temporary, 0o644)
    module.atomic_move(temporary, path)
    os.chmod(path, 0o644)  # a new file has what the umask leaves
