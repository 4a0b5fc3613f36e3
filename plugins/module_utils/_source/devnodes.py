# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what udev governs: device nodes, names of devices, and the rules in effect. Private to the collection."""

from __future__ import annotations

import fnmatch
import os
import stat
from typing import Dict, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    BACKUP_SUFFIX,
    NODE_KINDS,
    OUR_DIRECTORY,
    OUR_FILES,
    RULE_DIRECTORIES,
    DeviceNode,
    IpoibDevice,
    PciPlace,
    RdmaDevice,
    RulesFile,
    UdevHost,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import ipoib_address, sysfs, udev_rules
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal
from ansible_collections.rdma.infiniband.plugins.module_utils._source.accounts import Accounts
from ansible_collections.rdma.infiniband.plugins.module_utils._source.files import Files
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError

_TYPE_INFINIBAND = "32"  # ARPHRD_INFINIBAND
_RENAME_PROGRAMS = ("usr/lib/udev/rdma_rename", "lib/udev/rdma_rename")
# Driver of the PCI function to the protocol where the link layer alone does not say it.
_PROTOCOLS = {"hfi1": "opa", "cxgb4": "iw"}
_IFF_UP = 1
_MULTIFUNCTION = 0x80
_HEADER_TYPE = 0x0E


def observe(root: str, accounts: Accounts) -> UdevHost:
    """Everything below ``root``."""
    files = Files(root)
    if not os.path.isdir(files.path("sys/class")):
        raise SourceError("%s: this is no sysfs, it has no directory 'class'" % files.path("sys"))
    effective, beneath = _rules(files)
    backups = [name for name in OUR_FILES if os.path.lexists(_backup(files, name))]
    for name in backups:
        beneath[name] = _rules_file(_backup(files, name), "/%s/%s" % (OUR_DIRECTORY, name))
    nodes = _nodes(files, accounts)
    accounts.learn_from(rule for item in effective for rule in item.rules)
    return UdevHost(
        nodes=nodes,
        rdma=_rdma_devices(files),
        ipoib=_ipoib_devices(files),
        files=effective,
        beneath=beneath,
        backups=tuple(backups),
        # Of another root than the running host's, no udev can be told anything.
        running=files.root == "/" and os.path.exists("/run/udev/control"),
        rename_program=any(os.access(files.path(path), os.X_OK) for path in _RENAME_PROGRAMS),
        users=dict(accounts.users),
        groups=dict(accounts.groups),
        local_users=accounts.local_users,
        local_groups=accounts.local_groups,
    )


def _backup(files: Files, name: str) -> str:
    return files.path("%s/%s%s" % (OUR_DIRECTORY, name, BACKUP_SUFFIX))


def _rules(files: Files) -> Tuple[Tuple[RulesFile, ...], Dict[str, RulesFile]]:
    """The rules files in effect in udev's order, and of our names what lies beneath the one in effect."""
    effective: Dict[str, RulesFile] = {}
    beneath: Dict[str, RulesFile] = {}
    seen: Dict[str, None] = {}
    for directory in RULE_DIRECTORIES:
        place = files.path(directory)
        real = os.path.realpath(place)
        if real in seen:  # /lib is /usr/lib on most hosts
            continue
        seen[real] = None
        for name in files.names(place):
            if not name.endswith(".rules") or name in beneath or (name in effective and name not in OUR_FILES):
                continue
            item = _rules_file(os.path.join(place, name), "/%s/%s" % (directory, name))
            if name not in effective:
                effective[name] = item
            else:
                beneath[name] = item
    return tuple(effective[name] for name in sorted(effective)), beneath


def _rules_file(place: str, shown: str) -> RulesFile:
    if os.path.realpath(place) == "/dev/null":  # udev(7): the way to switch a file off
        return RulesFile(shown, text="")
    try:
        with open(place, "rb") as handle:
            text = handle.read().decode("utf-8", "replace")
    except OSError as error:
        return RulesFile(shown, reason=error.strerror or str(error))
    return RulesFile(shown, udev_rules.parse(text) if _concerns_us(text) else (), text)


# A host has about a hundred files, of which a handful concern RDMA; only those are worth the time to parse.
_WORDS = (
    "infiniband",
    "rdma",
    "umad",
    "uverbs",
    "issm",
    "ATTR{address}",
    "ATTRS{address}",
    'ATTR{type}=="32"',
    "ib_",
    '"ib',
)


def _concerns_us(text: str) -> bool:
    lower = text.lower()
    return any(word.lower() in lower for word in _WORDS)


