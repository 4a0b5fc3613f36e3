# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as a GUID that two hosts share, and input that is not what the modules return."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.filter.cross_host_findings import cross_host_findings

GUID, OTHER = "0xa088c20300bb0001", "0xa088c20300bb0101"


def device(node_guid: str, port_guid: str | None, layer: str = "InfiniBand", name: str = "mlx5_0") -> dict[str, Any]:
    return {"name": name, "node_guid": node_guid, "ports": [{"port_guid": port_guid, "link_layer": layer}]}


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        (device(GUID, GUID), device(GUID, GUID), 1),
        (device(GUID, OTHER), device("0x1", OTHER), 1),
        (device(GUID, None), device(GUID, None), 1),
        (device(GUID, GUID), device(OTHER, OTHER), 0),
        # Cloned virtual machines with soft-RoCE on the same MAC address are no fault of a fabric.
        (device(GUID, None, "Ethernet"), device(GUID, None, "Ethernet"), 0),
        (device(GUID, None, "Ethernet"), device(GUID, GUID), 0),
        # Firmware that differs between hosts is a matter of each host's profile.
        ({**device(GUID, GUID), "firmware": "1.2"}, {**device(OTHER, OTHER), "firmware": "1.3"}, 0),
    ],
)
def test_shared_guids(first: dict[str, Any], second: dict[str, Any], count: int) -> None:
    findings = cross_host_findings({"node001": [first], "node002": [second]})
    assert [finding["code"] for finding in findings] == ["GUID_DUPLICATE"] * count
    assert all(finding["subject"] == "node001 mlx5_0 and node002 mlx5_0" for finding in findings)


def test_two_devices_of_one_host_are_that_host_s_finding() -> None:
    twins = [device(GUID, GUID), device(GUID, GUID, name="mlx5_1")]
    assert cross_host_findings({"node001": twins, "node002": []}) == []


def test_many_hosts_are_one_finding_that_does_not_flood() -> None:
    (finding,) = cross_host_findings({f"node{number:03}": [device(GUID, GUID)] for number in range(1, 9)})
    assert finding["subject"].endswith("node004 mlx5_0 and 4 more") and "on 8 devices" in finding["observed"]


@pytest.mark.parametrize("value", [None, "node001", {"node001": None}, {"node001": "mlx5_0"}, {"node001": ["mlx5_0"]}])
def test_other_input_is_refused_and_named(value: Any) -> None:
    with pytest.raises(AnsibleFilterError) as error:
        cross_host_findings(value)
    shown = value["node001"] if isinstance(value, dict) else value
    assert repr(shown) in str(error.value)
