#!/usr/bin/python
# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory-lock limits that processes, logins and units really have."""

from __future__ import annotations

DOCUMENTATION = r"""
module: memlock_check
short_description: Measures the memory-lock limit that processes really have
version_added: 0.2.0
description:
  - Reads the limit of locked memory that running processes, new logins and new systemd units really have, whatever the
    configuration files promise, and says which unit or file has to be changed, or that only a restart is missing.
  - C(limits.conf) and C(limits.d) count for logins only, C(LimitMEMLOCK) for services only, and both only for what is
    started afterwards.
  - What was not measured, such as a process that does not run, is a finding and never a pass.
  - One cause gives one finding. A host that cannot raise its limits, such as many a container, is reported once.
author:
  - The rdma.infiniband contributors (@rdma)
extends_documentation_fragment:
  - rdma.infiniband.observe.read_only
options:
  processes:
    description:
      - What to measure. A name such as V(slurmd) stands for every process with this command name, or that shows this
        command. A name that ends in a unit type, such as V(slurmd.service), stands for every process of that unit.
    type: list
    elements: str
    default: []
  soft:
    description:
      - The lowest acceptable soft limit, V(unlimited), bytes, or a size such as V(64GiB). Units are powers of 1024.
    type: str
    default: unlimited
  hard:
    description:
      - The lowest acceptable hard limit. Not below O(soft), which is also its default.
    type: str
  users:
    description:
      - Users of whom a new login is judged, by what the PAM stacks and C(limits.conf) and C(limits.d) come to.
      - A user that does not exist is an error.
    type: list
    elements: str
    default: []
  login_probe:
    description:
      - Whether a real session of each of O(users) is opened with C(su) and measured. Takes root. What is measured
        counts more than what the files say.
    type: bool
    default: false
  unit_probe:
    description:
      - Whether a real transient unit is started with C(systemd-run), measured, and judged.
    type: bool
    default: false
  sessions:
    description:
      - Whether the PAM services of O(pam_services) are judged. They always are where O(users) are given.
    type: bool
    default: false
  pam_services:
    description:
      - The PAM services whose sessions must run C(pam_limits). Those that the host does not have are passed over.
    type: list
    elements: str
    default: [sshd, login, su, cron, crond, slurm]
  absent_severity:
    description:
      - The severity of the finding about a process that does not run. About a unit that does not exist it is at least
        V(warning).
    type: str
    choices: [info, warning, error]
    default: error
  proc_path:
    description:
      - Where the host's C(/proc) is mounted. Tools are asked only when it is V(/proc).
    type: path
    default: /proc
  etc_path:
    description:
      - Where the host's C(/etc) is. In another one than V(/etc), users are those of its C(passwd).
    type: path
    default: /etc
  timeout:
    description:
      - Seconds after which a tool is ended, above 0 and up to 3600.
    type: float
    default: 10.0
  fail_on:
    description:
      - The lowest severity that fails the task.
    type: str
    choices: [info, warning, error, never]
    default: error
seealso:
  - module: rdma.infiniband.hca_check
"""

EXAMPLES = r"""
- name: Check that jobs and logins can lock memory
  rdma.infiniband.memlock_check:
    processes: [sshd, slurmd.service]
    users: [alice]

- name: Open a real login and a real unit, and decide later
  rdma.infiniband.memlock_check:
    soft: 64GiB
    users: [alice]
    login_probe: true
    unit_probe: true
    fail_on: never
  register: memlock
  become: true
"""

RETURN = r"""
findings:
  description: Every difference between what is wanted and what is there, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    code:
      description: Stable code of the finding.
      type: str
      sample: MEMLOCK_RESTART_PENDING
    severity:
      description: V(error), V(warning) or V(info).
      type: str
    subject:
      description: What it is about.
      type: str
      sample: slurmd (process 812)
    observed:
      description: What was seen, and the file and line that it comes from.
      type: str
      sample: 8 MiB, although the unit slurmd.service gives unlimited
    expected:
      description: What was expected.
      type: str
      sample: unlimited
    hint:
      description: The likely cause, what to change, and the command that confirms it.
      type: str
processes:
  description: Every process that was measured. One that goes by two of the names is there twice.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The name out of O(processes).
      type: str
      sample: slurmd
    pid:
      description: Its number.
      type: int
    uid:
      description: Number of the user it runs as.
      type: int
    origin:
      description: Who set its limit, V(service), V(session), V(manager) (a user's own systemd) or V(other).
      type: str
    unit:
      description: The systemd unit it runs in, null when it is not known.
      type: str
      sample: slurmd.service
    limit:
      description: Its limit.
      type: dict
      contains:
        soft:
          description: Soft limit, V(unlimited) or bytes.
          type: str
          sample: unlimited
        hard:
          description: Hard limit, V(unlimited) or bytes.
          type: str
          sample: "8388608"
logins:
  description: What was measured with O(login_probe).
  returned: always
  type: list
  elements: dict
  contains:
    user:
      description: Name of the user.
      type: str
    limit:
      description: The limit in the session, null when it could not be measured.
      type: dict
      contains:
        soft:
          description: Soft limit, V(unlimited) or bytes.
          type: str
        hard:
          description: Hard limit, V(unlimited) or bytes.
          type: str
    problem:
      description: Why it could not be measured.
      type: str
new_unit:
  description: The limit that was measured with O(unit_probe), null without it.
  returned: always
  type: dict
  contains:
    soft:
      description: Soft limit, V(unlimited) or bytes.
      type: str
    hard:
      description: Hard limit, V(unlimited) or bytes.
      type: str
summary:
  description: One line for people.
  returned: always
  type: str
  sample: 3 of 3 processes have the wanted memory-lock limit (unlimited); no findings
"""

from ansible_collections.rdma.infiniband.plugins.module_utils._module.memlock_check import run_module


def main() -> None:
    """Run the module."""
    run_module()


if __name__ == "__main__":
    main()
