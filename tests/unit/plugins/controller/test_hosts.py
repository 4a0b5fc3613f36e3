# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folding of host names, findings between hosts, filters."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.filter.cross_host_findings import cross_host_findings
from ansible_collections.rdma.infiniband.plugins.filter.findings_text import findings_text
from ansible_collections.rdma.infiniband.plugins.filter.fold_hosts import fold_hosts
from ansible_collections.rdma.infiniband.plugins.filter.profile import profile
from ansible_collections.rdma.infiniband.plugins.plugin_utils.fold import expand, fold
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["node3", "node1"], "node1,node3"),
        (["node001", "node002", "node003", "node004", "node007"], "node[001-004,007]"),
        ([f"n{n}" for n in (8, 9, 10, 11)], "n[8-9],n[10-11]"),
        (["a1-ib", "a2-ib", "a3-ib", "a5-ib", "login", "login"], "a[1-3,5]-ib,login"),
        (["r1n1", "r1n2", "r2n1", "r2n2"], "r1n[1-2],r2n[1-2]"),
        (["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], "10.0.0.[1-4]"),
    ],
)
def test_fold(names: list[str], text: str) -> None:
    assert fold(names) == text
    assert sorted(expand(text)) == sorted(set(names))


@given(st.lists(st.from_regex(r"[a-z]{1,3}-?[0-9]{0,4}[a-z]{0,2}", fullmatch=True)))
def test_expand_undoes_fold(names: list[str]) -> None:
    assert sorted(expand(fold(names))) == sorted(set(names))


@pytest.mark.parametrize("text", ["n[4-2]", "n[-]", "n[1-,]"])
def test_expand_refuses_bad_ranges(text: str) -> None:
    with pytest.raises(ValueError, match="no range"):
        expand(text)


def overview(guid: str, name: str = "mlx5_0") -> list[dict[str, object]]:
    return [{"name": name, "node_guid": guid, "ports": [{"port_guid": guid, "link_layer": "InfiniBand"}]}]


def test_cross_host_findings() -> None:
    shared = "0xa088c20300bb0001"
    hosts = {"a": overview(shared), "b": overview(shared), "c": overview("0xa088c20300bb0002"), "d": []}
    (finding,) = cross_host_findings(hosts)
    assert (finding["code"], finding["subject"]) == ("GUID_DUPLICATE", "a mlx5_0 and b mlx5_0")
    assert shared in finding["observed"]
    assert (
        cross_host_findings({"a": overview(shared), "b": overview("0x" + "0" * 16), "c": overview("0x" + "0" * 16)})
        == []
    )
    assert "GUID_DUPLICATE a mlx5_0" in findings_text([finding])


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (fold_hosts, "node1"),
        (fold_hosts, 3),
        (cross_host_findings, []),
        (findings_text, [{"code": 1}]),
        (profile, {"hca": []}),
    ],
)
def test_filters_name_the_bad_value(function: object, value: object) -> None:
    with pytest.raises(AnsibleFilterError) as error:
        function(value)  # type: ignore[operator]
    assert repr(value) in str(error.value) or "'hca'" in str(error.value)


def test_filters() -> None:
    good = {"hcas": [{"match": {"type": "MT4129"}}]}
    assert profile(good) is good
    assert fold_hosts(["b1", "b2", "b3", "b4"]) == "b[1-4]"
