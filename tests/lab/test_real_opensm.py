# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection accepts, the real OpenSM reads as it was given; what the real one would not, is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_options import check_options, check_readback
from ansible_collections.rdma.infiniband.plugins.module_utils._check.partitions_intent import parse_partitions
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import opensm_conf
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.opensm_files import conf_text, partitions_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lab.conftest import NAME, Lab

pytestmark = pytest.mark.lab
RELAXED = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def fabric(lab_tools: None) -> Iterator[Lab]:
    """Two hosts on a fabric without a manager."""
    lab = Lab(NAME[:6] + "os")
    lab.run("up", "--hosts", "2", "--no-opensm", "--replace", timeout=600)
    try:
        yield lab
    finally:
        lab.run("down")


@pytest.fixture(scope="module")
def template(fabric: Lab) -> dict[str, Any]:
    return dict(opensm_conf.parse_template(fabric.sh("node001", "opensm -c /tmp/t >/dev/null && cat /tmp/t")))


def test_the_template_of_the_installed_version(template: dict[str, Any]) -> None:
    assert len(template) > 100
    assert (template["sm_priority"].kind, template["qos"].kind, template["routing_engine"].kind) == (
        "number",
        "boolean",
        "text",
    )


def read_back(fabric: Lab, text: str) -> tuple[str, dict[str, str]]:
    script = (
        f"cat > /tmp/c <<'END OF FILE'\n{text}END OF FILE\nopensm -F /tmp/c -c /tmp/o; echo; echo ======; cat /tmp/o"
    )
    said, _line, back = fabric.sh("node001", script).partition("======\n")
    return said, dict(opensm_conf.parse(back).options)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 40), st.sampled_from([255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**64]),
    st.sampled_from(["0x10", "0xffff", "off", "both", "in", "a b", "/tmp/x", "TRUE", "yes", "updn", "updn,ftree", "nosuch"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12),
)  # fmt: skip


@given(data=st.data())
@RELAXED
def test_accepted_options_are_read_as_given(fabric: Lab, template: dict[str, Any], data: st.DataObject) -> None:
    names = st.sampled_from([*sorted(template), "sm_prioritty"])
    wanted = data.draw(st.dictionaries(names, VALUES, min_size=1, max_size=8))
    texts, problems = check_options(wanted, template)
    assert all(any(problem.startswith(f"{name}: ") for problem in problems) for name in wanted if name not in texts)
    said, back = read_back(fabric, conf_text(texts))
    complaints = opensm_conf.complaints(said)
    refused = check_readback(texts, complaints, back)
    # The second look names every option that the real one did not take, and no other.
    for name, text in texts.items():
        taken = name not in complaints and (back[name] == text or number(back[name]) == number(text) is not None)
        assert taken != any(problem.startswith(f"{name}: ") for problem in refused), (name, text, back.get(name), said)


def number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


MEMBERS = st.lists(
    st.fixed_dictionaries(
        {"membership": st.sampled_from(["full", "limited"])},
        optional={"ports": st.sampled_from(["ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"])},
    ).map(lambda member: member if "ports" in member else {**member, "guid": "0xa088c20300000101"}),
    min_size=1, max_size=3,
)  # fmt: skip
PARTITIONS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["Default", "storage", "a-b", "x.y_z"]), "pkey": st.sampled_from([1, 2, 0x7FFF, "0x7ffe"]),
         "members": MEMBERS, "ipoib": st.just(True)},
        optional={
            "mtu_bytes": st.sampled_from([256, 2048, 4096]), "rate_gbps": st.sampled_from([2.5, 10, 100, 400]),
            "scopes": st.lists(st.integers(2, 5), max_size=2), "q_key": st.sampled_from([0x0B1B, 7]),
            "multicast_groups": st.just([{"mgid": "ff12:401b::16"}, {"mgid": "ff12::7", "mtu_bytes": 1024}]),
        },
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@given(wanted=PARTITIONS)
@settings(RELAXED, max_examples=15)
def test_accepted_partitions_are_loaded_without_a_complaint(fabric: Lab, wanted: list[dict[str, Any]]) -> None:
    partitions, problems = parse_partitions(wanted)
    if problems:
        return
    text = partitions_text(partitions)
    script = (
        f"cat > /tmp/p <<'END OF FILE'\n{text}END OF FILE\nrm -f /tmp/l; "
        "opensm -o -D 0x07 -P /tmp/p -f /tmp/l >/dev/null 2>&1; cat /tmp/l"
    )
    log = fabric.sh("node001", script)
    assert "SUBNET UP" in log
    bad = [line for line in log.splitlines() if "PARSE" in line or "in error" in line or "invalid" in line]
    assert bad == [], text
