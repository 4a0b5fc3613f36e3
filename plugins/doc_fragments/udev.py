# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that the modules about udev share."""

from __future__ import annotations


class ModuleDocFragment:
    """What shall be: device nodes and names."""

    DOCUMENTATION = r"""
options:
  nodes:
    description:
      - Who may use the device nodes in C(/dev/infiniband), one entry a kind. Kinds that are not listed are not governed.
    type: list
    elements: dict
    default: []
    suboptions:
      kind:
        description:
          - V(uverbs) is verbs, which every RDMA program opens. V(rdma_cm) is the connection manager.
          - V(umad) sends management packets, also such that reconfigure the fabric. V(issm) makes a subnet manager.
        type: str
        choices: [uverbs, umad, issm, rdma_cm]
        required: true
      owner:
        description: Name of an existing user.
        type: str
        default: root
      group:
        description: Name of an existing group. It should be a local system group, since udev starts before the network.
        type: str
        default: root
      mode:
        description: Four octal digits in quotes, such as V(0660).
        type: str
        required: true
  naming:
    description:
      - How RDMA devices are named when they appear. The names are those of rdma-core's C(rdma_rename).
      - V(unmanaged) leaves the distribution's rule in place.
      - V(kernel) keeps the kernel's names, such as C(mlx5_0), which are given in the order of detection.
      - V(pci) makes names of the PCI address, such as C(ibp65s0).
      - V(guid) makes names of the node GUID, such as C(ibxa088c20300bb0001).
      - V(fallback) is the default of rdma-core. The index of an onboard device, otherwise the PCI address.
    type: str
    choices: [unmanaged, kernel, pci, guid, fallback]
    default: unmanaged
  fixed_names:
    description: Names for single RDMA devices. The others are named by O(naming), which then must not be V(unmanaged).
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name.
        type: str
        required: true
      pci:
        description: PCI address of the device, such as V(0000:41:00.0). Either this or the GUID.
        type: str
      guid:
        description: Node GUID of the device, V(0x) and 16 lower-case hex digits.
        type: str
  ipoib_names:
    description:
      - Names for IPoIB network devices. Devices of P_Keys are never renamed.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name, 15 characters at most.
        type: str
        required: true
      pci:
        description: PCI address of the device, such as V(0000:41:00.0). Either this or the GUID.
        type: str
      guid:
        description: Port GUID, V(0x) and 16 lower-case hex digits. It is compared with the last 8 bytes of the address.
        type: str
      port:
        description: Port of an HCA that has several ports on one PCI function, from 1.
        type: int
  fail_on:
    description: The lowest severity of a finding that fails the task.
    type: str
    choices: [info, warning, error, never]
    default: error
  root:
    description:
      - Where the host's file system is. Another directory than V(/) is for an image or a test. udev is not told
        anything then, and the nodes below it are set directly.
    type: path
    default: /
"""
