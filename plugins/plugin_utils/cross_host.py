# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that need the sight of more than one host. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_hca import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import ZERO_GUID


def cross_host_findings(overviews: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Finding]:
    """GUIDs that devices of two hosts share. ``overviews`` is host name to the ``overview`` of hca_info or hca_check.

    Only devices with an InfiniBand port count: Ethernet and software devices make their GUIDs up from MAC addresses,
    so that two of them on one network device, or in cloned virtual machines, share one.

    A cloned device repeats its node GUID and its port GUID: that is one finding for the pair of devices.
    """
    owners: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for host, devices in overviews.items():
        for device in devices:
            ports = [port for port in device.get("ports") or () if port.get("link_layer") == "InfiniBand"]
            guids = {port.get("port_guid") for port in ports} | ({device.get("node_guid")} if ports else set())
            for guid in guids - {None, ZERO_GUID}:
                owners[str(guid)].add((host, str(device.get("name"))))
    findings = []
    seen = set()
    for guid, places in sorted(owners.items()):
        group = tuple(sorted(places))
        if len({host for host, _device in group}) < 2 or group in seen:
            continue
        seen.add(group)
        names = [f"{host} {device}" for host, device in group]
        findings.append(
            make(
                "GUID_DUPLICATE",
                " and ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else ""),
                f"GUID {guid} on {len(names)} devices",
                "a GUID of its own for each device",
                device=group[0][1],
            )
        )
    return findings
