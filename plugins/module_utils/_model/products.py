# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What products are called, by PCI device id and by hca_type. Private to the collection.

Device ids: pci.ids and the kernel's mlx4/mlx5 device tables; hca_type is ``MT`` and the decimal device id.
"""

from __future__ import annotations

from typing import Optional

MELLANOX = "0x15b3"

# Device ids of vendor 0x15b3. Virtual functions have ids of their own.
_MELLANOX = {
    0x1003: "ConnectX-3",
    0x1007: "ConnectX-3 Pro",
    0x1011: "Connect-IB",
    0x1013: "ConnectX-4",
    0x1015: "ConnectX-4 Lx",
    0x1017: "ConnectX-5",
    0x1019: "ConnectX-5 Ex",
    0x101B: "ConnectX-6",
    0x101D: "ConnectX-6 Dx",
    0x101F: "ConnectX-6 Lx",
    0x1021: "ConnectX-7",
    0x1023: "ConnectX-8",
    0xA2D2: "BlueField",
    0xA2D6: "BlueField-2",
    0xA2DC: "BlueField-3",
}
_MELLANOX_VIRTUAL = {
    0x1004: "ConnectX-3 virtual function",
    0x1012: "Connect-IB virtual function",
    0x1014: "ConnectX-4 virtual function",
    0x1016: "ConnectX-4 Lx virtual function",
    0x1018: "ConnectX-5 virtual function",
    0x101A: "ConnectX-5 Ex virtual function",
    0x101C: "ConnectX-6 virtual function",
    0x101E: "ConnectX virtual function",
    0xA2D3: "BlueField virtual function",
}
_OTHER = {
    ("0x8086", 0x24F0): "Omni-Path HFI 100",
    ("0x8086", 0x24F1): "Omni-Path HFI 100",
    ("0x8086", 0x1591): "Intel E810-C",
    ("0x8086", 0x1592): "Intel E810-C",
    ("0x8086", 0x1593): "Intel E810-C",
    ("0x8086", 0x159B): "Intel E810-XXV",
}
# By the start of the device's name, for drivers that show no PCI identity or none that names the product.
_BY_NAME = (
    ("hfi1_", "omni-path", "Omni-Path HFI 100"),
    ("opap", "omni-path", "Omni-Path HFI 100"),
    ("irdma", "intel", "Intel RDMA (irdma)"),
    ("rxe", "linux", "Soft-RoCE (rxe)"),
    ("siw", "linux", "Soft-iWARP (siw)"),
    ("bnxt_re", "broadcom", "Broadcom NetXtreme-E"),
)
_VENDORS = {"0x15b3": "mellanox", "0x8086": "intel", "0x14e4": "broadcom", "0x1d0f": "amazon"}


def _device_number(device_id: Optional[str], hca_type: Optional[str]) -> Optional[int]:
    if device_id is not None:
        return int(device_id, 16)
    if hca_type is not None and hca_type[:2] == "MT" and hca_type[2:].isdigit():
        return int(hca_type[2:])
    return None


def product_name(
    name: str, vendor_id: Optional[str], device_id: Optional[str], hca_type: Optional[str]
) -> Optional[str]:
    """The product's name, or ``None`` when it is not known."""
    number = _device_number(device_id, hca_type)
    if vendor_id in (None, MELLANOX) and number is not None:
        known = _MELLANOX.get(number) or _MELLANOX_VIRTUAL.get(number)
        if known:
            return known
    if number is not None and (vendor_id, number) in _OTHER:
        return _OTHER[(vendor_id or "", number)]
    for start, _vendor, product in _BY_NAME:
        if name.startswith(start):
            return product
    return None


def vendor_name(name: str, vendor_id: Optional[str], hca_type: Optional[str], board_id: Optional[str]) -> Optional[str]:
    """A short word for the vendor: ``mellanox``, ``omni-path``, ``intel``, ``linux`` and so on."""
    if board_id is not None and "Omni-Path" in board_id:
        return "omni-path"
    for start, vendor, _product in _BY_NAME:
        if name.startswith(start):
            return vendor
    if vendor_id is not None:
        return _VENDORS.get(vendor_id)
    if hca_type is not None and hca_type[:2] == "MT" and hca_type[2:].isdigit():
        return "mellanox"
    return None


def is_virtual_id(device_id: Optional[str], hca_type: Optional[str]) -> Optional[bool]:
    """Whether the identity is one that only virtual functions have; ``None`` when the identity is unknown."""
    number = _device_number(device_id, hca_type)
    if number is None:
        return None
    if number in _MELLANOX_VIRTUAL:
        return True
    return False if number in _MELLANOX else None
