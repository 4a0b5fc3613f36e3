# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done so that a set of files is as wanted."""

from __future__ import annotations

DOCUMENTATION = r"""
name: file_plan
short_description: What has to be done so that a set of files is as wanted
version_added: 0.1.0
description:
  - Compares what one call of M(ansible.builtin.find) saw with the files that are wanted.
  - An unchanged host then costs one module call, however many files there are.
positional: _input, wanted
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description:
      - The C(files) of M(ansible.builtin.find), which looked for the names of the files that are managed and, where they
        may be missing, of their directories, with SHA-256 checksums.
      - Every file of them that is not wanted is to be removed, so look for names that nobody else uses.
    type: list
    elements: dict
    required: true
  wanted:
    description: The files that are wanted. They belong to root and have the mode C(0644).
    type: list
    elements: dict
    required: true
    suboptions:
      paths:
        description: Files that share a content.
        type: list
        elements: str
      content:
        description: Their content.
        type: str
  needs:
    description:
      - Start of a path to what a change of it needs to take effect, such as V(service_restart). The longest start counts.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Look at the files
  ansible.builtin.find:
    paths: [/etc/systemd]
    patterns: [90-example.conf, cron.service.d]
    recurse: true
    file_type: any
    get_checksum: true
    checksum_algorithm: sha256
  register: found

- name: Write what differs
  ansible.builtin.copy:
    dest: "{{ item.path }}"
    content: "{{ item.content }}"
    mode: "0644"
  loop: "{{ (found.files | rdma.infiniband.file_plan(wanted)).write }}"
  vars:
    wanted:
      - paths: [/etc/systemd/system/cron.service.d/90-example.conf]
        content: "[Service]\nLimitMEMLOCK=infinity\n"
"""

RETURN = r"""
_value:
  description: What has to be done.
  type: dict
  contains:
    make:
      description: Directories that are missing, each with its C(path).
      type: list
      elements: dict
    write:
      description:
        - Files that are missing or differ, each with its C(path) and C(content), whether it C(exists), and what the change
          C(needs).
      type: list
      elements: dict
    remove:
      description: Files that are not wanted, each with its C(path) and what the change C(needs).
      type: list
      elements: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.plugin_utils.file_plan import file_plan as plan


def file_plan(value: Any, wanted: Any, needs: Any = None) -> dict[str, list[dict[str, Any]]]:
    """The plan as plain data."""
    if not _dicts_with(value, "path"):
        raise AnsibleFilterError(f"file_plan takes the files that ansible.builtin.find returned, not {value!r}")
    if not _dicts_with(wanted, "paths", "content"):
        raise AnsibleFilterError(f"file_plan: wanted: {wanted!r} is no list of groups with paths and content")
    if not isinstance(needs or {}, Mapping):
        raise AnsibleFilterError(f"file_plan: needs: {needs!r} is no mapping of the start of a path to a need")
    return plan(value, wanted, needs)


def _dicts_with(value: Any, *keys: str) -> bool:
    return isinstance(value, list) and all(
        isinstance(entry, Mapping) and all(key in entry for key in keys) for entry in value
    )


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"file_plan": file_plan}
