# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole host against its profile. Private to the collection. Pure."""

from __future__ import annotations

from typing import List, Set, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.hardware import (
    check_duplicates,
    check_identity,
    check_pcie,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.ports import (
    TRAINING_STATES,
    UP_STATES,
    check_port,
    is_uncabled,
    subject,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.selection import (
    Selection,
    matches_function,
    select,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.sources import check_readable, check_sources
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import SEVERITIES, Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Node
from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import HcaIntent, Profile


def check_node(node: Node, profile: Profile) -> Tuple[Finding, ...]:
    """Every finding of a host, the worst first."""
    selection = select(node, profile)
    findings = list(check_sources(node))
    findings.extend(_check_presence(node, profile, selection))
    seen: Set[Tuple[str, str]] = set()
    for intent, hcas in selection.pairs:
        for hca in hcas:
            if any(hca is other for other, _claims in selection.ambiguous):
                continue
            findings.extend(check_readable(hca, "error"))
            findings.extend(check_identity(intent, hca))
            findings.extend(check_pcie(intent, hca, seen))
            for port in hca.ports:
                findings.extend(check_port(intent, hca, port))
    findings.extend(_check_ipoib(selection))
    covered = set(selection.covered)
    findings.extend(check_duplicates(node.hcas))
    for hca in node.hcas:
        if hca.name not in covered:
            findings.extend(check_readable(hca, "info"))
    return tuple(sorted(findings, key=lambda item: -SEVERITIES.index(item.severity)))


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


def _check_presence(node: Node, profile: Profile, selection: Selection) -> Tuple[Finding, ...]:
    """Missing and surplus HCAs, each with the reason as far as PCI shows it."""
    blind = not node.hcas and bool(node.problems)
    if blind:
        return ()  # the tool failed: that is reported, and no HCA may be called missing for it
    wanted = any(intent.count is None or intent.count > 0 for intent in profile.hcas)
    if wanted and not node.hcas and not node.without_rdma:
        expected = ", ".join("%s %s" % (_count_text(intent), intent.name) for intent in profile.hcas)
        return (make("NO_HCA", "host", "no RDMA device and no PCI function of one", expected),)
    findings: List[Finding] = []
    for hca, claims in selection.ambiguous:
        names = " and ".join(repr(intent.name) for intent in claims)
        findings.append(make("PROFILE_AMBIGUOUS", hca.name, "claimed by %s" % names, "one entry", device=hca.name))
    explained: Set[str] = set()
    for intent, hcas in selection.pairs:
        findings.extend(_check_count(node, intent, hcas, explained))
    has_infiniband = any(
        port.link_layer == "InfiniBand" for _intent, hcas in selection.pairs for hca in hcas for port in hca.ports
    )
    if node.umad_abi is None and has_infiniband and "sysfs" in node.sources:
        findings.append(make("UMAD_MISSING", "host", "no /sys/class/infiniband_mad/abi_version", "ib_umad loaded"))
    return tuple(findings)


def _count_text(intent: HcaIntent) -> str:
    return "at least 1" if intent.count is None else str(intent.count)


def _check_count(node: Node, intent: HcaIntent, hcas: Tuple[Hca, ...], explained: Set[str]) -> List[Finding]:
    found = len(hcas)
    if found == intent.count or (intent.count is None and found):
        return []
    findings: List[Finding] = []
    if intent.count is None or found < intent.count:
        for function in node.without_rdma:
            if function.address in explained or not matches_function(intent.match, function):
                continue
            if intent.count is not None and found + len(findings) >= intent.count:
                break
            explained.add(function.address)
            bound = function.driver is not None and function.driver != "vfio-pci"
            what = "%s at %s" % (function.product or "HCA", function.address)
            findings.append(
                make(
                    "HCA_VERBS_MISSING" if bound else "HCA_DRIVER_UNBOUND",
                    what,
                    "driver %s, no RDMA device" % function.driver if function.driver else "no driver bound",
                    "an RDMA device (%s)" % intent.name,
                    pci=function.address,
                )
            )
    missing = found + len(findings)
    if missing != intent.count and not (intent.count is None and missing):
        names = ", ".join(hca.name for hca in hcas)
        observed = "%d%s" % (found, " (%s)" % names if names else "")
        findings.append(make("HCA_COUNT", intent.name, observed, _count_text(intent)))
    return findings


def training_ports(node: Node, profile: Profile) -> Tuple[str, ...]:
    """The ports that may still come up by themselves, each with its state: what is worth waiting for.

    Only ACTIVE ends the wait: a port passes through DOWN/LinkUp, INIT and ARMED on its way.
    """
    waiting = []
    for intent, hcas in select(node, profile).pairs:
        for hca in hcas:
            for port in hca.ports:
                if is_uncabled(intent, hca, port) or port.phys_state == "Disabled" or port.state is None:
                    continue
                if port.state not in UP_STATES or port.phys_state in TRAINING_STATES:
                    waiting.append("%s: %s/%s" % (subject(hca, port), port.state, port.phys_state))
    return tuple(waiting)
