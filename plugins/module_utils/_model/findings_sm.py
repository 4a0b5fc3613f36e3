# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of findings about subnet managers. Private to the collection."""

from __future__ import annotations

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding_kind import FindingKind, maker
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_shared import KINDS as SHARED

KINDS = (
    FindingKind(
        "SM_NOT_RUNNING",
        "error",
        "Subnet manager does not run",
        "The unit of a declared subnet manager is not active, or it starts again and again.",
        "The first cause is what was observed; later lines of the log follow from it. See: systemctl status {unit}; "
        "journalctl -u {unit}; the log is {path}",
    ),
    FindingKind(
        "SM_NO_MASTER",
        "error",
        "Fabric without a master subnet manager",
        "No subnet manager answers as master. Ports that come up stay INIT, and nothing new is routed.",
        "See: sminfo -C {device} -P {port}; ibstat {device}; systemctl status {unit}",
    ),
    FindingKind(
        "SM_FOREIGN_MASTER",
        "error",
        "Somebody else's subnet manager is master",
        "The master is none of the declared managers: a switch, UFM, or an OpenSM that somebody started.",
        "Two managers with different configurations undo each other. Stop it, or give it a lower priority, or declare it "
        "with subnet_manager_external_guids. See: sminfo -C {device} -P {port}; saquery -C {device} -P {port} NodeRecord; "
        "smpquery -C {device} nodedesc {lid}",
    ),
    FindingKind(
        "SM_FOREIGN",
        "warning",
        "A subnet manager that nobody declared",
        "Another subnet manager waits on this fabric, with a configuration of its own, and takes over when ours ends.",
        "Stop it, or declare it with subnet_manager_external_guids. See: saquery -C {device} -P {port} SMIR; "
        "smpquery -C {device} nodedesc {lid}",
    ),
    FindingKind(
        "SM_UNSUPPORTED_SWITCHES",
        "error",
        "Switches that this OpenSM does not fully support",
        "The fabric has switches of NDR or later, and the installed OpenSM is the upstream one, which does not know all of what "
        "they need.",
        "Known symptoms are IPoIB and MPI that fail above some 400 bytes and a log full of errors "
        "(linux-rdma/opensm). Use NVIDIA's OpenSM, a switch or UFM (subnet_manager_provider), or allow it with "
        "subnet_manager_allow_unsupported. See: ibswitches -C {device} -P {port}",
    ),
    FindingKind(
        "SM_NO_STANDBY",
        "warning",
        "No standby subnet manager",
        "Several managers are declared and none of them stands by, so the fabric has none when the master ends.",
        "See on the other managers: systemctl status 'rdma-opensm@*'; saquery -C {device} -P {port} SMIR",
    ),
    FindingKind(
        "SM_PRIORITY_SHARED",
        "warning",
        "Subnet managers of one priority",
        "Declared managers have the same priority, so the lowest port GUID decides which of them is master.",
        "Give each its own priority. See: saquery -C {device} -P {port} SMIR",
    ),
    FindingKind(
        "SM_NOT_SERVING",
        "error",
        "Port is not served by a subnet manager",
        "A subnet manager runs, and the manager's own port is not ACTIVE with its LID.",
        "The sweep has not ended or fails. See: ibstat {device}; tail {path}",
    ),
    FindingKind(
        "SM_RESTART_PENDING",
        "warning",
        "Subnet manager has not seen its configuration yet",
        "Its files changed in a way that it only reads when it is started.",
        "With subnet_manager_allow_restart the role restarts the managers one after the other. See: diff -r "
        "/etc/rdma-infiniband/opensm /var/cache/rdma-opensm; by hand: systemctl restart {unit}",
    ),
    FindingKind(
        "SM_ROUTING_FALLBACK",
        "warning",
        "Another routing engine than intended",
        "The engine that stands first could not route this topology, and OpenSM took a later one.",
        "ftree needs a symmetrical or almost symmetrical fat tree, updn and ftree the right root GUIDs. See: grep -n "
        "'routing\\|tables configured\\|ftree' {path}",
    ),
    FindingKind(
        "SM_PARTITIONS_IGNORED",
        "error",
        "Subnet manager ignores its partitions",
        "OpenSM could not read its partitions file and made every port a full member of the default partition.",
        "See: grep -n 'PARSE\\|Partition' {path}",
    ),
)

make = maker(KINDS + SHARED)
