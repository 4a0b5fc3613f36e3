# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about RDMA and IPoIB that udev takes and that do not do what their author meant. Private to the collection. Pure.

Only what is certain from the text of the rule and the kernel's formats is reported; a rule about anything else than
RDMA or IPoIB devices is not looked at.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check import udev_lint_keys as keys
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint_address import network_address
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint_common import NEVER, Problem, kind_of
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding
from ansible_collections.rdma.infiniband.plugins.module_utils._model.findings_udev import make
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import Rule, RulesFile

_IPOIB_NAME = re.compile(r"(?:^|_)ib(?:[0-9]|[psx][0-9])")


def lint(
    files: Iterable[RulesFile], users: Optional[Mapping[str, int]] = None, groups: Optional[Mapping[str, int]] = None
) -> Tuple[Finding, ...]:
    """The findings of all files; owners and groups are judged where the accounts are known."""
    found: List[Finding] = []
    for item in files:
        for rule in item.rules:
            place = "%s:%d" % (item.path, rule.line)
            for code, observed, expected in problems(rule, users, groups):
                found.append(make(code, place, observed, expected, path=item.path))
        if item.reason is not None:
            found.append(make("UDEV_FILE_UNREADABLE", item.path, item.reason, "a readable file", path=item.path))
    return tuple(found)


def problems(
    rule: Rule, users: Optional[Mapping[str, int]] = None, groups: Optional[Mapping[str, int]] = None
) -> Tuple[Problem, ...]:
    """What is wrong with one rule; the checks are in the order of cause, and the first of each code is kept."""
    if not concerns_rdma(rule):
        return ()
    checks: Sequence[Callable[[Rule], Iterable[Problem]]] = (
        keys.unreadable_line,
        keys.wrong_operators,
        keys.wrong_subsystem,
        keys.node_pattern,
        keys.type_number,
        network_address,
        keys.guid_files,
        keys.port_files,
        keys.given_name,
        lambda item: keys.given_accounts(item, users, groups),
        keys.given_mode,
    )
    found: Dict[str, Problem] = {}
    for check in checks:
        for problem in check(rule):
            found.setdefault(problem[0], problem)
    if NEVER in found:  # then the other ones are of no consequence
        return (found[NEVER],)
    return tuple(found.values())


def concerns_rdma(rule: Rule) -> bool:
    """Whether the rule is about RDMA devices, their nodes or IPoIB network devices."""
    for token in rule.tokens:
        value = token.value.lower()
        if token.key in ("SUBSYSTEM", "SUBSYSTEMS") and value.startswith("infiniband"):
            return True
        if token.key in ("KERNEL", "KERNELS") and (kind_of(value) or value.startswith(("uverbs", "umad", "issm"))):
            return True
        if token.key == "ATTR" and token.attribute == "type" and value in ("32", "infiniband"):
            return True
        if token.key == "PROGRAM" and "rdma_rename" in value:
            return True
        if token.key in ("DRIVER", "DRIVERS") and value in ("ib_ipoib", "ipoib"):
            return True
    return _is_ipoib_by_name(rule)


def _is_ipoib_by_name(rule: Rule) -> bool:
    """A rule for a network device whose type it does not say, but whose name or address can only be IPoIB's."""
    if rule.conditions("ATTR", "type"):
        return False
    name = next((t for t in rule.tokens if t.key == "NAME"), None)
    address = rule.conditions("ATTR", "address")
    if not address:
        return False
    return bool(name and _IPOIB_NAME.search(name.value)) or any(
        len(part.split(":")) in (8, 16, 20) for token in address for part in token.value.split("|")
    )
