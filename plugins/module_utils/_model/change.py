# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that a plan asks for. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Tuple

# What must happen before a change takes effect, from nothing to the most disruptive.
NEEDS: Tuple[str, ...] = ("nothing", "service_restart", "driver_reload", "fw_reset", "reboot", "power_cycle")


@dataclass(frozen=True)
class Change:
    """``what`` names the thing changed; ``before`` and ``after`` are its values, ``None`` for absent."""

    what: str
    before: Any
    after: Any
    disruptive: bool = False
    needs: str = "nothing"

    def to_dict(self) -> Dict[str, Any]:
        """The shape that modules return and the report stores."""
        return {
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "disruptive": self.disruptive,
            "needs": self.needs,
        }
