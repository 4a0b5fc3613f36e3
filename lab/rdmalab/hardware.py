# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hardware a simulated host has: PCI layout, identities, GPUs, NUMA. Pure data and the rules that place it.

Identities are those of real products (PCI ids, hca_type, PSID form), so that what the tools print looks as it
does in the field. The firmware version is the one the lab's inventory asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .errors import LabError
from .topology import Adapter

NUMA_NODES = 2
CPUS_PER_NODE = 16
# A PCI root complex per HCA and one for the management card. Bus numbers step by 0x08, so 24 HCAs fit.
FIRST_BUS = 0x10
BUS_STEP = 0x08
MANAGEMENT_BUS = 0xE0
MAX_HCAS = 24


@dataclass(frozen=True)
class Model:
    """One product: what sysfs and PCI say of it."""

    product: str
    vendor_id: str
    device_id: str
    hca_type: str
    psid: str
    firmware: str
    driver: str = "mlx5_core"


CONNECTX7 = Model("ConnectX-7", "0x15b3", "0x1021", "MT4129", "MT_0000000838", "28.43.2026")
CONNECTX6DX = Model("ConnectX-6 Dx", "0x15b3", "0x101d", "MT4125", "MT_0000000359", "22.43.2026")
VIRTUAL = Model("ConnectX virtual function", "0x15b3", "0x101e", "MT4126", "MT_0000000838", "28.43.2026")


@dataclass(frozen=True)
class Card:
    """One RDMA-capable PCI function of a host, with what a fault may have done to it."""

    device: str
    model: Model
    address: str
    bridges: tuple[str, ...]
    root: str
    numa_node: int
    node_guid: int
    port_guid: int
    link_layer: str
    fabric_node: str | None = None
    netdev: str | None = None
    gpu: str | None = None
    physical_function: str | None = None
    pcie_speed: str = "32.0"
    pcie_width: int = 16
    max_pcie_speed: str = "32.0"
    max_pcie_width: int = 16
    first_irq: int = 100


@dataclass(frozen=True)
class Machine:
    """A host's RDMA hardware."""

    host: str
    cards: tuple[Card, ...]


def machine(host: str, adapters: list[Adapter], number: int) -> Machine:
    """The default hardware: an NDR HCA per fabric port, a virtual function and an Ethernet-mode card."""
    if len(adapters) > MAX_HCAS:
        raise LabError(f"{host} has {len(adapters)} HCAs in the fabric file; a lab host can hold {MAX_HCAS}")
    cards: list[Card] = []
    for index, adapter in enumerate(adapters):
        bus = FIRST_BUS + BUS_STEP * index
        cards.append(
            Card(
                device=adapter.device,
                model=CONNECTX7,
                address=f"0000:{bus + 3:02x}:00.0",
                bridges=(f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0", f"0000:{bus + 2:02x}:00.0"),
                root=f"pci0000:{bus:02x}",
                numa_node=index * NUMA_NODES // len(adapters),
                node_guid=adapter.node_guid,
                port_guid=adapter.port_guid,
                link_layer="InfiniBand",
                fabric_node=adapter.node_id,
                gpu=f"0000:{bus + 4:02x}:00.0",
                first_irq=100 + 20 * index,
            )
        )
    names = _free_names([card.device for card in cards])
    first = cards[0]
    management_guid = 0x506B4B0300000000 + (number << 8)
    cards.append(
        Card(
            device=next(names),
            model=CONNECTX6DX,
            address=f"0000:{MANAGEMENT_BUS + 1:02x}:00.0",
            bridges=(f"0000:{MANAGEMENT_BUS:02x}:01.0",),
            root=f"pci0000:{MANAGEMENT_BUS:02x}",
            numa_node=0,
            node_guid=management_guid,
            port_guid=(management_guid & 0xFFFFFF) | 0x526B4BFFFE000000,
            link_layer="Ethernet",
            netdev="host0",
            pcie_speed="16.0",
            max_pcie_speed="16.0",
            first_irq=600,
        )
    )
    cards.append(
        replace(
            first,
            device=next(names),
            model=VIRTUAL,
            address=first.address[:-1] + "1",
            node_guid=(first.node_guid & 0x00FFFFFFFFFFFFFF) | 0x0200000000000000,
            port_guid=(first.node_guid & 0x00FFFFFFFFFFFFFF) | 0x0200000000000000,
            fabric_node=None,
            gpu=None,
            physical_function=first.device,
            first_irq=620,
        )
    )
    return Machine(host, tuple(cards))


def _free_names(taken: list[str]):  # type: ignore[no-untyped-def]
    """mlx5_N names that the fabric file did not use."""
    number = 0
    while True:
        if f"mlx5_{number}" not in taken:
            yield f"mlx5_{number}"
        number += 1
