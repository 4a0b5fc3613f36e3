# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory-lock limits that an inventory asks for."""

from __future__ import annotations

DOCUMENTATION = r"""
name: limits_request
short_description: The memory-lock limits that an inventory asks for
version_added: 0.2.0
description:
  - Reads the variables of the role P(rdma.infiniband.limits#role) and returns them in the words of C(limits.conf) and of
    systemd, with everything that is wrong with them.
positional: _input
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description: The role's variables by their names.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: What systemd is given
  ansible.builtin.debug:
    msg: "{{ (vars_of_the_role | rdma.infiniband.limits_request).systemd }}"
"""

RETURN = r"""
_value:
  description: The request.
  type: dict
  contains:
    soft:
      description: The soft limit in KiB, or V(unlimited). Empty when there are problems, like all that follow.
      type: str
    hard:
      description: The hard limit likewise.
      type: str
    systemd:
      description: The value of C(LimitMEMLOCK).
      type: str
      sample: 65536K:infinity
    users:
      description: Names of users among C(limits_domains).
      type: list
      elements: str
    groups:
      description: Names of groups among C(limits_domains).
      type: list
      elements: str
    problems:
      description: What is wrong, each with its variable, its value and what is allowed.
      type: list
      elements: str
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.plugin_utils.limits_request import parse_request


def limits_request(value: Any) -> dict[str, Any]:
    """The request as plain data."""
    if not isinstance(value, Mapping):
        raise AnsibleFilterError(f"limits_request takes the variables of the role limits, not {value!r}")
    try:
        request = asdict(parse_request(value))
    except KeyError as error:
        raise AnsibleFilterError(f"limits_request: the variable {error} is missing") from error
    return {key: list(entry) if isinstance(entry, tuple) else entry for key, entry in request.items()}


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"limits_request": limits_request}
