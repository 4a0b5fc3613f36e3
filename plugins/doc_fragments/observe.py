# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that modules share."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of every module that looks at HCAs, and the attributes of modules that change nothing."""

    DOCUMENTATION = r"""
options:
  source:
    description:
      - Where to look.
      - V(auto) reads sysfs, and asks C(ibstat), C(rdma) and C(ibv_devinfo) as well when O(sysfs_path) is V(/sys). What
        the tools add (network devices of RoCE ports, MTUs) is taken over; where they disagree with sysfs, both values
        are reported. A tool that is not installed is not missed.
      - V(sysfs) reads sysfs only. It needs no tool.
      - V(ibstat) reads the output of C(ibstat) only, which shows no width, no speed name, no PCI address and no
        counters.
    type: str
    choices: [auto, sysfs, ibstat]
    default: auto
  sysfs_path:
    description:
      - Where the host's sysfs is mounted. Another directory than V(/sys) is for a container that has the host's
        mounted elsewhere, or for a saved copy.
      - A directory that cannot be read is an error and never a host without HCAs.
    type: path
    default: /sys
  timeout:
    description:
      - Seconds after which a tool is ended, above 0 and up to 3600. That it did not end is then reported.
    type: float
    default: 10.0
"""

    READ_ONLY = r"""
attributes:
  check_mode:
    description: Can run in check mode and returns what it would return otherwise.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: N/A
    details: Nothing is changed.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second run reports no change.
    support: full
    details: Nothing is changed.
  platform:
    description: Target systems.
    support: full
    platforms: Linux
"""
