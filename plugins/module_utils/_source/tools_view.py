# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ibstat, rdma and ibv_devinfo show, and where that differs from sysfs. Private to the collection.

Loaded only where a tool is asked: compiling the tools' parsers costs every host more than reading its ports.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.hca import Hca, NetDevice, Node, Port, ToolProblem
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import (
    ibstat,
    ibv_devinfo,
    rdma,
    tool_errors,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._source import sysfs
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import Runner, ToolRun

_IBSTAT_FIELDS = ("firmware", "node_guid", "sys_image_guid")
_PORT_FIELDS = ("state", "phys_state", "rate_gbps", "lid", "sm_lid", "port_guid", "link_layer")
_RDMA_FIELDS = ("state", "phys_state", "lid", "sm_lid")


def from_ibstat(runner: Runner, timeout: float) -> Node:
    """A host as ibstat alone shows it."""
    output, status, problems = _ibstat(runner, timeout)
    return Node(hcas=output.hcas if output else (), sources={"ibstat": status}, problems=problems)


def _ibstat(runner: Runner, timeout: float) -> Tuple[Optional[ibstat.IbstatOutput], str, Tuple[ToolProblem, ...]]:
    run = runner(("ibstat",), timeout)
    failed = _failure(run, "ibstat")
    if failed is not None:
        return None, "absent" if run.failure == "missing" else "failed", (failed,)
    # Good output may be followed by a complaint about another device: both count.
    output = ibstat.parse(run.stdout + "\n" + run.stderr)
    problems = list(output.problems)
    for text in output.missing:
        problems.append(
            ToolProblem("ibstat", "error", text, "unreadable", "the output is cut short or of another form")
        )
    if run.rc != 0 and not problems:
        text = "ended with status %d: %s" % (run.rc, (run.stderr or run.stdout).strip()[:200])
        problems.append(ToolProblem("ibstat", "error", text, "unreadable"))
    return output, "used" if output.complete and not problems else "partial", tuple(problems)


def _failure(run: ToolRun, tool: str) -> Optional[ToolProblem]:
    if run.failure == "missing":
        return ToolProblem(
            tool, "warning", "%s is not installed" % tool, "tool_missing", "install the package that has it"
        )
    if run.failure == "timeout":
        return ToolProblem(tool, "error", "%s did not end in time" % tool, "timeout", "the driver or a device hangs")
    return None


def cross_checked(node: Node, root: str, runner: Runner, timeout: float) -> Node:
    """The node with what the tools add, and with the values that they show differently."""
    sources: Dict[str, str] = dict(node.sources)
    problems: List[ToolProblem] = []
    hcas = node.hcas
    views: List[Tuple[str, Tuple[Hca, ...]]] = []
    if node.umad_abi is None or not hcas:
        # Without ib_umad, or without a device, ibstat has nothing to add but a complaint.
        sources["ibstat"] = "skipped"
    else:
        output, sources["ibstat"], said = _ibstat(runner, timeout)
        if sources["ibstat"] != "absent":
            problems.extend(said)
        # Without an HCA ibstat prints nothing and ends with 0: next to the HCAs of sysfs that is a disagreement.
        if output is not None and (output.hcas or sources["ibstat"] == "used"):
            views.append(("ibstat", output.hcas))
    links, sources["rdma"] = _rdma_links(runner, timeout, problems) if hcas else ((), "skipped")
    if links:
        hcas = tuple(_with_netdevs(hca, links) for hca in hcas)
        views.append(("rdma", _as_hcas(links)))
    hcas, sources["ibv_devinfo"] = _with_mtus(hcas, runner, timeout) if hcas else (hcas, "skipped")
    found = _disagreements(hcas, views)
    if found:
        # A port may have moved between the reads: only what still differs from a second look is a disagreement.
        again = sysfs.read_node(root).hcas
        found = tuple(item for item in _disagreements(again, views) if item["subject"] in {i["subject"] for i in found})
    return replace(node, hcas=hcas, sources=sources, problems=tuple(problems), disagreements=found)


def _rdma_links(runner: Runner, timeout: float, problems: List[ToolProblem]) -> Tuple[Tuple[rdma.RdmaLink, ...], str]:
    run = runner(("rdma", "-j", "link"), timeout)
    failed = _failure(run, "rdma")
    if failed is not None:
        if run.failure == "missing":
            return (), "absent"
        problems.append(failed)
        return (), "failed"
    complaints = tool_errors.parse(run.stderr, "rdma")
    if run.rc != 0:
        # A kernel or container without RDMA netlink: sysfs still has everything.
        problems.extend(complaints)
        return (), "failed"
    try:
        return rdma.parse_links(run.stdout), "used"
    except ParseError as error:
        problems.append(ToolProblem("rdma", "error", str(error), "unreadable"))
        return (), "failed"


def _with_mtus(hcas: Tuple[Hca, ...], runner: Runner, timeout: float) -> Tuple[Tuple[Hca, ...], str]:
    """The MTUs, which only verbs show. Without them nothing is missing that a check needs."""
    run = runner(("ibv_devinfo",), timeout)
    if run.failure is not None:
        return hcas, "absent" if run.failure == "missing" else "failed"
    mtus = ibv_devinfo.parse_mtus(run.stdout)
    if not mtus:
        return hcas, "failed"
    changed = []
    for hca in hcas:
        ports = []
        for port in hca.ports:
            active, largest = mtus.get((hca.name, port.number), (None, None))
            ports.append(replace(port, active_mtu_bytes=active, max_mtu_bytes=largest))
        changed.append(replace(hca, ports=tuple(ports)))
    return tuple(changed), "used"


def _with_netdevs(hca: Hca, links: Tuple[rdma.RdmaLink, ...]) -> Hca:
    names = {device.name for device in hca.net_devices}
    extra = tuple(
        NetDevice(name=link.netdev, port=link.port, kind="ethernet")
        for link in links
        if link.device == hca.name and link.netdev and link.netdev not in names
    )
    return replace(hca, net_devices=hca.net_devices + extra) if extra else hca


def _as_hcas(links: Tuple[rdma.RdmaLink, ...]) -> Tuple[Hca, ...]:
    ports: Dict[str, List[Port]] = {}
    for link in links:
        port = Port(link.port, state=link.state, phys_state=link.phys_state, lid=link.lid, sm_lid=link.sm_lid)
        ports.setdefault(link.device, []).append(port)
    return tuple(Hca(name=name, ports=tuple(found)) for name, found in ports.items())


def _disagreements(hcas: Tuple[Hca, ...], views: List[Tuple[str, Tuple[Hca, ...]]]) -> Tuple[Dict[str, str], ...]:
    found: List[Dict[str, str]] = []
    ours = {hca.name: hca for hca in hcas}
    for source, theirs in views:
        others = {hca.name: hca for hca in theirs}
        for name in sorted(set(ours) ^ set(others)):
            seen = name in ours
            found.append(_entry(name, "presence", "sysfs", seen, source, not seen))
        for name in sorted(set(ours) & set(others)):
            if source == "ibstat":
                for field in _IBSTAT_FIELDS:
                    _compare(found, name, field, ours[name], source, others[name])
            _compare_ports(found, ours[name], source, others[name])
    return tuple(found)


def _compare_ports(found: List[Dict[str, str]], ours: Hca, source: str, theirs: Hca) -> None:
    numbered = {port.number: port for port in theirs.ports}
    for port in ours.ports:
        other = numbered.get(port.number)
        if other is None:
            continue
        for field in _PORT_FIELDS if source == "ibstat" else _RDMA_FIELDS:
            # LIDs and the port GUID mean nothing on Ethernet, and the sources fill them differently.
            if port.link_layer == "Ethernet" and field in ("lid", "sm_lid", "port_guid"):
                continue
            _compare(found, "%s port %d" % (ours.name, port.number), field, port, source, other)


def _compare(found: List[Dict[str, str]], subject: str, field: str, ours: Any, source: str, theirs: Any) -> None:
    mine, other = getattr(ours, field), getattr(theirs, field)
    if mine is None or other is None or mine == other:
        return
    if field in ("lid", "sm_lid") and {mine, other} <= {0, 0xFFFF}:
        return  # two ways to say that there is none
    if field == "rate_gbps" and int(mine) == int(other):
        return  # ibstat prints whole numbers
    found.append(_entry(subject, field, "sysfs", mine, source, other))


def _entry(subject: str, field: str, first: str, mine: Any, second: str, other: Any) -> Dict[str, str]:
    return {"subject": subject, "field": field, first: str(mine), second: str(other)}
