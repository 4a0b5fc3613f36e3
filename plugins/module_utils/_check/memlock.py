# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory-lock limits that a host's processes, logins and units have, against what is wanted. Pure.

Private to the collection. One cause gives one finding: a host that cannot raise limits explains every process that has
what the host can give, and a service is one finding however many processes it runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import List, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.limits_config import check_lines
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_common import Capped
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_logins import login_findings
from ansible_collections.rdma.infiniband.plugins.module_utils._check.memlock_units import (
    new_unit_findings,
    process_findings,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import SEVERITIES, Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_limits import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import MemlockView, MemlockWanted


def check_memlock(view: MemlockView, wanted: MemlockWanted) -> Tuple[Finding, ...]:
    """Every finding, the worst first."""
    findings = [
        make("UNREADABLE_OUTPUT", item.subject, item.reason, "a limit that can be read", command=item.command)
        for item in view.unreadable
    ]
    capped = Capped(view, wanted)
    findings += process_findings(view, wanted, capped)
    logins, lines = _merged(login_findings(view, wanted, capped), view)
    findings += logins
    findings += new_unit_findings(view, wanted, capped)
    findings += capped.findings()
    findings += lines
    if view.slurm and (view.slurm.propagates or view.slurm.problem):
        findings.append(
            make(
                "SLURM_PROPAGATES_LIMITS",
                view.slurm.where,
                view.slurm.setting + ("; " + view.slurm.problem if view.slurm.problem else ""),
                "PropagateResourceLimitsExcept=MEMLOCK",
                command="scontrol show config | grep -i PropagateResourceLimits",
            )
        )
    return tuple(sorted(findings, key=lambda item: -SEVERITIES.index(item.severity)))


def _merged(logins: List[Finding], view: MemlockView) -> Tuple[List[Finding], List[Finding]]:
    """Findings about logins and about lines. A line that makes a login low is not reported a second time.

    What contradicts it is then told with the login, since that may be somebody else's file.
    """
    left: List[Finding] = []
    for item in check_lines(view.lines):
        own = [line for line in view.lines if item.subject in (line.where, "memlock of %s" % line.domain)]
        named = [
            index for index, login in enumerate(logins) if any("%s '" % line.where in login.observed for line in own)
        ]
        if not named:
            left.append(item)
        elif item.code != "LIMITS_LINE_MISREAD":
            for index in named:
                logins[index] = replace(logins[index], observed="%s; %s" % (logins[index].observed, item.observed))
    return logins, left
