# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host names in few characters."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fold_hosts
short_description: Writes a list of hosts in few characters
version_added: 0.1.0
description:
  - Names that differ in their last number only are written once, with the numbers as ranges.
  - Up to three names stay as they are.
positional: _input
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description: Host names.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Name the hosts of this play
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts | rdma.infiniband.fold_hosts }}" # node[001-004,007]
"""

RETURN = r"""
_value:
  description: The folded list.
  type: str
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.plugin_utils.fold import fold


def fold_hosts(value: Any) -> str:
    """The folded list."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise AnsibleFilterError(f"fold_hosts takes a list of host names, not {value!r}")
    return fold(str(name) for name in value)


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"fold_hosts": fold_hosts}
