# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PAM stacks: is pam_limits reached?"""

from __future__ import annotations

from typing import Dict

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import PamStack
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.pam_stack import parse_stack, parse_use_pam
from hypothesis import given
from hypothesis import strategies as st

LIMITS = "session required pam_limits.so\n"


def stack(text: str, **others: str) -> PamStack:
    files: Dict[str, str] = {"sshd": text}
    files.update({name.replace("_", "-"): content for name, content in others.items()})
    return parse_stack("sshd", "/etc/pam.d", files.get)


@pytest.mark.parametrize(
    ("text", "others", "state"),
    [
        (LIMITS, {}, "runs"),
        ("-session optional /usr/lib/security/pam_limits.so set_all\n", {}, "runs"),
        ("session [success=ok ignore=ignore module_unknown=ignore default=bad] pam_limits.so\n", {}, "runs"),
        ("session include password-auth\n", {"password_auth": LIMITS}, "runs"),
        ("@include common-session\n", {"common_session": LIMITS}, "runs"),
        ("session substack password-auth\n", {"password_auth": LIMITS}, "runs"),
        ("session required \\\n  pam_limits.so\n", {}, "runs"),
        # Debian's common-session jumps over pam_deny and goes on.
        ("session [default=1] pam_permit.so\nsession requisite pam_deny.so\n" + LIMITS, {}, "runs"),
        # A substack that ends early does not end what includes it.
        ("session substack other\n" + LIMITS, {"other": "session sufficient pam_permit.so\n"}, "runs"),
        ("session [success=1 default=ignore] pam_succeed_if.so quiet\nsession required pam_unix.so\n" + LIMITS, {}, "runs"),
        ("", {}, "missing"),
        ("auth required pam_limits.so\n", {}, "missing"),
        ("#session required pam_limits.so\n", {}, "missing"),
        ("session include gone\n", {}, "missing"),
        ("session include sshd\n", {}, "missing"),
        ("session [default=1] pam_permit.so\n" + LIMITS, {}, "skipped"),
        ("session sufficient pam_permit.so\n" + LIMITS, {}, "skipped"),
        ("session include other\n" + LIMITS, {"other": "session sufficient pam_permit.so\n"}, "skipped"),
        ("session sufficient pam_sss.so\n" + LIMITS, {}, "sometimes"),
        ("session [success=1 default=ignore] pam_succeed_if.so uid < 1000\n" + LIMITS, {}, "sometimes"),
        ("session [success=2 default=ignore] pam_x.so\nsession sufficient pam_permit.so\n" + LIMITS, {}, "sometimes"),
    ],
)  # fmt: skip
def test_reached(text: str, others: Dict[str, str], state: str) -> None:
    assert stack(text, **others).state == state


def test_what_it_says() -> None:
    found = stack("#session required pam_limits.so\nsession include gone\n")
    assert "sshd:1 has it as a comment" in found.reason and "gone does not exist" in found.reason
    found = stack("session sufficient pam_sss.so\n" + LIMITS)
    assert found.reason == "/etc/pam.d/sshd:1 (pam_sss) ends the stack before it" and found.where.endswith("sshd:2")
    found = stack("session required pam_limits.so conf=/etc/x.conf [set_all]\n")
    assert (found.conf, found.set_all) == ("/etc/x.conf", True)


@given(st.text(), st.text(alphabet="session -[]=1requiedpam_lts.so\n\\@#"))
def test_no_text_breaks_it(text: str, lines: str) -> None:
    for content in (text, lines):
        assert stack(content, other=content).state in ("runs", "missing", "skipped", "sometimes")
        parse_use_pam(content, "/etc/ssh/sshd_config", lambda pattern: [("x", "Include y")])


@pytest.mark.parametrize(
    ("text", "included", "used"),
    [
        ("UsePAM yes\nUsePAM no\n", "", True),
        ("UsePAM no\nUsePAM yes\n", "", False),
        ("usepam=yes\n", "", True),
        ('UsePAM "yes" # really\n', "", True),
        ("#UsePAM yes\n", "", False),
        ("Port 22\n", "", False),
        ("Match User x\nUsePAM yes\n", "", False),
        ("Include sshd_config.d/*.conf\nUsePAM no\n", "UsePAM yes\n", True),
        ("Include sshd_config.d/*.conf\nUsePAM yes\n", "Match User x\n", True),
    ],
)
def test_sshd(text: str, included: str, used: bool) -> None:
    assert parse_use_pam(text, "c", lambda pattern: [("i", included)])[0] is used
