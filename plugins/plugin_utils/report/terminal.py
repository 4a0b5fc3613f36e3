# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report document as text for a terminal. Pure.

Texts in the document come from hosts and are hostile: control characters never reach the terminal.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.rdma.infiniband.plugins.plugin_utils.fold import fold

_ACTIVE = ("ACTIVE", "ACTIVE_DEFER")
_HEADERS = ("HOSTS", "STATUS", "HCAS", "PORTS", "RATE", "FIRMWARE", "FINDINGS")
_STATUS_TEXT = {"no_result": "NOT LOOKED AT", "unreachable": "UNREACHABLE", "failed": "FAILED", "findings": "FINDINGS"}


def clean(value: Any, limit: int = 400) -> str:
    """Printable text: control and format characters are shown as ``?``, which also ends colours and cursor moves."""
    text = " ".join(str(value).split())
    text = "".join("?" if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn") else letter for letter in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def render(document: Mapping[str, Any], path: str | None = None) -> str:
    """The summary: hosts that look alike in one row, what is wrong in full, then the counts and the file."""
    lines = [
        "",
        "InfiniBand report" + (" (check mode: nothing was changed)" if document["run"].get("check_mode") else ""),
    ]
    lines += _table(document["hosts"])
    lines += _problems(document)
    lines += _changes(document)
    lines += _notes(document)
    lines += _counts(document)
    if path:
        lines.append(f"Report: {clean(path)}")
    return "\n".join(lines) + "\n"


def _table(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, host in hosts.items():
        groups[_row(host)].append(name)
    # What is wrong comes first.
    ordered = sorted(groups.items(), key=lambda item: (item[0][0] == "ok", item[1]))
    rows = [_HEADERS] + [(clean(fold(names), 60), *row) for row, names in ordered]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADERS))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _row(host: Mapping[str, Any]) -> tuple[str, ...]:
    hcas = [hca for hca in host["hcas"] if not hca.get("virtual_function")]
    virtual = len(host["hcas"]) - len(hcas)
    ports = [port for hca in hcas for port in hca["ports"]]
    active = sum(port["state"] in _ACTIVE for port in ports)
    counts: dict[str, int] = defaultdict(int)
    for finding in host["findings"]:
        counts[clean(finding["code"])] += 1
    findings = " ".join(code if number == 1 else f"{code}×{number}" for code, number in sorted(counts.items()))
    return (
        _STATUS_TEXT.get(host["status"], host["status"]),
        f"{len(hcas)}+{virtual} VF" if virtual else str(len(hcas)),
        f"{active}/{len(ports)} active" if ports else "-",
        _rates(ports) or "-",
        ",".join(sorted({clean(hca["firmware"]) for hca in hcas if hca.get("firmware")})) or "-",
        findings or "-",
    )


def _rates(ports: Sequence[Mapping[str, Any]]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for port in ports:
        if port["state"] in _ACTIVE and port.get("rate_gbps") is not None:
            layer = {"InfiniBand": "IB", "Ethernet": "Eth"}.get(str(port.get("link_layer")), "?")
            counts[f"{port['rate_gbps']:g} Gb/s {layer}"] += 1
    return ", ".join(f"{number}× {rate}" for rate, number in sorted(counts.items(), reverse=True))


def _problems(document: Mapping[str, Any]) -> list[str]:
    """Each finding in full once, with all hosts that have it."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, host in document["hosts"].items():
        for finding in host["findings"]:
            places[_finding_key(finding)].append(name)
    for finding in document["findings"]:
        places[_finding_key(finding)].append("between hosts")
    lines = []
    for (severity, code, subject, observed, expected, hint), names in sorted(places.items(), key=_severity_first):
        where = "" if names == ["between hosts"] else f" {clean(fold(names), 80)}"
        lines.append(f"  {severity.upper()} {code}{where} {subject}: {observed}, expected {expected}")
        lines.append(f"    {hint}")
    for name, host in document["hosts"].items():
        if host["unreachable"] is not None:
            lines.append(f"  UNREACHABLE {clean(name, 80)}: {clean(host['unreachable'])}")
        for failure in host["failures"]:
            if not failure["explained"]:
                lines.append(
                    f"  FAILED {clean(name, 80)}, task '{clean(failure['task'], 100)}': {clean(failure['message'])}"
                )
    return [""] + lines if lines else []


def _finding_key(finding: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(clean(finding.get(key, "")) for key in ("severity", "code", "subject", "observed", "expected", "hint"))


def _severity_first(item: tuple[tuple[str, ...], list[str]]) -> tuple[int, tuple[str, ...]]:
    order = {"error": 0, "warning": 1, "info": 2}
    return order.get(item[0][0], 3), item[0]


def _changes(document: Mapping[str, Any]) -> list[str]:
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, host in document["hosts"].items():
        for entry in host["changes"]:
            places[clean(entry["what"], 120), entry["needs"]].append(name)
    verb = "would change" if document["run"].get("check_mode") else "changed"
    lines = []
    for (what, needs), names in sorted(places.items()):
        text = "" if needs == "nothing" else f" (takes effect after: {needs.replace('_', ' ')})"
        lines.append(f"  {verb} {what} on {clean(fold(names), 80)}{text}")
    return [""] + lines if lines else []


def _notes(document: Mapping[str, Any]) -> list[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, host in document["hosts"].items():
        for note in host["notes"]:
            places[clean(note)].append(name)
    lines = [f"  note, {clean(fold(names), 80)}: {note}" for note, names in sorted(places.items())]
    return [""] + lines if lines else []


def _counts(document: Mapping[str, Any]) -> list[str]:
    summary = document["summary"]
    hosts = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in summary["hosts"].items() if number)
    findings = ", ".join(f"{number} {severity}" for severity, number in summary["findings"].items() if number)
    return ["", f"Hosts: {hosts or 'none'}. Findings: {findings or 'none'}. Changes: {summary['changes']}."]
