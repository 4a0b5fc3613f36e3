# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decimal numbers in texts that others write. Private to the collection. Pure.

``str.isdigit`` and ``\\d`` take digits of every script, also such that ``int`` refuses, and ``int`` refuses numbers of
some thousand digits. No tool writes either, so neither is a number here.
"""

from __future__ import annotations

from typing import Optional

_DIGITS = 20  # the widest counter of the kernel: 64 bits


def decimal(text: str, digits: int = _DIGITS) -> Optional[int]:
    """The value of a text that is nothing but 1 to ``digits`` ASCII digits, else ``None``."""
    return int(text) if 0 < len(text) <= digits and text.isascii() and text.isdigit() else None
