# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a host's RDMA devices from sysfs. Private to the collection.

Files: Documentation/ABI/stable/sysfs-class-infiniband. Devices and files may vanish between two reads; what is
then left out is said in the device's ``errors``, and the other devices are complete.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import (
    Gid,
    Hca,
    NetDevice,
    Node,
    Pkey,
    Port,
    Umad,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.products import product_name, vendor_name
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import sysfs
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal
from ansible_collections.rdma.infiniband.plugins.module_utils._source.files import Files
from ansible_collections.rdma.infiniband.plugins.module_utils._source.pci import Pci, is_virtual
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError

_TYPE_INFINIBAND = "32"  # ARPHRD_INFINIBAND
_TYPE_ETHERNET = "1"


def read_node(root: str) -> Node:
    """Everything below ``root``; raises :class:`SourceError` when the root itself cannot be read."""
    try:
        os.listdir(root)
    except OSError as error:
        raise SourceError("%s: %s" % (root, error.strerror or error)) from None
    if not os.path.isdir(os.path.join(root, "class")):
        raise SourceError("%s: this is no sysfs, it has no directory 'class'" % root)
    files = Files(root)
    pci = Pci(files)
    top = files.path("class/infiniband")
    hcas = tuple(_hca(files, pci, top, name) for name in files.names(top))
    abi = files.read(files.path("class/infiniband_mad/abi_version"))
    return Node(
        hcas=hcas,
        without_rdma=pci.without_rdma(hca.pci_address for hca in hcas if hca.pci_address),
        umad_abi=sysfs.integer(abi or ""),
        umads=_umads(files),
        sources={"sysfs": "used"},
    )


def _umads(files: Files) -> Tuple[Umad, ...]:
    top = files.path("class/infiniband_mad")
    found = []
    for name in files.names(top):
        if name.startswith("umad"):
            port = files.read("%s/%s/port" % (top, name))
            found.append(Umad(name, files.read("%s/%s/ibdev" % (top, name)), sysfs.integer(port or "")))
    return tuple(found)


def _hca(files: Files, pci: Pci, top: str, name: str) -> Hca:
    place = "%s/%s" % (top, name)
    before = len(files.unreadable)
    errors: List[str] = []

    def text(file: str) -> Optional[str]:
        return files.read(place + "/" + file) or None

    ports = tuple(
        _port(files, "%s/ports/%s" % (place, number), int(number))
        for number in sorted(files.names(place + "/ports"), key=_natural)
        if decimal(number) is not None
    )
    hca = Hca(
        name=name,
        hca_type=text("hca_type"),
        psid=text("board_id"),
        firmware=text("fw_ver"),
        hw_revision=text("hw_rev"),
        node_type=sysfs.numbered(text("node_type") or ""),
        node_guid=sysfs.guid(text("node_guid") or ""),
        sys_image_guid=sysfs.guid(text("sys_image_guid") or ""),
        node_description=text("node_desc"),
        ports=ports,
    )
    hca = _with_pci(files, pci, hca, place)
    hca = replace(
        hca,
        vendor=vendor_name(name, hca.vendor_id, hca.hca_type, hca.psid),
        product=product_name(name, hca.vendor_id, hca.device_id, hca.hca_type),
    )
    if not os.path.exists(place):
        errors.append("%s vanished while it was read" % name)
    elif not ports:
        errors.append("%s shows no port" % name)
    errors.extend(files.unreadable[before:])
    return replace(hca, errors=tuple(errors))


def _with_pci(files: Files, pci: Pci, hca: Hca, place: str) -> Hca:
    function = os.path.realpath(place + "/device")
    address = os.path.basename(function)
    if not sysfs.is_pci_address(address):
        # Software devices (rxe, siw) have no PCI function; the network device below them is their parent.
        parent = files.read(place + "/parent")
        devices = (NetDevice(name=parent, port=1, kind="ethernet"),) if parent else ()
        return replace(hca, net_devices=devices or _roce_devices(hca, ()))
    read = files.read
    device_id = read(function + "/device")
    return replace(
        hca,
        pci_address=address,
        vendor_id=read(function + "/vendor"),
        device_id=device_id,
        numa_node=sysfs.numa_node(read(function + "/numa_node") or ""),
        numa_cpus=read(function + "/local_cpulist") or None,
        pcie=pci.path_of(function),
        virtual_function=is_virtual(files, function, device_id),
        physical_function=files.link(function + "/physfn"),
        driver=files.link(function + "/driver"),
        irqs=tuple(sorted(filter(None, map(decimal, files.names(function + "/msi_irqs"))))),
        net_devices=_roce_devices(hca, _net_devices(files, function, len(hca.ports))),
        gpus=pci.gpus_near(function),
    )


