# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From dataclasses to what a module returns. Private to the collection."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """``value`` with every dataclass as a dict, every tuple as a list and every mapping as a dict.

    A class may name further properties to carry in ``DERIVED``. ``dataclasses.asdict`` is not used: it copies
    every leaf and is several times slower, which every host would pay for.
    """
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        names = tuple(fields) + getattr(type(value), "DERIVED", ())
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value
