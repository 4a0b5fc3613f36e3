# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which HCA an entry of the profile speaks of, and which none speaks of. Private to the collection. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Node, PciFunction
from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import HcaIntent, Match, Profile


@dataclass(frozen=True)
class Uncovered:
    """A device that no entry speaks of, and why."""

    device: str
    reason: str


@dataclass(frozen=True)
class Selection:
    """Each entry with its HCAs, the HCAs that several entries claim, and those that none does."""

    pairs: Tuple[Tuple[HcaIntent, Tuple[Hca, ...]], ...]
    ambiguous: Tuple[Tuple[Hca, Tuple[HcaIntent, ...]], ...]
    uncovered: Tuple[Uncovered, ...]

    @property
    def covered(self) -> Tuple[str, ...]:
        """The names of the HCAs that are judged."""
        return tuple(sorted({hca.name for _intent, hcas in self.pairs for hca in hcas}))


def matches(match: Match, hca: Hca) -> bool:
    """Whether all that is given matches."""
    if bool(hca.virtual_function) and not match.virtual:
        return False
    wanted = (
        (match.type, hca.hca_type),
        (match.psid, hca.psid),
        (match.pci, hca.pci_address),
        (match.device, hca.name),
        (match.guid, hca.node_guid),
    )
    return all(value is None or value == shown for value, shown in wanted)


def undecided(match: Match, hca: Hca, only_ibstat: bool) -> Tuple[str, ...]:
    """The selectors that may well match and whose value cannot be seen: ibstat lacks it, or the device is in trouble.

    A value that is absent for another reason (Omni-Path has no hca_type) just does not match.
    """
    if bool(hca.virtual_function) and not match.virtual:
        return ()
    missing = []
    for name, value, shown in (
        ("type", match.type, hca.hca_type),
        ("psid", match.psid, hca.psid),
        ("pci", match.pci, hca.pci_address),
        ("device", match.device, hca.name),
        ("guid", match.guid, hca.node_guid),
    ):
        if value is None or value == shown:
            continue
        if shown is not None or not (hca.errors or (only_ibstat and name in ("psid", "pci"))):
            return ()
        missing.append(name)
    return tuple(missing)


def matches_function(match: Match, function: PciFunction) -> bool:
    """Whether a PCI function without an RDMA device would be one of this entry's HCAs, as far as PCI tells."""
    if bool(function.virtual_function) and not match.virtual:
        return False
    if match.pci is not None:
        return match.pci == function.address
    if match.type is None or function.device_id is None:
        return match.type is None
    # hca_type is MT and the decimal device id.
    return match.type == "MT%d" % int(function.device_id, 16)


def select(node: Node, profile: Profile) -> Selection:
    """Deal the node's HCAs out to the entries of the profile."""
    pairs = tuple((intent, tuple(hca for hca in node.hcas if matches(intent.match, hca))) for intent in profile.hcas)
    ambiguous: List[Tuple[Hca, Tuple[HcaIntent, ...]]] = []
    uncovered: List[Uncovered] = []
    for hca in node.hcas:
        claims = tuple(intent for intent, hcas in pairs if hca in hcas)
        if len(claims) > 1:
            ambiguous.append((hca, claims))
        elif not claims:
            uncovered.append(Uncovered(hca.name, _why_uncovered(hca)))
    return Selection(pairs, tuple(ambiguous), tuple(uncovered))


def _why_uncovered(hca: Hca) -> str:
    if hca.virtual_function:
        return "virtual function%s" % (" of " + hca.physical_function if hca.physical_function else "")
    layers = sorted({port.link_layer for port in hca.ports if port.link_layer})
    kind = " ".join(part for part in (hca.product or hca.hca_type or "unknown product", "/".join(layers)) if part)
    return "no entry of the profile matches it (%s)" % kind
