# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kind of finding, and how a finding of a kind is made. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Protocol, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding

# What a hint says for a name that nobody gave.
_PLACEHOLDERS = {
    "device": "DEVICE",
    "port": "PORT",
    "pci": "PCI_ADDRESS",
    "hop": "PCI_ADDRESS",
    "command": "TOOL",
    "netdev": "NETDEV",
    "change": "CHANGE",
    "lid": "LID",
    "unit": "UNIT",
    "name": "NAME",
    "node": "/dev/infiniband/NODE",
    "path": "FILE",
    "place": "FILE:LINE",
}


@dataclass(frozen=True)
class FindingKind:
    """A code, its default severity, its meaning, and the hint: the likely cause and a command that confirms it.

    ``hint`` is a format string; what it names (``device``, ``port``, ``pci``) is given when a finding is made.
    """

    code: str
    severity: str
    title: str
    meaning: str
    hint: str


class Make(Protocol):
    """Makes a finding of a known code; an unknown one is a programming error (KeyError)."""

    def __call__(
        self, code: str, subject: str, observed: str, expected: str, severity: Optional[str] = None, **names: object
    ) -> Finding:
        """The finding, with the kind's own severity unless another is given; ``names`` fill the hint."""


def maker(kinds: Tuple[FindingKind, ...]) -> Make:
    """The function that makes findings of these kinds."""
    table = {kind.code: kind for kind in kinds}

    def make(
        code: str, subject: str, observed: str, expected: str, severity: Optional[str] = None, **names: object
    ) -> Finding:
        kind = table[code]
        known = dict(_PLACEHOLDERS, **{name: str(value) for name, value in names.items() if value is not None})
        return Finding(code, severity or kind.severity, subject, observed, expected, kind.hint.format_map(known))

    return make
