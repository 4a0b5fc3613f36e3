#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device nodes, names and udev rules against the intent."""

from __future__ import annotations

DOCUMENTATION = r"""
module: udev_check
short_description: Judges RDMA device nodes, device names and udev rules
version_added: 0.1.0
description:
  - Compares owner, group and mode of the nodes in C(/dev/infiniband), and the names of RDMA and IPoIB devices, with what the
    inventory asks for.
  - Reads every udev rules file in effect, and reports rules about RDMA and IPoIB devices that can never match or are
    ignored, with file, line and the right form.
author:
  - The rdma.infiniband contributors (@rdma)
extends_documentation_fragment:
  - rdma.infiniband.udev
  - rdma.infiniband.observe.read_only
seealso:
  - module: rdma.infiniband.udev_rules
"""

EXAMPLES = r"""
- name: Check that the group rdma may use verbs
  rdma.infiniband.udev_check:
    nodes:
      - {kind: uverbs, group: rdma, mode: "0660"}
      - {kind: rdma_cm, group: rdma, mode: "0660"}

- name: Look for rules that do nothing, and fail on them
  rdma.infiniband.udev_check:
    fail_on: warning
"""

RETURN = r"""
findings:
  description: Every difference between intent and host, and every rule that does not do what it seems to, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    code:
      description: Stable code of the finding.
      type: str
      sample: UDEV_NODE_PERMISSIONS
    severity:
      description: V(error), V(warning) or V(info).
      type: str
    subject:
      description: The node, the name, or the file and line.
      type: str
      sample: /etc/udev/rules.d/70-persistent-ipoib.rules:4
    observed:
      description: What was seen.
      type: str
    expected:
      description: What was expected. Of a rule, the right form.
      type: str
    hint:
      description: The likely cause and the command that confirms it.
      type: str
nodes:
  description: The device nodes that the kernel announces.
  returned: always
  type: list
  elements: dict
  contains:
    path:
      description: The node.
      type: str
      sample: /dev/infiniband/uverbs0
    kind:
      description: Its kind.
      type: str
      sample: uverbs
    owner:
      description: Its owner, a number where it has no name.
      type: str
    group:
      description: Its group, a number where it has no name.
      type: str
    mode:
      description: Its mode.
      type: str
      sample: "0660"
    found:
      description: Whether it is there at all.
      type: bool
unseen:
  description: Kinds of nodes that O(nodes) lists and this host has none of, so that nothing could be verified.
  returned: always
  type: list
  elements: str
names:
  description: The preview. What each RDMA device and IPoIB network device is called, and would be called.
  returned: always
  type: list
  elements: dict
  contains:
    kind:
      description: V(rdma) or V(ipoib).
      type: str
    before:
      description: Its name at the start of the task.
      type: str
      sample: mlx5_0
    after:
      description: Its name by the rules. Null where that cannot be foretold.
      type: str
      sample: ibp65s0
    reason:
      description: Why.
      type: str
      sample: policy pci
    certain:
      description: Whether nothing but the rules decides.
      type: bool
    pci:
      description: Its PCI address.
      type: str
    guid:
      description: Its node GUID, of an IPoIB device its port GUID.
      type: str
pending:
  description: Names that devices do not have yet.
  returned: always
  type: list
  elements: dict
  contains:
    what:
      description: The device.
      type: str
    before:
      description: Its present name.
      type: str
    after:
      description: Its name by the rules.
      type: str
    disruptive:
      description: Whether a rename cuts off who uses the name.
      type: bool
    needs:
      description: What it takes.
      type: str
      sample: reboot
udev_running:
  description: Whether udev runs here. In a container it mostly does not, and nobody follows the rules.
  returned: always
  type: bool
summary:
  description: One line for people.
  returned: always
  type: str
  sample: 3 of 3 governed device nodes as intended; no findings
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.udev_check import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
