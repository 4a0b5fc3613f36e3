# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of sysfs files to values. Private to the collection. Pure.

Formats: Linux drivers/infiniband/core/sysfs.c and drivers/pci/pci-sysfs.c. Every function returns ``None`` for
text that is not of the documented form; the caller says which file it was.
"""

from __future__ import annotations

import re
from typing import Mapping, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Pkey
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal

_NUMBERED = re.compile(r"^[0-9]{1,9}: (\S.*)$")
_RATE = re.compile(r"^([0-9]{1,9}(?:\.[0-9]{1,9})?) Gb/sec \(([0-9]{1,3}X)(?: ?(\w+))?\)$")
_HEX = re.compile(r"^0x[0-9a-f]{1,16}\Z")
_GUID = re.compile(r"^[0-9a-f]{4}(?::[0-9a-f]{4}){3}$")
_GID = re.compile(r"^[0-9a-f]{4}(?::[0-9a-f]{4}){7}$")
_PCI_SPEED = re.compile(r"^([0-9]{1,9}(?:\.[0-9]{1,9})?) GT/s(?: PCIe)?$")
_PCI_ADDRESS = re.compile(r"^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")

ZERO_GID = ":".join(["0000"] * 8)

# Counters of the classic PortCounters attribute stop at these values instead of wrapping (IBTA 16.1.3.5).
COUNTER_CEILINGS = {
    "symbol_error": 0xFFFF,
    "link_error_recovery": 0xFF,
    "link_downed": 0xFF,
    "port_rcv_errors": 0xFFFF,
    "port_rcv_remote_physical_errors": 0xFFFF,
    "port_rcv_switch_relay_errors": 0xFFFF,
    "port_xmit_discards": 0xFFFF,
    "port_xmit_constraint_errors": 0xFF,
    "port_rcv_constraint_errors": 0xFF,
    "local_link_integrity_errors": 0xF,
    "excessive_buffer_overrun_errors": 0xF,
    "VL15_dropped": 0xFFFF,
    "port_xmit_wait": 0xFFFFFFFF,
}
# 32-bit and 64-bit ceilings, for counters of any name.
_WIDE_CEILINGS = (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def numbered(text: str) -> Optional[str]:
    """``4: ACTIVE`` to ``ACTIVE``: the form of state, phys_state and node_type."""
    match = _NUMBERED.match(text.strip())
    return match.group(1) if match else None


def rate(text: str) -> Tuple[Optional[float], Optional[str], Optional[str]]:
    """``400 Gb/sec (4X NDR)`` to (400.0, "4X", "NDR"). Kernels before 6.x omit the speed of an SDR link."""
    match = _RATE.match(text.strip())
    if not match:
        return None, None, None
    return float(match.group(1)), match.group(2), match.group(3) or "SDR"


def guid(text: str) -> Optional[str]:
    """``a088:c203:00bb:0001`` to ``0xa088c20300bb0001``."""
    text = text.strip().lower()
    return "0x" + text.replace(":", "") if _GUID.match(text) else None


def gid(text: str) -> Optional[str]:
    """A GID in the kernel's form, or ``None`` for an empty entry."""
    text = text.strip().lower()
    return text if _GID.match(text) and text != ZERO_GID else None


def guid_of_gid(text: str) -> str:
    """The interface identifier of a GID, which on InfiniBand is the port GUID."""
    return "0x" + "".join(text.split(":")[4:])


def pkey(index: int, text: str) -> Optional[Pkey]:
    """``0xffff`` to key 0x7fff with full membership (bit 15); ``None`` for an unused entry."""
    number = integer(text)
    if number is None or not number & 0x7FFF or number > 0xFFFF:
        return None
    return Pkey(index, "0x%04x" % (number & 0x7FFF), "full" if number & 0x8000 else "limited")


def integer(text: str) -> Optional[int]:
    """A decimal or ``0x`` number of at most 64 bits that is not negative."""
    text = text.strip().lower()
    return int(text, 16) if _HEX.match(text) else decimal(text)


def numa_node(text: str) -> Optional[int]:
    """The NUMA node; the kernel's -1 (no affinity known) is ``None``."""
    return integer(text)


def counter(text: str) -> Optional[int]:
    """A counter; text such as ``N/A (no PMA)`` is ``None``."""
    return integer(text)


def saturated(counters: Mapping[str, Optional[int]]) -> Tuple[str, ...]:
    """The names of counters that stand at their ceiling: what they would count further is lost."""
    names = []
    for name, value in counters.items():
        if value is not None and (value == COUNTER_CEILINGS.get(name) or value in _WIDE_CEILINGS):
            names.append(name)
    return tuple(sorted(names))


def pcie_speed(text: str) -> Optional[float]:
    """``32.0 GT/s PCIe`` to 32.0; ``Unknown`` is ``None``."""
    match = _PCI_SPEED.match(text.strip())
    return float(match.group(1)) if match else None


def pcie_width(text: str) -> Optional[int]:
    """Number of lanes; 0 and 255 are the kernel's words for no link and unknown."""
    number = integer(text)
    return number if number not in (0, 255) else None


def is_pci_address(text: str) -> bool:
    """Whether the text is a PCI address with its domain, such as ``0000:41:00.0``."""
    return _PCI_ADDRESS.match(text) is not None
