# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host's subnet managers serve their fabrics. Private to the collection. Pure.

Started means serving: a master answers, it is a declared one, and the manager's own port is ACTIVE with its LID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import SEVERITIES, Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_sm import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import Manager, OpensmLog


@dataclass(frozen=True)
class Declared:
    """What the inventory says of one fabric: the port GUIDs of all its managers, ours and external ones."""

    name: str
    guids: Tuple[str, ...] = ()
    external: Tuple[str, ...] = ()
    routing_engine: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Serving:
    """What one instance of a host shows. ``unit`` is ``None`` for a fabric that only others manage.

    ``unreadable`` is what a tool printed that cannot be understood.
    """

    name: str
    device: str
    port: int
    guid: str
    unit: Optional[str] = None
    active: bool = False
    restarts: int = 0
    pending: Optional[str] = None
    port_state: Optional[str] = None
    sm_lid: Optional[int] = None
    master: Optional[Manager] = None
    managers: Tuple[Manager, ...] = ()
    log: Optional[OpensmLog] = None
    log_path: str = ""
    unreadable: Optional[str] = None
    unsupported: Tuple[str, ...] = ()


# First causes in OpenSM's log, by a part of the message, in words; what follows them is not looked at.
_CAUSES: Tuple[Tuple[str, str], ...] = (
    ("No local ports detected", "it found no InfiniBand port"),
    (
        "Unable to register class 129",
        "the kernel refuses the agent for directed routes (class 129); kernels 6.11 and later",
    ),
    ("Unable to open port", "another process has the management device of the port"),
    ("Found node with duplicate", "two nodes have one GUID"),
    ("duplicated guids", "two nodes have one GUID"),
)


def first_cause(log: Optional[OpensmLog]) -> Optional[str]:
    """The first thing in a log that went wrong, in words and in OpenSM's own."""
    if log is None:
        return None
    if log.fatal:
        return _worded(log.fatal)
    for event in log.events:
        if event.err is not None:
            return _worded("ERR %s: %s" % (event.err, event.message))
    return None


def _worded(text: str) -> str:
    words = next((cause for part, cause in _CAUSES if part in text), None)
    return "%s (%s)" % (words, text[:200]) if words else text[:200]


def is_serving(seen: Serving) -> bool:
    """Whether the wait for an instance can end: a master answers and our own port is part of its subnet."""
    ours = seen.unit is None or seen.active
    return ours and seen.master is not None and seen.port_state == "ACTIVE" and seen.sm_lid == seen.master.lid


def check_serving(instances: Sequence[Serving], declared: Sequence[Declared]) -> Tuple[Finding, ...]:
    """Every finding, the worst first; one cause gives one."""
    intents = {item.name: item for item in declared}
    found: List[Finding] = []
    for seen in instances:
        found += _instance(seen, intents.get(seen.name, Declared(seen.name)))
    return tuple(sorted(found, key=lambda item: -SEVERITIES.index(item.severity)))


def _instance(seen: Serving, intent: Declared) -> List[Finding]:
    names: Dict[str, Any] = {
        "device": seen.device,
        "port": seen.port,
        "unit": seen.unit or "none",
        "path": seen.log_path or "none",
    }
    subject = "fabric %s (%s port %d)" % (seen.name, seen.device, seen.port)
    found: List[Finding] = []
    if seen.unreadable:
        return [
            make("UNREADABLE_OUTPUT", subject, seen.unreadable, "the state of the subnet manager", command="sminfo")
        ]
    if seen.unsupported:
        found.append(
            make(
                "SM_UNSUPPORTED_SWITCHES",
                subject,
                "%d switches, such as %s" % (len(seen.unsupported), seen.unsupported[0]),
                "switches up to HDR",
                **names,
            )
        )
        return found
    if seen.unit and not seen.active:
        text = first_cause(seen.log) or "it is not active"
        text += ", started %d times" % (seen.restarts + 1) if seen.restarts else ""
        found.append(make("SM_NOT_RUNNING", subject, text, "an active %s" % seen.unit, **names))
    if seen.master is None:
        if not found:
            cause = first_cause(seen.log)
            observed = "no answer" + (": " + cause if cause else "")
            found.append(make("SM_NO_MASTER", subject, observed, "a master", **names))
        return found
    found += _managers(subject, seen, intent, names)
    if not found and not is_serving(seen):
        observed = "%s with SM LID %s" % (seen.port_state or "no state", seen.sm_lid)
        expected = "ACTIVE with the master's LID %d" % seen.master.lid
        found.append(make("SM_NOT_SERVING", subject, observed, expected, **names))
    if seen.pending:
        observed = "files that are newer than what it was started with"
        found.append(make("SM_RESTART_PENDING", subject, observed, "a %s" % seen.pending, **names))
    found += _log(subject, seen, intent, names)
    return found


def _managers(subject: str, seen: Serving, intent: Declared, names: Dict[str, Any]) -> List[Finding]:
    if not intent.guids and not intent.external:
        return []  # nobody said who is meant to manage the fabric
    known = set(intent.guids) | set(intent.external) | {seen.guid}
    master = seen.master
    found: List[Finding] = []
    if master is not None and master.guid not in known:
        found.append(
            make(
                "SM_FOREIGN_MASTER",
                subject,
                "%s, LID %d, priority %d" % (master.guid, master.lid, master.priority),
                "one of %s" % ", ".join(sorted(known)),
                lid=master.lid,
                **names,
            )
        )
    for other in seen.managers:
        if other.guid not in known and (master is None or other.guid != master.guid):
            observed = "%s, LID %d, priority %d, %s" % (other.guid, other.lid, other.priority, other.state)
            found.append(make("SM_FOREIGN", subject, observed, "declared managers only", lid=other.lid, **names))
    ours = [item for item in seen.managers if item.guid in set(intent.guids)]
    # The master's view of a manager that has just started lags behind.
    waiting = [item for item in seen.managers if item.state in ("STANDBY", "DISCOVER")]
    if len(intent.guids) > 1 and seen.managers and not waiting:
        missing = [guid for guid in intent.guids if guid not in {item.guid for item in seen.managers}]
        observed = "only %s%s" % (
            master.guid if master else "none",
            "; not seen: " + ", ".join(missing) if missing else "",
        )
        found.append(make("SM_NO_STANDBY", subject, observed, "a standby", **names))
    priorities = [item.priority for item in ours]
    shared = sorted({priority for priority in priorities if priorities.count(priority) > 1})
    if shared:
        who = ", ".join(item.guid for item in ours if item.priority == shared[0])
        found.append(
            make("SM_PRIORITY_SHARED", subject, "priority %d of %s" % (shared[0], who), "different ones", **names)
        )
    return found


def _log(subject: str, seen: Serving, intent: Declared, names: Dict[str, Any]) -> List[Finding]:
    if seen.log is None:
        return []
    found: List[Finding] = []
    wanted = [engine for engine in intent.routing_engine if engine != "no_fallback"]
    if wanted and seen.log.state == "MASTER" and seen.log.routing_engine not in (None, wanted[0]):
        why = next((event.message for event in seen.log.events if wanted[0] in event.message), "")
        observed = "%s%s" % (seen.log.routing_engine, ", since: " + why[:150] if why else "")
        found.append(make("SM_ROUTING_FALLBACK", subject, observed, wanted[0], **names))
    for event in seen.log.events:
        if "Partition configuration in error" in event.message or "PARSE ERROR" in event.message:
            found.append(make("SM_PARTITIONS_IGNORED", subject, event.message[:200], "a file that it reads", **names))
            break
    return found
