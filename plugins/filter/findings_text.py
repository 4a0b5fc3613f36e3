# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as text for a person."""

from __future__ import annotations

DOCUMENTATION = r"""
name: findings_text
short_description: Writes findings as text, one a line
version_added: 0.1.0
description:
  - Writes what was seen, what was expected and what to do next, one finding a line.
positional: _input
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description: Findings, in the shape that M(rdma.infiniband.hca_check) returns.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the findings
  ansible.builtin.debug:
    msg: "{{ hardware.findings | rdma.infiniband.findings_text }}"
"""

RETURN = r"""
_value:
  description: The text.
  type: str
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import Finding


def findings_text(value: Any) -> str:
    """One finding a line."""
    try:
        return "\n".join(str(Finding(**finding)) for finding in value)
    except TypeError as error:
        raise AnsibleFilterError(f"findings_text takes a list of findings, not {value!r}: {error}") from error


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"findings_text": findings_text}
