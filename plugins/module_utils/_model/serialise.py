# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Model values as plain data, for what modules return. Private to the collection."""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Port


def plain(value: Any) -> Any:
    """Dataclasses to dictionaries, tuples to lists, all the way down; derived values of a port are added."""
    if hasattr(value, "__dataclass_fields__"):
        data = {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
        if isinstance(value, Port):
            data["lid_assigned"] = value.lid_assigned
        return data
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value