def _net_devices(files: Files, function: str, port_count: int) -> Tuple[NetDevice, ...]:
    found = []
    for name in files.names(function + "/net"):
        place = "%s/net/%s" % (function, name)
        kind = files.read(place + "/type")
        number = sysfs.integer(files.read(place + "/dev_port") or "")
        # dev_port counts from 0. Where a function has one port, there is no doubt.
        port = 1 if port_count == 1 else (number + 1 if number is not None else None)
        carrier = Files(files.root).read(place + "/carrier")  # EINVAL while the device is down: not an error
        found.append(
            NetDevice(
                name=name,
                port=port,
                kind={_TYPE_INFINIBAND: "infiniband", _TYPE_ETHERNET: "ethernet"}.get(kind or ""),
                operstate=files.read(place + "/operstate"),
                carrier={"1": True, "0": False}.get(carrier or ""),
                mtu_bytes=sysfs.integer(files.read(place + "/mtu") or ""),
                mac=files.read(place + "/address"),
            )
        )
    return tuple(found)


def _roce_devices(hca: Hca, known: Tuple[NetDevice, ...]) -> Tuple[NetDevice, ...]:
    """Network devices that only the GID table names: the bond on top of a bonded RoCE device, or a VLAN."""
    names = {device.name for device in known}
    extra = []
    for port in hca.ports:
        for gid in port.gids:
            if gid.netdev and gid.netdev not in names and port.link_layer == "Ethernet":
                names.add(gid.netdev)
                extra.append(NetDevice(name=gid.netdev, port=port.number, kind="ethernet"))
    return known + tuple(extra)


def _natural(text: str) -> Tuple[int, str]:
    number = decimal(text)
    return (0, text) if number is None else (number, "")


def _port(files: Files, place: str, number: int) -> Port:
    errors: List[str] = []

    def text(name: str) -> Optional[str]:
        return files.read(place + "/" + name)

    def read(name: str, function):  # type: ignore[no-untyped-def]
        raw = text(name)
        value = function(raw) if raw else None
        if raw and value is None:
            errors.append("%s %r is not understood" % (name, raw[:80]))
        return value

    raw_rate = text("rate")
    rate_gbps, width, speed = sysfs.rate(raw_rate or "")
    if raw_rate and rate_gbps is None:
        errors.append("rate %r is not understood" % raw_rate[:80])
    gids, port_guid = _gids(files, place)
    link_layer = text("link_layer")
    counters = _counters(files, place + "/counters") or {}
    return Port(
        number=number,
        state=read("state", sysfs.numbered),
        phys_state=read("phys_state", sysfs.numbered),
        rate_gbps=rate_gbps,
        width=width,
        speed=speed,
        lid=read("lid", sysfs.integer),
        lmc=read("lid_mask_count", sysfs.integer),
        sm_lid=read("sm_lid", sysfs.integer),
        sm_sl=read("sm_sl", sysfs.integer),
        link_layer=link_layer or None,
        port_guid=port_guid if link_layer == "InfiniBand" else None,
        capability_mask=text("cap_mask") or None,
        gids=gids,
        pkeys=_pkeys(files, place),
        counters=counters,
        hw_counters=_counters(files, place + "/hw_counters"),
        saturated_counters=sysfs.saturated(counters),
        errors=tuple(errors),
    )


def _gids(files: Files, place: str) -> Tuple[Tuple[Gid, ...], Optional[str]]:
    """The GIDs that are set, and the port GUID: the interface identifier of GID 0, zero included."""
    found = []
    table = files.read_all(place + "/gids")
    first = table.get("0") or ""
    port_guid = sysfs.guid_of_gid(first.lower()) if first.count(":") == 7 else None
    for name in sorted(table, key=_natural):
        value = sysfs.gid(table[name] or "")
        if value is not None and decimal(name) is not None:
            # Reading the attributes of an empty entry is an error to the kernel, so only set ones are asked.
            kind = files.read("%s/gid_attrs/types/%s" % (place, name))
            netdev = files.read("%s/gid_attrs/ndevs/%s" % (place, name))
            found.append(Gid(int(name), value, kind or None, netdev or None))
    return tuple(found), port_guid


def _pkeys(files: Files, place: str) -> Tuple[Pkey, ...]:
    """The P_Keys that are set; the table may have holes."""
    table = files.read_all(place + "/pkeys")
    entries = (
        sysfs.pkey(int(name), table[name] or "") for name in sorted(table, key=_natural) if decimal(name) is not None
    )
    return tuple(entry for entry in entries if entry is not None)


def _counters(files: Files, place: str) -> Optional[Dict[str, Optional[int]]]:
    """Counter name to value; ``None`` when there is no such directory.

    A counter that cannot be read (no PMA behind a virtual function) is unknown, not an error of the device.
    """
    table = files.read_all(place)
    return {name: sysfs.counter(table[name] or "") for name in sorted(table)} or None
