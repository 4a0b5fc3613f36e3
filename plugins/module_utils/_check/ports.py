# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports and links against the profile. Private to the collection. Pure.

One cause gives one finding: a port that is down is not also slow and without a LID.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_hca import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import ZERO_GUID, Hca, NetDevice, Port
from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import HcaIntent

UP_STATES = ("ACTIVE", "ACTIVE_DEFER")
TRAINING_STATES = ("PortConfigurationTraining", "LinkErrorRecovery", "Phy Test")
# Rates are nominal in some places and exact in others (FDR is 54.5 or 56 Gb/s); generations differ by more.
TOLERANCE = 0.03


def subject(hca: Hca, port: Port) -> str:
    """How messages name a port."""
    return "%s port %d" % (hca.name, port.number)


def is_uncabled(intent: HcaIntent, hca: Hca, port: Port) -> bool:
    """Whether the port is down by design."""
    return any(
        item.port == port.number and item.device in (None, hca.name, hca.pci_address) for item in intent.uncabled_ports
    )


def is_logical_down(port: Port) -> bool:
    """Whether the cable is fine and the logical link is down all the same."""
    return port.state in ("DOWN", "NOP") and port.phys_state == "LinkUp"


def has_zero_guid(hca: Hca, port: Port) -> bool:
    """Whether an InfiniBand port cannot be configured for want of a GUID."""
    return port.link_layer == "InfiniBand" and ZERO_GUID in (hca.node_guid, port.port_guid)


def netdev_of(hca: Hca, port: Port) -> Optional[NetDevice]:
    """The network device of an Ethernet port, as far as it is known."""
    return next((device for device in hca.net_devices if device.port == port.number), None)


def is_disabled(hca: Hca, port: Port) -> bool:
    """Whether somebody switched the port off, so that it does not come up by itself.

    Drivers show every Ethernet port without a carrier as Disabled. Off is only one whose network device is down: its
    carrier cannot even be read.
    """
    if port.link_layer != "Ethernet":
        return port.phys_state == "Disabled"
    device = netdev_of(hca, port)
    return device is not None and device.operstate == "down" and device.carrier is None


def check_port(intent: HcaIntent, hca: Hca, port: Port) -> Tuple[Finding, ...]:
    """The findings of one port."""
    if is_uncabled(intent, hca, port):
        if port.state in UP_STATES or port.phys_state == "LinkUp":
            return (_port_finding("PORT_NOT_UNCABLED", hca, port, _state_text(port), "no link (uncabled_ports)"),)
        return ()
    if intent.link_layer is not None and port.link_layer != intent.link_layer:
        code = "NOT_OBSERVED" if port.link_layer is None else "LINK_LAYER_MISMATCH"
        return (_port_finding(code, hca, port, port.link_layer or "no link layer", intent.link_layer),)
    down = check_state(hca, port)
    if down is not None:
        # Rate, LIDs and error counters of a port that is down follow from its being down.
        return (down,)
    if port.state not in UP_STATES:
        return ()  # not configured for want of a GUID: check_guids reports that
    return check_rate(intent, hca, port) + _check_addresses(hca, port) + check_counters(intent, hca, port)


def _port_finding(
    code: str, hca: Hca, port: Port, observed: str, expected: str, severity: Optional[str] = None
) -> Finding:
    device = netdev_of(hca, port)
    return make(
        code,
        subject(hca, port),
        observed,
        expected,
        severity,
        device=hca.name,
        port=port.number,
        pci=hca.pci_address,
        netdev=device.name if device else None,
    )


def check_state(hca: Hca, port: Port) -> Optional[Finding]:
    """Why the port carries no traffic; ``None`` when it is active."""
    observed, expected = _state_text(port), "ACTIVE/LinkUp"
    zero = has_zero_guid(hca, port)
    if port.state is None:
        return _port_finding("NOT_OBSERVED", hca, port, observed, expected)
    if port.phys_state in TRAINING_STATES:
        code = "PORT_TRAINING"
    elif port.state in UP_STATES:
        return None
    elif is_disabled(hca, port):
        code = "PORT_DISABLED"
    elif is_logical_down(port):
        code = "PORT_LOGICAL_DOWN"
        observed += ", its GUID is zero" if zero else ""
    elif zero and port.state in ("INIT", "ARMED"):
        return None  # the subnet manager is there and cannot configure a port without a GUID
    elif port.state == "INIT":
        code = "PORT_INIT_NO_SM"
    elif port.state == "ARMED":
        code = "PORT_ARMED"
    elif port.state in ("DOWN", "NOP"):
        code = "PORT_DOWN"
    else:
        code = "NOT_OBSERVED"
    return _port_finding(code, hca, port, observed, expected)


