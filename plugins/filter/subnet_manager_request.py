# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory asks of a host's subnet managers."""

from __future__ import annotations

DOCUMENTATION = r"""
name: subnet_manager_request
short_description: What an inventory asks of a host's subnet managers
version_added: 0.3.0
description:
  - Reads the variables of the role P(rdma.infiniband.subnet_manager#role) on the controller, before any host is touched, and
    translates partitions for OpenSM.
  - Refuses what OpenSM would drop, reinterpret or make of no use.
positional: _input
author:
  - The rdma.infiniband contributors (@rdma)
options:
  _input:
    description: The role's variables by their names.
    type: dict
    required: true
  hosts:
    description:
      - Host to the result of M(rdma.infiniband.hca_info), of those that partitions name. Before they were looked at, only
        what needs no look is judged.
    type: dict
    default: {}
  groups:
    description: Group to its hosts, such as the variable C(groups).
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Stop before anything is changed when a variable is wrong
  ansible.builtin.assert:
    that: (variables_of_the_role | rdma.infiniband.subnet_manager_request(looks, groups)).problems | length == 0
"""

RETURN = r"""
_value:
  description: The request.
  type: dict
  contains:
    instances:
      description: The fabrics as instances of M(rdma.infiniband.opensm_config), with priority and all options.
      type: list
      elements: dict
    partitions:
      description: The partitions file. Null when none was asked for, or hosts that it names were not looked at.
      type: str
    hosts:
      description: Hosts whose ports the partitions name.
      type: list
      elements: str
    problems:
      description: What is wrong, each with its variable, its value and what is allowed.
      type: list
      elements: str
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.infiniband.plugins.module_utils._check.opensm_instance import (
    InstanceError,
    parse_instances,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._check.partitions_intent import (
    Fabric,
    PortFacts,
    parse_partitions,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.opensm_files import partitions_text

_PREFIX = "subnet_manager_"
_NEEDED = ("state", "fabrics", "priority", "options", "partitions")


def subnet_manager_request(value: Any, hosts: Any = None, groups: Any = None) -> dict[str, Any]:
    """The request as plain data."""
    if not isinstance(value, Mapping) or not {_PREFIX + name for name in _NEEDED} <= set(value):
        raise AnsibleFilterError(
            f"subnet_manager_request takes the variables of the role subnet_manager, not {value!r}"
        )
    given = {name: value[_PREFIX + name] for name in _NEEDED}
    if given["state"] == "absent":
        return {"instances": [], "partitions": None, "hosts": [], "problems": []}
    problems: list[str] = []
    instances = _instances(given, problems)
    named = sorted(set(_hosts_named(given["partitions"], groups or {})))
    text, more = _partitions(given, named, hosts or {}, groups or {})
    return {"instances": instances, "partitions": text, "hosts": named, "problems": problems + more}


def _instances(given: Mapping[str, Any], problems: list[str]) -> list[dict[str, Any]]:
    fabrics, shared = given["fabrics"], given["options"]
    if not isinstance(shared, Mapping):
        problems.append(f"{_PREFIX}options: {shared!r} is not allowed; use a mapping of OpenSM's options")
        shared = {}
    if isinstance(fabrics, list) and any(isinstance(entry, Mapping) and "priority" in entry for entry in fabrics):
        problems.append(f"{_PREFIX}fabrics: the priority of a host is {_PREFIX}priority")
        return []
    try:
        wanted = [
            {**entry, "priority": int(given["priority"]), "options": {**shared, **(entry.get("options") or {})}}
            if isinstance(entry, Mapping)
            else entry
            for entry in (fabrics if isinstance(fabrics, list) else [fabrics])
        ]
        parse_instances(wanted, _PREFIX + "fabrics")
    except InstanceError as error:
        problems.append(str(error).replace(".priority:", f" ({_PREFIX}priority):"))
        return []
    except (TypeError, ValueError):
        problems.append(f"{_PREFIX}priority: {given['priority']!r} is not allowed; use a number from 0 to 15")
        return []
    return [dict(entry) for entry in wanted]


def _hosts_named(partitions: Any, groups: Mapping[str, Any]) -> Iterable[str]:
    for partition in partitions if isinstance(partitions, list) else []:
        members = partition.get("members") if isinstance(partition, Mapping) else None
        for member in members if isinstance(members, list) else []:
            if isinstance(member, Mapping) and "host" in member:
                yield str(member["host"])
            elif isinstance(member, Mapping) and "group" in member:
                yield from (str(host) for host in groups.get(str(member["group"]), ()))


def _partitions(
    given: Mapping[str, Any], named: list[str], hosts: Mapping[str, Any], groups: Mapping[str, Any]
) -> tuple[str | None, list[str]]:
    if given["partitions"] == []:
        return None, []
    options = given["options"] if isinstance(given["options"], Mapping) else {}
    seen = {host: hosts[host] for host in named if host in hosts}
    partitions, problems = parse_partitions(
        given["partitions"],
        Fabric(
            {host: _ports(host, result) for host, result in seen.items()},
            {str(name): tuple(str(host) for host in members) for name, members in groups.items()},
        ),
        qos=options.get("qos") in (True, "TRUE"),
        both=options.get("allow_both_pkeys") in (True, "TRUE"),
        where=_PREFIX + "partitions",
    )
    if named and not seen:
        return None, [text for text in problems if "no InfiniBand port of" not in text]
    return (None if problems else partitions_text(partitions)), list(problems)


def _ports(host: str, result: Mapping[str, Any]) -> tuple[PortFacts, ...]:
    return tuple(
        PortFacts(
            host,
            port["port_guid"],
            hca.get("node_guid"),
            port.get("rate_gbps"),
            port.get("max_mtu_bytes"),
        )
        for hca in result.get("hcas") or []
        for port in hca.get("ports") or []
        if port.get("link_layer") == "InfiniBand" and port.get("port_guid") and not hca.get("virtual_function")
    )


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Any]:
        """Name to function."""
        return {"subnet_manager_request": subnet_manager_request}
