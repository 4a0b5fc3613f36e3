# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges device nodes, names and udev rules. Private to the collection."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev import check_udev
from ansible_collections.rdma.infiniband.plugins.module_utils._module.udev import (
    UDEV_ARGUMENTS,
    finish,
    intent_of,
    observed,
    results,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.udev import UdevPlan, names_only


def run_module() -> None:
    """Entry point of the module udev_check."""
    module = AnsibleModule(argument_spec=UDEV_ARGUMENTS, supports_check_mode=True)
    intent = intent_of(module)
    host = observed(module, intent)
    # Whether the names may be given is for the module that gives them; here only what they are counts.
    plan: UdevPlan = names_only(host, intent)
    findings = check_udev(host, intent, plan.pending, plan.unmatched)
    finish(module, dict(results(host, intent, plan, findings), changed=False), findings)
