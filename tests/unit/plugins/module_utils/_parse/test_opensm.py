# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSM's options file, partitions file and log."""

from __future__ import annotations

from typing import List

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.partitions import Group, Member, ipoib_mtu_bytes
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import opensm_conf, opensm_log, partitions_conf
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from hypothesis import given, settings
from hypothesis import strategies as st

TEMPLATE = """#
# DEVICE ATTRIBUTES OPTIONS
#
# The port GUID on which the OpenSM is running
guid 0x0000000000000000

# A priority
# of two lines
sm_priority 0

lmc_esp0 FALSE

routing_engine (null)
partition_config_file /etc/opensm/partitions.conf
"""


def test_a_template() -> None:
    specs = opensm_conf.parse_template(TEMPLATE)
    assert {name: spec.kind for name, spec in specs.items()} == {
        "guid": "number", "sm_priority": "number", "lmc_esp0": "boolean", "routing_engine": "text",
        "partition_config_file": "text",
    }  # fmt: skip
    assert specs["sm_priority"].help == "A priority of two lines" and specs["routing_engine"].default == "(null)"
    with pytest.raises(ParseError, match="opensm -c"):
        opensm_conf.parse_template("OpenSM: command not found\n")


def test_options_of_a_file() -> None:
    conf = opensm_conf.parse("# c\n #d 1\nlmc 1\n\tlmc  2 \nlog_prefix 'a b'\nqos\nconsole \"x\r\n")
    assert dict(conf.options) == {"lmc": "2", "log_prefix": "a b", "console": '"x'}
    assert conf.duplicates == ("lmc",) and conf.keyless == (6,)


def test_what_opensm_complains_about() -> None:
    said = opensm_conf.complaints(
        " Loading Cached Option:lmc = 3\n"
        ' Unrecognized token: "foo_option"\n'
        "-E- Parsing error in field sweep_interval, value out of range\n"
        " Invalid Cached Option Value:sm_priority = 99:Using Default:0\n"
        " Invalid Cached Option Value:console = Off, Using Default:off\n"
    )
    assert sorted(said) == ["console", "foo_option", "sm_priority", "sweep_interval"]


PARTITIONS = """# all
Default=0x7fff, ipoib, mtu=5 : ALL, SELF=full ;
Fast = 0x8003 , defmember=full , ipoib,rate=16, sl=1, scope=2,scope=5 : 0x1234=limited,
  0X5, 7=both ; # end
: ALL=full; 0x9:;
Groups=0x4:
 mgid=ff12:401b::16,rate=3,Q_Key=0xb1b
 mgid=ff12::1
 ALL_CAS;
"""


def test_partitions() -> None:
    found = partitions_conf.parse(PARTITIONS)
    assert found.error is None and found.comments == ("# all", "# end") and found.warnings == ()
    default, fast, nameless, number, groups = found.partitions
    assert (default.pkey, default.broadcast.mtu, default.members) == (
        0x7FFF, 5, (Member("ALL", "limited"), Member("SELF", "full")),
    )  # fmt: skip
    assert (fast.written, fast.pkey, fast.line) == (0x8003, 3, 3)
    assert fast.broadcast == Group(rate=16, sl=1, scopes=(2, 5))
    assert fast.members == (
        Member("0x0000000000001234", "limited"), Member("0x0000000000000005", "full"), Member("0x0000000000000007", "both"),
    )  # fmt: skip
    assert (nameless.name, nameless.pkey, number.pkey) == ("", None, 9)
    assert groups.groups == (Group("ff12:401b::16", rate=3, q_key=0xB1B), Group("ff12::1"))
    assert groups.members == (Member("ALL_CAS", "limited"),)


