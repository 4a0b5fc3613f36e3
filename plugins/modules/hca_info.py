#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything about a node's RDMA devices."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hca_info
short_description: Everything about a node's RDMA devices in one call
version_added: 0.1.0
description:
  - Reads every RDMA device of the node with its identity, firmware, PCIe path, ports, links, GIDs, P_Keys, counters,
    network devices and nearby GPUs.
  - Never fails on sick hardware. A device that cannot be read carries its error, and the others are complete.
author:
  - The rdma.infiniband contributors (@rdma)
requirements:
  - Linux with sysfs. C(ibstat), C(rdma) and C(ibv_devinfo) are used where they are installed.
extends_documentation_fragment:
  - rdma.infiniband.observe
  - rdma.infiniband.observe.read_only
seealso:
  - module: rdma.infiniband.hca_check
"""

EXAMPLES = r"""
- name: Read the HCAs of this host
  rdma.infiniband.hca_info:
  register: hardware

- name: Show the InfiniBand ports that are not active
  ansible.builtin.debug:
    msg: "{{ hardware.hcas | map(attribute='ports') | flatten
      | selectattr('link_layer', 'eq', 'InfiniBand') | rejectattr('state', 'eq', 'ACTIVE') }}"

- name: Read the host's HCAs from a container that has the host's sysfs mounted
  rdma.infiniband.hca_info:
    source: sysfs
    sysfs_path: /host/sys
"""

RETURN = r"""
hcas:
  description: The RDMA devices, sorted by name. A value that is absent or unknown is V(null).
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The device's name. It is a label and may change with the next boot.
      type: str
      sample: mlx5_0
    pci_address:
      description: PCI address with domain; V(null) for software devices.
      type: str
      sample: "0000:41:00.0"
    vendor:
      description: A word for the vendor, such as V(mellanox), V(omni-path), V(intel), V(linux).
      type: str
    vendor_id:
      description: PCI vendor id.
      type: str
      sample: "0x15b3"
    device_id:
      description: PCI device id.
      type: str
      sample: "0x1021"
    product:
      description: The product's name.
      type: str
      sample: ConnectX-7
    hca_type:
      description: The driver's name of the product.
      type: str
      sample: MT4129
    psid:
      description: The board id, which on NVIDIA cards is the PSID.
      type: str
      sample: MT_0000000838
    firmware:
      description: The running firmware.
      type: str
      sample: 28.43.2026
    hw_revision:
      description: Hardware revision.
      type: str
    node_type:
      description: What the device is to the fabric.
      type: str
      sample: CA
    node_guid:
      description: Node GUID, V(0x) and 16 hex digits.
      type: str
      sample: "0xa088c20300bb0010"
    sys_image_guid:
      description: System image GUID. The functions of one card share it.
      type: str
    node_description:
      description: The node description. Treat it as hostile text; anybody on the host can set it.
      type: str
    numa_node:
      description: NUMA node of the card; V(null) when the platform does not say.
      type: int
    numa_cpus:
      description: CPUs of that NUMA node.
      type: str
      sample: 0-15
    pcie:
      description: The PCIe links up to the root port.
      type: dict
      contains:
        hops:
          description: The functions on the way; the first is the HCA, the last the root port.
          type: list
          elements: dict
          contains:
            address:
              description: PCI address.
              type: str
            speed_gts:
              description: Current speed in GT/s per lane.
              type: float
            width:
              description: Current number of lanes.
              type: int
            max_speed_gts:
              description: Highest speed that the function can do, in GT/s.
              type: float
            max_width:
              description: Highest number of lanes that the function can do.
              type: int
        narrowest:
          description: The hop with the lowest bandwidth; the one nearest to the HCA when several are equal.
          type: dict
          contains:
            address:
              description: PCI address.
              type: str
            speed_gts:
              description: Current speed in GT/s per lane.
              type: float
            width:
              description: Current number of lanes.
              type: int
            max_speed_gts:
              description: Highest speed that the function can do, in GT/s.
              type: float
            max_width:
              description: Highest number of lanes that the function can do.
              type: int
    virtual_function:
      description: Whether it is an SR-IOV virtual function; V(null) when unknown.
      type: bool
    physical_function:
      description: PCI address of the physical function of a virtual one.
      type: str
    driver:
      description: The driver of the PCI function.
      type: str
      sample: mlx5_core
    irqs:
      description: Interrupt numbers of the PCI function.
      type: list
      elements: int
    net_devices:
      description: Network devices on top of the HCA.
      type: list
      elements: dict
      contains:
        name:
          description: Name of the network device.
          type: str
        port:
          description: Port of the HCA.
          type: int
        kind:
          description: V(infiniband) for IPoIB, or V(ethernet).
          type: str
        operstate:
          description: Operational state in the kernel's words.
          type: str
        carrier:
          description: Whether it has a carrier; V(null) when the kernel does not say, as while it is down.
          type: bool
        mtu_bytes:
          description: MTU in bytes.
          type: int
        mac:
          description: Hardware address.
          type: str
    gpus:
      description: GPUs behind the same PCIe switch.
      type: list
      elements: dict
      contains:
        pci_address:
          description: PCI address.
          type: str
        vendor_id:
          description: PCI vendor id.
          type: str
        device_id:
          description: PCI device id.
          type: str
    ports:
      description: The ports.
      type: list
      elements: dict
      contains:
        number:
          description: Port number, counted from 1.
          type: int
        state:
          description: Logical state in the kernel's words.
          type: str
          sample: ACTIVE
        phys_state:
          description: Physical state in the kernel's words.
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
          description: Speed of a lane by its name.
          type: str
          sample: NDR
        lid:
          description: LID as the host shows it.
          type: int
        lid_assigned:
          description: Whether that is a LID; V(null) on Ethernet and when unknown.
          type: bool
        lmc:
          description: LID mask control.
          type: int
        sm_lid:
          description: LID of the subnet manager.
          type: int
        sm_sl:
          description: Service level to the subnet manager.
          type: int
        link_layer:
          description: V(InfiniBand) or V(Ethernet).
          type: str
        port_guid:
          description: Port GUID; V(null) on Ethernet.
          type: str
        capability_mask:
          description: Capability mask.
          type: str
        active_mtu_bytes:
          description: Active MTU in bytes, where a source shows it.
          type: int
        max_mtu_bytes:
          description: Largest MTU in bytes, where a source shows it.
          type: int
        gids:
          description: The GIDs that are set.
          type: list
          elements: dict
          contains:
            index:
              description: Index in the table.
              type: int
            gid:
              description: The GID.
              type: str
            type:
              description: GID type, such as V(RoCE v2).
              type: str
            netdev:
              description: Network device of a RoCE GID.
              type: str
        pkeys:
          description: The P_Keys that are set.
          type: list
          elements: dict
          contains:
            index:
              description: Index in the table.
              type: int
            pkey:
              description: The 15-bit key.
              type: str
              sample: "0x7fff"
            membership:
              description: V(full) or V(limited).
              type: str
        counters:
          description: Counters by their sysfs name; text where a number is expected is V(null).
          type: dict
        hw_counters:
          description: Hardware counters by name; V(null) where the driver has none.
          type: dict
        saturated_counters:
          description: Names of counters that stand at their ceiling and may have counted more.
          type: list
          elements: str
        errors:
          description: What of the port could not be read.
          type: list
          elements: str
    errors:
      description: What of the device could not be read.
      type: list
      elements: str
