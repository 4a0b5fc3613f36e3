# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory asks of its subnet managers, before any host is touched."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.filter.subnet_manager_request import subnet_manager_request

GIVEN: dict[str, Any] = {
    "subnet_manager_state": "present",
    "subnet_manager_fabrics": [{"name": "rail0", "device": "mlx5_0", "options": {"lmc": 1}}],
    "subnet_manager_priority": "14",
    "subnet_manager_options": {"lmc": 0, "sweep_interval": 2},
    "subnet_manager_partitions": [],
}
DEFAULT = {"name": "Default", "pkey": "0x7fff", "members": [{"ports": "ALL", "membership": "full"}]}
STORAGE = {"name": "storage", "pkey": 2, "members": [{"group": "io", "membership": "full"}]}
PORT = {
    "number": 1,
    "link_layer": "InfiniBand",
    "port_guid": "0x0000000000000011",
    "rate_gbps": 100.0,
    "max_mtu_bytes": 4096,
}
LOOK = {
    "hcas": [{"name": "mlx5_0", "node_guid": "0x0000000000000010", "ports": [PORT, {**PORT, "link_layer": "Ethernet"}]}]
}


def test_the_options_of_a_fabric_come_on_top() -> None:
    request = subnet_manager_request(GIVEN)
    assert request["problems"] == [] and request["partitions"] is None
    assert request["instances"] == [
        {"name": "rail0", "device": "mlx5_0", "priority": 14, "options": {"lmc": 1, "sweep_interval": 2}}
    ]


def test_members_by_group_need_a_look_at_the_hosts() -> None:
    given = {**GIVEN, "subnet_manager_partitions": [DEFAULT, STORAGE]}
    groups = {"io": ["node7"]}
    before = subnet_manager_request(given, {}, groups)
    assert (before["problems"], before["partitions"], before["hosts"]) == ([], None, ["node7"])
    request = subnet_manager_request(given, {"node7": LOOK}, groups)
    assert request["problems"] == [] and "\t0x0000000000000011=full;" in request["partitions"]
    node_guid = {"guid": "0x0000000000000010", "membership": "full"}
    wrong = {**STORAGE, "members": [*STORAGE["members"], node_guid]}
    request = subnet_manager_request({**given, "subnet_manager_partitions": [DEFAULT, wrong]}, {"node7": LOOK}, groups)
    assert "is the node GUID of node7" in request["problems"][0] and request["partitions"] is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subnet_manager_fabrics": []}, "subnet_manager_fabrics: [] is not allowed"),
        ({"subnet_manager_fabrics": [{"name": "a b"}]}, "subnet_manager_fabrics[0].name: 'a b'"),
        ({"subnet_manager_fabrics": [{"priority": 3}]}, "the priority of a host is subnet_manager_priority"),
        ({"subnet_manager_priority": "high"}, "subnet_manager_priority: 'high' is not allowed"),
        ({"subnet_manager_priority": 16}, "(subnet_manager_priority): 16 is not allowed"),
        ({"subnet_manager_options": "x"}, "subnet_manager_options: 'x' is not allowed"),
        ({"subnet_manager_partitions": [STORAGE | {"pkey": 0}]}, "subnet_manager_partitions[0].pkey: 0"),
        ({"subnet_manager_partitions": {}}, "subnet_manager_partitions: {} is not allowed"),
    ],
)
def test_bad_input(changes: dict[str, Any], words: str) -> None:
    assert words in "\n".join(subnet_manager_request({**GIVEN, **changes}, {}, {"io": ["a"]})["problems"])


def test_absent_needs_nothing() -> None:
    given = {**GIVEN, "subnet_manager_state": "absent", "subnet_manager_fabrics": []}
    assert subnet_manager_request(given)["problems"] == []
    with pytest.raises(AnsibleFilterError, match="subnet_manager_request"):
        subnet_manager_request({})
