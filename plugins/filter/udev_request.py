# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory asks of udev."""

from __future__ import annotations

DOCUMENTATION = r"""
name: udev_request
short_description: What an inventory asks of udev
version_added: 0.2.0
description:
  - Reads the variables of the role P(rdma.infiniband.udev#role) on the controller, before any host is touched.
positional: _input
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description: C(udev_nodes), C(udev_naming), C(udev_fixed_names) and C(udev_ipoib_names).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Stop before anything is changed when a variable is wrong
  ansible.builtin.assert:
    that: (variables_of_the_role | rdma.infiniband.udev_request).problem is none
"""

RETURN = r"""
_value:
  description: The request.
  type: dict
  contains:
    problem:
      description: What is wrong, with the variable, its value and what is allowed. Null when nothing is.
      type: str
    groups:
      description: Names of the groups that get device nodes, other than C(root).
      type: list
      elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_intent import (
    IntentError,
    names_of,
    parse_intent,
)

_LISTS = ("udev_nodes", "udev_fixed_names", "udev_ipoib_names")


def udev_request(value: Any) -> dict[str, Any]:
    """The request as plain data."""
    if not isinstance(value, Mapping) or not {*_LISTS, "udev_naming"} <= set(value):
        raise AnsibleFilterError(f"udev_request takes the variables of the role udev, not {value!r}")
    for name in _LISTS:
        if not isinstance(value[name], list) or not all(isinstance(entry, Mapping) for entry in value[name]):
            return {"problem": f"{name}: {value[name]!r} is not allowed; use a list of mappings", "groups": []}
    try:
        intent = parse_intent(
            value["udev_nodes"], str(value["udev_naming"]), value["udev_fixed_names"], value["udev_ipoib_names"]
        )
    except IntentError as error:
        return {"problem": f"udev_{error}", "groups": []}
    return {"problem": None, "groups": sorted(names_of(intent)[1] - {"root"})}


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"udev_request": udev_request}
