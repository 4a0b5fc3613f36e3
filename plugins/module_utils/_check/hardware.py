# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Identity and place of HCAs against the profile: firmware, PSID, slot, PCIe, GUIDs. Private to the collection. Pure."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.ports import (
    has_zero_guid,
    is_logical_down,
    subject,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_hca import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import ZERO_GUID, Hca, PcieHop
from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import HcaIntent


def check_identity(intent: HcaIntent, hca: Hca) -> Tuple[Finding, ...]:
    """Firmware, PSID and slot of one HCA."""
    findings: List[Finding] = []

    def add(code: str, observed: str, expected: str) -> None:
        findings.append(make(code, hca.name, observed, expected, device=hca.name, pci=hca.pci_address))

    for code, what, shown, wanted in (
        ("FIRMWARE_MISMATCH", "firmware", hca.firmware, intent.firmware),
        ("PSID_MISMATCH", "PSID", hca.psid, intent.psid),
        ("HCA_WRONG_SLOT", "slot", hca.pci_address, intent.slots),
    ):
        if wanted and shown is None:
            add("NOT_OBSERVED", "no " + what, _one_of(wanted))
        elif wanted and shown not in wanted:
            add(code, "%s %s" % (what, shown), _one_of(wanted))
    return tuple(findings)


def on_infiniband(hca: Hca) -> bool:
    """Whether a subnet manager cares for the HCA's GUIDs. Ethernet and software devices make theirs up from MACs."""
    return any(port.link_layer == "InfiniBand" for port in hca.ports)


def check_guids(hca: Hca) -> Tuple[Finding, ...]:
    """GUIDs that are zero. A logical link that is down for it is reported as that, see check_port."""
    ports = [port for port in hca.ports if has_zero_guid(hca, port) and not is_logical_down(port)]
    if not ports:
        return ()
    if hca.node_guid == ZERO_GUID:
        return (
            make("GUID_ZERO", hca.name, "node GUID " + ZERO_GUID, "a node GUID", device=hca.name, pci=hca.pci_address),
        )
    return tuple(
        make(
            "GUID_ZERO",
            subject(hca, port),
            "port GUID " + ZERO_GUID,
            "a port GUID",
            device=hca.name,
            pci=hca.pci_address,
        )
        for port in ports
    )


def _one_of(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else "one of " + ", ".join(values)


def check_pcie(intent: HcaIntent, hca: Hca, seen: Set[Tuple[str, str]]) -> Tuple[Finding, ...]:
    """The PCIe links up to the root port. ``seen`` holds what other HCAs behind the same link have reported."""
    wanted = intent.pcie
    if wanted.speed_gts is None and wanted.width is None:
        return ()
    expected = _link_text(wanted.speed_gts, wanted.width)
    links = _links(hca.pcie.hops if hca.pcie else ())
    card = links[0][0] if links else PcieHop("")
    unknown = [
        what
        for what, shown, limit in (
            ("speed", card.speed_gts, wanted.speed_gts),
            ("width", card.width, wanted.width),
        )
        if limit is not None and shown is None
    ]
    findings = []
    if unknown:
        observed = "no PCIe " + " and ".join(unknown)
        findings.append(make("NOT_OBSERVED", hca.name, observed, expected, device=hca.name, pci=hca.pci_address))
    for position, (link, parent) in enumerate(links):
        where = "at the card" if position == 0 else "%d above the card" % position
        if position and position == len(links) - 1:
            where = "at the root port"
        observed = "%s between %s and %s (%s)" % (_link_text(link.speed_gts, link.width), link.address, parent, where)
        for code, shown, limit in (
            ("PCIE_SPEED_DEGRADED", link.speed_gts, wanted.speed_gts),
            ("PCIE_WIDTH_DEGRADED", link.width, wanted.width),
        ):
            if shown is not None and limit is not None and shown < limit and (code, link.address) not in seen:
                seen.add((code, link.address))
                findings.append(
                    make(code, hca.name, observed, expected, device=hca.name, pci=hca.pci_address, hop=link.address)
                )
    return tuple(findings)


def _links(hops: Sequence[PcieHop]) -> List[Tuple[PcieHop, str]]:
    """The links of a path, each with the address of its upper end.

    A link shows at both of its ends (a card and the port above it, a switch and the root port above it), and is one
    link all the same: the slower of the two readings counts.
    """
    links = []
    for index in range(0, len(hops), 2):
        lower = hops[index]
        upper = hops[index + 1] if index + 1 < len(hops) else None
        speeds = [hop.speed_gts for hop in (lower, upper) if hop is not None and hop.speed_gts is not None]
        widths = [hop.width for hop in (lower, upper) if hop is not None and hop.width is not None]
        merged = PcieHop(lower.address, min(speeds) if speeds else None, min(widths) if widths else None)
        links.append((merged, upper.address if upper else "the root complex"))
    return links


def _link_text(speed_gts: Optional[float], width: Optional[int]) -> str:
    parts = ("%g GT/s" % speed_gts if speed_gts else "", "x%d" % width if width else "")
    return " ".join(part for part in parts if part) or "unknown speed"


def check_duplicates(hcas: Sequence[Hca]) -> Tuple[Finding, ...]:
    """GUIDs that two InfiniBand devices of the host share, covered or not: the fabric suffers from both."""
    owners: Dict[str, List[str]] = {}
    by_name = {hca.name: hca for hca in hcas}
    for hca in hcas:
        if not on_infiniband(hca):
            continue
        guids = {hca.node_guid} | {port.port_guid for port in hca.ports if port.link_layer == "InfiniBand"}
        for guid in guids - {None, ZERO_GUID}:
            owners.setdefault(str(guid), []).append(hca.name)
    reported: Set[Tuple[str, ...]] = set()
    findings = []
    for guid, names in sorted(owners.items()):
        group = tuple(sorted(names))
        # The node GUID and the port GUID of a cloned device both collide: that is one cause.
        if len(group) > 1 and group not in reported:
            reported.add(group)
            findings.append(
                make(
                    "GUID_DUPLICATE",
                    " and ".join(group),
                    "GUID %s on both" % guid if len(group) == 2 else "GUID %s on all" % guid,
                    "a GUID of its own for each device",
                    device=group[0],
                    pci=by_name[group[0]].pci_address,
                )
            )
    return tuple(findings)
