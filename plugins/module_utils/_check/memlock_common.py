# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judgements of memory-lock limits share: the host's own ceiling, and texts. Private to the collection. Pure."""

from __future__ import annotations

from typing import List, Sequence

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_limits import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import Limit, MemlockView, MemlockWanted

_SHOWN = 5


class Capped:
    """Collects what is as high as the host can go, which is one finding for all of it."""

    def __init__(self, view: MemlockView, wanted: MemlockWanted) -> None:
        self.ceiling = view.ceiling if view.ceiling and not view.ceiling.limit.reaches(wanted.limit) else None
        self.wanted = wanted
        self.subjects: List[str] = []

    def explains(self, subject: str, limit: Limit) -> bool:
        """Whether the host's ceiling is why this limit is too low; the subject is then remembered."""
        if self.ceiling is None or not limit.reaches(self.wanted.limit.at_most(self.ceiling.limit)):
            return False
        self.subjects.append(subject)
        return True

    def findings(self) -> List[Finding]:
        """At most one."""
        if self.ceiling is None or not self.subjects:
            return []
        return [
            make(
                "MEMLOCK_CANNOT_RAISE",
                "this host",
                "%s, so nothing gets above %s: %s" % (self.ceiling.reason, self.ceiling.limit, several(self.subjects)),
                str(self.wanted.limit),
                command="grep 'Max locked' /proc/1/limits; grep Cap /proc/self/status; systemd-detect-virt",
            )
        ]


def several(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = " and %d more" % (len(texts) - _SHOWN) if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def finding(code: str, subject: str, observed: str, wanted: MemlockWanted, change: str, command: str) -> Finding:
    """A finding that expects the wanted limit."""
    return make(code, subject, observed, str(wanted.limit), change=change, command=command)
