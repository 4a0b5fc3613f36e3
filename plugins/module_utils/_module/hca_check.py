# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a node's RDMA devices by its profile. Private to the collection."""

from __future__ import annotations

import time
from typing import Any, Dict, Tuple

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.host import check_node, training_ports
from ansible_collections.rdma.infiniband.plugins.module_utils._check.profile import ProfileError, parse_profile
from ansible_collections.rdma.infiniband.plugins.module_utils._check.selection import select
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding, at_or_above
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Node
from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import Profile
from ansible_collections.rdma.infiniband.plugins.module_utils._module.observe import (
    OBSERVE_ARGUMENTS,
    observed,
    overview,
    sentence,
)

POLL_SECONDS = 1.0
_SHOWN = 5

# The profile's own shape is checked by parse_profile, which names the place, the value and what is allowed.
ARGUMENTS: Dict[str, Dict[str, Any]] = dict(
    OBSERVE_ARGUMENTS,
    profile={"type": "dict", "required": True},
    wait_s={"type": "float", "default": 0.0},
    fail_on={"type": "str", "choices": ["info", "warning", "error", "never"], "default": "error"},
)


def run_module() -> None:
    """Entry point of the module hca_check."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    # Written this way round, NaN is refused as well; infinity would wait for ever.
    if not 0 <= module.params["wait_s"] < float("inf"):
        module.fail_json(msg="wait_s: %g is not allowed; give seconds of 0 or more" % module.params["wait_s"])
    try:
        profile = parse_profile(module.params["profile"], "profile")
    except ProfileError as error:
        module.fail_json(msg="The expected-hardware profile cannot be used:\n%s" % error)
        return
    node, waited = _settled(module, profile)
    findings = check_node(node, profile)
    selection = select(node, profile)
    result: Dict[str, Any] = {
        "changed": False,
        "findings": [finding.to_dict() for finding in findings],
        "covered": list(selection.covered),
        "uncovered": [{"device": item.device, "reason": item.reason} for item in selection.uncovered],
        "waited": waited,
        "overview": [overview(hca) for hca in node.hcas],
        "summary": "%s; %s" % (sentence(node.hcas), _counted(findings)),
    }
    failing = at_or_above(findings, module.params["fail_on"])
    if failing:
        module.fail_json(msg=_message(failing, len(findings)), **result)
    module.exit_json(failed=False, **result)


def _settled(module: AnsibleModule, profile: Profile) -> Tuple[Node, Dict[str, Any]]:
    """The node once no covered port is on its way up, or when the time is over."""
    begin = time.monotonic()
    reasons: Dict[str, None] = {}  # in the order in which they were seen
    while True:
        node = observed(module)
        training = training_ports(node, profile)
        left = module.params["wait_s"] - (time.monotonic() - begin)
        if not training or left <= 0:
            break
        reasons.update(dict.fromkeys(training))
        time.sleep(min(POLL_SECONDS, left))
    seconds = round(time.monotonic() - begin, 1) if reasons else 0.0
    return node, {"seconds": seconds, "reasons": list(reasons)}


def _counted(findings: Tuple[Finding, ...]) -> str:
    if not findings:
        return "no findings"
    counts = [
        "%d %s%s" % (number, severity, "s" if number > 1 and severity != "info" else "")
        for severity in ("error", "warning", "info")
        for number in [sum(finding.severity == severity for finding in findings)]
        if number
    ]
    return ", ".join(counts)


def _message(failing: Tuple[Finding, ...], total: int) -> str:
    lines = [str(finding) for finding in failing[:_SHOWN]]
    if len(failing) > _SHOWN:
        lines.append("and %d more" % (len(failing) - _SHOWN))
    head = "%d of %d findings fail this check:" % (len(failing), total)
    return "\n".join([head] + lines)
