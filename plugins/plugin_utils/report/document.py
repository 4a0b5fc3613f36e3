# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report document: what a run did and saw, as one JSON object. Pure.

Everything that people or machines read (terminal, later HTML, JUnit and metrics) is made from this document. Its
shape is described in ``docs/report.md``; ``SCHEMA`` changes when a reader of the old shape would misread the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.rdma.infiniband.plugins.module_utils._model.change import NEEDS, Change
from ansible_collections.rdma.infiniband.plugins.module_utils._model.finding import SEVERITIES
from ansible_collections.rdma.infiniband.plugins.plugin_utils.cross_host import cross_host_findings

SCHEMA = "rdma.infiniband.report/1"
# The order of a host's possible ends, from best to worst.
STATUSES = ("ok", "findings", "failed", "unreachable", "no_result")
_DIFF_LIMIT = 4000
NOTHING = NEEDS[0]
# The tasks of the role verify that fail because of findings: of the host itself, and between hosts.
FINDINGS_TASK = "fail the hosts that have findings"
BETWEEN_HOSTS_TASK = "compare the hosts with each other"


@dataclass
class HostRecord:
    """What is collected of one host while the run goes on."""

    hcas: list[Any] = field(default_factory=list)
    uncovered: list[Any] = field(default_factory=list)
    found: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    changes: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unreachable: str | None = None
    observed: bool = False
    module_calls: int = 0

    def observe(self, task: str, result: Mapping[str, Any]) -> None:
        """Take over what a module of the collection saw; a later look of the same task replaces an earlier one."""
        self.observed = True
        if "overview" in result:
            self.hcas = list(result.get("overview") or [])
            self.uncovered = list(result.get("uncovered") or [])
        self.found[task] = [dict(finding) for finding in result.get("findings") or []]

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What all checks found, each thing once, the worst first."""
        unique = {tuple(sorted(item.items())): item for items in self.found.values() for item in items}
        return sorted(unique.values(), key=lambda item: -SEVERITIES.index(item["severity"]))


def changes(task: str, args: Mapping[str, Any], result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The changes of one result: those that a module of the collection lists itself, else the one that it is."""
    listed = result.get("changes")
    if not isinstance(listed, list) or not all(isinstance(item, Mapping) and "what" in item for item in listed):
        return [_change(task, args, result)]
    return [
        {
            "task": task,
            **Change(
                what=str(item["what"]),
                before=_joined([item.get("before")]),
                after=_joined([item.get("after")]),
                disruptive=bool(item.get("disruptive")),
                needs=item["needs"] if item.get("needs") in NEEDS else NOTHING,
            ).to_dict(),
        }
        for item in listed
    ]


def _change(task: str, args: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """One change: the file or thing, its value before and after as far as the diff tells, and what it needs.

    A task or the item of its loop says with ``needs`` what it takes for the change to have effect.
    """
    item = result.get(str(result.get("ansible_loop_var", "item")))
    fields = item if isinstance(item, Mapping) else {}
    named = [source.get(key) for source in (result, fields) for key in ("path", "dest", "name")]
    # The arguments of a loop may still hold its variable, so they come last.
    named += [item, *(args.get(key) for key in ("path", "dest", "name"))]
    diffs = result.get("diff") or []
    parts = [part for part in (diffs if isinstance(diffs, list) else [diffs]) if isinstance(part, Mapping)]
    before, after = (_joined(part.get(side) for part in parts) for side in ("before", "after"))
    what = next((name for name in named if isinstance(name, str) and name), task)
    needs = next((need for need in (result.get("needs"), fields.get("needs")) if need in NEEDS), NOTHING)
    return {"task": task, **Change(what, before, after, needs=needs).to_dict()}


def _joined(values: Iterable[Any]) -> str | None:
    texts = [value if isinstance(value, str) else str(value) for value in values if value not in (None, "")]
    return "\n".join(texts)[:_DIFF_LIMIT] if texts else None


def build(run: Mapping[str, Any], records: Mapping[str, HostRecord]) -> dict[str, Any]:
    """The document. ``run`` says when, what and by which versions; ``records`` has every host of the run."""
    shared = shared_findings(records)
    hosts = {name: _host(records[name]) for name in sorted(records)}
    return {
        "schema": SCHEMA,
        "run": dict(run),
        "hosts": hosts,
        "findings": shared,
        "summary": _summary(hosts, shared),
    }


def shared_findings(records: Mapping[str, HostRecord]) -> list[dict[str, str]]:
    """Findings that need the sight of more than one host."""
    return [finding.to_dict() for finding in cross_host_findings({name: rec.hcas for name, rec in records.items()})]


def _host(record: HostRecord) -> dict[str, Any]:
    return {
        "status": _status(record),
        "hcas": record.hcas,
        "uncovered": record.uncovered,
        "findings": record.findings,
        "changes": record.changes,
        "failures": record.failures,
        "notes": record.notes,
        "unreachable": record.unreachable,
        "module_calls": record.module_calls,
    }


def _status(record: HostRecord) -> str:
    if record.unreachable is not None:
        return "unreachable"
    # A task that fails because of findings is explained by them; any other failure is one of its own.
    if any(not failure["explained"] for failure in record.failures):
        return "failed"
    if any(finding.get("severity") in ("error", "warning") for finding in record.findings):
        return "findings"
    return "ok" if record.observed else "no_result"


def _summary(hosts: Mapping[str, Mapping[str, Any]], shared: list[dict[str, str]]) -> dict[str, Any]:
    findings = [finding for host in hosts.values() for finding in host["findings"]] + shared
    changes = [entry for host in hosts.values() for entry in host["changes"]]
    return {
        "hosts": {status: sum(host["status"] == status for host in hosts.values()) for status in STATUSES},
        "findings": {level: sum(item["severity"] == level for item in findings) for level in reversed(SEVERITIES)},
        "changes": len(changes),
        "pending": sum(entry["needs"] != NOTHING for entry in changes),
        "module_calls_per_host": max((host["module_calls"] for host in hosts.values()), default=0),
    }
