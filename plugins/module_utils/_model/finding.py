# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding: a difference between intent and observation. Private to the collection.

The stable codes and what each means are in :mod:`findings`; people alert on them, so none ever changes meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterable, Optional, Tuple

# From harmless to fatal; the position is the rank.
SEVERITIES: Tuple[str, ...] = ("info", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """``subject`` names the thing (``mlx5_0 port 1``); ``hint`` the likely cause and a command that confirms it."""

    code: str
    severity: str
    subject: str
    observed: str
    expected: str
    hint: str

    def to_dict(self) -> Dict[str, str]:
        """The shape that modules return and the report stores."""
        return {
            "code": self.code,
            "severity": self.severity,
            "subject": self.subject,
            "observed": self.observed,
            "expected": self.expected,
            "hint": self.hint,
        }

    def __str__(self) -> str:
        return "%s %s: %s, expected %s. %s" % (self.code, self.subject, self.observed, self.expected, self.hint)


def at_or_above(findings: Iterable[Finding], severity: Optional[str]) -> Tuple[Finding, ...]:
    """The findings that are at least as severe as ``severity``; none for ``None`` or ``never``."""
    if severity is None or severity == "never":
        return ()
    rank = SEVERITIES.index(severity)
    return tuple(item for item in findings if SEVERITIES.index(item.severity) >= rank)
