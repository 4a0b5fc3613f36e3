# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the rules files that an intent asks for. Private to the collection. Pure."""

from __future__ import annotations

from typing import Dict, List, Optional

from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    IPOIB_FILE,
    NAMING_FILE,
    NODE_KINDS,
    NODES_FILE,
    OUR_MARK,
    NameIntent,
    NodeIntent,
    UdevIntent,
)

_HEADER = OUR_MARK + " Local changes will be overwritten.\n"
_POLICIES = {"kernel": "NAME_KERNEL", "pci": "NAME_PCI", "guid": "NAME_GUID", "fallback": "NAME_FALLBACK"}
_NAMED = "rdma_infiniband_named"


def wanted_files(intent: UdevIntent) -> Dict[str, Optional[str]]:
    """File name to text; ``None`` for a file that shall not be there."""
    return {
        NAMING_FILE: _naming(intent) if intent.policy != "unmanaged" else None,
        IPOIB_FILE: _ipoib(intent) if intent.ipoib else None,
        NODES_FILE: _nodes(intent) if intent.nodes else None,
    }


def _text(lines: List[str]) -> str:
    return _HEADER + "\n".join(lines) + "\n"


def _nodes(intent: UdevIntent) -> str:
    lines = ["# Who may use the RDMA device nodes in /dev/infiniband."]
    for node in intent.nodes:
        lines.append(_node_rule(node))
    return _text(lines)


def _node_rule(node: NodeIntent) -> str:
    subsystem, pattern, _mode = NODE_KINDS[node.kind]
    return 'SUBSYSTEM=="%s", KERNEL=="%s", OWNER="%s", GROUP="%s", MODE="%s"' % (
        subsystem,
        pattern,
        node.owner,
        node.group,
        node.mode,
    )


def _naming(intent: UdevIntent) -> str:
    lines = ["# Names of RDMA devices. Takes the place of the file of this name that the distribution brings."]
    start = 'ACTION=="add", SUBSYSTEM=="infiniband"'
    for name in intent.fixed:
        condition = 'KERNELS=="%s"' % name.pci if name.pci else 'ATTR{node_guid}=="%s"' % node_guid(name.guid or "")
        lines.append(
            '%s, %s, PROGRAM=="rdma_rename %%k NAME_FIXED %s", GOTO="%s"' % (start, condition, name.name, _NAMED)
        )
    lines.append('%s, PROGRAM=="rdma_rename %%k %s"' % (start, _POLICIES[intent.policy]))
    if intent.fixed:
        lines.append('LABEL="%s"' % _NAMED)
    return _text(lines)


def _ipoib(intent: UdevIntent) -> str:
    lines = [
        "# Names of IPoIB network devices. Of the 20-byte address only the last 8 bytes, the port GUID, stay the same.",
        "# Devices of a P_Key share the GUID of their parent and have a dot in their name: they are left alone.",
    ]
    for name in intent.ipoib:
        lines.append(
            'ACTION=="add", SUBSYSTEM=="net", ATTR{type}=="32", KERNEL!="*.*", %s, NAME="%s"'
            % (_which(name), name.name)
        )
    return _text(lines)


def _which(name: NameIntent) -> str:
    conditions = 'KERNELS=="%s"' % name.pci if name.pci else 'ATTR{address}=="*%s"' % guid_bytes(name.guid or "")
    # dev_port counts from 0, ports from 1.
    return conditions if name.port is None else '%s, ATTR{dev_port}=="%d"' % (conditions, name.port - 1)


def node_guid(guid: str) -> str:
    """``0xa088c20300bb0001`` the way node_guid in sysfs has it: ``a088:c203:00bb:0001``."""
    digits = guid[2:]
    return ":".join(digits[start : start + 4] for start in range(0, 16, 4))


def guid_bytes(guid: str) -> str:
    """``0xa088c20300bb0001`` the way the last 8 bytes of an address are written: ``a0:88:c2:03:00:bb:00:01``."""
    digits = guid[2:]
    return ":".join(digits[start : start + 2] for start in range(0, 16, 2))
