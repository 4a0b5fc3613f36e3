# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One view of a host's RDMA hardware from all sources. Private to the collection.

sysfs is the truth: it has every value and needs no tool. ``ibstat`` and ``rdma`` look through other interfaces, so
they can show what sysfs hides and tell when two views disagree.
"""

from __future__ import annotations

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Node
from ansible_collections.rdma.infiniband.plugins.module_utils._source import sysfs
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import Runner

LIVE_SYSFS = "/sys"


def observe(source: str, root: str, runner: Runner, timeout: float) -> Node:
    """Read a host. ``source`` is ``auto``, ``sysfs`` or ``ibstat``.

    The tools read the running system, so they are asked only when ``root`` is that of the running system.
    """
    node = sysfs.read_node(root) if source != "ibstat" else Node()
    if source == "sysfs" or (source == "auto" and root.rstrip("/") != LIVE_SYSFS):
        return node
    # Loaded here and not above: see the module's own words.
    from ansible_collections.rdma.infiniband.plugins.module_utils._source import tools_view

    if source == "ibstat":
        return tools_view.from_ibstat(runner, timeout)
    return tools_view.cross_checked(node, root, runner, timeout)
