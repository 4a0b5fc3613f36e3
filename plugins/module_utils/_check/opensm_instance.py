# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One OpenSM for one fabric: what an inventory says of it, and the port that it means. Private to the collection. Pure.

OpenSM binds to one port. Without a GUID it takes the first of the host, which may be an Ethernet one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Port

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.ASCII)
_DEVICE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}", re.ASCII)
_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_GUID = re.compile(r"0x[0-9a-f]{16}")
_KEYS = (
    "name", "device", "pci", "port", "guid", "priority", "subnet_prefix", "routing_engine", "root_guids", "cn_guids",
    "io_guids", "options",
)  # fmt: skip


class InstanceError(Exception):
    """Names the place, the value and what is allowed."""


@dataclass(frozen=True)
class Instance:
    """What is asked for. ``priority`` 0 to 15, the highest becomes master."""

    name: str
    priority: int
    device: Optional[str] = None
    pci: Optional[str] = None
    port: Optional[int] = None
    guid: Optional[str] = None
    subnet_prefix: Optional[str] = None
    routing_engine: Tuple[str, ...] = ()
    root_guids: Tuple[str, ...] = ()
    cn_guids: Tuple[str, ...] = ()
    io_guids: Tuple[str, ...] = ()
    options: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class Bound:
    """A port that a subnet manager can use."""

    device: str
    port: int
    guid: str


def parse_instances(raw: Any, where: str = "instances") -> Tuple[Instance, ...]:
    """The instances of a host, or :class:`InstanceError` about the first thing that is wrong."""
    if not isinstance(raw, (list, tuple)) or not raw:
        raise InstanceError("%s: %r is not allowed; use a list with at least one fabric" % (where, raw))
    found = [_instance("%s[%d]" % (where, index), entry) for index, entry in enumerate(raw)]
    for attribute in ("name", "guid"):
        values = [value for value in (getattr(item, attribute) for item in found) if value]
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise InstanceError(
                "%s: the %s %s is given twice; each fabric has a manager of its own" % (where, attribute, twice[0])
            )
    return tuple(found)


def _instance(place: str, entry: Any) -> Instance:
    if not isinstance(entry, Mapping):
        raise InstanceError("%s: %r is not allowed; use a mapping with %s" % (place, entry, ", ".join(_KEYS)))
    for key in entry:
        if key not in _KEYS:
            raise InstanceError("%s: unknown key %r; use %s" % (place, key, ", ".join(_KEYS)))
    prefix = _text(place, entry, "subnet_prefix", _GUID, "0x and 16 lower-case hex digits, in quotes")
    chosen = [key for key in ("device", "pci", "guid") if entry.get(key) is not None]
    if len(chosen) > 1:
        raise InstanceError("%s: give one of device, pci and guid, not %s" % (place, " and ".join(chosen)))
    options = entry.get("options") or {}
    if not isinstance(options, Mapping):
        raise InstanceError("%s.options: %r is not allowed; use a mapping of OpenSM's options" % (place, options))
    return Instance(
        name=_text(place, entry, "name", _NAME, "a lower-case letter and then letters, digits, _ and -") or "fabric",
        priority=_number(place, entry, "priority", 0, 15) or 0,
        device=_text(place, entry, "device", _DEVICE, "a name such as mlx5_0"),
        pci=_text(place, entry, "pci", _PCI, "a PCI address with its domain, such as '0000:41:00.0'"),
        port=_number(place, entry, "port", 1, 254),
        guid=_text(place, entry, "guid", _GUID, "a port GUID, 0x and 16 lower-case hex digits, in quotes"),
        subnet_prefix=prefix,
        routing_engine=_texts(place, entry, "routing_engine"),
        root_guids=_guids(place, entry, "root_guids"),
        cn_guids=_guids(place, entry, "cn_guids"),
        io_guids=_guids(place, entry, "io_guids"),
        options=dict(options),
    )


def _text(place: str, entry: Mapping[str, Any], key: str, form: "re.Pattern[str]", allowed: str) -> Optional[str]:
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not form.fullmatch(value):
        raise InstanceError("%s.%s: %r is not allowed; use %s" % (place, key, value, allowed))
    return value


def _number(place: str, entry: Mapping[str, Any], key: str, low: int, high: int) -> Optional[int]:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InstanceError("%s.%s: %r is not allowed; use a number from %d to %d" % (place, key, value, low, high))
    return value


def _texts(place: str, entry: Mapping[str, Any], key: str) -> Tuple[str, ...]:
    value = entry.get(key) or ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise InstanceError("%s.%s: %r is not allowed; use a list of names" % (place, key, value))
    return tuple(value)


