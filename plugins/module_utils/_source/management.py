# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network devices that carry the connection by which we are here. Private to the collection.

sshd gives every session SSH_CONNECTION: addresses and ports of both ends. sudo drops it, so the parents are asked as
well. Without it (a local connection, another transport) there is nothing to protect.
"""

from __future__ import annotations

import json
import os
from typing import Dict, FrozenSet, Optional

from ansible_collections.rdma.infiniband.plugins.module_utils._source.files import Files
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import Runner, SourceError

_ANCESTORS = 32  # more than ssh, a shell, sudo and Python ever are
_SHOW = ("ip", "-json", "address", "show")


def connection_address(proc: str = "/proc", pid: Optional[int] = None) -> Optional[str]:
    """This host's address in the ssh connection that a process belongs to; ``None`` when there is none."""
    current = os.getpid() if pid is None else pid
    for _generation in range(_ANCESTORS):
        fields = _environment("%s/%d/environ" % (proc, current)).get("SSH_CONNECTION", "").split()
        if len(fields) == 4:
            return fields[2].split("%")[0]
        parent = _parent("%s/%d/stat" % (proc, current))
        if not parent:
            return None
        current = parent
    return None


def _environment(path: str) -> Dict[str, str]:
    try:
        with open(path, "rb") as handle:
            entries = handle.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return {}
    return dict(entry.partition("=")[::2] for entry in entries if "=" in entry)


def _parent(path: str) -> int:
    try:
        with open(path, "rb") as handle:
            # The name of the program, in parentheses, may hold anything.
            fields = handle.read().decode("utf-8", "replace").rpartition(")")[2].split()
        return int(fields[1])
    except (OSError, IndexError, ValueError):
        return 0


def management_devices(files: Files, address: Optional[str], runner: Runner, timeout: float) -> FrozenSet[str]:
    """The device that has the address, and every device beneath it: of a bond, a bridge, a P_Key child.

    Raises :class:`SourceError` when there is a connection and its device cannot be told.
    """
    if address is None:
        return frozenset()
    run = runner(_SHOW, timeout)
    try:
        if run.failure or run.rc:
            raise ValueError
        tops = [
            str(link["ifname"])
            for link in json.loads(run.stdout)
            if any(entry.get("local") == address for entry in link.get("addr_info", []))
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise SourceError(
            "'%s' does not tell which device has %s, our own address" % (" ".join(_SHOW), address)
        ) from None
    found: Dict[str, None] = {}
    while tops:
        name = tops.pop()
        if name in found or "/" in name:
            continue
        found[name] = None
        place = files.path("sys/class/net/" + name)
        tops += [entry[len("lower_") :] for entry in files.names(place) if entry.startswith("lower_")]
        parent = files.read(place + "/parent")
        tops += [parent] if parent else []
    return frozenset(found)
