#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks whether subnet managers serve their fabrics."""

from __future__ import annotations

DOCUMENTATION = r"""
module: opensm_check
short_description: Looks whether subnet managers serve their fabrics
version_added: 0.3.0
description:
  - Asks each fabric of a host who manages it, and compares that with the managers that are declared.
  - Started means serving. A master must answer, and the host's own port must be ACTIVE with the master's LID. The first cause
    of a failure is taken from OpenSM's log.
author:
  - The rdma.infiniband contributors (@rdma)
extends_documentation_fragment:
  - rdma.infiniband.observe.read_only
options:
  instances:
    description:
      - The fabrics of this host, one entry each.
      - "Keys of an entry: C(name) (lower-case word, of unit and files), one of C(device), C(pci) and C(guid) (the port GUID)
        for the port that is on the fabric, C(port) where the device has several, C(priority) (0 to 15, the highest
        becomes master), C(subnet_prefix), C(routing_engine) (list, in the order in which they are tried), C(root_guids)
        (node GUIDs of the switches at the top), C(cn_guids) and C(io_guids) (port GUIDs), C(options) (any other option of
        the installed OpenSM)."
      - A host with one InfiniBand port needs no device.
    type: list
    elements: dict
    required: true
  managed:
    description: Whether this host runs the managers as C(rdma-opensm@NAME). Otherwise it only looks.
    type: bool
    default: true
  managers:
    description:
      - Name of a fabric to the port GUIDs of all its managers in the inventory.
      - Without these and without O(external_guids) any master is as good as another.
    type: dict
    default: {}
  external_guids:
    description: Port GUIDs of managers that somebody else runs and that are meant to be there, such as UFM or a switch.
    type: list
    elements: str
    default: []
  pending:
    description: Name of a fabric to what its manager still needs, as M(rdma.infiniband.opensm_config) returns it.
    type: dict
    default: {}
  before_start:
    description: Whether the managers are about to be started. Then only managers of somebody else are findings.
    type: bool
    default: false
  upstream:
    description:
      - Whether the manager is the upstream OpenSM. Before one is started the fabric is then searched for switches that it does
        not fully support, NDR and later.
    type: bool
    default: false
  master_is:
    description: Port GUID of the master to wait for.
    type: str
  master_not:
    description: Port GUID of a master that is to go. The wait ends when another one serves.
    type: str
  wait_s:
    description: Seconds to wait until all serve and a declared standby waits. The wait ends when they do.
    type: float
    default: 0.0
  sysfs_path:
    description: Where the host's sysfs is mounted.
    type: path
    default: /sys
  timeout:
    description: Seconds after which a tool is ended, above 0 and up to 3600.
    type: float
    default: 10.0
  fail_on:
    description: The lowest severity that fails the task.
    type: str
    choices: [info, warning, error, never]
    default: error
seealso:
  - module: rdma.infiniband.opensm_config
"""

EXAMPLES = r"""
- name: Is the fabric managed, and by whom it should be?
  rdma.infiniband.opensm_check:
    instances:
      - {name: rail0, device: mlx5_0}
    managers:
      rail0: ["0xa088c20300000101", "0xa088c20300000201"]
    wait_s: 30
"""

RETURN = r"""
findings:
  description: Every difference between what is declared and what is there, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    code:
      description: Stable code of the finding.
      type: str
      sample: SM_FOREIGN_MASTER
    severity:
      description: V(error), V(warning) or V(info).
      type: str
    subject:
      description: The fabric, and the port by which it is seen.
      type: str
      sample: fabric rail0 (mlx5_0 port 1)
    observed:
      description: What was seen.
      type: str
    expected:
      description: What was expected.
      type: str
    hint:
      description: The likely cause and the command that confirms it.
      type: str
instances:
  description: The fabrics as they were seen last.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the fabric.
      type: str
    guid:
      description: The host's own port GUID on it.
      type: str
    device:
      description: The RDMA device.
      type: str
    port:
      description: The port.
      type: int
    active:
      description: Whether the host's own unit is active.
      type: bool
    serving:
      description: Whether a master answers and the port is ACTIVE with its LID.
      type: bool
    is_master:
      description: Whether the master is this host.
      type: bool
    master_guid:
      description: Port GUID of the master. Null when none answers.
      type: str
    managers:
      description: Every manager in the master's database.
      type: list
      elements: dict
      contains:
        guid:
          description: Its port GUID.
          type: str
        lid:
          description: Its LID.
          type: int
        priority:
          description: Its priority.
          type: int
        state:
          description: V(MASTER), V(STANDBY), V(DISCOVER) or V(NOTACT).
          type: str
    routing_engine:
      description: The engine that routed the fabric last, as this host's log has it.
      type: str
waited_s:
  description: Seconds until the fabrics were served, or until the wait ended.
  returned: always
  type: float
summary:
  description: One line for people.
  returned: always
  type: str
  sample: "rail0: master here, 2 managers"
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.opensm_check import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
