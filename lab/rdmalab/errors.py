# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own error: a message for a person, without a traceback."""

from __future__ import annotations


class LabError(Exception):
    """Something that the caller can understand and act on."""
