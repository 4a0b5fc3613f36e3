# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ibstat`` output to HCAs. Private to the collection. Pure.

Format: rdma-core infiniband-diags/ibstat.c. What it cannot show (width, speed name, PCI address) is ``None``: its
rate is one integer, so 100 may be EDR, a healthy HDR100 port or a degraded link.

A missing end is noticed inside an HCA. An output cut exactly between two HCAs looks complete; only the expected
number of HCAs, or sysfs, tells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Port, ToolProblem
from ansible_collections.rdma.infiniband.plugins.module_utils._model.products import (
    is_virtual_id,
    product_name,
    vendor_name,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import sysfs, tool_errors

_CA = re.compile(r"^CA '([^']*)'$")
_PORT = re.compile(r"^Port ([0-9]{1,3}):$")
_FIELD = re.compile(r"^([A-Z][A-Za-z ]*):(?: (.*)|\s*)$")
_RATE = re.compile(r"^([0-9]{1,9}(?:\.[0-9]{1,9})?)(?: \((FDR10)\))?$")
# Some versions drop leading zeros.
_GUID = re.compile(r"^0x[0-9a-f]{1,16}$")
_MASK = re.compile(r"^0x[0-9a-f]{8}$")

STATES = {"Down": "DOWN", "Initializing": "INIT", "Armed": "ARMED", "Active": "ACTIVE"}
PHYS_STATES = {
    name: name
    for name in (
        "No state change",
        "Sleep",
        "Polling",
        "Disabled",
        "PortConfigurationTraining",
        "LinkUp",
        "LinkErrorRecovery",
    )
}
PHYS_STATES["PhyTest"] = "Phy Test"
# "IB" is what the fabric simulator's library prints.
LINK_LAYERS = {"InfiniBand": "InfiniBand", "Ethernet": "Ethernet", "IB": "InfiniBand"}

_CA_LABELS = (
    "CA type",
    "Number of ports",
    "Firmware version",
    "Hardware version",
    "Node GUID",
    "System image GUID",
)
_PORT_LABELS = (
    "State",
    "Physical state",
    "Rate",
    "Base lid",
    "LMC",
    "SM lid",
    "Capability mask",
    "Port GUID",
    "Link layer",
)


@dataclass(frozen=True)
class IbstatOutput:
    """What one run of ibstat showed. ``missing`` says what an incomplete output lacks; empty when complete."""

    hcas: Tuple[Hca, ...] = ()
    problems: Tuple[ToolProblem, ...] = ()
    missing: Tuple[str, ...] = ()
    unknown_lines: Tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is missing and the tool did not give up."""
        return not self.missing and not any(problem.severity == "fatal" for problem in self.problems)


@dataclass
class _Section:
    """The labels of one HCA or port, as they come."""

    name: str
    values: Dict[str, str] = field(default_factory=dict)
    ports: List["_Section"] = field(default_factory=list)


def parse(text: str) -> IbstatOutput:
    """Read the output; stdout and stderr may be mixed."""
    sections: List[_Section] = []
    problems: List[ToolProblem] = []
    unknown: List[str] = []
    current: Optional[_Section] = None
    for raw in text.splitlines():
        line = raw.replace("\u00a0", " ").strip()
        if not line:
            continue
        match = _CA.match(line)
        if match:
            current = _Section(match.group(1))
            sections.append(current)
            continue
        match = _PORT.match(line)
        if match and sections:
            current = _Section(match.group(1))
            sections[-1].ports.append(current)
            continue
        problem = tool_errors.parse_line(line, "ibstat")
        if problem is not None:
            problems.append(problem)
            continue
        match = _FIELD.match(line)
        if match and current is not None:
            current.values.setdefault(match.group(1), (match.group(2) or "").strip())
        else:
            unknown.append(line[:200])
    missing: List[str] = []
    last = text.rstrip().rpartition("\n")[2].strip()
    if unknown and unknown[-1] == last[:200] and ("CA '".startswith(last) or last.startswith("CA '")):
        missing.append("the output ends in the middle of the line %r" % last[:40])
    hcas = tuple(_hca(section, missing) for section in sections)
    if not sections and not problems and unknown:
        missing.append("no HCA in an output that is not empty")
    return IbstatOutput(hcas, tuple(problems), tuple(missing), tuple(unknown))


def _hca(section: _Section, missing: List[str]) -> Hca:
    errors = _absent(section, _CA_LABELS, section.name)
    values = section.values
    number = sysfs.integer(values.get("Number of ports", ""))
    if number is None and "Number of ports" in values:
        errors.append("%s: number of ports %r is not a number" % (section.name, values["Number of ports"]))
    if number is not None and number != len(section.ports):
        errors.append("%s: announces %d ports, shows %d" % (section.name, number, len(section.ports)))
    ports = tuple(_port(section.name, port) for port in section.ports)
    for label in ("Node GUID", "System image GUID"):
        if label in values and _guid(values[label]) is None:
            errors.append("%s: %s %r is not a GUID" % (section.name, label, values[label]))
    missing.extend(errors)
    for port in ports:
        missing.extend(port.errors)
    kind = values.get("CA type") or None
    return Hca(
        name=section.name,
        vendor=vendor_name(section.name, None, kind, None),
        product=product_name(section.name, None, None, kind),
        hca_type=kind,
        firmware=values.get("Firmware version") or None,
        hw_revision=_hardware(values.get("Hardware version")),
        node_guid=_guid(values.get("Node GUID", "")),
        sys_image_guid=_guid(values.get("System image GUID", "")),
        virtual_function=is_virtual_id(None, kind),
        ports=ports,
        errors=tuple(errors),
    )


def _port(device: str, section: _Section) -> Port:
    name = "%s port %s" % (device, section.name)
    values = section.values
    errors = _absent(section, _PORT_LABELS, name)

    def read(label: str, function):  # type: ignore[no-untyped-def]
        if label not in values:
            return None
        value = function(values[label])
        if value is None:
            errors.append("%s: %s %r is not understood" % (name, label, values[label]))
        return value

    match = _RATE.match(values.get("Rate", ""))
    if "Rate" in values and not match:
        errors.append("%s: Rate %r is not understood" % (name, values["Rate"]))
    port = Port(
        number=int(section.name),
        state=read("State", STATES.get),
        phys_state=read("Physical state", PHYS_STATES.get),
        rate_gbps=float(match.group(1)) if match else None,
        speed=match.group(2) if match else None,
        lid=read("Base lid", sysfs.integer),
        lmc=read("LMC", sysfs.integer),
        sm_lid=read("SM lid", sysfs.integer),
        capability_mask=read("Capability mask", _mask),
        port_guid=read("Port GUID", _guid),
        link_layer=read("Link layer", LINK_LAYERS.get),
    )
    return replace(port, errors=tuple(errors))


def _absent(section: _Section, labels: Tuple[str, ...], name: str) -> List[str]:
    absent = [label for label in labels if label not in section.values]
    return ["%s: no %s" % (name, ", ".join(absent))] if absent else []


def _guid(text: str) -> Optional[str]:
    text = text.lower()
    return "0x" + text[2:].zfill(16) if _GUID.match(text) else None


def _mask(text: str) -> Optional[str]:
    text = text.lower()
    return text if _MASK.match(text) else None


def _hardware(text: Optional[str]) -> Optional[str]:
    """ibstat prints the revision in hexadecimal without padding; sysfs prints the same value."""
    return text or None
