# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the limits of running processes below a /proc. Private to the collection."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    Ceiling,
    Limit,
    Process,
    Unreadable,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.proc_limits import (
    CAP_SYS_RESOURCE,
    has_capability,
    matches,
    parse_cgroup,
    parse_limits,
    parse_status,
    whole_user_namespace,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError

_LIMIT = 65536


@dataclass(frozen=True)
class Scan:
    """What was found under the names that were looked for."""

    processes: Tuple[Process, ...] = ()
    unreadable: Tuple[Unreadable, ...] = ()


@dataclass(frozen=True)
class HostLimits:
    """The limit of process 1, the one that nothing can raise, and what could not be read about both."""

    init: Optional[Limit] = None
    ceiling: Optional[Ceiling] = None
    unreadable: Tuple[Unreadable, ...] = ()


def scan(proc: str, names: Sequence[str], units: Sequence[str] = ()) -> Scan:
    """Every process that goes by one of the names or runs in one of the units. One that vanishes meanwhile is none."""
    try:
        pids = sorted(filter(None, map(decimal, os.listdir(proc))))
    except OSError as error:
        raise SourceError("%s: %s" % (proc, error.strerror)) from None
    processes: List[Process] = []
    unreadable: List[Unreadable] = []
    for pid in pids:
        place = "%s/%d/" % (proc.rstrip("/"), pid)
        try:
            comm, cmdline = _read(place + "comm").rstrip("\n"), _read(place + "cmdline")
            found = [name for name in names if matches(name, comm, cmdline)]
            if not found and not units:
                continue
            origin, unit, user = parse_cgroup(_read(place + "cgroup"))
            if cmdline and unit in units:
                found.append(str(unit))
            if not found:
                continue
            status = parse_status(_read(place + "status"))
            if status.state in ("Z", "X"):
                continue
            limit = parse_limits(_read(place + "limits"))
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError as error:
            unreadable.append(Unreadable("process %d" % pid, str(error.strerror), "cat %slimits" % place))
            continue
        except ParseError as error:
            # A process that ends while it is read leaves an empty file behind.
            if os.path.exists(place + "limits"):
                unreadable.append(Unreadable("process %d" % pid, str(error), "cat %slimits" % place))
            continue
        processes += [Process(name, pid, status.uid, limit, origin, unit, user) for name in found]
    return Scan(tuple(processes), tuple(unreadable))


def host_limits(proc: str) -> HostLimits:
    """What process 1 has, and whether the host can raise a hard limit at all.

    Raising one takes CAP_SYS_RESOURCE in the first user namespace. In a container without it systemd lowers what a
    unit asks for without a word, and pam_limits cannot set what its files say.
    """
    place = proc.rstrip("/") + "/"
    try:
        init = parse_limits(_read(place + "1/limits"))
        status = parse_status(_read(place + "1/status"))
    except (OSError, ParseError) as error:
        return HostLimits(
            unreadable=(Unreadable("process 1", str(error), "cat %s1/limits %s1/status" % (place, place)),)
        )
    reason = ""
    if not has_capability(status.effective, CAP_SYS_RESOURCE):
        reason = "process 1 does not have CAP_SYS_RESOURCE"
    elif not _whole_namespace(place + "1/uid_map"):
        reason = "process 1 runs in a user namespace of its own"
    if reason:
        return HostLimits(init, Ceiling(init, reason))
    # Process 1 may have what those below it lost, as in a machine whose first process starts sandboxes.
    try:
        own, own_status = parse_limits(_read(place + "self/limits")), parse_status(_read(place + "self/status"))
    except (OSError, ParseError):
        return HostLimits(init)
    if not has_capability(own_status.bounding, CAP_SYS_RESOURCE):
        return HostLimits(init, Ceiling(Limit(own.hard, own.hard), "CAP_SYS_RESOURCE was dropped for everything below"))
    return HostLimits(init)


def _whole_namespace(path: str) -> bool:
    try:
        return whole_user_namespace(_read(path))
    except OSError:
        return True  # a kernel without user namespaces


def _read(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _LIMIT).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
