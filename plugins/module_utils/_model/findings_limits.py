# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of findings about memory-lock limits. Private to the collection."""

from __future__ import annotations

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding_kind import FindingKind, maker
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_shared import KINDS as SHARED

KINDS = (
    FindingKind(
        "MEMLOCK_EFFECTIVE_LOW",
        "error",
        "Memory-lock limit too low",
        "A running process, a new login or a new unit has less locked memory than RDMA needs, and its configuration says "
        "so.",
        "Registering memory fails with 'Cannot allocate memory'. limits.d counts for logins only, LimitMEMLOCK for "
        "services only. To change: {change}. See: {command}",
    ),
    FindingKind(
        "MEMLOCK_RESTART_PENDING",
        "error",
        "Memory-lock limit waits for a restart",
        "The configuration gives enough and the running process was started before, so it still has the old limit.",
        "A limit is set when a process starts. Then: {change}. If it is the same afterwards, the program lowers its own "
        "limit. See: {command}",
    ),
    FindingKind(
        "MEMLOCK_PROCESS_ABSENT",
        "error",
        "Process to be measured does not run",
        "No process goes by this name, so its limit was not measured. That is no pass.",
        "It is not started, not installed, or has another name. See: {command}",
    ),
    FindingKind(
        "MEMLOCK_UNIT_UNKNOWN",
        "error",
        "Unit to be measured does not exist",
        "systemd knows no unit of this name, so its limit was not measured.",
        "The package is not installed on this host, or the name is wrong (Debian's sshd is ssh.service). See: {command}",
    ),
    FindingKind(
        "MEMLOCK_CANNOT_RAISE",
        "error",
        "Memory-lock limit cannot be raised on this host",
        "The host is a container or sandbox whose processes may not raise a hard limit, so no setting inside of it helps.",
        "Raise it where the host is started: podman or docker run --ulimit memlock=-1, LimitMEMLOCK=infinity in the unit "
        "of the container manager, or the capability SYS_RESOURCE. See: {command}",
    ),
    FindingKind(
        "MEMLOCK_LOGIN_REFUSED",
        "error",
        "Login refused because of its limit",
        "A new session of the user is not opened, or would not be, since its limits cannot be set.",
        "pam_limits refuses a session whose limits it may not set, mostly in a container. To change: {change}. "
        "See: {command}",
    ),
    FindingKind(
        "LIMITS_SOFT_ABOVE_HARD",
        "warning",
        "Soft limit above the hard one",
        "The lines of one user, group or of everyone give a soft limit above the hard one. Sessions get the hard one.",
        "A hard limit was left behind when the soft one was raised. This does not reach systemd services. See: {command}",
    ),
    FindingKind(
        "LIMITS_CONTRADICTION",
        "warning",
        "Contradicting limits",
        "Several lines give different values to the same user, group or to everyone.",
        "limits.conf is read first, then limits.d by name, and the last line counts: a file of somebody else undoes this "
        "one or is undone by it. See: {command}",
    ),
    FindingKind(
        "LIMITS_LINE_MISREAD",
        "warning",
        "Limits line ignored or misread",
        "pam_limits ignores the line, or reads another value than it seems to say.",
        "Values are unlimited or a plain number of KiB. Correct the line. See: {command}",
    ),
    FindingKind(
        "PAM_LIMITS_MISSING",
        "error",
        "Logins without pam_limits",
        "The sessions of a service do not run pam_limits, or not always, so limits.d does not count for them.",
        "To change: {change}. See: {command}",
    ),
    FindingKind(
        "SLURM_PROPAGATES_LIMITS",
        "warning",
        "Slurm carries the submitter's limit into the job",
        "Slurm sets the limit of the shell that submitted a job in the job's processes, whatever slurmd has.",
        "To change on all nodes: PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, then scontrol reconfigure. "
        "See: {command}",
    ),
)

make = maker(KINDS + SHARED)
