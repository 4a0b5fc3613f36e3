# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory asks of OpenSM: options and partitions. What is accepted is rendered and reads back as it was."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_options import (
    check_options,
    check_readback,
    is_nvidia,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.partitions_intent import (
    Fabric,
    PortFacts,
    parse_partitions,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import OptionSpec
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import opensm_conf, partitions_conf
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.opensm_files import (
    OUR_MARK,
    conf_text,
    guids_text,
    partitions_text,
)
from hypothesis import given, settings
from hypothesis import strategies as st

SPECS = {
    name: OptionSpec(name, kind, default)
    for name, kind, default in (
        ("sm_priority", "number", "0"), ("lmc", "number", "0"), ("guid", "number", "0x0000000000000000"),
        ("qos", "boolean", "FALSE"), ("routing_engine", "text", "(null)"), ("log_file", "text", "/var/log/opensm.log"),
        ("part_enforce", "text", "both"), ("sweep_interval", "number", "10"), ("log_prefix", "text", "(null)"),
        ("qos_sl2vl", "text", "(null)"), ("vl_stall_count", "number", "0x07"), ("max_reverse_hops", "number", "0"),
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("sm_priority", 15, "15"), ("sm_priority", "0x0E", "0xe"), ("qos", True, "TRUE"), ("qos", "FALSE", "FALSE"),
        ("routing_engine", ["ftree", "updn", "no_fallback"], "ftree,updn,no_fallback"), ("routing_engine", "updn", "updn"),
        ("routing_engine", None, "(null)"), ("log_prefix", "rail 0", "rail 0"), ("part_enforce", "off", "off"),
        ("qos_sl2vl", [0, 1, 2], "0,1,2"),
    ],
)  # fmt: skip
def test_options_that_are_right(name: str, value: Any, text: str) -> None:
    assert check_options({name: value}, SPECS) == ({name: text}, ())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sm_prioritty", 1, "sm_prioritty: this OpenSM has no such option; did you mean sm_priority?"),
        ("fat_tree_links", 1, "fat_tree_links: this OpenSM has no such option"),
        ("sm_priority", 16, "sm_priority: 16 is not allowed; use a number from 0 to 15"),
        ("sm_priority", -1, "a number from 0 to 15"),
        ("sm_priority", True, "a number from 0 to 15"),
        ("sm_priority", "1\n", "a number from 0 to 15"),
        ("sweep_interval", 1.5, "a number, decimal or with 0x"),
        ("vl_stall_count", 0, "a number from 1 to 7"),
        ("qos", "yes", "qos: 'yes' is not allowed; use true or false"),
        ("qos", None, "a value; its default is FALSE"),
        ("part_enforce", "sideways", "one of both, in, out, off"),
        ("routing_engine", ["ftre"], "did you mean ftree?"),
        ("routing_engine", ["updn", "updn"], "different engines"),
        ("routing_engine", "ar_updn", "ar_updn is of NVIDIA's OpenSM"),
        ("log_prefix", "a\nsm_priority 15", "printable ASCII"),
        ("log_prefix", " a", "without blanks or quotes"),
        ("log_prefix", "'a'", "without blanks or quotes"),
        ("log_prefix", "x" * 2000, "OpenSM reads no more of a line"),
        ("guid", "0x1", "guid: has a variable of its own"),
    ],
)
def test_options_that_are_wrong(name: str, value: Any, words: str) -> None:
    texts, problems = check_options({name: value}, SPECS, frozenset({"guid"}))
    assert texts == {} and len(problems) == 1 and words in problems[0], problems


def test_nvidias_opensm_has_more_engines() -> None:
    specs = {**SPECS, "virt_enabled": OptionSpec("virt_enabled", "number", "0")}
    assert is_nvidia(specs) and not is_nvidia(SPECS)
    assert check_options({"routing_engine": ["ar_updn", "minhop"]}, specs)[1] == ()


def test_what_opensm_made_of_it() -> None:
    assert check_readback({"lmc": "0x3", "qos": "TRUE"}, {}, {"lmc": "3", "qos": "TRUE"}) == ()
    problems = check_readback(
        {"lmc": "3", "qos": "TRUE", "x": "1"}, {"x": "-E- no", "y": "-E- y"}, {"lmc": "0", "qos": "TRUE"}
    )
    assert (
        "OpenSM takes it for '0'" in problems[0] and "OpenSM says: -E- no" in problems[1] and "y: OpenSM" in problems[2]
    )


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(), st.text(), st.lists(st.text(max_size=5))
)


