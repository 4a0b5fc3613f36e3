# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches in the output of ``ibnetdiscover`` that the upstream OpenSM does not fully support. Private. Pure.

Format: rdma-core infiniband-diags/ibnetdiscover.c. The whole fabric is read elsewhere; this is one question about it.
"""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

_DEVICE = re.compile(r"^devid=0x([0-9a-f]{1,8})\s*$")
_SWITCH = re.compile(r'^Switch\s+[0-9]+ "[^"]*"\s+# "(.*)" (?:base|enhanced) port')
# Quantum-2 (NDR) and Quantum-3 (XDR), by their PCI-like device numbers.
_NDR_AND_LATER = (0xD2F2, 0xD2F4)


def ndr_switches(text: str) -> Tuple[str, ...]:
    """The descriptions of switches of NDR and later, which are whatever the switches say of themselves."""
    found: List[str] = []
    device: Optional[int] = None
    for line in text.split("\n"):
        match = _DEVICE.match(line)
        if match:
            device = int(match.group(1), 16)
            continue
        match = _SWITCH.match(line)
        if match:
            if device in _NDR_AND_LATER:
                found.append(match.group(1)[:80])
            device = None
    return tuple(found)