node:
  description: What belongs to the host and to no single device.
  returned: always
  type: dict
  contains:
    without_rdma:
      description: RDMA-capable PCI functions that give no RDMA device.
      type: list
      elements: dict
      contains:
        address:
          description: PCI address.
          type: str
        vendor_id:
          description: PCI vendor id.
          type: str
        device_id:
          description: PCI device id.
          type: str
        product:
          description: The product's name.
          type: str
        driver:
          description: The driver bound to it.
          type: str
        virtual_function:
          description: Whether it is a virtual function.
          type: bool
    umad_abi:
      description: Version of the management interface; V(null) when C(ib_umad) is not loaded.
      type: int
    umads:
      description: Management devices.
      type: list
      elements: dict
      contains:
        name:
          description: Name of the device node.
          type: str
        device:
          description: The RDMA device.
          type: str
        port:
          description: Its port.
          type: int
    sources:
      description: Per source whether it was V(used), V(partial), V(absent), V(failed) or V(skipped).
      type: dict
    problems:
      description: What the tools complained about, with the likely cause.
      type: list
      elements: dict
      contains:
        tool:
          description: The tool.
          type: str
        severity:
          description: V(warning), V(error) or V(fatal).
          type: str
        message:
          description: The tool's words.
          type: str
        kind:
          description: A stable word for the kind of problem.
          type: str
        cause:
          description: What it means.
          type: str
        function:
          description: The tool's function that complained.
          type: str
        pid:
          description: Process id of the tool.
          type: int
        device:
          description: The device it is about.
          type: str
        reason:
          description: The operating system's reason.
          type: str
    disagreements:
      description: Values that two sources show differently, also on a second look.
      type: list
      elements: dict
overview:
  description: The devices in the few values that a report shows.
  returned: always
  type: list
  elements: dict
findings:
  description: Sources that disagree or cannot be read, as findings.
  returned: always
  type: list
  elements: dict
  contains:
    code:
      description: Stable code of the finding.
      type: str
    severity:
      description: V(error), V(warning) or V(info).
      type: str
    subject:
      description: What it is about.
      type: str
    observed:
      description: What was seen.
      type: str
    expected:
      description: What was expected.
      type: str
    hint:
      description: The likely cause and the command that confirms it.
      type: str
summary:
  description: One line for people.
  returned: always
  type: str
  sample: 4 RDMA devices (1 virtual), 3 of 4 ports active
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.hca_info import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
