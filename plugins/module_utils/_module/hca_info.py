# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a node's RDMA devices and returns them. Private to the collection."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._check.sources import check_readable, check_sources
from ansible_collections.rdma.infiniband.plugins.module_utils._model.serialise import plain
from ansible_collections.rdma.infiniband.plugins.module_utils._module.observe import (
    OBSERVE_ARGUMENTS,
    observed,
    overview,
    sentence,
)


def run_module() -> None:
    """Entry point of the module hca_info."""
    module = AnsibleModule(argument_spec=OBSERVE_ARGUMENTS, supports_check_mode=True)
    node = observed(module)
    findings = list(check_sources(node))
    for hca in node.hcas:
        findings.extend(check_readable(hca, "error"))
    data = plain(node)
    module.exit_json(
        changed=False,
        failed=False,
        hcas=data.pop("hcas"),
        node=data,
        overview=[overview(hca) for hca in node.hcas],
        findings=[finding.to_dict() for finding in findings],
        summary=sentence(node.hcas),
    )
