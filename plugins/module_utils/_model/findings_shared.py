# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Codes of findings that any check may make. Private to the collection."""

from __future__ import annotations

from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding_kind import FindingKind

KINDS = (
    FindingKind(
        "UNREADABLE_OUTPUT",
        "error",
        "Tool output cannot be read",
        "A tool ended in a way or printed something that cannot be understood. That is no pass.",
        "Run it by hand: {command}",
    ),
)
