# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sources themselves say: unreadable output, views that differ, devices in trouble. Private. Pure.

Apart from the profile checks, so that hca_info does not load those on every host.
"""

from __future__ import annotations

from typing import Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_hca import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Node

_UNREADABLE_KINDS = ("unreadable", "timeout")


def check_sources(node: Node) -> Tuple[Finding, ...]:
    """What the sources themselves say: unreadable output, two views that differ."""
    findings = []
    only_ibstat = "sysfs" not in node.sources
    for problem in node.problems:
        if problem.kind in _UNREADABLE_KINDS or (only_ibstat and problem.kind != "umad_module_missing"):
            findings.append(
                make(
                    "UNREADABLE_OUTPUT",
                    problem.device or problem.tool,
                    problem.message,
                    "complete output",
                    "error" if only_ibstat else "warning",
                    command=problem.tool,
                )
            )
    if only_ibstat and any(problem.kind == "umad_module_missing" for problem in node.problems):
        findings.append(make("UMAD_MISSING", "host", "ibstat cannot start without ib_umad", "ib_umad loaded"))
    for item in node.disagreements:
        values = [(name, value) for name, value in item.items() if name not in ("subject", "field")]
        observed = "%s: %s" % (item["field"], ", ".join("%s says %s" % pair for pair in values))
        device = item["subject"].split(" ")[0]
        findings.append(
            make("SOURCES_DISAGREE", item["subject"], observed, "the same from every source", device=device)
        )
    return tuple(findings)


def check_readable(hca: Hca, severity: str) -> Tuple[Finding, ...]:
    """What of a device cannot be read, as one finding."""
    errors = list(hca.errors)
    for port in hca.ports:
        errors.extend("port %d: %s" % (port.number, error) for error in port.errors)
    if not errors:
        return ()
    text = "; ".join(errors[:3]) + ("; and %d more" % (len(errors) - 3) if len(errors) > 3 else "")
    return (make("DEVICE_UNREADABLE", hca.name, text, "every value readable", severity, device=hca.name),)
