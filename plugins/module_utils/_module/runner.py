# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules run tools on the managed node. Private to the collection."""

from __future__ import annotations

from typing import Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import Runner, ToolRun

# timeout(1) of coreutils: 124 when the time is over, 137 when the command had to be killed.
_TIMED_OUT = (124, 137)


def runner_of(module: AnsibleModule) -> Runner:
    """A runner on the managed node: list of arguments, no shell, C locale, a time limit."""

    def run(argv: Sequence[str], timeout: float) -> ToolRun:
        path = module.get_bin_path(argv[0], opt_dirs=["/usr/sbin", "/sbin", "/usr/bin"])
        if path is None:
            return ToolRun(argv, failure="missing")
        # A tool in an uninterruptible wait on a hung driver must not take the module with it.
        limit = [module.get_bin_path("timeout", True), "--kill-after=2", "%g" % timeout]
        rc, stdout, stderr = module.run_command(
            limit + [path] + list(argv[1:]), environ_update={"LC_ALL": "C", "LANG": "C"}, errors="replace"
        )
        return ToolRun(argv, rc, stdout, stderr, "timeout" if rc in _TIMED_OUT else None)

    return run
