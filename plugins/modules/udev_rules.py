#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the udev rules for RDMA devices and applies them to present devices."""

from __future__ import annotations

DOCUMENTATION = r"""
module: udev_rules
short_description: Permissions and names of RDMA devices by udev
version_added: 0.1.0
description:
  - Writes up to three files of rules in C(/etc/udev/rules.d), has udev apply them to present devices, and reads the result
    back from the nodes in C(/dev/infiniband).
  - A file of the same name that somebody else wrote is kept next to it, and put back when ours goes.
  - Says beforehand which device would get another name, and stops when a name in use would go.
  - One call does all of it, so that check mode foretells files, nodes and names alike.
author:
  - The rdma.infiniband contributors (@rdma)
extends_documentation_fragment:
  - rdma.infiniband.udev
attributes:
  check_mode:
    description: Can run in check mode and returns what would be changed.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: full
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second run reports no change.
    support: full
  platform:
    description: Target systems.
    support: full
    platforms: Linux
options:
  state:
    description:
      - V(absent) removes the files, puts back what was there before, and gives the nodes the permissions that the kernel and
        the remaining rules give. The options about nodes and names are then not used.
    type: str
    choices: [present, absent]
    default: present
  names_in_use:
    description: Names of RDMA and IPoIB devices that others rely on. If one would go, nothing is changed and the task fails.
    type: list
    elements: str
    default: []
  allow_rename:
    description:
      - Whether present devices are renamed. That cuts off who uses the name. Otherwise the names are reported as pending.
    type: bool
    default: false
  allow_management_path:
    description:
      - Whether the IPoIB device that carries the connection of this play may get another name, now or at the next boot.
    type: bool
    default: false
  groups_to_come:
    description: Groups that need not exist in check mode, since the caller would have created them before.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds that udev may take, above 0 and up to 3600.
    type: float
    default: 60.0
seealso:
  - module: rdma.infiniband.udev_check
"""

EXAMPLES = r"""
- name: Verbs for the group rdma
  rdma.infiniband.udev_rules:
    nodes:
      - {kind: uverbs, group: rdma, mode: "0660"}
      - {kind: rdma_cm, group: rdma, mode: "0660"}

- name: Names by rail, others as the kernel gives them
  rdma.infiniband.udev_rules:
    naming: kernel
    fixed_names:
      - {name: rail0, pci: "0000:41:00.0"}
      - {name: rail1, guid: "0xa088c20300bb0001"}
    names_in_use: [mlx5_8]

- name: As it was before
  rdma.infiniband.udev_rules:
    state: absent
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
changes:
  description: What was changed, or would be.
  returned: always
  type: list
  elements: dict
  contains:
    what:
      description: A file, a node or the name of a device.
      type: str
      sample: /dev/infiniband/uverbs0
    before:
      description: Its value before. Null for a file that was not there.
      type: str
    after:
      description: Its value after. Null for a file that goes.
      type: str
    disruptive:
      description: Whether it cuts off somebody.
      type: bool
    needs:
      description: What must happen before it takes effect.
      type: str
      sample: nothing
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.udev_rules import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
