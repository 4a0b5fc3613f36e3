#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's RDMA devices against the expected-hardware profile."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hca_check
short_description: Judges a node's RDMA devices by the expected-hardware profile
version_added: 0.1.0
description:
  - Compares what the node shows with what the inventory says was bought, and returns every difference as a finding
    with a stable code, the likely cause and the command that confirms it.
  - One cause gives one finding. A port that is down is not also reported as slow.
  - A value that the profile asks for and the node does not show is a finding, never a pass.
author:
  - The rdma.infiniband contributors (@rdma)
extends_documentation_fragment:
  - rdma.infiniband.observe
  - rdma.infiniband.observe.read_only
options:
  profile:
    description:
      - The expected hardware; in an inventory the variable C(infiniband_profile).
      - C(hcas) is a list of entries, C(memlock) is for M(rdma.infiniband.memlock_check) and only validated here.
      - "Keys of an entry: C(name) (free text for messages), C(match) (any of C(type), C(psid), C(pci), C(device),
        C(guid); all that is given must match; virtual functions only match with C(virtual) set to true), C(count),
        C(link_layer) (C(InfiniBand) or C(Ethernet)), C(rate_gbps) (Gb/s), C(width) (such as C(4X)), C(firmware) (list
        of accepted versions), C(psid) (list of accepted PSIDs), C(pcie) (C(speed_gts) per lane and C(width) in lanes,
        for every link up to the root port), C(slots) (list of intended PCI addresses), C(uncabled_ports) (port numbers,
        or C(device/port), that are down by design), C(counters_max) (counter name to highest acceptable value)."
      - What an entry does not mention is not judged. What it mentions and the node does not show is a finding.
      - Quote PCI addresses, GUIDs and firmware versions, since YAML reads some of them as numbers.
    type: dict
    required: true
  wait_s:
    description:
      - Seconds to wait for ports that are on their way up, such as after a reboot.
      - A disabled port, one in C(uncabled_ports) and one of the wrong link layer are not waited for.
      - The wait ends as soon as every other covered port is active.
    type: float
    default: 0.0
  fail_on:
    description:
      - The lowest severity that fails the task.
    type: str
    choices: [info, warning, error, never]
    default: error
seealso:
  - module: rdma.infiniband.hca_info
"""

EXAMPLES = r"""
- name: Check that this host has the eight NDR HCAs that were bought
  rdma.infiniband.hca_check:
    wait_s: 30
    profile:
      hcas:
        - name: compute rail
          match: {type: MT4129}
          count: 8
          link_layer: InfiniBand
          rate_gbps: 400
          width: 4X
          firmware: ["28.43.2026"]
          pcie: {speed_gts: 32.0, width: 16}

- name: Collect the findings and decide later
  rdma.infiniband.hca_check:
    profile: "{{ infiniband_profile }}"
    fail_on: never
  register: hardware
"""

RETURN = r"""
findings:
  description: Every difference between profile and host, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    code:
      description: Stable code of the finding.
      type: str
      sample: LINK_WIDTH_DEGRADED
    severity:
      description: V(error), V(warning) or V(info).
      type: str
    subject:
      description: What it is about.
      type: str
      sample: mlx5_0 port 1
    observed:
      description: What was seen.
      type: str
    expected:
      description: What was expected.
      type: str
    hint:
      description: The likely cause and the command that confirms it.
      type: str
covered:
  description: Names of the devices that were judged.
  returned: always
  type: list
  elements: str
uncovered:
  description: Devices that no entry of the profile speaks of.
  returned: always
  type: list
  elements: dict
  contains:
    device:
      description: Name of the device.
      type: str
    reason:
      description: Why it is not covered.
      type: str
waited:
  description: How long ports were waited for, and for which.
  returned: always
  type: dict
  contains:
    seconds:
      description: Seconds waited.
      type: float
    reasons:
      description: The ports that were not active yet, with each state that they were seen in.
      type: list
      elements: str
overview:
  description: The devices in the few values that a report shows, whether covered or not.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the device. It may change at a reboot.
      type: str
      sample: mlx5_0
    pci_address:
      description: Its PCI address.
      type: str
      sample: "0000:13:00.0"
    product:
      description: Name of the product.
      type: str
      sample: ConnectX-7
    hca_type:
      description: What the driver calls the product.
      type: str
      sample: MT4129
    psid:
      description: Board and configuration of the card.
      type: str
      sample: MT_0000000838
    firmware:
      description: Version of the firmware that runs.
      type: str
      sample: 28.43.2026
    node_guid:
      description: Its node GUID.
      type: str
      sample: "0xa088c20300bb0001"
    virtual_function:
      description: Whether it is an SR-IOV virtual function.
      type: bool
    ports:
      description: Its ports.
      type: list
      elements: dict
      contains:
        number:
          description: Number of the port.
          type: int
        state:
          description: Logical state.
          type: str
          sample: ACTIVE
        phys_state:
          description: Physical state.
          type: str
          sample: LinkUp
        rate_gbps:
          description: Rate in Gb/s.
          type: float
          sample: 400.0
        width:
          description: Width of the link.
          type: str
          sample: 4X
        speed:
          description: Name of the speed of a lane.
          type: str
          sample: NDR
        link_layer:
          description: V(InfiniBand) or V(Ethernet).
          type: str
        lid:
          description: LID of the port.
          type: int
        sm_lid:
          description: LID of the subnet manager.
          type: int
        port_guid:
          description: GUID of the port.
          type: str
summary:
  description: One line for people.
  returned: always
  type: str
  sample: 4 RDMA devices (1 virtual), 3 of 4 ports active; no findings
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.hca_check import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
