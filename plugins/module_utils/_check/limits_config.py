# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What limits.conf and limits.d come to, and what is wrong in them. Private to the collection. Pure."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_limits import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    Account,
    Limit,
    LimitLine,
    LoginLimit,
    size_text,
)

# The smaller, the stronger: a line for a user counts more than one for a group, and that more than one for everyone.
_USER, _GROUP, _EVERYONE, _NOBODY = range(4)
_COMMAND = "grep -n memlock /etc/security/limits.conf /etc/security/limits.d/*.conf"


def strength(line: LimitLine, account: Account, debian_pam: bool) -> Optional[int]:
    """How strongly a line speaks of a user; ``None`` when it does not."""
    domain = line.domain
    if domain == account.name:
        return _USER
    # Lines that take a group out of all limits reach root as well.
    root_left_out = debian_pam and account.uid == 0 and line.kind != "exempt"
    if domain.startswith("%") or (root_left_out and (domain == "*" or domain.startswith("@"))):
        return None
    if domain == "*":
        # An exempt line for everyone does nothing.
        return None if line.kind == "exempt" else _EVERYONE
    if domain.startswith("@"):
        if ":" not in domain:
            return _GROUP if domain[1:] in account.groups else None
        low, high = domain[1:].split(":", 1)
        if not low:
            return _GROUP if int(high) in account.gids else None
        return _GROUP if _within(account.gid, low, high) else None
    if ":" in domain:
        low, high = domain.split(":", 1)
        return _USER if _within(account.uid, low or high, high) else None
    return None


def _within(number: int, low: str, high: str) -> bool:
    return int(low) <= number and (not high or number <= int(high))


def login_limit(lines: Sequence[LimitLine], account: Account, start: Limit, debian_pam: bool = False) -> LoginLimit:
    """What the lines, in the order in which pam_limits reads them, make of the limit that a session starts from."""
    soft, hard = start.soft, start.hard
    soft_line: Optional[LimitLine] = None
    hard_line: Optional[LimitLine] = None
    soft_by = hard_by = _NOBODY
    for line in lines:
        if line.kind == "exempt":
            if line.problem is None and strength(line, account, debian_pam) is not None:
                return LoginLimit(start, exempt_line=line)
            continue
        by = strength(line, account, debian_pam) if line.size is not None else None
        if by is None or line.size is None:
            continue
        if line.kind in ("soft", "-"):
            if soft_by < by:
                continue  # and the hard part of a line for both is then not looked at either
            soft, soft_by, soft_line = line.size, by, line
        if line.kind in ("hard", "-") and hard_by >= by:
            hard, hard_by, hard_line = line.size, by, line
    return LoginLimit(Limit(min(soft, hard), hard), soft_line, hard_line)


def check_lines(lines: Sequence[LimitLine]) -> Tuple[Finding, ...]:
    """Findings about the lines themselves, one for a cause: misread lines, and domains that contradict themselves."""
    findings = [
        make(
            "LIMITS_LINE_MISREAD",
            line.where,
            "%r: %s" % (line.says, line.problem),
            "a line such as '%s - memlock unlimited'" % (line.domain.replace("%", "@") or "@rdma"),
            command="sed -n %dp %s" % (line.line, line.path),
        )
        for line in lines
        if line.problem
    ]
    domains: Dict[str, List[LimitLine]] = {}
    for line in lines:
        if line.kind != "exempt" and line.size is not None:
            domains.setdefault(line.domain, []).append(line)
    for domain, own in domains.items():
        finding = _check_domain(domain, own)
        if finding:
            findings.append(finding)
    return tuple(findings)


def _check_domain(domain: str, lines: Sequence[LimitLine]) -> Optional[Finding]:
    soft = [line for line in lines if line.kind in ("soft", "-")]
    hard = [line for line in lines if line.kind in ("hard", "-")]
    quoted = "; ".join("%s '%s'" % (line.where, line.says) for line in lines)
    subject = "memlock of %s" % domain
    if soft and hard and (soft[-1].size or 0) > (hard[-1].size or 0):
        return make(
            "LIMITS_SOFT_ABOVE_HARD",
            subject,
            "soft %s at %s is above hard %s at %s, so sessions get %s (%s)"
            % (
                size_text(soft[-1].size or 0), soft[-1].where, size_text(hard[-1].size or 0), hard[-1].where,
                size_text(hard[-1].size or 0), quoted,
            ),
            "a soft limit that is not above the hard one",
            command=_COMMAND,
        )  # fmt: skip
    for kind in (soft, hard):
        if len({line.size for line in kind}) > 1:
            return make(
                "LIMITS_CONTRADICTION",
                subject,
                "%s; the last one counts" % quoted,
                "one value",
                command=_COMMAND,
            )
    return None
