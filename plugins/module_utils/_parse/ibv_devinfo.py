# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ibv_devinfo`` output to the MTUs of ports, which no sysfs file shows. Private to the collection. Pure.

Format: rdma-core libibverbs/examples/devinfo.c, ``active_mtu:  4096 (5)``.
"""

from __future__ import annotations

import re
from typing import Dict, Optional, Tuple

_DEVICE = re.compile(r"^hca_id:\s+(\S+)$")
_PORT = re.compile(r"^\s+port:\s+([0-9]{1,3})$")
_MTU = re.compile(r"^\s+(active|max)_mtu:\s+([0-9]{1,5}) \([0-9]\)$")

# (device, port) to (active, largest) MTU in bytes
Mtus = Dict[Tuple[str, int], Tuple[Optional[int], Optional[int]]]


def parse_mtus(text: str) -> Mtus:
    """The MTUs of every port; lines of other kinds are passed over."""
    found: Mtus = {}
    device: Optional[str] = None
    port: Optional[int] = None
    for line in text.splitlines():
        match = _DEVICE.match(line)
        if match:
            device, port = match.group(1), None
            continue
        match = _PORT.match(line)
        if match:
            port = int(match.group(1))
            continue
        match = _MTU.match(line)
        if match and device is not None and port is not None:
            active, largest = found.get((device, port), (None, None))
            value = int(match.group(2))
            found[device, port] = (value, largest) if match.group(1) == "active" else (active, value)
    return found
