# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How sources reach the system: a root for files, a runner for tools. Private to the collection.

Whoever calls injects both, so that the same code reads a live host, a container's host mount and a test's fixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Sequence


class SourceError(Exception):
    """A source as a whole cannot be read, such as a sysfs root that does not exist."""


@dataclass(frozen=True)
class ToolRun:
    """What came of running a tool. ``failure`` is ``missing`` or ``timeout``, ``None`` when it ran to its end."""

    argv: Sequence[str]
    rc: int = 0
    stdout: str = ""
    stderr: str = ""
    failure: Optional[str] = None


# (argv, timeout in seconds) to the result; never raises for a missing tool or a timeout.
Runner = Callable[[Sequence[str], float], ToolRun]
