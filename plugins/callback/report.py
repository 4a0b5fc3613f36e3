# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects a run into the report."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report
type: aggregate
short_description: Collects what a run changed and found into one report
version_added: 0.1.0
description:
  - Gathers the results of the collection's checks, the changes of every task and the hosts that failed or could not be
    reached into one JSON document, and prints a summary of it.
  - Results that are marked with C(no_log) are left out.
author:
  - The rdma.infiniband contributors (@rdma)
requirements:
  - Enable it with C(callbacks_enabled = rdma.infiniband.report).
options:
  report_path:
    description:
      - Where the JSON document is written. It replaces an older one.
      - Only its owner may read it, since with C(--diff) it has the content of files that changed.
      - When the directory cannot be written to, the summary is printed all the same and says so.
    type: path
    default: .cache/report/report.json
    env:
      - name: RDMA_INFINIBAND_REPORT
    ini:
      - section: rdma_infiniband
        key: report_path
"""

import json
import os
import re
import tempfile
import time
import uuid
from typing import Any

from ansible.plugins.callback import CallbackBase
from ansible.release import __version__ as ansible_version
from ansible_collections.rdma.infiniband.plugins.plugin_utils.report import document, terminal

# Actions that run on the controller only and cost a host nothing.
_CONTROLLER_ACTIONS = re.compile(
    r"^(?:ansible\.(?:builtin|legacy)\.)?(?:add_host|assert|debug|fail|group_by|include_\w+|import_\w+|meta|pause|set_fact|"
    r"set_stats|validate_argument_spec)$"
)
_OURS = "rdma.infiniband."
# What a role tells the report with ansible.builtin.set_stats, for each host.
_NOTES = "rdma_infiniband_notes"
_VERSION = "0.1.0"


class CallbackModule(CallbackBase):
    """The callback."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rdma.infiniband.report"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._records: dict[str, document.HostRecord] = {}
        self._playbook = ""
        self._check_mode = False
        self._on_controller = False
        self._started = time.time()

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Remember what is run."""
        self._playbook = os.path.basename(str(getattr(playbook, "_file_name", "")))

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Every host of a play appears in the report, also one that no task reaches."""
        self._check_mode = self._check_mode or bool(getattr(play, "check_mode", False))
        # A play for the controller alone, which looks at its input, tells nothing about a host of the cluster.
        self._on_controller = list(play.hosts) in (["localhost"], ["127.0.0.1"])
        manager = play.get_variable_manager()
        inventory = getattr(manager, "_inventory", None)
        if inventory is not None:
            # With "serial" a play starts anew for each batch; a run that ends early has never seen the later ones.
            for host in inventory.get_hosts(play.hosts, ignore_restrictions=True):
                self._record(host)

    def _record(self, host: Any) -> document.HostRecord:
        """The record of a host; one that is thrown away for the implicit localhost and plays for the controller."""
        if self._on_controller or getattr(host, "implicit", False):
            return document.HostRecord()
        return self._records.setdefault(str(host.get_name()), document.HostRecord())

    def v2_runner_on_ok(self, result: Any) -> None:
        """Take over observations and changes."""
        self._collect(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Take over what a failed check found, and the failure."""
        self._collect(result)
        if ignore_errors:
            return
        record = self._record(result.host)
        explained = self._explained(record, result)
        failure = {"task": result.task.get_name(), "message": _message(result), "explained": explained}
        record.failures.append(failure)

    def _explained(self, record: document.HostRecord, result: Any) -> bool:
        """Whether the task failed because of findings, which are in the report themselves."""
        name = result.task.get_name()
        if name.endswith(document.BETWEEN_HOSTS_TASK):
            return bool(document.shared_findings(self._records))
        of_check = str(result.task.resolved_action).startswith(_OURS) and bool(result.result.get("findings"))
        return bool(record.findings) and (of_check or name.endswith(document.FINDINGS_TASK))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Note a host that could not be reached."""
        self._record(result.host).unreachable = str(result.result.get("msg", "no message"))

    def _collect(self, result: Any) -> None:
        record = self._record(result.host)
        data = result.result
        action = str(result.task.resolved_action or result.task.action)
        if "censored" not in data and isinstance(data.get("ansible_stats"), dict):
            notes = data["ansible_stats"].get("data", {}).get(_NOTES) or []
            record.notes += [str(note) for note in notes if str(note) not in record.notes]
        if _CONTROLLER_ACTIONS.match(action):
            return
        called = [item for item in _items(result) if not item.get("skipped")]
        record.module_calls += len(called)
        if called:
            record.unreachable = None  # it was reached after all
        for item in called:
            if "censored" in item or "censored" in data:
                continue
            if action.startswith(_OURS) and ("overview" in item or "findings" in item):
                record.observe(str(result.task._uuid), item)
            if item.get("changed"):
                args = result.task_fields.get("args") or {}
                record.changes += document.changes(result.task.get_name(), args, item)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write the document and print the summary."""
        if not self._records:
            return
        for name, record in self._records.items():
            # What a rescue took care of comes first, since the failure that counts ends the host.
            record.failures = record.failures[stats.rescued.get(name, 0) :] if stats.failures.get(name) else []
        report = document.build(
            {
                "id": str(uuid.uuid4()),
                "playbook": self._playbook,
                "started": _stamp(self._started),
                "ended": _stamp(time.time()),
                "check_mode": self._check_mode,
                "ansible_version": ansible_version,
                "collection_version": _VERSION,
            },
            self._records,
        )
        path = os.path.abspath(self.get_option("report_path"))
        try:
            _write(path, report)
        except OSError as error:
            self._display.warning(f"report_path: cannot write {path}: {error.strerror}. The summary below is complete.")
            path = ""
        self._display.display(terminal.render(report, path or None))


def _items(result: Any) -> list[dict[str, Any]]:
    """The results of a loop, or the one of a task without. Some modules return "results" of their own."""
    results = result.result.get("results") if result.task.loop is not None else None
    return [item for item in results if isinstance(item, dict)] if isinstance(results, list) else [result.result]


def _message(result: Any) -> str:
    """Why a task failed; a loop itself only says that items did."""
    texts = []
    # ansible-core 2.21 keeps "failed" to itself, older ones have no "exception" in every failure.
    failed = [item for item in _items(result) if item.get("failed") or "exception" in item]
    for item in failed or [result.result]:
        hidden = "censored" in item or "censored" in result.result
        texts.append("hidden, since the task has no_log" if hidden else str(item.get("msg", "no message")))
    return "\n".join(dict.fromkeys(texts))


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _write(path: str, report: dict[str, Any]) -> None:
    """Replace the file in one step, so that no reader sees half of a document.

    Only its owner may read it: with ``--diff`` it has the content of files.
    """
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".report-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(report, stream, indent=1, sort_keys=False)
            stream.write("\n")
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
