# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of findings about udev: device nodes, names of devices, rules. Private to the collection."""

from __future__ import annotations

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding_kind import FindingKind, maker

KINDS = (
    FindingKind(
        "UDEV_NODE_PERMISSIONS",
        "error",
        "Device node with other permissions than intended",
        "Owner, group or mode of a node in /dev/infiniband is not what the inventory asks for.",
        "The rule is missing, or udev has not looked at the device since it was written, or somebody changed the node by "
        "hand. See: ls -l {node}; udevadm info {node}; udevadm trigger --action=change --name-match={node}",
    ),
    FindingKind(
        "UDEV_NODE_MISSING",
        "error",
        "Device node missing",
        "The kernel has the device and there is no node for it in /dev/infiniband, so no program can open it.",
        "A container that was not given the node, or a /dev that is no devtmpfs. See: ls /sys/class/*/{device}; "
        "findmnt /dev; ls -l /dev/infiniband",
    ),
    FindingKind(
        "UDEV_NODE_NOT_PERSISTENT",
        "warning",
        "Device node as intended, until the device appears again",
        "The node has the intended permissions now, and no rule gives them to it after a reboot or a reload of the driver.",
        "Somebody set them by hand, or the rules file was removed. Run the role udev. See: udevadm test $(udevadm info -q path {node})",
    ),
    FindingKind(
        "UDEV_RULE_OVERRULED",
        "error",
        "Another rule decides about a device node",
        "A rule in another file gives the node other permissions than the inventory asks for, and udev follows that one.",
        "udev takes the files in the order of their names, and the last assignment counts, or the first one with := . "
        "Remove the line or change the inventory: {place}",
    ),
    FindingKind(
        "UDEV_RULE_NEVER_MATCHES",
        "warning",
        "udev rule that can never match",
        "A condition of the rule compares with a text that the kernel never shows, so the rule does nothing.",
        "Write the condition in the form that is given as expected. See what udev compares: udevadm info -a /sys/class/net/NAME "
        "or /sys/class/infiniband/NAME; the file is {path}",
    ),
    FindingKind(
        "UDEV_RULE_MATCHES_QPN",
        "warning",
        "udev rule that stops to match",
        "The rule compares the queue pair number within an IPoIB address, which changes when the driver is loaded again.",
        "Compare the last 8 bytes only, the port GUID, in the form that is given as expected. See: cat "
        "/sys/class/net/NAME/address before and after a reboot; the file is {path}",
    ),
    FindingKind(
        "UDEV_RULE_IGNORED",
        "warning",
        "udev rule that is ignored in part or as a whole",
        "udev or the kernel does not take what the rule sets, so it has no effect.",
        "Correct the line as expected. See: udevadm verify {path} (systemd 254 and later); journalctl -u systemd-udevd",
    ),
    FindingKind(
        "UDEV_FILE_UNREADABLE",
        "warning",
        "udev rules file that cannot be read",
        "What the rules in this file do is not known.",
        "See: ls -lL {path}",
    ),
    FindingKind(
        "UDEV_NAME_PENDING",
        "warning",
        "Device does not have its intended name yet",
        "The rules give the device another name when it appears the next time. Until then it has the one that is shown.",
        "A rename cuts off who uses the name, so it needs udev_allow_rename, or a reboot. Network devices that are up, names "
        "given by hand (rdma link add) and names taken by another device are not changed while the host runs. "
        "See: rdma dev; ip link; device {device}, {pci}",
    ),
    FindingKind(
        "UDEV_NAME_UNMATCHED",
        "info",
        "Name without a device",
        "The inventory gives a name to a device that this host does not show.",
        "Another host's card, a card that is gone, or a wrong PCI address or GUID (RDMA devices: node GUID; IPoIB: port GUID). "
        "See: rdma.infiniband.hca_info; ibstat",
    ),
    FindingKind(
        "UDEV_ACCOUNT_NOT_LOCAL",
        "warning",
        "udev cannot know the account at boot",
        "The rules give device nodes to a user or group of a directory service. udev starts before the network, and then "
        "leaves such names out.",
        "Make it a local system group: groupadd --system {name}. See: getent -s files group {name}",
    ),
)

make = maker(KINDS)
