# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the simulator's ``Dump``. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

# "a088c20300bb0011<tab>[1]<tab>"S-…"[1]<tab> lid 1 lmc 0 smlid 1  4x 100G Active/LinkUp"
_PORT = re.compile(
    r'^([0-9a-f]+)\t\[(\d+)\]\t(?:"([^"]*)"\[(\d+)\])?\s*'
    r"(?:lid (\d+) lmc (\d+) smlid (\d+))?\s+(\d+)x\s+([\d.]+)G\s+(\w+)/(\w+)"
)
_NODE = re.compile(r'^(Switch|Ca|Rt) (\d+) "([^"]+)"')
_END = re.compile(r"^#\s+dumped (\d+) nodes?")
_LANE_SPEED = {"2.5": "SDR", "5": "DDR", "10": "QDR", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR"}


@dataclass(frozen=True)
class PortState:
    """One port as the simulator has it. ``state`` is Down, Init, Armed or Active."""

    state: str
    phys_state: str
    width: int
    speed: str
    lid: int = 0
    lmc: int = 0
    sm_lid: int = 0
    peer: str | None = None
    peer_port: int | None = None


def parse_dump(lines: list[str]) -> dict[tuple[str, int], PortState]:
    """(node id, port) to state, of every port; lines of other kinds are passed over."""
    ports: dict[tuple[str, int], PortState] = {}
    node = ""
    for line in lines:
        if match := _NODE.match(line):
            node = match[3]
        elif (match := _PORT.match(line)) and node:
            ports[node, int(match[2])] = PortState(
                state=match[10],
                phys_state=match[11],
                width=int(match[8]),
                speed=_LANE_SPEED.get(match[9], "SDR"),
                lid=int(match[5] or 0),
                lmc=int(match[6] or 0),
                sm_lid=int(match[7] or 0),
                peer=match[3],
                peer_port=int(match[4]) if match[4] else None,
            )
    return ports


def is_end(line: str) -> bool:
    """Whether this line ends a dump."""
    return _END.match(line) is not None
