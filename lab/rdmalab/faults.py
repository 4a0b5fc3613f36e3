# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be broken, and how. Each fault says what it did."""

from __future__ import annotations

import re
from typing import Any

from . import fabricd, lifecycle
from .errors import LabError
from .hardware import Card, machine
from .state import Lab, wait_until
from .topology import LANE_GBPS, Fabric, from_ibnetdiscover

# sysfs counter: the simulator's counter of the same meaning, where it has one.
SIM_COUNTERS = {
    "symbol_error": "PortCounters.SymbolErrorCounter",
    "link_error_recovery": "PortCounters.LinkErrorRecoveryCounter",
    "link_downed": "PortCounters.LinkDownedCounter",
    "port_rcv_errors": "PortCounters.PortRcvErrors",
    "port_xmit_discards": "PortCounters.PortXmitDiscards",
    "excessive_buffer_overrun_errors": "PortCounters.ExcessiveBufferOverrunErrors",
    "local_link_integrity_errors": "PortCounters.LocalLinkIntegrityErrors",
    "VL15_dropped": "PortCounters.VL15Dropped",
}
_SIM_MAX = {
    "link_error_recovery": 255,
    "link_downed": 255,
    "excessive_buffer_overrun_errors": 15,
    "local_link_integrity_errors": 15,
}


def fabric_of(lab: Lab) -> Fabric:
    """The fabric that the running lab was started with."""
    lab.load()
    return from_ibnetdiscover((lab.dir / "fabric/up" / fabricd.SIM_FILE[1:]).read_text(), "the lab's fabric file")


def card_of(lab: Lab, host: str, device: str) -> Card:
    """A device of a host, or an error that lists what there is."""
    names = lab.load()["hosts"]
    if host not in names:
        raise LabError(f"no host {host!r} in lab {lab.name!r}; it has {', '.join(names)}")
    cards = machine(host, fabric_of(lab).adapters()[host], names.index(host) + 1).cards
    for card in cards:
        if card.device == device:
            return card
    raise LabError(f"{host} has no device {device!r}; it has {', '.join(card.device for card in cards)}")


def set_values(lab: Lab, host: str, device: str, **values: Any) -> None:
    """Override what a device shows."""
    card_of(lab, host, device)
    fabricd.ask(lab, {"op": "set", "host": host, "device": device, "values": values})


def cut(lab: Lab, where: str, port: str) -> str:
    """Unplug the cable of a host's device, or of a switch port given as ``leaf01 17``."""
    node, number = endpoint(lab, where, port)
    fabricd.ask(lab, {"op": "cut", "node": node, "port": number})
    return f"cut the cable of {where} {port}: the port goes Down/Polling"


def endpoint(lab: Lab, where: str, port: str) -> tuple[str, int]:
    """The fabric's own name of ``host device`` or ``switch port``."""
    if where in lab.load()["hosts"]:
        card = card_of(lab, where, port)
        if not card.fabric_node:
            raise LabError(f"{where} {port} is not on the simulated fabric ({card.link_layer}, {card.model.product})")
        return card.fabric_node, 1
    fabric = fabric_of(lab)
    for node in fabric.nodes.values():
        if node.is_switch and re.search(rf"(^|[;\s]){re.escape(where)}([:\s]|$)", node.description):
            if not port.isdigit() or fabric.link_of(node.node_id, int(port)) is None:
                raise LabError(f"{where} has no cable in port {port!r}")
            return node.node_id, int(port)
    raise LabError(f"no host or switch {where!r} in lab {lab.name!r}")


def restore(lab: Lab, host: str | None, device: str | None) -> str:
    """Undo faults: all of them, a host's, or a device's."""
    relink: dict[str, Any] = {"op": "relink"}
    if host and device:
        card = card_of(lab, host, device)
        if card.fabric_node:
            fabricd.ask(lab, {**relink, "node": card.fabric_node})
    elif host:
        for adapter in fabric_of(lab).adapters().get(host, []):
            fabricd.ask(lab, {**relink, "node": adapter.node_id})
    else:
        fabricd.ask(lab, relink)
    fabricd.ask(lab, {"op": "clear", "host": host, "device": device})
    if host is None:
        data = lab.load()
        managers = data["subnet_managers"] if data["run_opensm"] else []
        for manager in managers:
            lifecycle.in_host(lab, manager, "systemctl", "start", "lab-opensm.service")
        if managers and not lifecycle.settle(lab):
            raise LabError("undid the faults, but ports still wait for a subnet manager; see lab/lab status")
    return f"undid the faults of {' '.join(item for item in (host, device) if item) or 'the whole lab'}"


def degrade(lab: Lab, host: str, device: str, width: str | None, speed: str | None) -> str:
    """Make a port come up narrower or slower in its host's sysfs (the simulator cannot change a running link)."""
    values: dict[str, Any] = {}
    if width:
        if width not in ("1X", "2X", "4X"):
            raise LabError(f"--width {width}: use 1X, 2X or 4X")
        values["width"] = int(width[:-1])
    if speed:
        if speed not in LANE_GBPS:
            raise LabError(f"--speed {speed}: use one of {', '.join(LANE_GBPS)}")
        values["speed"] = speed
    if not values:
        raise LabError("degrade needs --width, --speed or both")
    set_values(lab, host, device, **values)
    return f"{host} {device} now shows {' '.join(filter(None, (width, speed)))}"


def counter(lab: Lab, host: str, device: str, name: str, value: int) -> str:
    """Set an error counter, in sysfs and (as far as it is wide) in the simulator."""
    card = card_of(lab, host, device)
    fabricd.ask(lab, {"op": "set", "host": host, "device": device, "values": {"counters": {name: value}}})
    if card.fabric_node and name in SIM_COUNTERS:
        shown = min(value, _SIM_MAX.get(name, 65535))
        fabricd.ask(
            lab, {"op": "counter", "node": card.fabric_node, "port": 1, "what": SIM_COUNTERS[name], "value": shown}
        )
    return f"{host} {device}: counter {name} is now {value}"


def subnet_manager(lab: Lab, host: str, action: str) -> str:
    """Kill a host's OpenSM, as a crash would, or start it."""
    managers = lab.load()["subnet_managers"]
    if host not in managers:
        raise LabError(f"{host!r} runs no subnet manager; {', '.join(managers) or 'no host'} does")
    if action == "stop":
        lifecycle.in_host(lab, host, "systemctl", "kill", "--signal=KILL", "lab-opensm.service", check=False)
        wait_until(lambda: "inactive" in _unit_state(lab, host) or "failed" in _unit_state(lab, host), 5)
        return f"killed OpenSM on {host}"
    lifecycle.in_host(lab, host, "systemctl", "reset-failed", "lab-opensm.service", check=False)
    lifecycle.in_host(lab, host, "systemctl", "start", "lab-opensm.service")
    lifecycle.settle(lab)
    return f"started OpenSM on {host}"


def _unit_state(lab: Lab, host: str) -> str:
    return lifecycle.in_host(lab, host, "systemctl", "is-active", "lab-opensm.service", check=False).stdout