def _nodes(files: Files, accounts: Accounts) -> Tuple[DeviceNode, ...]:
    """The nodes that the kernel announces in sysfs, whether they are in /dev or not."""
    found = []
    for kind, (subsystem, pattern, _mode) in NODE_KINDS.items():
        for name in sorted(fnmatch.filter(files.names(files.path("sys/class/" + subsystem)), pattern), key=_natural):
            found.append(_node(files, kind, name, accounts))
    return tuple(found)


def _natural(name: str) -> Tuple[int, str]:
    return (decimal(name.lstrip("abcdefghijklmnopqrstuvwxyz_")) or 0, name)


def _node(files: Files, kind: str, name: str, accounts: Accounts) -> DeviceNode:
    shown = "/dev/infiniband/" + name
    try:
        status = os.stat(files.path("dev/infiniband/" + name))
    except OSError:
        return DeviceNode(kind, shown, found=False)
    if not stat.S_ISCHR(status.st_mode):
        return DeviceNode(kind, shown, found=False)
    return DeviceNode(
        kind,
        shown,
        accounts.user_of(status.st_uid),
        accounts.group_of(status.st_gid),
        "%04o" % stat.S_IMODE(status.st_mode),
    )


def _rdma_devices(files: Files) -> Tuple[RdmaDevice, ...]:
    top = files.path("sys/class/infiniband")
    return tuple(_rdma_device(files, top, name) for name in files.names(top))


def _rdma_device(files: Files, top: str, name: str) -> RdmaDevice:
    place = "%s/%s" % (top, name)
    function = os.path.realpath(place + "/device")
    address = os.path.basename(function)
    has_pci = sysfs.is_pci_address(address)
    driver = files.link(function + "/driver") if has_pci else None
    return RdmaDevice(
        name=name,
        pci=address if has_pci else None,
        guid=sysfs.guid(files.read(place + "/node_guid") or ""),
        protocol=_protocol(files, place, driver),
        driver=driver,
        place=_pci_place(files, function) if has_pci else None,
    )


def _protocol(files: Files, place: str, driver: Optional[str]) -> Optional[str]:
    """As the kernel tells rdma_rename(8): that of the first port. irdma speaks both, and node_type tells."""
    if driver in _PROTOCOLS:
        return _PROTOCOLS[driver]
    if sysfs.numbered(files.read(place + "/node_type") or "") == "RNIC":
        return "iw"
    ports = sorted(files.names(place + "/ports"), key=_natural)
    layer = files.read("%s/ports/%s/link_layer" % (place, ports[0])) if ports else None
    return {"InfiniBand": "ib", "Ethernet": "roce"}.get(layer or "")


def _pci_place(files: Files, function: str) -> PciPlace:
    virtual = None
    physical = function
    own = os.path.basename(function)
    if os.path.isdir(function + "/physfn"):
        physical = os.path.realpath(function + "/physfn")
        for name in files.names(physical):
            if name.startswith("virtfn") and files.link(physical + "/" + name) == own:
                virtual = sysfs.integer(name[len("virtfn") :])
        virtual = virtual or 0
    onboard = None
    for name in ("acpi_index", "index"):
        # Looked up at the device itself, also for a virtual function.
        if onboard is None:
            onboard = sysfs.integer(files.read("%s/%s" % (function, name)) or "")
    return PciPlace(
        address=os.path.basename(physical),
        multifunction=_is_multifunction(physical),
        ari=files.read(physical + "/ari_enabled") == "1",
        onboard_index=onboard,
        virtual=virtual,
    )


def _is_multifunction(function: str) -> bool:
    """Bit 7 of the header type in the PCI configuration space."""
    try:
        with open(function + "/config", "rb") as handle:
            header = handle.read(64)
    except OSError:
        return False
    return len(header) == 64 and bool(header[_HEADER_TYPE] & _MULTIFUNCTION)


def _ipoib_devices(files: Files) -> Tuple[IpoibDevice, ...]:
    top = files.path("sys/class/net")
    found = []
    for name in files.names(top):
        place = "%s/%s" % (top, name)
        if files.read(place + "/type") == _TYPE_INFINIBAND:
            found.append(_ipoib_device(files, place, name))
    return tuple(found)


def _ipoib_device(files: Files, place: str, name: str) -> IpoibDevice:
    address = os.path.basename(os.path.realpath(place + "/device"))
    number = sysfs.integer(files.read(place + "/dev_port") or "")
    flags = sysfs.integer(files.read(place + "/flags") or "")
    try:
        guid: Optional[str] = ipoib_address.parse(files.read(place + "/address") or "").port_guid
    except ParseError:
        guid = None
    return IpoibDevice(
        name=name,
        pci=address if sysfs.is_pci_address(address) else None,
        guid=guid,
        port=None if number is None else number + 1,
        child=os.path.exists(place + "/parent") or "." in name,
        up=flags is None or bool(flags & _IFF_UP),
    )
