# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCI side of RDMA devices: the path to the root port, GPUs behind the same switch. Private to the collection.

Files: Documentation/ABI/testing/sysfs-bus-pci.
"""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Gpu, PcieHop, PciePath, PciFunction
from ansible_collections.rdma.infiniband.plugins.module_utils._model.products import (
    MELLANOX,
    is_virtual_id,
    product_name,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import sysfs
from ansible_collections.rdma.infiniband.plugins.module_utils._source.files import Files

# Display controllers (0x03) and, for accelerators without display, 3D controllers are both below 0x03.
_GPU_CLASS = "0x03"
_GPU_VENDORS = ("0x10de", "0x1002", "0x8086")
_INFINIBAND_CLASS = "0x0207"
_ETHERNET_CLASS = "0x0200"


class Pci:
    """The PCI functions of a host, each read once."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._hops: Dict[str, PcieHop] = {}
        self._paths: Optional[Dict[str, str]] = None

    def paths(self) -> Dict[str, str]:
        """Address to real directory of every PCI function."""
        if self._paths is None:
            top = self.files.path("bus/pci/devices")
            self._paths = {
                name: os.path.realpath(top + "/" + name) for name in self.files.names(top) if sysfs.is_pci_address(name)
            }
        return self._paths

    def path_of(self, function: str) -> PciePath:
        """The links from a function (its real directory) up to the root port, and the narrowest of them."""
        hops: List[PcieHop] = []
        place = function
        while sysfs.is_pci_address(os.path.basename(place)):
            hops.append(self._hop(place))
            place = os.path.dirname(place)
        known = [hop for hop in hops if hop.speed_gts and hop.width]
        # min() keeps the first of equals, so the hop nearest to the HCA is named.
        narrowest = min(known, key=lambda hop: (hop.speed_gts or 0) * (hop.width or 0)) if known else None
        return PciePath(tuple(hops), narrowest)

    def _hop(self, place: str) -> PcieHop:
        if place not in self._hops:
            read = self.files.read
            self._hops[place] = PcieHop(
                address=os.path.basename(place),
                speed_gts=sysfs.pcie_speed(read(place + "/current_link_speed") or ""),
                width=sysfs.pcie_width(read(place + "/current_link_width") or ""),
                max_speed_gts=sysfs.pcie_speed(read(place + "/max_link_speed") or ""),
                max_width=sysfs.pcie_width(read(place + "/max_link_width") or ""),
            )
        return self._hops[place]

    def gpus_near(self, function: str) -> Tuple[Gpu, ...]:
        """GPUs below the same PCIe switch: below the port under the root port, when that is a switch."""
        parts = [part for part in function.split("/") if sysfs.is_pci_address(part)]
        if len(parts) < 3:
            return ()  # directly at the root port, or at a port whose only device it is
        switch = function[: function.index(parts[1]) + len(parts[1])] + "/"
        gpus = []
        for address, place in self.paths().items():
            if place.startswith(switch) and (self.files.read(place + "/class") or "").startswith(_GPU_CLASS):
                vendor = self.files.read(place + "/vendor")
                if vendor in _GPU_VENDORS:
                    gpus.append(Gpu(address, vendor, self.files.read(place + "/device")))
        return tuple(gpus)

    def without_rdma(self, used: Iterable[str]) -> Tuple[PciFunction, ...]:
        """RDMA-capable functions that give no RDMA device."""
        taken = set(used)
        found = []
        for address, place in self.paths().items():
            if address in taken:
                continue
            vendor = self.files.read(place + "/vendor")
            kind = self.files.read(place + "/class") or ""
            if kind.startswith(_INFINIBAND_CLASS) or (vendor == MELLANOX and kind.startswith(_ETHERNET_CLASS)):
                device = self.files.read(place + "/device")
                found.append(
                    PciFunction(
                        address=address,
                        vendor_id=vendor,
                        device_id=device,
                        product=product_name("", vendor, device, None),
                        driver=self.files.link(place + "/driver"),
                        virtual_function=is_virtual(self.files, place, device),
                    )
                )
        return tuple(found)


def is_virtual(files: Files, function: str, device_id: Optional[str]) -> bool:
    """Whether a PCI function is an SR-IOV virtual function. In a guest, physfn is not there but the id tells."""
    return files.link(function + "/physfn") is not None or bool(is_virtual_id(device_id, None))
