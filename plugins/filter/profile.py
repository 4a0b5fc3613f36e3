# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory's hardware profile, validated."""

from __future__ import annotations

DOCUMENTATION = r"""
name: profile
short_description: Validates the expected-hardware profile
version_added: 0.1.0
description:
  - Checks the variable C(infiniband_profile) on the controller, before any host is touched.
  - All problems are listed at once, each with its place, its value and what is allowed.
positional: _input
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description: The profile, as described at M(rdma.infiniband.hca_check).
    type: dict
    required: true
seealso:
  - plugin: rdma.infiniband.hca_check
    plugin_type: module
"""

EXAMPLES = r"""
- name: Stop before anything is changed when the profile is wrong
  ansible.builtin.assert:
    that: infiniband_profile | rdma.infiniband.profile is mapping
"""

RETURN = r"""
_value:
  description: The profile as it was given.
  type: dict
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.module_utils._check.profile import ProfileError, parse_profile


def profile(value: Any) -> Any:
    """The value itself when it is a valid profile."""
    try:
        parse_profile(value)
    except ProfileError as error:
        raise AnsibleFilterError(
            f"The expected-hardware profile cannot be used, nothing was changed:\n{error}"
        ) from error
    return value


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"profile": profile}
