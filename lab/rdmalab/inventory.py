# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as an Ansible inventory."""

from __future__ import annotations

from typing import Any

from .state import Lab


def inventory(lab: Lab) -> dict[str, Any]:
    """What an inventory script prints for ``--list``."""
    data = lab.load()
    hosts, managers = data["hosts"], data["subnet_managers"]
    # One connection per host is kept for the whole run; the hosts are made anew with every lab, so their keys
    # are not worth remembering.
    ssh = (
        f"-o ControlMaster=auto -o ControlPersist=60s -o ControlPath={lab.dir}/ssh/%h "
        "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    )
    return {
        "infiniband": {
            "hosts": hosts,
            "vars": {
                "ansible_user": "root",
                "ansible_ssh_private_key_file": str(lab.key),
                "ansible_ssh_args": ssh,
                "ansible_ssh_pipelining": True,
                "ansible_python_interpreter": "/usr/bin/python3",
            },
            "children": ["subnet_managers", "compute"],
        },
        "subnet_managers": {"hosts": managers, "vars": {"lab_runs_opensm": data["run_opensm"]}},
        "compute": {"hosts": [host for host in hosts if host not in managers] or hosts},
        "_meta": {"hostvars": {host: {"ansible_host": data["addresses"][host]} for host in hosts}},
    }
