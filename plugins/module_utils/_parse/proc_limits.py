# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /proc says of a process: limits, status, command and cgroup. Private to the collection. Pure.

Format: fs/proc/base.c (limits), fs/proc/array.c (status).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import UNLIMITED, Limit
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError

CAP_IPC_LOCK = 14
CAP_SYS_RESOURCE = 24
_LABEL = "Max locked memory"
# The unit at the end tells that no value was cut off.
_LINE = re.compile(r"^Max locked memory +(unlimited|[0-9]+) +(unlimited|[0-9]+) +bytes *\Z", re.ASCII)
_USER_SLICE = re.compile(r"^user-([0-9]+)\.slice\Z", re.ASCII)
_CAPABILITIES = re.compile(r"^[0-9a-f]{1,16}\Z")
_COMM_LENGTH = 15


@dataclass(frozen=True)
class Status:
    """The lines of /proc/PID/status that are of use here."""

    state: str
    uid: int
    effective: int
    bounding: int


def parse_limits(text: str) -> Limit:
    """The memory-lock limit in the text of /proc/PID/limits; other lines, before and after, are passed over."""
    for line in text.split("\n"):
        if line.startswith(_LABEL):
            match = _LINE.match(line.rstrip("\r"))
            if not match:
                raise ParseError("/proc/PID/limits", "this line should have two limits and the unit bytes", line)
            return Limit(_size(match.group(1)), _size(match.group(2)))
    raise ParseError("/proc/PID/limits", "there is no line 'Max locked memory'", text)


def _size(text: str) -> int:
    return UNLIMITED if text == "unlimited" else min(int(text[:25]), UNLIMITED)


def parse_status(text: str) -> Status:
    """State, user and capabilities of a process."""
    values: Dict[str, List[str]] = {}
    for line in text.split("\n"):
        key, separator, value = line.partition(":")
        if separator:
            values.setdefault(key, value.split())
    try:
        state, uids = values["State"][0], values["Uid"]
        effective, bounding = values["CapEff"][0], values["CapBnd"][0]
        if not (_CAPABILITIES.match(effective) and _CAPABILITIES.match(bounding) and len(uids) == 4):
            raise ValueError
        return Status(state, int(uids[1]), int(effective, 16), int(bounding, 16))
    except (KeyError, IndexError, ValueError):
        raise ParseError(
            "/proc/PID/status", "State, Uid, CapEff or CapBnd is not there or not complete", text
        ) from None


def has_capability(mask: int, number: int) -> bool:
    """Whether a mask of capabilities has this one."""
    return bool(mask >> number & 1)


def whole_user_namespace(uid_map: str) -> bool:
    """Whether /proc/PID/uid_map is that of the first user namespace, the only one whose root may raise hard limits."""
    return uid_map.split() == ["0", "0", "4294967295"]


def matches(name: str, comm: str, cmdline: str) -> bool:
    """Whether a process goes by this name: its comm, which the kernel cuts to 15 characters, or the command it shows.

    ``sshd: alice [priv]`` and ``-bash`` are how sshd and login shells write themselves.
    """
    if not cmdline:
        return False  # a kernel thread or a zombie: it registers no memory
    # Who rewrites its command puts blanks where others have the kernel's null characters.
    shown = re.split(r"[\0 :]", cmdline, maxsplit=1)[0].lstrip("-").rpartition("/")[2]
    return name in (comm, shown) or (len(name) > _COMM_LENGTH and comm == name[:_COMM_LENGTH])


def parse_cgroup(text: str) -> Tuple[str, Optional[str], Optional[int]]:
    """Who started a process, by /proc/PID/cgroup: origin, systemd unit, and user of the login session.

    A service that makes cgroups of its own below its unit is still that unit, so the outermost one counts.
    """
    for line in text.split("\n"):
        fields = line.split(":", 2)
        if len(fields) != 3 or not (fields[:2] == ["0", ""] or fields[1] == "name=systemd"):
            continue
        user: Optional[int] = None
        for part in fields[2].split("/"):
            slice_of = _USER_SLICE.match(part)
            if slice_of and len(slice_of.group(1)) < 12:
                user = int(slice_of.group(1))
            if part.endswith(".service"):
                return ("manager" if part.startswith("user@") else "service"), part, user
            if part.endswith(".scope"):
                session = user is not None and part.startswith("session-")
                return ("session" if session else "other"), part, user
    return "other", None, None
