# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of findings about HCAs, ports and links of a host. Private to the collection."""

from __future__ import annotations

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding_kind import FindingKind, maker
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_shared import KINDS as SHARED

KINDS = (
    FindingKind(
        "NO_HCA",
        "error",
        "No HCA",
        "The profile expects HCAs and the host shows none, neither as an RDMA device nor as a PCI function.",
        "The card is missing, unseated or disabled in the BIOS. See: lspci -d 15b3:; dmesg | grep -i mlx5",
    ),
    FindingKind(
        "HCA_COUNT",
        "error",
        "Wrong number of HCAs",
        "The number of HCAs that match an entry of the profile is not the one it asks for.",
        "Too few: a card fell off the bus, or its slot is empty. Too many: the profile's count is not what was bought. "
        "See: lspci -d 15b3:; ls /sys/class/infiniband; dmesg | grep -i mlx5",
    ),
    FindingKind(
        "HCA_DRIVER_UNBOUND",
        "error",
        "No driver bound",
        "A PCI function that should be an HCA has no driver bound to it.",
        "The driver failed on this card or was unbound. See: lspci -k -s {pci}; dmesg | grep {pci}; then: modprobe mlx5_core",
    ),
    FindingKind(
        "HCA_VERBS_MISSING",
        "error",
        "Driver without RDMA device",
        "A driver is bound to the PCI function, but there is no RDMA device on it.",
        "mlx5_ib is not loaded, or its package is not installed for this kernel. See: lsmod | grep mlx5_ib; modprobe mlx5_ib",
    ),
    FindingKind(
        "UMAD_MISSING",
        "error",
        "ib_umad not loaded",
        "The host has InfiniBand ports, but no management interface: no fabric tool and no subnet manager works here.",
        "Load it now and at boot: modprobe ib_umad; echo ib_umad > /etc/modules-load.d/ib_umad.conf",
    ),
    FindingKind(
        "PORT_DOWN",
        "error",
        "Port down",
        "The physical link is down: the port looks for a partner and finds none.",
        "No cable, a dead cable or the far end is off. See: mlxlink -d {pci} -m (or mstlink); ibstat {device} {port}",
    ),
    FindingKind(
        "PORT_DISABLED",
        "error",
        "Port disabled",
        "The physical link is administratively disabled. On Ethernet: its network device is not up.",
        "Somebody disabled the port here or at the switch. See: ibstat {device} {port}; enable: ibportstate -C {device} "
        "-D 0 {port} enable; on Ethernet: ip link set {netdev} up",
    ),
    FindingKind(
        "PORT_TRAINING",
        "error",
        "Port does not finish training",
        "The two ends of the link negotiate without end, or the link recovers from errors again and again.",
        "A bad or unsupported cable, mostly. See: mlxlink -d {pci} -m -c (or mstlink); swap the cable and see whether it follows",
    ),
    FindingKind(
        "PORT_INIT_NO_SM",
        "error",
        "Port waits for a subnet manager",
        "The physical link is up and nobody has configured the port: its state stays INIT.",
        "No subnet manager reaches this port. See: sminfo -C {device} -P {port}; on the subnet manager: systemctl status 'rdma-opensm@*'",
    ),
    FindingKind(
        "PORT_ARMED",
        "error",
        "Port armed, not active",
        "The subnet manager has begun to configure the port and has not finished.",
        "The subnet manager is busy or stuck. See its log; ibstat {device} {port}",
    ),
    FindingKind(
        "PORT_LOGICAL_DOWN",
        "error",
        "Logical link down although the physical link is up",
        "The link is up and the port's logical state is DOWN: typical of a virtual function.",
        "The subnet manager is not virtualisation-enabled (virt_enabled 2), or the VF has no GUID or its policy is Down. "
        "See: ip link show; ibstat {device} {port}",
    ),
    FindingKind(
        "PORT_NOT_UNCABLED",
        "warning",
        "Port up that is down by design",
        "The profile lists the port in uncabled_ports and its link is up: the port is used and nobody judges it.",
        "A cable was plugged into the wrong port, or the profile is out of date. See: iblinkinfo; then correct the "
        "cable or uncabled_ports",
    ),
    FindingKind(
        "LINK_SPEED_DEGRADED",
        "error",
        "Link slower than intended",
        "The link has the intended width and a lower speed per lane.",
        "A cable or far end of an older generation, or a lane that failed training. See: mlxlink -d {pci} -m -c (or mstlink); iblinkinfo",
    ),
    FindingKind(
        "LINK_WIDTH_DEGRADED",
        "error",
        "Link narrower than intended",
        "The link runs on fewer lanes than intended.",
        "Dead lanes: a dirty or damaged connector or cable. See: mlxlink -d {pci} -m -c (or mstlink); iblinkinfo",
    ),
    FindingKind(
        "LINK_RATE_DEGRADED",
        "error",
        "Link rate lower than intended",
        "The rate is lower than intended, and what is known does not tell width from speed.",
        "See both: cat /sys/class/infiniband/{device}/ports/{port}/rate; iblinkinfo",
    ),
    FindingKind(
        "LINK_RATE_UNEXPECTED",
        "warning",
        "Link faster than intended",
        "The rate is higher than the profile says, so the profile does not describe this hardware.",
        "Correct the profile's rate_gbps and width, or find out who changed the cable. See: iblinkinfo",
    ),
    FindingKind(
        "LINK_LAYER_MISMATCH",
        "error",
        "Wrong link layer",
        "The port runs Ethernet where InfiniBand is intended, or the reverse.",
        "The card's LINK_TYPE setting. See: mstconfig -d {pci} q LINK_TYPE_P1 (mlxconfig); a change needs a firmware reset",
    ),
    FindingKind(
        "SM_LID_ZERO",
        "error",
        "Active port without a subnet manager's LID",
        "The port is active and shows SM LID 0: nobody can reach the subnet manager from it.",
        "The port was configured by hand or by a subnet manager that is gone. See: sminfo -C {device} -P {port}",
    ),
    FindingKind(
        "LID_UNASSIGNED",
        "error",
        "Active port without a LID",
        "The port is active and has no usable LID.",
        "The subnet manager ran out of LIDs or skips this port. See its log; ibstat {device} {port}",
    ),
    FindingKind(
        "GUID_ZERO",
        "error",
        "GUID is zero",
        "A node or port GUID is zero. The subnet manager does not configure such a port.",
        "A virtual function without a GUID, or a card with a broken configuration. See: ibstat {device}; mstflint -d {pci} q",
    ),
    FindingKind(
        "GUID_DUPLICATE",
        "error",
        "GUID used twice",
        "Two devices show the same GUID. A subnet manager stops or routes to one of them at random.",
        "A card burned with another card's GUIDs, or a cloned virtual function. See: mstflint -d {pci} q; ibstat -p",
    ),
    FindingKind(
        "IPOIB_DOWN",
        "info",
        "IPoIB device down on an active port",
        "RDMA works on this port, and its network device is down while that of other ports of the host is up.",
        "The interface was never brought up, or could not join its multicast group. See: ip link show {netdev}; dmesg | grep {netdev}",
    ),
    FindingKind(
        "FIRMWARE_MISMATCH",
        "error",
        "Wrong firmware version",
        "The running firmware is none of the versions that the profile allows.",
        "See what is flashed and what runs: mstflint -d {pci} q; a version that is only flashed needs a reset",
    ),
    FindingKind(
        "PSID_MISMATCH",
        "error",
        "Wrong PSID",
        "The card's PSID (its board and configuration) is none of those that the profile allows.",
        "A replaced card of another vendor or kind, or a re-branded one. Do not burn another PSID's image. See: mstflint -d {pci} q",
    ),
    FindingKind(
        "PCIE_SPEED_DEGRADED",
        "error",
        "PCIe link slower than intended",
        "A PCIe link between the HCA and the root complex runs at a lower speed than intended.",
        "A bad riser or slot, or a BIOS setting. See: lspci -s {hop} -vv | grep -E 'LnkCap|LnkSta'",
    ),
    FindingKind(
        "PCIE_WIDTH_DEGRADED",
        "error",
        "PCIe link narrower than intended",
        "A PCIe link between the HCA and the root complex has fewer lanes than intended.",
        "A card that is not fully seated, a slot with fewer lanes, or bifurcation. See: lspci -s {hop} -vv | grep -E 'LnkCap|LnkSta'",
    ),
    FindingKind(
        "HCA_WRONG_SLOT",
        "error",
        "HCA in the wrong slot",
        "The HCA sits at a PCI address that the profile does not name, so its rail, NUMA node and GPU are other ones.",
        "Move the card, or correct slots in the profile. See: lspci -tv; dmidecode -t slot",
    ),
    FindingKind(
        "PROFILE_AMBIGUOUS",
        "error",
        "Two profile entries claim one HCA",
        "More than one entry of the profile matches the same HCA, so what it should be is not defined.",
        "Make the match of these entries exclude each other, for example by pci or psid",
    ),
    FindingKind(
        "COUNTER_ABOVE_LIMIT",
        "warning",
        "Error counter above its limit",
        "A counter of the port is higher than the profile's counters_max allows. Counters count since the driver was loaded.",
        "A bad cable, mostly. Watch whether it grows: perfquery -C {device} -P {port}; mlxlink -d {pci} -c (or mstlink)",
    ),
    FindingKind(
        "DEVICE_UNREADABLE",
        "error",
        "Device cannot be read",
        "A device is there and part of what it should show cannot be read.",
        "The driver or the card is in trouble, or the device vanished meanwhile. See: dmesg | tail; ibstat {device}",
    ),
    FindingKind(
        "NOT_OBSERVED",
        "error",
        "Intended value not shown by the host",
        "The profile asks for a value that the host does not show, so nobody can say that it holds.",
        "Read the device with another source, or drop the value from the profile. See: ls /sys/class/infiniband/{device}",
    ),
    FindingKind(
        "SOURCES_DISAGREE",
        "warning",
        "Two sources disagree",
        "sysfs and a tool show different values of the same thing, also on a second look.",
        "Mixed versions of driver and libraries, or a tool that reads another namespace. See: ofed_info -s; rdma link; ibstat {device}",
    ),
)

make = maker(KINDS + SHARED)
