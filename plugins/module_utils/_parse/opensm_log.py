# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSM's log and what it prints on its way up. Private to the collection. Pure.

Format: opensm/osm_log.c: month, day, time and microseconds without a year, the thread, the level, function and text.
Node descriptions in it are whatever the fabric says.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import LogEvent, OpensmLog
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal

_LINE = re.compile(
    r"^([A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{6}) \[([0-9A-F]+)\] 0x([0-9a-f]{1,2}) -> (.*)$"
)
_FUNCTION = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*): (.*)$", re.ASCII)
_ERR = re.compile(r"^ERR ([0-9A-Fa-f]{4}): ?(.*)$")
_PATH = re.compile(r"Initial path = ([0-9]+(?:,[0-9]+)*)")
_ATTRIBUTE = re.compile(
    r"(?:Subn|Perf|Subn?Adm)?(?:Get|Set)(?:Resp)?\(([A-Za-z0-9]+)\)|attribute 0x[0-9a-f]+ \(([A-Za-z0-9]+)\)"
)
_STATE = re.compile(r"^Entering ([A-Z]+) state")
_ENGINE = re.compile(r"^(\S+) tables configured on all switches")
_FABRIC = re.compile(
    r"Fabric has ([0-9]{1,9}) CAs, ([0-9]{1,9}) CA ports \(([0-9]{1,9}) of them CNs\), ([0-9]{1,9}) switches"
)
_VERSION = re.compile(r"^OpenSM (\S+)")
# What it prints before it gives up. It ends with status 0 all the same.
_FATAL = ("No local ports detected!", "Exiting SM", "exiting", "FATAL")


def parse(text: str) -> OpensmLog:
    """The events, in the order of the file."""
    events: List[LogEvent] = []
    log = OpensmLog()
    for raw in text.split("\n"):
        line = raw.rstrip("\r")
        match = _LINE.match(line)
        if not match:
            log = _plain(line, events, log)
            continue
        event = _event(match.group(1), match.group(2), match.group(3), match.group(4))
        events.append(event)
        log = _milestone(event.message, log)
    return replace(log, events=tuple(events))


def _event(time: str, thread: str, level: str, text: str) -> LogEvent:
    function: Optional[str] = None
    match = _FUNCTION.match(text)
    if match:
        function, text = match.groups()
    match = _ERR.match(text)
    err = None
    if match:
        err, text = match.group(1).upper(), match.group(2)
    path = _PATH.search(text)
    attribute = _ATTRIBUTE.search(text)
    return LogEvent(
        time=time,
        thread=thread,
        level=int(level, 16),
        message=text.strip(),
        function=function,
        err=err,
        attribute=(attribute.group(1) or attribute.group(2)) if attribute else None,
        dr_path=_hops(path.group(1)) if path else (),
    )


def _hops(text: str) -> Tuple[int, ...]:
    return tuple(decimal(part, 3) or 0 for part in text.split(",")[:64])


def _plain(line: str, events: List[LogEvent], log: OpensmLog) -> OpensmLog:
    """A line without a time: the continuation of the one before, or what OpenSM prints on its output."""
    stripped = line.strip()
    if not stripped:
        return log
    if line[0] in " \t" and events:
        before = events[-1]
        joined = stripped if before.continuation is None else before.continuation + " " + stripped
        events[-1] = replace(before, continuation=joined[:1000])
        return log
    if any(word in stripped for word in _FATAL):
        return replace(log, fatal=log.fatal or stripped[:200])
    return _milestone(stripped, log)


def _milestone(text: str, log: OpensmLog) -> OpensmLog:
    match = _STATE.match(text)
    if match:
        # A manager that lost the fabric has to bring it up again.
        return replace(log, state=match.group(1), subnet_up=log.subnet_up and match.group(1) == "MASTER")
    if text.startswith("SUBNET UP"):
        return replace(log, subnet_up=True)
    match = _ENGINE.match(text)
    if match:
        return replace(log, routing_engine=match.group(1))
    match = _FABRIC.search(text)
    if match:
        values = [decimal(part) or 0 for part in match.groups()]
        fabric: Dict[str, int] = dict(zip(("cas", "ca_ports", "cn_ports", "switches"), values))
        return replace(log, fabric=fabric)
    match = _VERSION.match(text)
    return replace(log, version=match.group(1)) if match else log