@pytest.mark.parametrize(
    ("text", "line", "message", "suspect"),
    [
        ("Default=0x7fff:ALL;\nTwo=0x2\n: ALL;", 2, "no partition definition found", "Two=0x2"),
        ("A=0x1: node01=full;", 1, "bad PortGUID", "node01"),
        ("A=0x1: 0x0;", 1, "bad PortGUID", "0x0"),
        ("A=0x1: 0x12 34;", 1, "bad PortGUID", "0x12 34"),
        ("A=zz: ALL;", 1, "bad partition definition", "zz"),
    ],
)
def test_one_bad_line_is_the_end_of_the_file(text: str, line: int, message: str, suspect: str) -> None:
    error = partitions_conf.parse(text).error
    assert error is not None
    assert (error.line, error.message, error.suspect) == (line, f"PARSE ERROR: line {line}: {message}", suspect)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A=1: 0x1=fulll;", "membership 'fulll' of 0x1 is taken for limited"),
        ("A=1: AL=full;", "'AL' is taken for ALL"),
        ("A=1,ipib: ALL;", "flag 'ipib' is ignored"),
        ("A=1,defmember=some: ALL;", "defmember=some is skipped"),
        ("A=1,sl=16: ALL;", "sl=16 is skipped"),
        ("A=1,mtu=: ALL;", "mtu= is skipped"),
        ("A=1: mgid=1234::1;", "no multicast GID"),
        ("A=1: mgid=ff12::1,nonsense=1;", "'nonsense' of a multicast group is ignored"),
        ("A=1: ALL", "does not end with a semicolon"),
        ("A=0x8001: ALL; B=1: SELF;", "B defined twice (0x0001)"),
        ("A=1: " + "0x1," * 1200 + "0x2;", "4094 characters"),
    ],
)
def test_what_opensm_takes_otherwise(text: str, words: str) -> None:
    found = partitions_conf.parse(text)
    assert found.error is None and words in " ".join(found.warnings), found.warnings


def test_the_ip_mtu_of_a_group() -> None:
    assert [ipoib_mtu_bytes(code) for code in (None, 4, 5, 9)] == [2044, 2044, 4092, None]


LOG = """-------------------------------------------------
OpenSM 3.3.23
Command Line Arguments:
Dec 01 04:17:52 659817 [1C24A300] 0x03 -> OpenSM 3.3.23
Dec 01 04:17:52 663063 [1C24A300] 0x80 -> Entering DISCOVERING state
Dec 01 04:18:12 674516 [182406C0] 0x01 -> log_send_error: ERR 5411: DR SMP Send completed with error (IB_TIMEOUT) -- dropping
\t\t\tMethod 0x1, Attr 0x20, TID 0x137d
Dec 01 04:18:12 674558 [182406C0] 0x01 -> Received SMP on a 4 hop path: Initial path = 0,1,33,1,1, Return path  = 0,0
Dec 01 04:18:12 674562 [182406C0] 0x01 -> sm_mad_ctrl_send_err_cb: ERR 3113: MAD completed in error (IB_TIMEOUT): SubnGet(SMInfo), attr_mod
Dec 01 04:19:02 681378 [192426C0] 0x80 -> Entering MASTER state
Dec 01 04:19:02 683166 [192426C0] 0x02 -> osm_ucast_mgr_process: updn tables configured on all switches
Dec 01 04:19:02 683915 [192426C0] 0x02 -> SUBNET UP
"""


def test_a_log() -> None:
    log = opensm_log.parse(LOG)
    assert (log.version, log.state, log.subnet_up, log.routing_engine) == ("3.3.23", "MASTER", True, "updn")
    assert dict(log.err_codes) == {"5411": 1, "3113": 1}
    error = log.events[2]
    assert (error.function, error.level, error.continuation) == (
        "log_send_error",
        1,
        "Method 0x1, Attr 0x20, TID 0x137d",
    )
    assert log.events[3].dr_path == (0, 1, 33, 1, 1) and log.events[4].attribute == "SMInfo"
    assert not opensm_log.parse(LOG + "Dec 01 04:19:13 965941 [192426C0] 0x80 -> Entering STANDBY state\n").subnet_up
    assert opensm_log.parse("OpenSM 3.3.23\n\nNo local ports detected!\n").fatal == "No local ports detected!"


PIECES = st.sampled_from(
    [
        "A=0x1",
        "=",
        ":",
        ";",
        ",",
        "ALL",
        "0x12",
        "mgid=ff12::1",
        "\n",
        "#",
        " ",
        "full",
        "ipoib",
        "sl=\u0663",
        "9" * 5000,
        "\x00",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
@settings(max_examples=300)
def test_hostile_text_never_crashes(text: str) -> None:
    partitions_conf.parse(text)
    opensm_conf.parse(text)
    opensm_conf.complaints(text)
    opensm_log.parse(text)


@given(
    st.lists(
        st.sampled_from([*LOG.splitlines(), "Dec 01 04:18:12 674558 [1] 0x01 -> Initial path = " + "9," * 99 + "9"])
    )
)
def test_shuffled_logs_never_crash(lines: List[str]) -> None:
    opensm_log.parse("\n".join(lines))
