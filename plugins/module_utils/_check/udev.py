# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device nodes, names and rules against the intent. Private to the collection. Pure."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint import lint
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import SEVERITIES, Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_udev import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    NODES_FILE,
    DeviceNode,
    NameChange,
    NameIntent,
    NodeIntent,
    UdevHost,
    UdevIntent,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev_outcome import (
    files_without,
    outcome,
    overruled,
)


def check_udev(
    host: UdevHost,
    intent: UdevIntent,
    pending: Sequence[NameChange] = (),
    unmatched: Sequence[NameIntent] = (),
    persistent: bool = True,
) -> Tuple[Finding, ...]:
    """Every difference, the worst first.

    ``pending`` are the names that devices do not have yet. ``persistent`` also asks whether a rule in effect makes
    the nodes what they are; without it, that is left to who is about to write the rule.
    """
    found: List[Finding] = []
    for node_intent in intent.nodes:
        for node in host.nodes:
            if node.kind == node_intent.kind:
                problem = _node(host, node, node_intent, persistent)
                if problem is not None:
                    found.append(problem)
    found += _accounts(host, intent)
    found += [_pending(name) for name in pending]
    found += [
        make("UDEV_NAME_UNMATCHED", name.name, "no device with %s" % name.where, "a device to give the name to")
        for name in unmatched
    ]
    found += lint(host.files, host.users, host.groups)
    return tuple(sorted(found, key=lambda item: -SEVERITIES.index(item.severity)))


def _node(host: UdevHost, node: DeviceNode, intent: NodeIntent, persistent: bool) -> Optional[Finding]:
    """The one finding about a node: the cause that explains the others."""
    if not node.found:
        return make(
            "UDEV_NODE_MISSING", node.path, "no such node", intent.wanted, device=node.kernel_name, kind=node.kind
        )
    undone = overruled(node, intent, files_without(host, [NODES_FILE]))
    if undone:
        places = " and ".join(undone)
        return make(
            "UDEV_RULE_OVERRULED", node.path, "%s, by %s" % (node.shown, places), intent.wanted, place=undone[0]
        )
    if node.shown != intent.wanted:
        return make("UDEV_NODE_PERMISSIONS", node.path, node.shown, intent.wanted, node=node.path)
    if persistent:
        later = outcome(node.kind, node.kernel_name, host.files)
        if later.shown != intent.wanted:
            observed = "%s now, %s when the device appears again" % (node.shown, later.shown)
            return make("UDEV_NODE_NOT_PERSISTENT", node.path, observed, intent.wanted, node=node.path)
    return None


def _accounts(host: UdevHost, intent: UdevIntent) -> List[Finding]:
    """udev starts before the network: it knows the accounts in the host's own files only."""
    found = []
    for word, names, local in (
        ("user", {node.owner for node in intent.nodes}, host.local_users),
        ("group", {node.group for node in intent.nodes}, host.local_groups),
    ):
        for name in sorted(names):
            known = host.users if word == "user" else host.groups
            if name in known and name not in local:
                found.append(
                    make(
                        "UDEV_ACCOUNT_NOT_LOCAL",
                        "%s %s" % (word, name),
                        "known to a directory service only",
                        "local",
                        name=name,
                    )
                )
    return found


def _pending(name: NameChange) -> Finding:
    device = name.pci or name.guid or "a device without PCI address"
    after = name.after or "a name that cannot be foretold"
    if not name.certain and name.after:
        after += " (most likely)"
    return make(
        "UDEV_NAME_PENDING", name.before, name.before, "%s: %s" % (after, name.reason), device=name.before, pci=device
    )