@given(st.dictionaries(st.one_of(st.sampled_from(sorted(SPECS)), st.text()), VALUES, max_size=6))
@settings(max_examples=300)
def test_any_mapping_is_refused_by_name_or_reads_back_as_given(wanted: Dict[str, Any]) -> None:
    texts, problems = check_options(wanted, SPECS)
    assert len(texts) + len(problems) == len(wanted)
    assert all(any(problem.startswith("%s: " % name) for problem in problems) for name in wanted if name not in texts)
    conf = opensm_conf.parse(conf_text(texts))
    assert dict(conf.options) == texts and not conf.duplicates and not conf.keyless


PORT1, PORT2 = "0xa088c20300bb0001", "0xa088c20300bb0002"
FABRIC = Fabric(
    {
        "node1": (PortFacts("node1", PORT1, "0xa088c20300bb0000", 400.0, 4096, 128),),
        "node2": (PortFacts("node2", PORT2, PORT2, 10.0, 2048, 2),),
    },
    {"compute": ("node1", "node2"), "empty": (), "lost": ("node9",)},
)
EVERYBODY: Dict[str, Any] = {
    "name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"ports": "ALL", "membership": "full"}],
}  # fmt: skip


def storage(**changes: Any) -> Dict[str, Any]:
    return {"name": "storage", "pkey": 2, "members": [{"host": "node1", "membership": "full"}], **changes}


def problems_of(*entries: Any, **options: Any) -> str:
    return "\n".join(parse_partitions(list(entries), FABRIC, **options)[1])


