# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory's words about device nodes and names to an intent, with one clear error. Private to the collection."""

from __future__ import annotations

import re
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    NODE_KINDS,
    POLICIES,
    NameIntent,
    NodeIntent,
    UdevIntent,
)

_MODE = re.compile(r"^0[0-7]{3}\Z")
_ACCOUNT = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\$?\Z")
_PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_GUID = re.compile(r"^0x[0-9a-f]{16}\Z")
# RDMA devices: the kernel's limit is 63 characters. Network devices: 15, and a dot marks the device of a P_Key.
_RDMA_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_.-]{0,62}\Z")
_NET_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]{0,14}\Z")


class IntentError(Exception):
    """Names the option, the value and what is allowed."""


def parse_intent(
    nodes: Sequence[Mapping[str, Any]],
    policy: str,
    fixed: Sequence[Mapping[str, Any]],
    ipoib: Sequence[Mapping[str, Any]],
) -> UdevIntent:
    """The intent, or :class:`IntentError` about the first thing that is wrong."""
    if policy not in POLICIES:
        raise IntentError("naming: %r is not allowed; use one of %s" % (policy, ", ".join(POLICIES)))
    intent = UdevIntent(
        tuple(_node("nodes[%d]" % index, item) for index, item in enumerate(nodes)),
        policy,
        tuple(_name("fixed_names[%d]" % index, item, _RDMA_NAME) for index, item in enumerate(fixed)),
        tuple(_name("ipoib_names[%d]" % index, item, _NET_NAME) for index, item in enumerate(ipoib)),
    )
    _once("nodes", "kind", [node.kind for node in intent.nodes])
    for option, names in (("fixed_names", intent.fixed), ("ipoib_names", intent.ipoib)):
        _once(option, "name", [name.name for name in names])
        _once(option, "device", [name.where for name in names])
    if intent.fixed and policy == "unmanaged":
        raise IntentError(
            "fixed_names: naming is unmanaged, which leaves the names of RDMA devices alone; set naming to what the devices "
            "that are not listed shall be called by: %s" % ", ".join(POLICIES[1:])
        )
    return intent


def _node(where: str, item: Mapping[str, Any]) -> NodeIntent:
    kind = str(item.get("kind"))
    if kind not in NODE_KINDS:
        raise IntentError("%s.kind: %r is not allowed; use one of %s" % (where, kind, ", ".join(NODE_KINDS)))
    mode = str(item.get("mode"))
    if not _MODE.match(mode):
        raise IntentError(
            "%s.mode: %r is not allowed; use four octal digits in quotes, such as '0660' (without quotes YAML makes another "
            "number of them)" % (where, mode)
        )
    accounts = []
    for word in ("owner", "group"):
        value = str(item.get(word) or "root")
        if not _ACCOUNT.match(value):
            raise IntentError("%s.%s: %r is not allowed; use the name of an existing account" % (where, word, value))
        accounts.append(value)
    return NodeIntent(kind, accounts[0], accounts[1], mode)


def _name(where: str, item: Mapping[str, Any], form: "re.Pattern[str]") -> NameIntent:
    name = str(item.get("name") or "")
    if not form.match(name):
        longest = 15 if form is _NET_NAME else 63
        extra = "_ and -" if form is _NET_NAME else "_ . and -"
        raise IntentError(
            "%s.name: %r is not allowed; use a letter and then letters, digits, %s, %d characters at most"
            % (where, name, extra, longest)
        )
    pci, guid = item.get("pci"), item.get("guid")
    if (pci is None) == (guid is None):
        raise IntentError("%s: give either pci or guid of %r" % (where, name))
    if pci is not None and not _PCI.match(str(pci)):
        raise IntentError(
            "%s.pci: %r is not allowed; use lower-case domain:bus:device.function in quotes, such as '0000:41:00.0'"
            % (where, pci)
        )
    if guid is not None and not _GUID.match(str(guid)):
        raise IntentError(
            "%s.guid: %r is not allowed; use 0x and 16 lower-case hex digits in quotes, such as '0xa088c20300bb0001'"
            % (where, guid)
        )
    return NameIntent(name, _text(pci), _text(guid), _port(where, item.get("port")))


def _text(value: Any) -> Optional[str]:
    return None if value is None else str(value)


def _port(where: str, value: Any) -> Optional[int]:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 254:
        raise IntentError("%s.port: %r is not allowed; use the number of a port, from 1" % (where, value))
    return value


def _once(option: str, word: str, values: Iterable[str]) -> None:
    seen: Set[str] = set()
    twice: List[str] = []
    for value in values:
        if value in seen:
            twice.append(value)
        seen.add(value)
    if twice:
        raise IntentError("%s: the %s %s is listed more than once" % (option, word, twice[0]))


def names_of(intent: UdevIntent) -> Tuple[Set[str], Set[str]]:
    """The users and the groups that an intent names."""
    return {node.owner for node in intent.nodes}, {node.group for node in intent.nodes}
