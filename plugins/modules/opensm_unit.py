#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts, restarts and stops OpenSM subnet managers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: opensm_unit
short_description: Starts, restarts and stops OpenSM subnet managers
version_added: 0.3.0
description:
  - Runs the units C(rdma-opensm@NAME.service) that M(rdma.infiniband.opensm_config) configures.
  - After a start or restart it waits until the fabric knows the manager as master or standby, so that a rolling restart does
    not go on while one is away.
author:
  - The rdma.infiniband contributors (@rdma)
attributes:
  check_mode:
    description: Can run in check mode and returns what would be changed.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: full
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second run reports no change.
    support: partial
    details: Not with O(state=restarted) and O(state=reloaded), which act every time.
  platform:
    description: Target systems.
    support: full
    platforms: Linux
options:
  instances:
    description:
      - The instances, as M(rdma.infiniband.opensm_config) returns them. Of each, C(name) is needed, and C(device), C(port) and
        C(guid) to wait for it.
    type: list
    elements: dict
    required: true
  state:
    description:
      - V(started) starts and enables those that do not run. V(restarted) starts all anew. V(reloaded) has those that run read
        their files. V(stopped) stops and disables.
    type: str
    choices: [started, reloaded, restarted, stopped]
    required: true
  wait_s:
    description: Seconds to wait for each manager.
    type: float
    default: 60.0
  timeout:
    description: Seconds after which C(systemctl) is ended.
    type: float
    default: 60.0
seealso:
  - module: rdma.infiniband.opensm_config
"""

EXAMPLES = r"""
- name: Start the manager of rail0
  rdma.infiniband.opensm_unit:
    instances:
      - {name: rail0, device: mlx5_0, port: 1, guid: "0xa088c20300000101"}
    state: started
"""

RETURN = r"""
changes:
  description: What was changed, or would be.
  returned: success
  type: list
  elements: dict
  contains:
    what:
      description: A unit.
      type: str
      sample: rdma-opensm@rail0.service
    before:
      description: Its state before.
      type: str
    after:
      description: Its state after.
      type: str
    disruptive:
      description: Whether a running manager was stopped.
      type: bool
    needs:
      description: What must happen before it takes effect.
      type: str
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.opensm_unit import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
