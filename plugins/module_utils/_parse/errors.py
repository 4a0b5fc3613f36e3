# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a tool's output could not be read. Private to the collection."""

from __future__ import annotations


class ParseError(Exception):
    """``tool`` wrote ``part``, which is not what it documents; ``reason`` says what was expected."""

    def __init__(self, tool: str, reason: str, part: str = "") -> None:
        self.tool = tool
        self.reason = reason
        self.part = part[:200]
        text = "%s: %s" % (tool, reason)
        super().__init__("%s: %r" % (text, self.part) if part else text)