def _state_text(port: Port) -> str:
    return "%s/%s" % (port.state or "no state", port.phys_state or "no physical state")


def check_rate(intent: HcaIntent, hca: Hca, port: Port) -> Tuple[Finding, ...]:
    """Width and speed of an active link. HDR100 and NDR200 (2X) are right where they are intended."""
    if intent.rate_gbps is None and intent.width is None:
        return ()
    expected = _rate_text(intent.rate_gbps, intent.width, None)
    observed = _rate_text(port.rate_gbps, port.width, port.speed)
    wanted, rate = intent.rate_gbps, port.rate_gbps
    lanes, wanted_lanes = _lanes(port.width), _lanes(intent.width)
    if rate is None and (wanted is not None or lanes is None):
        return (_port_finding("NOT_OBSERVED", hca, port, observed, expected),)
    findings: List[Finding] = []

    def add(code: str, severity: Optional[str] = None) -> None:
        findings.append(_port_finding(code, hca, port, observed, expected, severity))

    if wanted_lanes is None or lanes is None:
        if wanted is not None and rate is not None and rate < wanted * (1 - TOLERANCE):
            add("LINK_RATE_DEGRADED")
        elif wanted is not None and rate is not None and rate > wanted * (1 + TOLERANCE):
            add("LINK_RATE_UNEXPECTED")
        elif wanted_lanes is not None:
            # ibstat shows no width: the rate is right, and the width cannot be vouched for.
            observed += ", width not shown"
            add("NOT_OBSERVED", "warning")
        return tuple(findings)
    if lanes < wanted_lanes:
        add("LINK_WIDTH_DEGRADED")
    if wanted is None or rate is None:
        if lanes > wanted_lanes:
            add("LINK_RATE_UNEXPECTED")
        return tuple(findings)
    if rate / lanes < wanted / wanted_lanes * (1 - TOLERANCE):
        add("LINK_SPEED_DEGRADED")
    elif not findings and rate > wanted * (1 + TOLERANCE):
        add("LINK_RATE_UNEXPECTED")
    return tuple(findings)


def _lanes(width: Optional[str]) -> Optional[int]:
    return int(width[:-1]) if width and width[:-1].isdigit() and int(width[:-1]) else None


def _rate_text(rate_gbps: Optional[float], width: Optional[str], speed: Optional[str]) -> str:
    detail = " ".join(part for part in (width, speed) if part)
    rate = "no rate" if rate_gbps is None else "%g Gb/s" % rate_gbps
    if rate_gbps is None and detail:
        return detail
    return "%s (%s)" % (rate, detail) if detail else rate


def _check_addresses(hca: Hca, port: Port) -> Tuple[Finding, ...]:
    """LIDs of an active InfiniBand port. On Ethernet zeros are normal."""
    if port.link_layer != "InfiniBand":
        return ()
    if port.lid_assigned is False:
        return (_port_finding("LID_UNASSIGNED", hca, port, "LID %#x" % (port.lid or 0), "a unicast LID"),)
    if port.sm_lid == 0:
        return (_port_finding("SM_LID_ZERO", hca, port, "SM LID 0", "the LID of the subnet manager"),)
    return ()


def check_counters(intent: HcaIntent, hca: Hca, port: Port) -> Tuple[Finding, ...]:
    """Error counters above the profile's limits; one that stands at its ceiling may have counted more."""
    findings = []
    for name, limit in sorted(intent.counters_max.items()):
        shown = port.counters.get(name, (port.hw_counters or {}).get(name))
        if shown is None:
            wanted = "%s of at most %d" % (name, limit)
            findings.append(_port_finding("NOT_OBSERVED", hca, port, "no counter " + name, wanted, "warning"))
        elif shown > limit:
            more = " or more (at its ceiling)" if name in port.saturated_counters else ""
            text = "%s = %d%s" % (name, shown, more)
            findings.append(_port_finding("COUNTER_ABOVE_LIMIT", hca, port, text, "at most %d" % limit))
    return tuple(findings)
