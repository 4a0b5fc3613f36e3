# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Complaints of the infiniband-diags tools to problems with a cause. Private to the collection. Pure.

The tools print ``ibwarn: [pid] function: text``, ``ibpanic: …``, ``tool: iberror: failed: text`` and, ibstatus,
``Fatal error:  text``; some of them on stdout. Formats: rdma-core libibmad, libibumad and infiniband-diags.
"""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import ToolProblem

_IB = re.compile(r"^(?:\S*/)?(ibwarn|ibpanic): \[([0-9]{1,10})\] (?:([A-Za-z_]\w*): )?(.*)$")
_IBERROR = re.compile(r"^(?:\S*/)?([\w-]+): iberror: (?:failed: )?(.*)$")
_FATAL = re.compile(r"^Fatal error:\s+(.*)$")
_FAILED_OPEN = re.compile(r"^(Failed to open (?:\S+ )?port .*|Failed to open NETLINK_RDMA socket.*)$")
_ERRNO = re.compile(
    r"(Permission denied|No such file or directory|Operation not permitted|Connection timed out|No such device"
    r"|Function not implemented|Invalid argument|Device or resource busy|Input/output error)\)?$"
)
_SEVERITY = {"ibwarn": "warning", "ibpanic": "fatal"}

_PORT_DEVICE = re.compile(r"\(\(?([\w-]+)\)?:([0-9]+)\)|on port ([\w-]+):[0-9]+")

# (pattern, kind, cause). The first that matches wins, so the more specific ones come first.
_CAUSES: Tuple[Tuple[str, str, str], ...] = (
    (
        r"is ib_umad module loaded|can't read ABI version from \S*infiniband_mad",
        "umad_module_missing",
        "the ib_umad kernel module is not loaded (modprobe ib_umad); this says nothing of the hardware",
    ),
    (
        r"[Pp]ermission denied|[Oo]peration not permitted",
        "umad_open_failed",
        "no access to /dev/infiniband/umad*: run as root or give access by a udev rule; the fabric was not asked",
    ),
    (
        r"'([^']+)' IB device can't be found",
        "device_not_found",
        "no RDMA device of this name: a network device's name may have been given where an RDMA device's is needed",
    ),
    (
        r"stat of IB device '([^']+)' failed",
        "device_not_found",
        "the RDMA device does not exist here (in this network namespace or container)",
    ),
    (
        r"sys files not found|^No devices|^failed: No devices",
        "no_rdma_device",
        "no RDMA device is registered: the driver is not loaded or there is no HCA",
    ),
    (
        r"can't init UMAD library",
        "umad_module_missing",
        "the management library could not start, mostly because the ib_umad kernel module is not loaded",
    ),
    (
        r"NETLINK_RDMA",
        "no_rdma_netlink",
        "the kernel has no RDMA support loaded (ib_core)",
    ),
    (
        r"No SM/SA found|no SM found|Failed to bind to the SA: No such file",
        "no_subnet_manager",
        "the port knows no subnet manager (SM LID 0)",
    ),
    (
        r"client_register for mgmt|[Cc]an't register|register agent",
        "not_infiniband",
        "the port does not take management agents: it is an Ethernet port, choose an InfiniBand one with -C and -P",
    ),
    (
        r"[Tt]imed out|[Tt]imeout",
        "timeout",
        "no answer from the other end: it is down, unreachable or overloaded",
    ),
    (
        r"_do_madrpc failed|mad_rpc: |failed: query|failed to query|rpc failed",
        "no_answer",
        "the management datagram was not answered: no subnet manager, or the destination is unreachable",
    ),
    (
        r"can't open UMAD port|umad_open_port|Failed to open|open_port|discover failed|Failed to bind|[Cc]annot open|can't open",
        "umad_open_failed",
        "the management port could not be opened: not root, no access to /dev/infiniband/umad*, or no usable port",
    ),
    (
        r"No such file or directory|No such device",
        "device_not_found",
        "a device or file that the tool needs is not there",
    ),
)
_COMPILED = tuple((re.compile(pattern), kind, cause) for pattern, kind, cause in _CAUSES)

# What must not be concluded from a kind of problem; used in messages.
NOT_A_SIGN_OF = {
    "umad_module_missing": "no InfiniBand hardware",
    "umad_open_failed": "no subnet manager",
    "timeout": "no InfiniBand hardware",
}


def parse_line(line: str, default_tool: str = "") -> Optional[ToolProblem]:
    """The problem that a line reports, or ``None`` when it is none of the tools' complaint forms."""
    line = line.rstrip("\r\n")
    match = _IB.match(line)
    if match:
        kind, cause, device = explain(match.group(4), match.group(3))
        return ToolProblem(
            tool=_tool_of(match.group(4), match.group(3)) or default_tool or match.group(1),
            severity=_SEVERITY[match.group(1)],
            message=match.group(4),
            kind=kind,
            cause=cause,
            function=match.group(3),
            pid=int(match.group(2)),
            device=device,
            reason=_reason(match.group(4)),
        )
    match = _IBERROR.match(line)
    if match:
        kind, cause, device = explain("failed: " + match.group(2))
        return ToolProblem(
            match.group(1), "error", match.group(2), kind, cause, device=device, reason=_reason(match.group(2))
        )
    match = _FATAL.match(line)
    if match:
        kind, cause, device = explain(match.group(1))
        return ToolProblem(default_tool or "ibstatus", "fatal", match.group(1), kind, cause, device=device)
    match = _FAILED_OPEN.match(line)
    if match:
        kind, cause, device = explain(match.group(1))
        return ToolProblem(default_tool, "error", match.group(1), kind, cause, device=device)
    return None


def parse(text: str, default_tool: str = "") -> Tuple[ToolProblem, ...]:
    """Every complaint in a tool's output, in order; other lines are passed over."""
    found: List[ToolProblem] = []
    for line in text.splitlines():
        problem = parse_line(line, default_tool)
        if problem is not None:
            found.append(problem)
    return tuple(found)


def explain(message: str, function: Optional[str] = None) -> Tuple[str, Optional[str], Optional[str]]:
    """(kind, cause, device) of a message; ``("other", None, None)`` when we do not know it."""
    text = "%s: %s" % (function, message) if function else message
    for pattern, kind, cause in _COMPILED:
        match = pattern.search(text)
        if match:
            device = match.group(1) if match.groups() else _device_in(message)
            return kind, cause, device
    return "other", None, _device_in(message)


def _tool_of(message: str, function: Optional[str]) -> Optional[str]:
    """The tool that printed an ibwarn or ibpanic, where its wording gives it away."""
    if function == "sa_get_handle" or "bind to the SA" in message:
        return "saquery"
    if function == "umad_init" or "UMAD library" in message or "IB device" in message:
        return "ibstat"
    return None


def _reason(message: str) -> Optional[str]:
    """The operating system's reason at the end of a message."""
    match = _ERRNO.search(message)
    return match.group(1) if match else None


def _device_in(message: str) -> Optional[str]:
    match = _PORT_DEVICE.search(message)
    if not match:
        return None
    device = match.group(1) or match.group(3)
    return None if device in (None, "null") else device
