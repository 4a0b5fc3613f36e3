# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSM's configuration: its options, an options file, its log. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Mapping, Optional, Tuple

NULL = "(null)"


@dataclass(frozen=True)
class OptionSpec:
    """An option that the installed OpenSM has. ``kind`` is boolean, number or text; ``help`` is OpenSM's own comment."""

    name: str
    kind: str
    default: str
    help: str = ""


@dataclass(frozen=True)
class OpensmConf:
    """An options file as OpenSM reads it: the last of several lines about one option counts.

    ``duplicates`` are options with several lines, ``keyless`` the numbers of lines with an option and no value.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    duplicates: Tuple[str, ...] = ()
    keyless: Tuple[int, ...] = ()


@dataclass(frozen=True)
class LogEvent:
    """A line of OpenSM's log. ``time`` is its text without the year, which OpenSM does not write.

    ``continuation`` is an indented line that follows; ``dr_path`` the directed route that the message names.
    """

    time: Optional[str]
    thread: Optional[str]
    level: Optional[int]
    message: str
    function: Optional[str] = None
    err: Optional[str] = None
    attribute: Optional[str] = None
    dr_path: Tuple[int, ...] = ()
    continuation: Optional[str] = None


@dataclass(frozen=True)
class OpensmLog:
    """What a log tells: events in order, the last state and routing engine, and whether the subnet came up."""

    events: Tuple[LogEvent, ...] = ()
    version: Optional[str] = None
    state: Optional[str] = None
    subnet_up: bool = False
    routing_engine: Optional[str] = None
    fabric: Mapping[str, int] = field(default_factory=dict)
    fatal: Optional[str] = None

    @property
    def err_codes(self) -> Mapping[str, int]:
        """How often each ERR code appears, in the order of the first."""
        found: Dict[str, int] = {}
        for event in self.events:
            if event.err:
                found[event.err] = found.get(event.err, 0) + 1
        return found


@dataclass(frozen=True)
class Manager:
    """A subnet manager as others see it: its port GUID, LID, priority and state (MASTER, STANDBY, DISCOVER, NOTACT)."""

    guid: str
    lid: int
    priority: int
    state: str
