# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules that look at HCAs share: their options, and one observation. Private to the collection."""

from __future__ import annotations

from typing import Any, Dict, Sequence

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, Node
from ansible_collections.rdma.infiniband.plugins.module_utils._module.runner import runner_of
from ansible_collections.rdma.infiniband.plugins.module_utils._source.node import observe
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError

# Matches the documentation fragment of the same name.
OBSERVE_ARGUMENTS: Dict[str, Dict[str, Any]] = {
    "source": {"type": "str", "choices": ["auto", "sysfs", "ibstat"], "default": "auto"},
    "sysfs_path": {"type": "path", "default": "/sys"},
    "timeout": {"type": "float", "default": 10.0},
}


def observed(module: AnsibleModule) -> Node:
    """Look at the host as the module's options say; fails the module when the source itself cannot be read."""
    # Written this way round, "not a number" is refused as well.
    if not 0 < module.params["timeout"] <= 3600:
        module.fail_json(
            msg="timeout: %g is not allowed; give the seconds as a number above 0 and up to 3600"
            % module.params["timeout"]
        )
    try:
        return observe(
            module.params["source"], module.params["sysfs_path"], runner_of(module), module.params["timeout"]
        )
    except SourceError as error:
        module.fail_json(
            msg="sysfs_path: cannot read %s. Give the directory where the host's sysfs is mounted, normally /sys."
            % error
        )
        raise  # not reached: fail_json ends the module


def overview(hca: Hca) -> Dict[str, Any]:
    """An HCA in the few values that a report shows."""
    return {
        "name": hca.name,
        "pci_address": hca.pci_address,
        "product": hca.product,
        "hca_type": hca.hca_type,
        "psid": hca.psid,
        "firmware": hca.firmware,
        "node_guid": hca.node_guid,
        "virtual_function": hca.virtual_function,
        "ports": [
            {
                "number": port.number,
                "state": port.state,
                "phys_state": port.phys_state,
                "rate_gbps": port.rate_gbps,
                "width": port.width,
                "speed": port.speed,
                "link_layer": port.link_layer,
                "lid": port.lid,
                "sm_lid": port.sm_lid,
                "port_guid": port.port_guid,
            }
            for port in hca.ports
        ],
    }


def sentence(hcas: Sequence[Hca]) -> str:
    """One line for people: how many HCAs and ports there are and how many of the ports are active."""
    ports = [port for hca in hcas for port in hca.ports]
    active = sum(port.state in ("ACTIVE", "ACTIVE_DEFER") for port in ports)
    virtual = sum(bool(hca.virtual_function) for hca in hcas)
    text = "%d RDMA device%s" % (len(hcas), "" if len(hcas) == 1 else "s")
    if virtual:
        text += " (%d virtual)" % virtual
    return "%s, %d of %d ports active" % (text, active, len(ports))
