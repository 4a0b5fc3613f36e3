# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``rdma link`` (iproute2) output to links. Private to the collection. Pure.

Format: iproute2 rdma/link.c, ``-j`` and text. iproute2 5.0 and older write ``mlx5_0/1`` into the
JSON ``ifname`` and put ``0/1: `` before the name in text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal

# rdma's words for the physical states, in the kernel's spelling of sysfs. (4 is shown as ARMED there.)
PHYS_STATES = {
    "SLEEP": "Sleep",
    "POLLING": "Polling",
    "DISABLED": "Disabled",
    "ARMED": "PortConfigurationTraining",
    "LINK_UP": "LinkUp",
    "LINK_ERROR_RECOVER": "LinkErrorRecovery",
    "PHY_TEST": "Phy Test",
}
_TEXT = re.compile(r"^(?:link |[0-9]{1,9}/[0-9]{1,9}: )([^\s/]+)/([0-9]{1,3}):?\s+(.*)$")
_WORDS = ("subnet_prefix", "lid", "sm_lid", "lmc", "state", "physical_state", "netdev", "netdev_index")


@dataclass(frozen=True)
class RdmaLink:
    """One line of ``rdma link``. Only InfiniBand links have a subnet prefix and LIDs."""

    device: str
    port: int
    subnet_prefix: Optional[str] = None
    lid: Optional[int] = None
    sm_lid: Optional[int] = None
    lmc: Optional[int] = None
    state: Optional[str] = None
    physical_state: Optional[str] = None
    netdev: Optional[str] = None

    @property
    def is_infiniband(self) -> bool:
        """Whether the link has what only InfiniBand has."""
        return self.lid is not None or self.subnet_prefix is not None

    @property
    def phys_state(self) -> Optional[str]:
        """The physical state in the words of sysfs."""
        return PHYS_STATES.get(self.physical_state or "", self.physical_state)


def parse_links(text: str) -> Tuple[RdmaLink, ...]:
    """``rdma link`` as JSON or text; several samples of one port stay several links, in order."""
    stripped = text.strip()
    if not stripped:
        return ()
    if stripped[0] in "[{":
        return tuple(_link_from_json(entry) for entry in _entries(stripped))
    links: List[RdmaLink] = []
    unknown = ""
    for line in stripped.splitlines():
        match = _TEXT.match(line.strip())
        if match:
            links.append(_link(match.group(1), int(match.group(2)), _words(match.group(3))))
        elif line.strip():
            unknown = unknown or line
    if not links:
        raise ParseError("rdma", "no link in the output of 'rdma link'", unknown)
    return tuple(links)


def _entries(text: str) -> List[Dict[str, Any]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ParseError("rdma", "this is not valid JSON", text) from None
    if isinstance(data, dict):
        data = [data]
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise ParseError("rdma", "a list of objects was expected", text)
    return [entry for entry in data if entry]


def _name(entry: Dict[str, Any]) -> str:
    name = entry.get("ifname")
    if not isinstance(name, str) or not name:
        raise ParseError("rdma", "an entry has no ifname", repr(entry))
    return name


def _link_from_json(entry: Dict[str, Any]) -> RdmaLink:
    name, _slash, old_port = _name(entry).partition("/")
    port = _integer(entry.get("port", old_port))
    if port is None:
        raise ParseError("rdma", "a link has no port number", repr(entry))
    return _link(name, port, entry)


def _words(text: str) -> Dict[str, Any]:
    """``state ACTIVE lid 3`` to a mapping; words that are not known are passed over."""
    words = text.split()
    found: Dict[str, Any] = {}
    for index, word in enumerate(words[:-1]):
        if word in _WORDS and (index == 0 or words[index - 1] not in _WORDS):
            found[word] = words[index + 1]
    return found


def _link(device: str, port: int, values: Dict[str, Any]) -> RdmaLink:
    return RdmaLink(
        device=device,
        port=port,
        subnet_prefix=_text(values, "subnet_prefix"),
        lid=_integer(values.get("lid")),
        sm_lid=_integer(values.get("sm_lid")),
        lmc=_integer(values.get("lmc")),
        state=_text(values, "state"),
        physical_state=_text(values, "physical_state"),
        netdev=_text(values, "netdev"),
    )


def _text(values: Dict[str, Any], name: str) -> Optional[str]:
    value = values.get(name)
    return value if isinstance(value, str) and value else None


def _integer(value: Any) -> Optional[int]:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    return decimal(value, 9) if isinstance(value, str) else None
