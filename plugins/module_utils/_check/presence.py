# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which HCAs a host lacks or has too many of, and why. Private to the collection. Pure."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.selection import (
    Selection,
    matches_function,
    undecided,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_hca import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Node, PciFunction
from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import HcaIntent, Profile


def only_ibstat(node: Node) -> bool:
    """Whether the node was seen through ibstat alone, which shows neither PCI nor PSID nor counters."""
    return "sysfs" not in node.sources


def is_short(intent: HcaIntent, found: int) -> bool:
    """Whether the entry asks for more HCAs than were found."""
    return not found if intent.count is None else found < intent.count


def check_presence(node: Node, profile: Profile, selection: Selection) -> Tuple[Finding, ...]:
    """Missing and surplus HCAs, each with the reason as far as PCI shows it."""
    # A tool that failed is reported, and no HCA may be called missing for it.
    blind = only_ibstat(node) and bool(node.problems)
    wanted = [intent for intent in profile.hcas if intent.count != 0]
    if wanted and not node.hcas and not node.without_rdma:
        if blind:
            return ()
        expected = ", ".join("%s %s" % (_count_text(intent), intent.name) for intent in wanted)
        return (make("NO_HCA", "host", "no RDMA device and no PCI function of one", expected),)
    findings: List[Finding] = []
    for hca, claims in selection.ambiguous:
        names = " and ".join(repr(intent.name) for intent in claims)
        findings.append(make("PROFILE_AMBIGUOUS", hca.name, "claimed by %s" % names, "one entry", device=hca.name))
    explained: Set[str] = set()
    loose = tuple(hca for hca in node.hcas if hca.name not in selection.covered)
    for intent, hcas in selection.pairs:
        if intent.count is not None and len(hcas) > intent.count:
            findings.append(_count_finding(intent, hcas))
        elif is_short(intent, len(hcas)):
            findings.extend(_check_missing(node, intent, hcas, loose, explained, blind))
    has_infiniband = any(
        port.link_layer == "InfiniBand" for _intent, hcas in selection.pairs for hca in hcas for port in hca.ports
    )
    if node.umad_abi is None and has_infiniband and not only_ibstat(node):
        findings.append(make("UMAD_MISSING", "host", "no /sys/class/infiniband_mad/abi_version", "ib_umad loaded"))
    return tuple(findings)


def _count_text(intent: HcaIntent) -> str:
    return "at least 1" if intent.count is None else str(intent.count)


def _count_finding(intent: HcaIntent, hcas: Tuple[Hca, ...], detail: str = "") -> Finding:
    names = ", ".join(hca.name for hca in hcas)
    observed = "%d%s%s" % (len(hcas), " (%s)" % names if names else "", detail)
    return make("HCA_COUNT", intent.name, observed, _count_text(intent))


def _check_missing(
    node: Node,
    intent: HcaIntent,
    hcas: Tuple[Hca, ...],
    loose: Tuple[Hca, ...],
    explained: Set[str],
    blind: bool,
) -> List[Finding]:
    """An entry with too few HCAs: the reason where one shows, else that they are missing.

    ``loose`` are the HCAs that no entry has; ``explained`` the PCI functions that other entries have used up.
    """
    missing = 1 if intent.count is None else intent.count - len(hcas)
    lame = _without_rdma(node, intent, missing, explained)
    hidden = [(hca, undecided(intent.match, hca, only_ibstat(node))) for hca in loose]
    hidden = [(hca, names) for hca, names in hidden if names]
    findings = _lame_findings(intent, lame) + _hidden_findings(intent, hidden)
    if len(lame) + len(hidden) < missing and not blind:
        taken = {hca.pci_address for hca in node.hcas} | {function.address for function in node.without_rdma}
        empty = ", ".join(slot for slot in intent.slots if slot not in taken)
        findings.append(_count_finding(intent, hcas, ", nothing at " + empty if empty else ""))
    return findings


def _without_rdma(node: Node, intent: HcaIntent, missing: int, explained: Set[str]) -> Tuple[PciFunction, ...]:
    """The PCI functions that stand for the entry's missing HCAs; each function explains one."""
    lame: List[PciFunction] = []
    for function in node.without_rdma:
        if len(lame) == missing:
            break
        if function.address not in explained and matches_function(intent.match, function):
            explained.add(function.address)
            lame.append(function)
    return tuple(lame)


def _lame_findings(intent: HcaIntent, lame: Tuple[PciFunction, ...]) -> List[Finding]:
    """One finding for each driver: a module that is not loaded is one cause, whatever the number of cards."""
    by_driver: Dict[Optional[str], List[PciFunction]] = {}
    for function in lame:
        by_driver.setdefault(function.driver, []).append(function)
    findings = []
    for driver, functions in by_driver.items():
        bound = driver is not None and driver != "vfio-pci"
        observed = "driver %s, no RDMA device" % driver if driver else "no driver bound"
        if len(functions) == 1:
            what = "%s at %s" % (functions[0].product or "HCA", functions[0].address)
        else:
            what = "%d devices of %s" % (len(functions), intent.name)
            observed += " (%s)" % ", ".join(function.address for function in functions)
        findings.append(
            make(
                "HCA_VERBS_MISSING" if bound else "HCA_DRIVER_UNBOUND",
                what,
                observed,
                "an RDMA device (%s)" % intent.name,
                pci=functions[0].address,
            )
        )
    return findings


def _hidden_findings(intent: HcaIntent, hidden: Sequence[Tuple[Hca, Tuple[str, ...]]]) -> List[Finding]:
    """Devices that the entry may mean, of which nobody can tell. One in trouble is reported as that, elsewhere."""
    mute = [(hca, names) for hca, names in hidden if not hca.errors]
    if not mute:
        return []
    fields = sorted({name for _hca, names in mute for name in names})
    devices = ", ".join(hca.name for hca, _names in mute)
    observed = "%s without %s" % (devices, ", ".join(fields))
    wanted = ", ".join("%s %s" % (name, getattr(intent.match, name)) for name in fields)
    return [make("NOT_OBSERVED", intent.name, observed, wanted, device=mute[0][0].name)]
