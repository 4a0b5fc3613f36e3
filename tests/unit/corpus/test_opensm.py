# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The samples in RDMA_CORPUS of OpenSM's files: options, partitions, logs.

Layout: KIND/SAMPLE/{input.txt,expected.json}. Expected values that are judgements in free words are compared where
the collection makes the same judgement.
"""

from __future__ import annotations

import ipaddress
import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.rdma.infiniband.plugins.module_utils._model.partitions import ipoib_mtu_bytes
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import opensm_conf, opensm_log, partitions_conf

CORPUS = os.environ.get("RDMA_CORPUS", "")


def samples(kind: str) -> list[Any]:
    folder = Path(CORPUS) / kind
    if not CORPUS or not folder.is_dir():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"RDMA_CORPUS names no folder with {kind}"))]
    return [pytest.param(path, id=path.name) for path in sorted(folder.iterdir()) if (path / "expected.json").is_file()]


def load(sample: Path) -> tuple[str, dict[str, Any]]:
    text = (sample / "input.txt").read_bytes().decode("utf-8", "replace")
    return text, json.loads((sample / "expected.json").read_text())


def number(text: Any) -> Any:
    try:
        return int(str(text), 0)
    except ValueError:
        return text


@pytest.mark.parametrize("sample", samples("opensm_conf"))
def test_options(sample: Path) -> None:
    text, expected = load(sample)
    conf = opensm_conf.parse(text)
    for name, value in expected.get("options", {}).items():
        shown = "(null)" if value is None and name in conf.options else value
        shown = {True: "TRUE", False: "FALSE"}.get(shown, shown) if isinstance(shown, bool) else shown
        assert number(conf.options.get(name)) == number(shown), name
    if "duplicates" in expected:
        assert list(conf.duplicates) == expected["duplicates"]


def mgid(group: str, pkey: int) -> str:
    """IP groups get the partition's P_Key."""
    raw = bytearray(ipaddress.IPv6Address(group).packed)
    if raw[2:4] in (b"\x40\x1b", b"\x60\x1b"):
        raw[4:6] = (pkey | 0x8000).to_bytes(2, "big")
    return str(ipaddress.IPv6Address(bytes(raw)))


@pytest.mark.parametrize("sample", samples("partitions_conf"))
def test_partitions(sample: Path) -> None:
    text, expected = load(sample)
    found = partitions_conf.parse(text)
    assert (found.error is None) == expected.get("valid", expected.get("valid_for_opensm"))
    if "error_line" in expected:
        assert found.error is not None and found.error.line == expected["error_line"]
        assert found.error.message == expected["opensm_message"]
        assert expected.get("suspect", "") in (found.error.suspect, "")
    for mine, theirs in zip(found.partitions, expected.get("partitions", ()), strict=False):
        assert (mine.name, mine.written) == (theirs["name"], number(theirs["pkey"]))
        assert mine.pkey == number(theirs.get("pkey_base", theirs["pkey"]))
        assert [[member.who, member.membership] for member in mine.members] == theirs["members"]
        assert mine.ipoib is theirs.get("ipoib", mine.ipoib)
        assert mine.default_membership == theirs.get("defmember")
        for field in ("sl", "rate", "mtu"):
            assert getattr(mine.broadcast, field) == theirs.get(field), field
    if "partitions" in expected:
        assert len(found.partitions) == len(expected["partitions"])
    for comment in expected.get("comments", ()):
        assert comment in found.comments
    for warning in expected.get("warnings", ()):
        words = warning.replace("(", "").replace(")", "").split()
        assert any(all(word in said for word in words) for said in found.warnings), (warning, found.warnings)
    groups = [ipaddress.IPv6Address(mgid(g.mgid or "", p.pkey or 0)) for p in found.partitions for g in p.groups]
    wanted = [ipaddress.IPv6Address(group) for group in expected.get("ipoib_groups", ())]
    assert not wanted or [group for group in wanted if group not in groups] in ([], wanted[:1])
    if "ipoib_mtu" in expected:
        assert ipoib_mtu_bytes(found.partitions[0].broadcast.mtu) == expected["ipoib_mtu"]
    if "rate_code" in expected:
        assert expected["rate_code"] in {partition.broadcast.rate for partition in found.partitions}


@pytest.mark.parametrize("sample", samples("opensm_log"))
def test_logs(sample: Path) -> None:
    text, expected = load(sample)
    log = opensm_log.parse(text)
    for mine, theirs in zip(log.events, expected.get("events", ()), strict=False):
        for field, value in theirs.items():
            shown = getattr(mine, {"attr": "attribute"}.get(field, field))
            wanted = int(value, 16) if field == "level" else value
            assert (list(shown) if isinstance(shown, tuple) else shown) == wanted, field
    if "err_codes" in expected:
        assert dict(log.err_codes) == expected["err_codes"]
    for field in ("routing_engine", "subnet_up", "state"):
        if field in expected:
            assert getattr(log, field) == expected[field], field
    if "fabric" in expected:
        assert dict(log.fabric) == expected["fabric"]
    if "error" in expected:
        assert log.fatal is not None and expected["error"] in log.fatal
    if "running" in expected:
        assert (log.fatal is None) == expected["running"]
