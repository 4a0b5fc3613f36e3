# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of sysfs files and of tool outputs: right values, hostile text, truncation."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import (
    ibstat,
    ibv_devinfo,
    rdma,
    sysfs,
    tool_errors,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from hypothesis import given, settings
from hypothesis import strategies as st

HEALTHY = """CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.43.2026
\tHardware version: 0
\tNode GUID: 0x946dae0300112200
\tSystem image GUID: 0x946dae0300112200
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 17
\t\tLMC: 0
\t\tSM lid: 3
\t\tCapability mask: 0xa751e848
\t\tPort GUID: 0x946dae0300112200
\t\tLink layer: InfiniBand
CA 'ibp65s0'
\tCA type: MT4123
\tNumber of ports: 2
\tFirmware version: 20.43.2026
\tHardware version: 0
\tNode GUID: 0x946dae0300112300
\tSystem image GUID: 0x946dae0300112300
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 100
\t\tEffective speed: 2X HDR
\t\tBase lid: 65535
\t\tLMC: 0
\t\tSM lid: 0
\t\tCapability mask: 0xa651e848
\t\tPort GUID: 0x946dae0300112300
\t\tLink layer: InfiniBand
\tPort 2:
\t\tState: Down
\t\tPhysical state: Disabled
\t\tRate: 40 (FDR10)
\t\tBase lid: 0
\t\tLMC: 0
\t\tSM lid: 0
\t\tCapability mask: 0x00010000
\t\tPort GUID: 0x0000000000000000
\t\tLink layer: Ethernet
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("400 Gb/sec (4X NDR)\n", (400.0, "4X", "NDR")),
        ("200 Gb/sec (2X NDR)", (200.0, "2X", "NDR")),
        ("100 Gb/sec (2X HDR)", (100.0, "2X", "HDR")),
        ("800 Gb/sec (4X XDR)", (800.0, "4X", "XDR")),
        ("40 Gb/sec (4X FDR10)", (40.0, "4X", "FDR10")),
        ("2.5 Gb/sec (1X SDR)", (2.5, "1X", "SDR")),
        ("10 Gb/sec (4X)", (10.0, "4X", "SDR")),
        ("", (None, None, None)),
        ("fast", (None, None, None)),
    ],
)
def test_rate(text, expected):
    assert sysfs.rate(text) == expected


def test_sysfs_values():
    assert sysfs.numbered("4: ACTIVE\n") == "ACTIVE"
    assert sysfs.numbered("7: Phy Test") == "Phy Test"
    assert sysfs.numbered("ACTIVE") is None
    assert sysfs.guid("a088:C203:00bb:0001") == "0xa088c20300bb0001"
    assert sysfs.guid("a088:c203:00bb") is None
    assert sysfs.integer("0xb") == 11
    assert sysfs.integer("0xffff\n") == 0xFFFF
    assert sysfs.integer("1_000") is None
    assert sysfs.integer("٣") is None
    assert sysfs.integer("-1") is None
    assert sysfs.counter("N/A (no PMA)") is None
    assert sysfs.numa_node("-1") is None
    assert sysfs.pcie_speed("32.0 GT/s PCIe") == 32.0
    assert sysfs.pcie_speed("Unknown") is None
    assert sysfs.pcie_width("0") is None
    assert sysfs.pcie_width("255") is None
    assert sysfs.gid(sysfs.ZERO_GID) is None


def test_pkey_membership_is_split():
    full, limited = sysfs.pkey(0, "0x8002"), sysfs.pkey(1, "0x0002")
    assert (full.pkey, full.membership) == ("0x0002", "full")
    assert (limited.pkey, limited.membership) == ("0x0002", "limited")
    assert sysfs.pkey(2, "0x0000") is None
    assert sysfs.pkey(2, "0x8000") is None


def test_saturated_counters():
    counters = {"link_downed": 255, "symbol_error": 65535, "port_rcv_errors": 14, "local_link_integrity_errors": 15}
    assert sysfs.saturated(counters) == ("link_downed", "local_link_integrity_errors", "symbol_error")
    assert sysfs.saturated({"port_xmit_data": 0xFFFFFFFF, "out_of_buffer": None}) == ("port_xmit_data",)


def test_ibstat_values():
    output = ibstat.parse(HEALTHY)
    assert output.complete and not output.unknown_lines
    first, second = output.hcas
    assert (first.name, first.product, first.firmware) == ("mlx5_0", "ConnectX-7", "28.43.2026")
    assert (first.ports[0].state, first.ports[0].lid, first.ports[0].sm_lid) == ("ACTIVE", 17, 3)
    assert first.ports[0].width is None, "ibstat shows no width"
    assert [port.state for port in second.ports] == ["INIT", "DOWN"]
    assert second.ports[0].lid_assigned is False
    assert (second.ports[1].rate_gbps, second.ports[1].speed) == (40.0, "FDR10")
    assert second.ports[1].lid_assigned is None, "LIDs mean nothing on Ethernet"


def test_ibstat_partial_output_keeps_the_good_devices():
    output = ibstat.parse(
        HEALTHY + "ibpanic: [77] main: stat of IB device 'mlx5_7' failed: No such file or directory\n"
    )
    assert [hca.name for hca in output.hcas] == ["mlx5_0", "ibp65s0"]
    assert not output.complete
    assert (output.problems[0].kind, output.problems[0].device) == ("device_not_found", "mlx5_7")


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_ibstat_line_ends_and_indentation(end):
    text = HEALTHY.replace("\t", "    ").replace("\n", end).rstrip("\r\n").replace("    State", "\u00a0   State")
    assert ibstat.parse(text).complete


def test_ibstat_text_of_another_tool_is_not_a_pass():
    output = ibstat.parse("mlx5_0 port 1 ==> ib0 (Up)\n")
    assert not output.complete and output.missing


def test_no_truncation_of_a_healthy_output_is_clean():
    for length in range(len(HEALTHY)):
        output = ibstat.parse(HEALTHY[:length])
        boundary = HEALTHY[length:].lstrip("\n").startswith("CA '") or not HEALTHY[:length].strip()
        whole = HEALTHY[length:].strip() == ""
        if not boundary and not whole:
            assert not output.complete, HEALTHY[:length][-60:]
        if not whole:
            assert len(output.hcas) < 2 or not output.complete


# Digits that int() refuses, that it takes and no tool writes, and more of them than int() takes.
NO_NUMBERS = ("\u00b2", "\u0663", "9" * 5000)


@pytest.mark.parametrize("digits", NO_NUMBERS, ids=["superscript", "arabic", "huge"])
def test_digits_that_no_tool_writes(digits):
    odd = HEALTHY.replace("Port 1:", "Port %s:" % digits).replace("Rate: 400", "Rate: %s" % digits)
    assert not ibstat.parse(odd).complete
    assert sysfs.integer(digits) is None and sysfs.integer("0x" + digits) is None
    for text in ("%s Gb/sec (4X NDR)", "400 Gb/sec (%sX NDR)"):
        assert sysfs.rate(text % digits) == (None, None, None)
    assert sysfs.numbered("%s: ACTIVE" % digits) is None and sysfs.pcie_speed("%s GT/s" % digits) is None
    devinfo = "hca_id:\tmlx5_0\n\t\tport:\t%s\n\t\t\tmax_mtu:\t\t%s (5)\n" % (digits, digits)
    assert ibv_devinfo.parse_mtus(devinfo) == {}
    tool_errors.parse_line("ibpanic: [%s] main: stuck" % digits, "ibstat")
    for text in ("link mlx5_0/%s state ACTIVE" % digits, '[{"ifname":"mlx5_0","port":%s}]' % digits,
                 '[{"ifname":"mlx5_0/%s"}]' % digits):  # fmt: skip
        with pytest.raises(ParseError):
            rdma.parse_links(text)


@given(st.text(st.one_of(st.characters(), st.sampled_from("0123456789\u00b2\u0663"))))
@settings(max_examples=150)
def test_hostile_text_never_crashes(text):
    ibstat.parse(text)
    tool_errors.parse(text)
    sysfs.rate(text), sysfs.numbered(text), sysfs.guid(text), sysfs.integer(text), sysfs.pkey(0, text)
    sysfs.pcie_speed(text), sysfs.pcie_width(text), sysfs.gid(text)
    for function in (rdma.parse_links, ibv_devinfo.parse_mtus):
        try:
            function(text)
        except ParseError:
            pass


@given(st.lists(st.sampled_from(HEALTHY.splitlines() + ["ibpanic: [1] main: x", "\x00", "Port 999999999999:"])))
@settings(max_examples=150)
def test_shuffled_lines_never_crash(lines):
    ibstat.parse("\n".join(lines))


LINK_JSON = (
    '[{"ifindex":0,"ifname":"mlx5_0","port":1,"subnet_prefix":"fe80:0000:0000:0000","lid":11,"sm_lid":1,"lmc":0,'
    '"state":"ACTIVE","physical_state":"LINK_UP"},{"ifindex":1,"ifname":"mlx5_1/2","state":"DOWN",'
    '"physical_state":"DISABLED","netdev":"eth4"}]'
)


def test_rdma_links():
    first, second = rdma.parse_links(LINK_JSON)
    assert (first.device, first.port, first.lid, first.phys_state, first.is_infiniband) == (
        "mlx5_0",
        1,
        11,
        "LinkUp",
        True,
    )
    assert (second.device, second.port, second.netdev, second.is_infiniband) == ("mlx5_1", 2, "eth4", False)
    (old,) = rdma.parse_links("3/1: mlx5_3/1: state ACTIVE physical_state LINK_UP netdev state\n")
    assert (old.device, old.port, old.state, old.netdev) == ("mlx5_3", 1, "ACTIVE", "state")
    assert rdma.parse_links("") == () and rdma.parse_links("[]") == () and rdma.parse_links("[{}]") == ()


def test_truncated_rdma_json_is_an_error():
    for length in range(1, len(LINK_JSON)):
        with pytest.raises(ParseError):
            rdma.parse_links(LINK_JSON[:length])


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            "ibwarn: [9] get_abi_version: can't read ABI version from /sys/class/infiniband_mad/abi_version (x): is ib_umad module loaded?",
            "umad_module_missing",
        ),
        ("ibwarn: [9] mad_rpc_open_port: can't open UMAD port ((null):0)", "umad_open_failed"),
        ("ibpanic: [9] main: Failed to bind to the SA: Permission denied", "umad_open_failed"),
        ("ibpanic: [9] main: Failed to bind to the SA: No such file or directory", "no_subnet_manager"),
        ("ibwarn: [9] sa_get_handle: No SM/SA found on port mlx5_0:1", "no_subnet_manager"),
        ("ibpanic: [9] main: 'ib0' IB device can't be found: No such file or directory", "device_not_found"),
        ("sminfo: iberror: failed: query", "no_answer"),
        ("/usr/sbin/ibnetdiscover: iberror: failed: discover failed", "umad_open_failed"),
        ("ibwarn: [9] mad_rpc: _do_madrpc failed; dport (Lid 4)", "no_answer"),
        ("ibwarn: [9] _do_madrpc: recv failed: Connection timed out", "timeout"),
        ("ibwarn: [9] mad_register_port_client: client_register for mgmt 1 failed", "not_infiniband"),
        ("Fatal error:  device '*': sys files not found (/sys/class/infiniband/*/ports)", "no_rdma_device"),
        ("Fatal error:  No devices", "no_rdma_device"),
        ("Failed to open NETLINK_RDMA socket", "no_rdma_netlink"),
        ("Failed to open (null) port 0", "umad_open_failed"),
        ("ibwarn: [9] main: the moon is full", "other"),
    ],
)
def test_complaints_have_causes(line, kind):
    problem = tool_errors.parse_line(line)
    assert problem.kind == kind
    assert (problem.cause is None) == (kind == "other")


def test_other_lines_are_no_complaints():
    assert tool_errors.parse("CA 'mlx5_0'\n  Rate: 400\nError counters: none\n") == ()


DEVINFO = """hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tphys_port_cnt:\t\t\t2
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t2048 (4)
\t\tport:\t2
\t\t\tmax_mtu:\t\tinvalid MTU (9)
hca_id:\trxe0
\t\tport:\t1
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t1024 (3)
"""


def test_mtus():
    assert ibv_devinfo.parse_mtus(DEVINFO) == {("mlx5_0", 1): (2048, 4096), ("rxe0", 1): (1024, 4096)}
    assert ibv_devinfo.parse_mtus("No IB devices found\n") == {}
