# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules about udev share: options, one observation, results. Private to the collection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, FrozenSet, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_intent import (
    IntentError,
    names_of,
    parse_intent,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding, at_or_above
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    NODE_KINDS,
    POLICIES,
    UdevHost,
    UdevIntent,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._module.runner import runner_of
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.udev import UdevPlan, pending_changes
from ansible_collections.rdma.infiniband.plugins.module_utils._source.accounts import Accounts
from ansible_collections.rdma.infiniband.plugins.module_utils._source.devnodes import observe
from ansible_collections.rdma.infiniband.plugins.module_utils._source.files import Files
from ansible_collections.rdma.infiniband.plugins.module_utils._source.management import (
    connection_address,
    management_devices,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError

_SHOWN = 5
_TIMEOUT = 10.0
_NAME = {
    "name": {"type": "str", "required": True},
    "pci": {"type": "str"},
    "guid": {"type": "str"},
}
# Matches the documentation fragment of the same name.
UDEV_ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "nodes": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "kind": {"type": "str", "choices": list(NODE_KINDS), "required": True},
            "owner": {"type": "str", "default": "root"},
            "group": {"type": "str", "default": "root"},
            "mode": {"type": "str", "required": True},
        },
    },
    "naming": {"type": "str", "choices": list(POLICIES), "default": "unmanaged"},
    "fixed_names": {"type": "list", "elements": "dict", "default": [], "options": dict(_NAME)},
    "ipoib_names": {"type": "list", "elements": "dict", "default": [], "options": dict(_NAME, port={"type": "int"})},
    "fail_on": {"type": "str", "choices": ["info", "warning", "error", "never"], "default": "error"},
    "root": {"type": "path", "default": "/"},
}


def intent_of(module: AnsibleModule) -> UdevIntent:
    """What the options ask for; fails the module when they cannot be used."""
    params = module.params
    try:
        return parse_intent(params["nodes"], params["naming"], params["fixed_names"], params["ipoib_names"])
    except IntentError as error:
        module.fail_json(msg="%s. Nothing was changed." % error)
        raise


def observed(module: AnsibleModule, intent: UdevIntent) -> UdevHost:
    """Look at the host; fails the module when it cannot be looked at."""
    try:
        accounts = Accounts(module.params["root"])
        accounts.learn(*names_of(intent))
        host = observe(module.params["root"], accounts)
        return replace(host, management=_management(module)) if intent.ipoib or host.ipoib else host
    except SourceError as error:
        module.fail_json(msg="root: cannot read the host. %s. Nothing was changed." % error)
        raise


def _management(module: AnsibleModule) -> FrozenSet[str]:
    """The devices that carry our connection; of another root than the running host's, none."""
    if module.params["root"].rstrip("/"):
        return frozenset()
    return management_devices(Files("/"), connection_address(), runner_of(module), _TIMEOUT)


def results(host: UdevHost, intent: UdevIntent, plan: UdevPlan, findings: Sequence[Finding]) -> Dict[str, Any]:
    """What both modules return."""
    kinds = [node.kind for node in host.nodes if node.found]
    return {
        "findings": [finding.to_dict() for finding in findings],
        "nodes": [
            {
                "path": node.path,
                "kind": node.kind,
                "owner": node.owner,
                "group": node.group,
                "mode": node.mode,
                "found": node.found,
            }
            for node in host.nodes
        ],
        "unseen": [node.kind for node in intent.nodes if node.kind not in kinds],
        "names": [
            {
                "kind": name.kind,
                "before": name.before,
                "after": name.after,
                "reason": name.reason,
                "certain": name.certain,
                "pci": name.pci,
                "guid": name.guid,
            }
            for name in plan.names
        ],
        "pending": [change.to_dict() for change in pending_changes(plan.pending)],
        "udev_running": host.running,
        "summary": _sentence(host, intent, plan, findings),
    }


def _sentence(host: UdevHost, intent: UdevIntent, plan: UdevPlan, findings: Sequence[Finding]) -> str:
    wanted = {node.kind: node.wanted for node in intent.nodes}
    governed = [node for node in host.nodes if node.kind in wanted and node.found]
    right = sum(node.shown == wanted[node.kind] for node in governed)
    parts = ["%d of %d governed device nodes as intended" % (right, len(governed))]
    if plan.pending:
        parts.append("%d names pending" % len(plan.pending))
    if not host.running:
        parts.append("udev does not run here")
    return "%s; %s" % (", ".join(parts), "%d findings" % len(findings) if findings else "no findings")


def finish(module: AnsibleModule, result: Dict[str, Any], findings: Sequence[Finding]) -> None:
    """End the module: as a failure when a finding is at or above what fails."""
    failing = at_or_above(findings, module.params["fail_on"])
    if failing:
        lines = [str(finding) for finding in failing[:_SHOWN]]
        if len(failing) > _SHOWN:
            lines.append("and %d more" % (len(failing) - _SHOWN))
        head = "%d of %d findings fail this task:" % (len(failing), len(findings))
        module.fail_json(msg="\n".join([head] + lines), **result)
    module.exit_json(failed=False, **result)
