# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that udev takes and that do nothing: each with its code, its cause and the right form."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint import lint, problems
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import RulesFile
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.udev_rules import parse

NEVER, QPN, IGNORED = "UDEV_RULE_NEVER_MATCHES", "UDEV_RULE_MATCHES_QPN", "UDEV_RULE_IGNORED"
GID = "fe:80:00:00:00:00:00:00"
TAIL = "00:11:22:33:44:55:66:77"
FULL = f"80:00:02:08:{GID}:{TAIL}"


def net(condition: str) -> str:
    return f'ACTION=="add", SUBSYSTEM=="net", ATTR{{type}}=="32", {condition}, NAME="ib_rail0"'


@pytest.mark.parametrize(
    "rule",
    [
        net(f'ATTR{{address}}=="?*{TAIL}"'),
        net(f'ATTR{{address}}=="*{TAIL}"'),
        net(f'ATTR{{address}}=="??:??:??:??:{GID}:{TAIL}"'),
        net(f'ATTR{{address}}=="80:??:??:??:{GID}:{TAIL}"'),
        net(f'ATTR{{address}}==i"*{TAIL.upper()}"'),
        net(f'ATTR{{address}}=="00:0c:29:aa:bb:7a|*{TAIL}"'),  # one alternative is right
        net('KERNELS=="0000:41:00.0", ATTR{dev_port}=="1"'),
        net('ATTR{dev_id}=="0x1"'),
        'SUBSYSTEM=="infiniband_verbs", KERNEL=="uverbs*", GROUP="rdma", MODE="0660"',
        'SUBSYSTEM=="infiniband_mad", KERNEL=="umad*|issm*", GROUP="rdma", MODE="660"',
        'SUBSYSTEM=="misc", KERNEL=="rdma_cm", MODE="0666"',
        'KERNEL=="uverbs0", MODE="0666"',
        'SUBSYSTEM=="infiniband", ATTR{node_guid}=="0011:2233:4455:6677", PROGRAM=="rdma_rename %k NAME_FIXED rail0"',
        'SUBSYSTEM=="infiniband", ENV{ID_X}="1"',
        'SUBSYSTEM=="net", ATTR{address}=="00:0c:29:aa:bb:7a", NAME="lan0"',  # an Ethernet device, none of our business
        'SUBSYSTEM=="net", KERNEL=="eth*", MODE="wrong"',
    ],
)  # fmt: skip
def test_rules_that_work(rule: str) -> None:
    assert problems(parse(rule)[0]) == ()


@pytest.mark.parametrize(
    ("rule", "code", "cause", "right"),
    [
        (net('ATTR{address}=="00:0c:29:aa:bb:7a"'), NEVER, "6-byte Ethernet MAC never matches", "port GUID"),
        (net(f'ATTR{{address}}=="{FULL}"'), QPN, "bytes 2 to 4 (00:02:08)", f'"*{TAIL}"'),
        (net(f'ATTRS{{address}}=="{FULL}"'), QPN, "queue pair number", f'ATTRS{{address}}=="*{TAIL}"'),
        (net(f'ATTR{{address}}=="80:00:02:08:*{TAIL}"'), QPN, "queue pair number", f'"*{TAIL}"'),
        (net(f'ATTR{{address}}=="*:02:08:{GID}:{TAIL}"'), QPN, "queue pair number", f'"*{TAIL}"'),
        (net(f'ATTR{{address}}=="{FULL.upper()}"'), NEVER, "lower-case", f'"*{TAIL}"'),
        (net(f'ATTR{{address}}=="{FULL.replace(":", "-")}"'), NEVER, "colons", f'"*{TAIL}"'),
        (net(f'ATTR{{address}}=="{TAIL}"'), NEVER, "20 bytes", f'"*{TAIL}"'),
        (net(f'ATTR{{address}}=="{GID}:{TAIL}"'), NEVER, "20 bytes", f'"*{TAIL}"'),
        (net('ATTR{address}=="0x0011223344556677"'), NEVER, "a GUID is not how", f'"*{TAIL}"'),
        (net(f'ATTR{{address}}=="?*{TAIL.replace("77", "AA")}"'), NEVER, "lower-case", "66:aa"),
        (net(f'ATTR{{address}}=="??:{TAIL}"'), NEVER, "it can only match 26 characters", f'"*{TAIL}"'),
        (net('ATTR{type}=="infiniband"'), NEVER, "the number", '"32"'),
        (net('ATTR{dev_id}=="1"'), NEVER, "sysfs writes 0x1", 'ATTR{dev_port}=="1"'),
        (net('ATTR{dev_port}=="0x1"'), NEVER, "decimal", 'ATTR{dev_port}=="1"'),
        ('KERNEL=="uverbs", MODE="0666"', NEVER, "carry a number", '"uverbs*"'),
        ('KERNEL=="infiniband/umad*", MODE="0666"', NEVER, "no directory", '"umad*"'),
        ('KERNEL=="umad#", MODE="0666"', NEVER, "# is no wildcard", '"umad*"'),
        ('KERNEL=="UMAD*", MODE="0666"', NEVER, "lower case", '"umad*"'),
        ('SUBSYSTEM=="infiniband", KERNEL=="umad*", MODE="0666"', NEVER, "not of subsystem infiniband", '"infiniband_mad"'),
        ('SUBSYSTEM=="INFINIBAND", KERNEL=="mlx5_0", MODE="0666"', NEVER, "lower case", '"infiniband"'),
        ('SUBSYSTEM=="infiniband", ATTR{node_guid}=="0x0011223344556677", MODE="0666"', NEVER, "four groups", "0011:2233:4455:6677"),
        ('SUBSYSTEM="infiniband_mad", KERNEL=="umad*", MODE="0666"', IGNORED, "can only be compared", 'SUBSYSTEM=="infiniband_mad"'),
        ('KERNEL=="umad*", MODE=="0666"', IGNORED, "can only be set", 'MODE="0666"'),
        ('KERNEL=="umad*", MODE="rw-rw----"', IGNORED, "no octal number", "0660"),
        ('KERNEL=="umad*", GROUP="nobodys"', IGNORED, "no such group", "existing group"),
        ('SUBSYSTEM=="infiniband", KERNEL=="mlx5_0", NAME="rail0"', IGNORED, "never an RDMA device", "NAME_FIXED rail0"),
        (net('KERNELS=="0000:41:00.0"').replace("ib_rail0", "ib_rail0_of_node0"), IGNORED, "the kernel refuses it", "15"),
    ],
)  # fmt: skip
def test_rules_that_do_nothing(rule: str, code: str, cause: str, right: str) -> None:
    (found,) = problems(parse(rule)[0], {}, {})
    assert found[0] == code and cause in found[1] and right in found[2], found


def test_the_place_of_a_finding() -> None:
    text = "# a comment\n" + net('ATTR{address}=="00:0c:29:aa:bb:7a"')
    files = (
        RulesFile("/etc/udev/rules.d/70-x.rules", parse(text), text),
        RulesFile("/r/9.rules", reason="Permission denied"),
    )
    first, second = lint(files)
    assert (first.code, first.subject) == (NEVER, "/etc/udev/rules.d/70-x.rules:2")
    assert (second.code, second.subject, second.observed) == ("UDEV_FILE_UNREADABLE", "/r/9.rules", "Permission denied")
