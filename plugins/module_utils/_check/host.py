# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole host against its profile. Private to the collection. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Set, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.hardware import (
    check_duplicates,
    check_guids,
    check_identity,
    check_pcie,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.ports import (
    TRAINING_STATES,
    UP_STATES,
    check_port,
    is_disabled,
    is_uncabled,
    subject,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.presence import (
    check_presence,
    is_short,
    only_ibstat,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.selection import (
    Selection,
    select,
    undecided,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.sources import check_readable, check_sources
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import SEVERITIES, Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_hca import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Node
from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import HcaIntent, Profile


def check_node(node: Node, profile: Profile) -> Tuple[Finding, ...]:
    """Every finding of a host, the worst first."""
    selection = select(node, profile)
    findings = list(check_sources(node))
    findings.extend(check_presence(node, profile, selection))
    seen: Set[Tuple[str, str]] = set()
    for intent, hcas in selection.pairs:
        for hca in hcas:
            if not any(hca is other for other, _claims in selection.ambiguous):
                findings.extend(_check_hca(intent, hca, seen))
    findings.extend(_check_ipoib(selection))
    findings.extend(check_duplicates(node.hcas))
    covered = set(selection.covered)
    for hca in node.hcas:
        if hca.name not in covered:
            # One that an entry misses is in trouble that matters; of the others it is good to know.
            wanted = any(
                is_short(intent, len(hcas)) and undecided(intent.match, hca, only_ibstat(node))
                for intent, hcas in selection.pairs
            )
            findings.extend(check_readable(hca, "error" if wanted else "info"))
    return tuple(sorted(findings, key=lambda item: -SEVERITIES.index(item.severity)))


def _check_hca(intent: HcaIntent, hca: Hca, seen: Set[Tuple[str, str]]) -> List[Finding]:
    """The findings of one HCA. What it does not show is one finding, also where several values are missing."""
    findings = list(check_readable(hca, "error"))
    unreadable = bool(findings)
    findings.extend(check_identity(intent, hca))
    findings.extend(check_guids(hca))
    findings.extend(check_pcie(intent, hca, seen))
    for port in hca.ports:
        findings.extend(check_port(intent, hca, port))
    if not hca.ports:
        findings.append(make("NOT_OBSERVED", hca.name, "no port", "its ports", device=hca.name, pci=hca.pci_address))
    merged: Dict[Tuple[str, str], Finding] = {}
    for finding in findings:
        if finding.code != "NOT_OBSERVED":
            continue
        key = (finding.subject, finding.severity)
        before = merged.get(key)
        merged[key] = (
            finding
            if before is None
            else replace(
                before,
                observed="%s, %s" % (before.observed, finding.observed),
                expected="%s, %s" % (before.expected, finding.expected),
            )
        )
    rest = [finding for finding in findings if finding.code != "NOT_OBSERVED"]
    # A device that cannot be read has no values for that very reason.
    return rest if unreadable else rest + list(merged.values())


def _check_ipoib(selection: Selection) -> Tuple[Finding, ...]:
    """IPoIB devices that are down on an active port, on a host that uses IPoIB on other ports."""
    down, used = [], False
    for _intent, hcas in selection.pairs:
        for hca in hcas:
            active = {port.number for port in hca.ports if port.state in UP_STATES}
            for device in hca.net_devices:
                if device.kind == "infiniband" and device.port in active:
                    used = used or device.operstate == "up"
                    if device.operstate == "down":
                        down.append((hca, device))
    if not used:
        return ()
    return tuple(
        make(
            "IPOIB_DOWN",
            "%s port %s" % (hca.name, device.port),
            "%s is down, the port is ACTIVE" % device.name,
            "up, as on other ports of this host",
            device=hca.name,
            port=device.port,
            netdev=device.name,
        )
        for hca, device in down
    )


def training_ports(node: Node, profile: Profile) -> Tuple[str, ...]:
    """The ports that may still come up by themselves, each with its state: what is worth waiting for.

    Only ACTIVE ends the wait: a port passes through DOWN/LinkUp, INIT and ARMED on its way.
    """
    waiting = []
    for intent, hcas in select(node, profile).pairs:
        for hca in hcas:
            for port in hca.ports:
                if is_uncabled(intent, hca, port) or is_disabled(hca, port) or port.state is None:
                    continue
                if intent.link_layer not in (None, port.link_layer):
                    continue  # of the wrong kind, whatever its state becomes
                if port.state not in UP_STATES or port.phys_state in TRAINING_STATES:
                    waiting.append("%s: %s/%s" % (subject(hca, port), port.state, port.phys_state))
    return tuple(waiting)