def test_partitions_become_what_opensm_reads() -> None:
    wanted = [
        {**EVERYBODY, "multicast_groups": [{"mgid": "ff12:401b::16"}, {"mgid": "ff12::1", "rate_gbps": 2.5, "mtu_bytes": 1024}]},
        storage(
            ipoib=True, mtu_bytes=4096, rate_gbps=100, scopes=[5, 2], q_key=2843,
            members=[{"host": "node1", "membership": "full"}, {"guid": "0x00000000000000ff", "membership": "limited"}],
        ),
        storage(name="all", pkey="0x0003", members=[{"group": "compute", "membership": "full"}]),
    ]  # fmt: skip
    partitions, problems = parse_partitions(wanted, FABRIC)
    assert problems == ()
    text = partitions_text(partitions)
    assert (
        text.startswith(OUR_MARK) and "storage=0x0002, ipoib, rate=16, mtu=5, scope=2, scope=5, Q_Key=0xb1b:\n" in text
    )
    found = partitions_conf.parse(text)
    assert found.error is None and found.warnings == ()
    assert [(part.name, part.written, part.ipoib) for part in found.partitions] == [
        ("Default", 0x7FFF, True), ("storage", 2, True), ("all", 3, False),
    ]  # fmt: skip
    assert [(part.members, part.groups, part.broadcast) for part in partitions] == [
        (part.members, part.groups, part.broadcast) for part in found.partitions
    ]
    assert [member.who for member in found.partitions[2].members] == [PORT1, PORT2]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("x", "partitions[1]: 'x' is not allowed; use a mapping"),
        (storage(nmae=1), "partitions[1]: unknown key 'nmae'"),
        (storage(name="a,b"), "partitions[1].name: 'a,b' is not allowed"),
        (storage(name="a\n"), "partitions[1].name: 'a\\n'"),
        (storage(pkey="0x8002"), "'0x8002' has the membership bit; use '0x0002'"),
        (storage(pkey=0), "partitions[1].pkey: 0 is not allowed; use a number from 0x0001 to 0x7fff"),
        (storage(pkey="2"), "partitions[1].pkey: '2'"),
        (storage(ipoib=True, mtu_bytes=4092), "partitions[1].mtu_bytes: 4092 is not allowed; use one of 256, 512, 1024, 2048, 4096"),
        (storage(ipoib=True, rate_gbps=99), "partitions[1].rate_gbps: 99 is not allowed; use one of 2.5, 5, 10"),
        (storage(mtu_bytes=4096), "are those of the IPoIB group; set ipoib: true"),
        (storage(sl=3), "partitions[1].sl: 3 has no effect"),
        (storage(members=[]), "a list with at least one member"),
        (storage(members=[{"host": "node1"}]), "membership: None is not allowed; use one of full, limited, both"),
        (storage(members=[{"host": "node1", "guid": PORT1, "membership": "full"}]), "with one of guid, host, group, ports"),
        (storage(members=[{"host": "node9", "membership": "full"}]), "no InfiniBand port of 'node9' is known"),
        (storage(members=[{"group": "lost", "membership": "full"}]), "no InfiniBand port of 'node9' is known"),
        (storage(members=[{"group": "empty", "membership": "full"}]), "'empty' is not allowed; use a group"),
        (storage(members=[{"guid": "node1", "membership": "full"}]), "a port GUID, 0x and 16 hex digits"),
        (
            storage(members=[{"guid": "0xa088c20300bb0000", "membership": "full"}]),
            f"0xa088c20300bb0000 is the node GUID of node1, and members are ports; its port GUID is {PORT1}",
        ),
        (storage(members=[{"ports": "EVERY", "membership": "full"}]), "one of ALL, ALL_CAS"),
        (storage(members=[{"host": "node1", "membership": "both"}]), "allow_both_pkeys is off"),
        (storage(members=[{"host": "node1", "membership": "limited"}]), "every member of 'storage' is limited"),
        (
            storage(members=[{"host": "node1", "membership": "full"}, {"guid": PORT1, "membership": "limited"}]),
            f"{PORT1} is full and limited member of 'storage'; give one",
        ),
        (storage(pkey=0x7FFF), "the P_Key 0x7fff is given twice"),
        (storage(name="Default"), "the name 'Default' is given twice"),
        (storage(multicast_groups=[{"mgid": "fe80::1"}]), "a multicast GID such as"),
        (storage(ipoib=True, multicast_groups=[{"mgid": "ff12:401b::5", "mtu_bytes": 1024}]), "only with the MTU and rate"),
        (
            storage(ipoib=True, rate_gbps=100, members=[{"group": "compute", "membership": "full"}]),
            f"node2 ({PORT2}) cannot join the IPoIB group of 'storage': rate_gbps is 100, and the port has 10",
        ),
        (
            storage(ipoib=True, mtu_bytes=4096, members=[{"group": "compute", "membership": "full"}]),
            "mtu_bytes is 4096, and the port has at most 2048",
        ),
    ],
)  # fmt: skip
def test_partitions_that_opensm_would_not_make_as_meant(entry: Any, words: str) -> None:
    assert words in problems_of(EVERYBODY, entry)


def test_what_only_all_of_them_show() -> None:
    assert "there is no partition with P_Key 0x7fff" in problems_of(storage())
    many = [storage(name=f"p{n}", pkey=n, members=[{"host": "node2", "membership": "full"}]) for n in range(1, 4)]
    assert f"node2 ({PORT2}) would be in 4 partitions, and the port holds 2 P_Keys" in problems_of(EVERYBODY, *many)
    assert "sl" not in problems_of(EVERYBODY, storage(sl=3), qos=True)
    assert problems_of(EVERYBODY, storage(members=[{"host": "node1", "membership": "both"}]), both=True) == ""
    assert parse_partitions("x")[1] == ("partitions: 'x' is not allowed; use a list of partitions",)


def test_files_of_guids() -> None:
    assert guids_text([PORT2, PORT1, PORT2], "spines").splitlines()[1:] == ["# spines", PORT2, PORT1]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(["full", "ALL", "node1"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "pkey", "ipoib", "members", "membership", "ports", "host", "sl", "q"]), inner, max_size=5),
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(JSON, max_size=4))
@settings(max_examples=200)
def test_any_partitions_are_refused_or_read_back_as_given(wanted: List[Any]) -> None:
    partitions, problems = parse_partitions(wanted, FABRIC)
    if not problems:
        found = partitions_conf.parse(partitions_text(partitions))
        assert found.error is None and not found.warnings
        assert [part.members for part in found.partitions] == [part.members for part in partitions]
