#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the configuration of OpenSM subnet managers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: opensm_config
short_description: Writes the configuration of OpenSM subnet managers
version_added: 0.3.0
description:
  - Writes the options, partitions and GUID files of one OpenSM for each fabric of a host, and the systemd unit
    C(rdma-opensm@.service) that runs them. Starts and stops nothing.
  - OpenSM takes what it does not understand for its default and goes on. Here every option must be one of the installed
    OpenSM's, in range, and is read back from that OpenSM before anything is written.
  - The port is chosen by name, PCI address or GUID among the InfiniBand ports, also while the fabric has no manager.
author:
  - The rdma.infiniband contributors (@rdma)
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
    description: V(absent) removes the files. The units must have been stopped before.
    type: str
    choices: [present, absent]
    default: present
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
    default: []
  partitions:
    description:
      - The text of the partitions file of all instances. A line that OpenSM would drop, shorten or reinterpret is refused.
      - Without it OpenSM makes every port a full member of the default partition.
    type: str
  allow_stop:
    description:
      - Whether the files of an instance that ran here and is not wanted any more may go. Stop its unit afterwards, see
        RV(left).
    type: bool
    default: false
  program:
    description: The OpenSM to ask and to run.
    type: path
    default: /usr/sbin/opensm
  sysfs_path:
    description: Where the host's sysfs is mounted.
    type: path
    default: /sys
  timeout:
    description: Seconds that OpenSM may take to write its options.
    type: float
    default: 20.0
seealso:
  - module: rdma.infiniband.opensm_check
"""

EXAMPLES = r"""
- name: One manager for each of two rails
  rdma.infiniband.opensm_config:
    instances:
      - {name: rail0, device: mlx5_0, priority: 14, routing_engine: [ftree, updn]}
      - {name: rail1, device: mlx5_1, priority: 14, routing_engine: [ftree, updn], subnet_prefix: "0xfe80000000000001"}
"""

RETURN = r"""
version:
  description: Version of the installed OpenSM. Null with O(state=absent).
  returned: success
  type: str
  sample: 3.3.23
instances:
  description: The instances, each with its port.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the fabric.
      type: str
    unit:
      description: Its systemd unit.
      type: str
      sample: rdma-opensm@rail0.service
    device:
      description: The RDMA device.
      type: str
    port:
      description: The port.
      type: int
    guid:
      description: The port GUID that OpenSM binds to.
      type: str
    priority:
      description: Its priority.
      type: int
    pending:
      description: What a running OpenSM needs before its files count, V(restart), V(reload) or null.
      type: str
    shared_sha256:
      description: Checksum of what must be the same on all managers of a fabric, all but GUID and priority.
      type: str
left:
  description: Instances that ran here and are not wanted any more.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the fabric.
      type: str
    unit:
      description: Its systemd unit.
      type: str
changes:
  description: What was changed, or would be.
  returned: success
  type: list
  elements: dict
  contains:
    what:
      description: A file.
      type: str
    before:
      description: Its text before. Null for a file that was not there.
      type: str
    after:
      description: Its text after. Null for a file that goes.
      type: str
    disruptive:
      description: Whether it cuts off somebody.
      type: bool
    needs:
      description: What must happen before it takes effect.
      type: str
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.opensm_config import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
