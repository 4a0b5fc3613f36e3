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
from ansible_collections.rdma.infiniband.plugins.module_utils._model.change import NEEDS
from ansible_collections.rdma.infiniband.plugins.plugin_utils.report import document, terminal

# Actions that run on the controller only and cost a host nothing.
_CONTROLLER_ACTIONS = re.compile(
    r"^(?:ansible\.(?:builtin|legacy)\.)?(?:add_host|assert|debug|fail|group_by|include_\w+|import_\w+|meta|pause|set_fact|"
    r"set_stats|validate_argument_spec)$"
)
_CHECKS = ("rdma.infiniband.hca_info", "rdma.infiniband.hca_check")
# A task says with a variable of this name what its change needs before it takes effect.
_NEEDS = re.compile(r"^__[a-z_]+_needs$")
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
        self._started = time.time()

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Remember what is run."""
        self._playbook = os.path.basename(str(getattr(playbook, "_file_name", "")))

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Every host of a play appears in the report, also one that no task reaches."""
        self._check_mode = self._check_mode or bool(getattr(play, "check_mode", False))
        manager = play.get_variable_manager()
        inventory = getattr(manager, "_inventory", None)
        if inventory is not None:
            for host in inventory.get_hosts(play.hosts):
                if not _is_controller(host):
                    self._record(host.get_name())

    def _record(self, host: str) -> document.HostRecord:
        return self._records.setdefault(host, document.HostRecord())

    def v2_runner_on_ok(self, result: Any) -> None:
        """Take over observations and changes."""
        self._collect(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Take over what a failed check found, and the failure."""
        data = self._collect(result)
        if ignore_errors or _is_controller(result.host):
            return
        record = self._record(result.host.get_name())
        # The verify role fails a host because of the findings that are in the report already.
        explained = bool(record.findings) and result.task.get_name().endswith("fail the hosts that have findings")
        explained = explained or (bool(data.get("findings")) and result.task.resolved_action in _CHECKS)
        record.failures.append(
            {"task": result.task.get_name(), "message": str(data.get("msg", "no message")), "explained": explained}
        )

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Note a host that could not be reached."""
        self._record(result.host.get_name()).unreachable = str(result.result.get("msg", "no message"))

    def _collect(self, result: Any) -> dict[str, Any]:
        if _is_controller(result.host):
            return {}
        record = self._record(result.host.get_name())
        data = dict(result.result)
        action = str(result.task.resolved_action or result.task.action)
        results = data.get("results")
        items: list[Any] = results if isinstance(results, list) else [data]
        if not _CONTROLLER_ACTIONS.match(action):
            record.module_calls += sum(not item.get("skipped") for item in items if isinstance(item, dict))
        if "censored" in data:
            return {}
        if action in _CHECKS and "overview" in data:
            record.observe(data)
        for item in items:
            # Commands of the controller (include_tasks, set_fact) change nothing on the host.
            if (
                isinstance(item, dict)
                and item.get("changed")
                and "censored" not in item
                and not _CONTROLLER_ACTIONS.match(action)
            ):
                args = result.task_fields.get("args") or {}
                record.changes.append(document.change(result.task.get_name(), args, item, self._needs(result)))
        return data

    @staticmethod
    def _needs(result: Any) -> str:
        variables = result.task_fields.get("vars") or {}
        for name, value in variables.items():
            if _NEEDS.match(name):
                return value if value in NEEDS else "service_restart"
        return document.NOTHING

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write the document and print the summary."""
        if not self._records:
            return
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


def _is_controller(host: Any) -> bool:
    """Whether this is the implicit localhost, on which playbooks check their input: no host of the cluster."""
    return bool(getattr(host, "implicit", False))


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _write(path: str, report: dict[str, Any]) -> None:
    """Replace the file in one step, so that no reader sees half of a document."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".report-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(report, stream, indent=1, sort_keys=False)
            stream.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
