# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that need the sight of more than one host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cross_host_findings
short_description: Findings that need the sight of more than one host
version_added: 0.1.0
description:
  - Finds GUIDs that devices of different hosts share.
positional: _input
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description: Host name to the C(overview) that M(rdma.infiniband.hca_info) or M(rdma.infiniband.hca_check) returned.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Fail when two hosts share a GUID
  ansible.builtin.assert:
    that: overviews | rdma.infiniband.cross_host_findings | length == 0
"""

RETURN = r"""
_value:
  description: The findings, in the shape that M(rdma.infiniband.hca_check) returns.
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.plugin_utils.cross_host import cross_host_findings as find


def cross_host_findings(value: Any) -> list[dict[str, str]]:
    """The findings as plain data."""
    if not isinstance(value, Mapping):
        raise AnsibleFilterError(f"cross_host_findings takes a mapping of host name to overview, not {value!r}")
    for host, devices in value.items():
        if isinstance(devices, (str, Mapping)) or not isinstance(devices, Sequence):
            raise AnsibleFilterError(f"cross_host_findings: {host}: {devices!r} is no list of devices")
        if not all(isinstance(device, Mapping) for device in devices):
            raise AnsibleFilterError(f"cross_host_findings: {host}: {devices!r} holds something that is no device")
    return [finding.to_dict() for finding in find(value)]


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"cross_host_findings": cross_host_findings}
