# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules about udev rules share. Private to the collection. Pure."""

from __future__ import annotations

import re
from typing import Optional, Tuple

NEVER, CHANGES, IGNORED = "UDEV_RULE_NEVER_MATCHES", "UDEV_RULE_MATCHES_QPN", "UDEV_RULE_IGNORED"
# (code, what is wrong, the right form)
Problem = Tuple[str, str, str]

GLOB = re.compile(r"[*?\[]")
NODE_NAME = re.compile(r"^(uverbs|umad|issm)(.*)$")


def kind_of(kernel: str) -> Optional[str]:
    """The kind of device node that a pattern of a kernel name speaks of."""
    last = kernel.rsplit("/", 1)[-1]
    if last in ("rdma_cm", "rdma_cm*"):
        return "rdma_cm"
    match = NODE_NAME.match(last)
    return match.group(1) if match else None
