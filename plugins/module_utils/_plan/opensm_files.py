# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of the files that OpenSM reads. Private to the collection. Pure."""

from __future__ import annotations

from typing import Iterable, List, Mapping

from ansible_collections.rdma.infiniband.plugins.module_utils._model.partitions import Group, Partition

OUR_MARK = "# Written by Ansible (rdma.infiniband.subnet_manager)."
_HEADER = OUR_MARK + " Local changes will be overwritten.\n"


def conf_text(options: Mapping[str, str]) -> str:
    """An options file: what differs from the installed OpenSM's defaults or was asked for, in the order of names."""
    return _HEADER + "".join("%s %s\n" % (name, options[name]) for name in sorted(options))


def guids_text(guids: Iterable[str], what: str) -> str:
    """A file of GUIDs, one a line, each once."""
    return "%s# %s\n%s" % (_HEADER, what, "".join("%s\n" % guid for guid in dict.fromkeys(guids)))


def partitions_text(partitions: Iterable[Partition]) -> str:
    """A partitions file. Everything that has a default is written where it was asked for, one member a line."""
    return _HEADER + "".join(_statement(partition) for partition in partitions)


def _statement(partition: Partition) -> str:
    words = ["%s=0x%04x" % (partition.name, partition.pkey or 0)]
    if partition.ipoib:
        words.append("ipoib")
    words += _flags(partition.broadcast)
    lines = [", ".join(words) + ":"]
    for group in partition.groups:
        lines.append("\t" + ", ".join(["mgid=%s" % group.mgid] + _flags(group)))
    members = ["\t%s=%s" % (member.who, member.membership) for member in dict.fromkeys(partition.members)]
    return "\n".join(lines + [",\n".join(members)]) + ";\n"


def _flags(group: Group) -> List[str]:
    found = []
    for name, value in (("rate", group.rate), ("mtu", group.mtu), ("sl", group.sl)):
        if value is not None:
            found.append("%s=%d" % (name, value))
    found += ["scope=%d" % scope for scope in group.scopes]
    if group.q_key is not None:
        found.append("Q_Key=0x%x" % group.q_key)
    return found
