# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VMs as an Ansible inventory."""

from __future__ import annotations

import shlex
from typing import Any

from . import ssh
from .state import VmLab


def inventory(lab: VmLab) -> dict[str, Any]:
    """What an inventory script prints for ``--list``; the groups are those of the container lab."""
    data = lab.load()
    shared = ("-o", "ControlMaster=auto", "-o", "ControlPersist=60s", "-o", f"ControlPath={ssh.control_path(lab)}")
    return {
        "infiniband": {
            "children": ["subnet_managers", "compute"],
            "vars": {
                "ansible_host": "127.0.0.1",
                "ansible_user": "root",
                "ansible_ssh_private_key_file": str(lab.key),
                "ansible_ssh_args": shlex.join((*ssh.OPTIONS, *shared)),
                "ansible_ssh_pipelining": True,
                "ansible_python_interpreter": "/usr/bin/python3",
            },
        },
        # Soft-RoCE has no subnet manager.
        "subnet_managers": {"hosts": []},
        "compute": {"hosts": list(data["vms"])},
        "_meta": {"hostvars": {host: {"ansible_port": vm["port"]} for host, vm in data["vms"].items()}},
    }
