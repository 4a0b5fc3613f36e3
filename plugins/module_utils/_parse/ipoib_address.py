# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hardware address of IPoIB network devices. Private to the collection. Pure.

RFC 4391: 20 bytes, of which 1 holds flags, 3 the queue pair number and 16 the port's GID. The last 8 of them are the
port GUID. The queue pair number is another one after every load of the driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError

_ADDRESS = re.compile(r"^[0-9a-f]{2}(?::[0-9a-f]{2}){19}$")


@dataclass(frozen=True)
class IpoibAddress:
    """The parts of an address; ``port_guid`` is ``0x`` and 16 digits."""

    flags: int
    queue_pair: int
    subnet_prefix: str
    port_guid: str


def parse(text: str) -> IpoibAddress:
    """The parts of an address as sysfs and ``ip link`` write it."""
    clean = text.strip().lower()
    if not _ADDRESS.match(clean):
        raise ParseError("IPoIB address", "expected 20 bytes of two hex digits with colons between", text)
    digits = clean.replace(":", "")
    return IpoibAddress(int(digits[:2], 16), int(digits[2:8], 16), "0x" + digits[8:24], "0x" + digits[24:])
