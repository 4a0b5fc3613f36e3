# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The syntax of udev rules and of IPoIB addresses."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint import problems
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import Token
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import ipoib_address
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.udev_rules import parse
from hypothesis import given, settings
from hypothesis import strategies as st


def test_tokens() -> None:
    (rule,) = parse('KERNEL=="umad*", ATTR{type}!="1",GROUP:="rdma"  MODE="0660"\n')
    assert rule.tokens == (
        Token("KERNEL", "==", "umad*"),
        Token("ATTR", "!=", "1", "type"),
        Token("GROUP", ":=", "rdma"),
        Token("MODE", "=", "0660"),
    )
    assert [token.matches for token in rule.tokens] == [True, True, False, False]


def test_lines_comments_and_continuations() -> None:
    text = '# A="1"\n\n  \t\nKERNEL=="a", \\\n# inside\n  MODE="1"\nKERNEL=="b"\r\nKERNEL=="c" \\'
    assert [(rule.line, len(rule.tokens), rule.problem) for rule in parse(text)] == [
        (4, 2, None),
        (7, 1, None),
        (8, 1, 'not of the form KEY=="value": \\'),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('KERNEL="a', "is not closed"),
        ("KERNEL==a", "not of the form"),
        ('kernel=="a"', "not of the form"),
        ("junk", "not of"),
    ],
)
def test_what_udev_skips(text: str, words: str) -> None:
    (rule,) = parse('SUBSYSTEM=="infiniband", ' + text)
    assert rule.problem and words in rule.problem and len(rule.tokens) == 1
    assert problems(rule)[0][0] == "UDEV_RULE_IGNORED"


def test_quotes() -> None:
    values = [parse(text)[0].tokens[0].value for text in (r'NAME="a\"b"', r'NAME="a\nb"', r'NAME=e"a\\b"')]
    assert values == ['a"b', "a\\nb", "a\\b"]
    assert parse('KERNEL==i"UMAD*"')[0].tokens[0].ignore_case


def test_the_last_assignment_and_the_conditions() -> None:
    (rule,) = parse('SUBSYSTEMS=="pci", SUBSYSTEM=="net", GROUP="a", GROUP="b"')
    assert [token.value for token in rule.conditions("SUBSYSTEM")] == ["pci", "net"]
    token = rule.assigned("GROUP")
    assert token is not None and token.value == "b" and rule.assigned("MODE") is None


def test_an_ipoib_address() -> None:
    found = ipoib_address.parse("80:00:02:08:FE:80:00:00:00:00:00:00:00:11:22:33:44:55:66:77\n")
    assert (found.flags, found.queue_pair) == (0x80, 0x208)
    assert (found.subnet_prefix, found.port_guid) == ("0xfe80000000000000", "0x0011223344556677")


@pytest.mark.parametrize("text", ["", "00:11:22:33:44:55", "80:00:02:08:fe:80::", "zz" + ":00" * 19, "00:" * 20])
def test_what_is_no_ipoib_address(text: str) -> None:
    with pytest.raises(ParseError, match="20 bytes"):
        ipoib_address.parse(text)


WORDS = st.sampled_from(
    ['KERNEL', 'ATTR{address}', 'ATTR{type}', 'SUBSYSTEM', '==', '=', '"', '"32"', '"infiniband"', '"umad*"', ",", "\\", "\n",
     '"?*00:11"', "NAME", "MODE", "ATTR{dev_id}", '"1"', "[", "\u00b2", "\x00"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(WORDS).map("".join)))
@settings(max_examples=300)
def test_hostile_rules_never_crash(text: str) -> None:
    for rule in parse(text):
        assert rule.line > 0
        problems(rule, {}, {})
