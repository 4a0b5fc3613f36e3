# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who manages the subnet: ``sminfo`` and ``saquery SMIR``. Private to the collection. Pure.

Formats: rdma-core infiniband-diags/sminfo.c and saquery.c.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import Manager
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError

_SMINFO = re.compile(
    r"^sminfo: sm lid ([0-9]{1,5}) sm guid (0x[0-9a-f]{1,16}), activity count [0-9]+ priority ([0-9]{1,2}) "
    r"state ([0-9]) (?:SMINFO_\w+|\?+)",
    re.ASCII,
)
_FIELD = re.compile(r"^\s*(LID|GUID|Priority|SMState)\.+(0x[0-9a-fA-F]{1,16}|[0-9]{1,5})\s*$", re.ASCII)
STATES = {0: "NOTACT", 1: "DISCOVER", 2: "STANDBY", 3: "MASTER"}


def parse_sminfo(text: str) -> Optional[Manager]:
    """The manager that answered; ``None`` when none did, which the tool says in words of its own."""
    for line in text.split("\n"):
        match = _SMINFO.match(line)
        if match:
            return _manager(match.group(1), match.group(2), match.group(3), match.group(4))
    if "sminfo: sm lid" in text:
        raise ParseError("sminfo", "a line 'sminfo: sm lid N sm guid 0x..., priority N state N'", text)
    return None


def parse_smir(text: str) -> Tuple[Manager, ...]:
    """Every manager that the master's database has."""
    records: List[Dict[str, str]] = []
    for line in text.split("\n"):
        if line.startswith("SMInfoRecord dump"):
            records.append({})
            continue
        match = _FIELD.match(line)
        if match and records:
            records[-1].setdefault(match.group(1), match.group(2))
    for record in records:
        missing = [name for name in ("LID", "GUID", "Priority", "SMState") if name not in record]
        if missing:
            raise ParseError("saquery SMIR", "a record has %s" % missing[0], text)
    return tuple(_manager(item["LID"], item["GUID"], item["Priority"], item["SMState"]) for item in records)


def _manager(lid: str, guid: str, priority: str, state: str) -> Manager:
    return Manager(
        guid="0x" + guid[2:].lower().zfill(16),
        lid=int(lid, 0) if lid[:2] == "0x" else int(lid),
        priority=int(priority),
        state=STATES.get(int(state), "UNKNOWN"),
    )