def _guids(place: str, entry: Mapping[str, Any], key: str) -> Tuple[str, ...]:
    values = _texts(place, entry, key)
    for value in values:
        if not _GUID.fullmatch(value):
            raise InstanceError(
                "%s.%s: %r is not allowed; use GUIDs, 0x and 16 lower-case hex digits" % (place, key, value)
            )
    return values


def choose_port(instance: Instance, hcas: Sequence[Hca], where: str = "instances") -> Bound:
    """The InfiniBand port that an instance means; one clear error when there is none, or more than one."""
    infiniband = [
        Bound(hca.name, port.number, port.port_guid)
        for hca in hcas
        for port in hca.ports
        if port.link_layer == "InfiniBand" and port.port_guid and not hca.virtual_function
    ]
    if instance.guid is not None:
        return _by_guid(instance, hcas, infiniband, where)
    if instance.device is None and instance.pci is None:
        if len(infiniband) == 1:
            return infiniband[0]
        raise InstanceError(
            "%s: %s needs the port of its fabric, by device, pci or guid; this host has %s"
            % (where, instance.name, _shown(infiniband))
        )
    matching = [hca for hca in hcas if instance.device in (None, hca.name) and instance.pci in (None, hca.pci_address)]
    if not matching:
        raise InstanceError(
            "%s: %s: this host has no RDMA device %s; its InfiniBand ports are %s"
            % (where, instance.name, instance.device or instance.pci, _shown(infiniband))
        )
    ports = [(hca, port) for hca in matching for port in hca.ports if instance.port in (None, port.number)]
    good = [bound for bound in infiniband if any(_is(bound, hca, port) for hca, port in ports)]
    if len(good) == 1:
        return good[0]
    if good:
        raise InstanceError(
            "%s: %s: give the port of %s; it has %s" % (where, instance.name, good[0].device, _shown(good))
        )
    layers = sorted({port.link_layer or "unknown" for _hca, port in ports}) or ["none"]
    raise InstanceError(
        "%s: %s: %s has no InfiniBand port there (link layer %s); this host's are %s"
        % (where, instance.name, matching[0].name, ", ".join(layers), _shown(infiniband))
    )


def _is(bound: Bound, hca: Hca, port: Port) -> bool:
    return (bound.device, bound.port) == (hca.name, port.number)


def _by_guid(instance: Instance, hcas: Sequence[Hca], infiniband: List[Bound], where: str) -> Bound:
    for bound in infiniband:
        if bound.guid == instance.guid:
            return bound
    for hca in hcas:
        if hca.node_guid == instance.guid:
            mine = [bound for bound in infiniband if bound.device == hca.name]
            raise InstanceError(
                "%s: %s: %s is the node GUID of %s, and OpenSM binds to a port; use %s"
                % (where, instance.name, instance.guid, hca.name, _shown(mine))
            )
    raise InstanceError(
        "%s: %s: no InfiniBand port of this host has the GUID %s; it has %s"
        % (where, instance.name, instance.guid, _shown(infiniband))
    )


def _shown(ports: Sequence[Bound]) -> str:
    return ", ".join("%s (%s port %d)" % (item.guid, item.device, item.port) for item in ports) or "no InfiniBand port"


def managed_options(instance: Instance, bound: Bound, folder: str, state: str, log: str) -> Dict[str, Any]:
    """The options that follow from the instance. What is not among them may be given freely."""
    options: Dict[str, Any] = {
        "guid": bound.guid,
        "sm_priority": instance.priority,
        "log_file": log,
        "partition_config_file": folder + "/partitions.conf",
        "dump_files_dir": state,
    }
    if instance.subnet_prefix:
        options["subnet_prefix"] = instance.subnet_prefix
    if instance.routing_engine:
        options["routing_engine"] = list(instance.routing_engine)
    for key in ("root", "cn", "io"):
        if getattr(instance, key + "_guids"):
            options[key + "_guid_file"] = "%s/%s_guids" % (folder, key)
    return options


# Options that have a variable of their own, whether an instance gives it or not.
MANAGED = frozenset(
    {
        "guid", "sm_priority", "log_file", "partition_config_file", "dump_files_dir", "subnet_prefix", "routing_engine",
        "root_guid_file", "cn_guid_file", "io_guid_file", "daemon",
    }
)  # fmt: skip
# Sound for a pair of managers; an inventory may say otherwise. LIDs survive a change of the master, and the log can be
# read while it is written.
RECOMMENDED: Mapping[str, Any] = {"honor_guid2lid_file": True, "force_log_flush": True}
