# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of RDMA products and vendors by PCI id. Private to the collection.

``hca_type`` of NVIDIA devices is ``MT`` and the PCI device id in decimal, so one table serves both. Names are for
people: no decision is made by them, except that an id of a virtual function marks one where the kernel cannot
(a virtual function passed through to a virtual machine has no ``physfn``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Tuple

NVIDIA = "0x15b3"

VENDORS: Dict[str, str] = {
    "0x15b3": "NVIDIA (Mellanox)",
    "0x8086": "Intel",
    "0x14e4": "Broadcom",
    "0x1077": "Marvell (QLogic)",
    "0x1fc1": "QLogic",
    "0x1425": "Chelsio",
    "0x1d0f": "Amazon",
    "0x1dd8": "AMD Pensando",
    "0x1ded": "Alibaba",
    "0x19e5": "Huawei",
    "0x1414": "Microsoft",
    "0x434e": "Cornelis Networks",
}

# (vendor id, device id) -> (product, is a virtual function)
_PRODUCTS: Dict[Tuple[str, int], Tuple[str, bool]] = {
    (NVIDIA, 0x6340): ("ConnectX", False),
    (NVIDIA, 0x634A): ("ConnectX", False),
    (NVIDIA, 0x6732): ("ConnectX", False),
    (NVIDIA, 0x673C): ("ConnectX-2", False),
    (NVIDIA, 0x6746): ("ConnectX-2", False),
    (NVIDIA, 0x1002): ("ConnectX-2", True),
    (NVIDIA, 0x1003): ("ConnectX-3", False),
    (NVIDIA, 0x1004): ("ConnectX-3", True),
    (NVIDIA, 0x1007): ("ConnectX-3 Pro", False),
    (NVIDIA, 0x1011): ("Connect-IB", False),
    (NVIDIA, 0x1012): ("Connect-IB", True),
    (NVIDIA, 0x1013): ("ConnectX-4", False),
    (NVIDIA, 0x1014): ("ConnectX-4", True),
    (NVIDIA, 0x1015): ("ConnectX-4 Lx", False),
    (NVIDIA, 0x1016): ("ConnectX-4 Lx", True),
    (NVIDIA, 0x1017): ("ConnectX-5", False),
    (NVIDIA, 0x1018): ("ConnectX-5", True),
    (NVIDIA, 0x1019): ("ConnectX-5 Ex", False),
    (NVIDIA, 0x101A): ("ConnectX-5 Ex", True),
    (NVIDIA, 0x101B): ("ConnectX-6", False),
    (NVIDIA, 0x101C): ("ConnectX-6", True),
    (NVIDIA, 0x101D): ("ConnectX-6 Dx", False),
    # One id for the virtual functions of every generation since.
    (NVIDIA, 0x101E): ("ConnectX", True),
    (NVIDIA, 0x101F): ("ConnectX-6 Lx", False),
    (NVIDIA, 0x1021): ("ConnectX-7", False),
    (NVIDIA, 0x1023): ("ConnectX-8", False),
    (NVIDIA, 0x1025): ("ConnectX-9", False),
    (NVIDIA, 0xA2D2): ("BlueField", False),
    (NVIDIA, 0xA2D3): ("BlueField", True),
    (NVIDIA, 0xA2D6): ("BlueField-2", False),
    (NVIDIA, 0xA2DC): ("BlueField-3", False),
    (NVIDIA, 0xA2DF): ("BlueField-4", False),
    ("0x8086", 0x24F0): ("Omni-Path HFI 100", False),
    ("0x8086", 0x24F1): ("Omni-Path HFI 100", False),
    ("0x8086", 0x1591): ("Ethernet E810-C", False),
    ("0x8086", 0x1592): ("Ethernet E810-C", False),
    ("0x8086", 0x1593): ("Ethernet E810-C", False),
    ("0x8086", 0x1599): ("Ethernet E810-XXV", False),
    ("0x8086", 0x159A): ("Ethernet E810-XXV", False),
    ("0x8086", 0x159B): ("Ethernet E810-XXV", False),
    ("0x8086", 0x1889): ("Ethernet adaptive virtual function", True),
    ("0x8086", 0x37D0): ("Ethernet X722", False),
    ("0x8086", 0x37D1): ("Ethernet X722", False),
    ("0x8086", 0x37D2): ("Ethernet X722", False),
    ("0x8086", 0x37D3): ("Ethernet X722", False),
    ("0x14e4", 0x1750): ("BCM57508", False),
    ("0x14e4", 0x1751): ("BCM57504", False),
    ("0x14e4", 0x1752): ("BCM57502", False),
    ("0x14e4", 0x1760): ("BCM57608", False),
}


@dataclass(frozen=True)
class Product:
    """A product's name and whether the id is one of a virtual function."""

    name: str
    virtual_function: bool

    def __str__(self) -> str:
        return self.name + (" virtual function" if self.virtual_function else "")


def device_id_of(hca_type: Optional[str]) -> Optional[int]:
    """The PCI device id that an NVIDIA ``hca_type`` spells in decimal: ``MT4129`` is 0x1021."""
    if hca_type is None or not hca_type.startswith("MT"):
        return None
    digits = hca_type[2:]
    return int(digits) if digits.isdigit() and digits.isascii() and len(digits) < 7 else None


def by_pci(vendor_id: Optional[str], device_id: Optional[str]) -> Optional[Product]:
    """The product of a PCI id as sysfs writes it (``0x15b3``, ``0x1021``); ``None`` for one that is not listed."""
    if vendor_id is None or device_id is None:
        return None
    try:
        number = int(device_id, 16)
    except ValueError:
        return None
    entry = _PRODUCTS.get((vendor_id, number))
    return None if entry is None else Product(*entry)


def by_hca_type(hca_type: Optional[str]) -> Optional[Product]:
    """The NVIDIA product of an ``hca_type``."""
    number = device_id_of(hca_type)
    return None if number is None else by_pci(NVIDIA, hex(number))


def vendor_name(vendor_id: Optional[str]) -> Optional[str]:
    """The vendor of a PCI vendor id; the id itself when it is not listed."""
    return None if vendor_id is None else VENDORS.get(vendor_id, vendor_id)
