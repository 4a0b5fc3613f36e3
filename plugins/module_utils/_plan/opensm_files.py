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


UNIT_FILE = "/etc/systemd/system/rdma-opensm@.service"
LOGROTATE_FILE = "/etc/logrotate.d/rdma-opensm"
FOLDER = "/etc/rdma-infiniband/opensm"
STATE = "/var/cache/rdma-opensm"


def unit_text(program: str) -> str:
    """The unit of every instance. OpenSM ends with 0 when it finds no port, so any end is one that is repaired."""
    return (
        _HEADER
        + """[Unit]
Description=OpenSM subnet manager of fabric %%i
Documentation=man:opensm(8)
ConditionPathExists=/sys/class/infiniband_mad/abi_version
After=rdma-hw.target

[Service]
Environment=OSM_CACHE_DIR=%(state)s/%%i OSM_TMP_DIR=%(state)s/%%i
CacheDirectory=rdma-opensm/%%i
# What it was started with, so that a later run can tell what it has not seen yet.
ExecStartPre=/bin/sh -c 'rm -rf %(state)s/%%i/running && cp -r %(folder)s/%%i %(state)s/%%i/running'
ExecStart=%(program)s --config %(folder)s/%%i/opensm.conf
ExecReload=/bin/sh -c 'rm -rf %(state)s/%%i/running && cp -r %(folder)s/%%i %(state)s/%%i/running'
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
"""
        % {"program": program, "state": STATE, "folder": FOLDER}
    )


def logrotate_text() -> str:
    """SIGUSR1 makes OpenSM open its log anew."""
    return (
        _HEADER
        + """/var/log/rdma-opensm.*.log {
    weekly
    rotate 8
    missingok
    notifempty
    compress
    delaycompress
    sharedscripts
    postrotate
        systemctl kill --kill-who=main --signal=USR1 'rdma-opensm@*.service' 2>/dev/null || true
    endscript
}
"""
    )


def log_file(name: str) -> str:
    """The log of an instance."""
    return "/var/log/rdma-opensm.%s.log" % name
