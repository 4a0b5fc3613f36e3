# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be done so that a set of files is as wanted, from one look at all of them. Pure.

Asking for each file costs a module call a file and host; one look by ``ansible.builtin.find`` serves any number.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

_MODE = "0644"
NOTHING = "nothing"


def file_plan(
    found: Iterable[Mapping[str, Any]], wanted: Iterable[Mapping[str, Any]], needs: Mapping[str, str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Directories to ``make``, files to ``write`` and files to ``remove``.

    ``found`` is what find saw of our files and their directories, with SHA-256 checksums. ``wanted`` are groups of
    ``paths`` that share a ``content``; they belong to root. ``needs`` says by the start of a path what a change of it
    needs to take effect; the longest start counts.
    """
    seen = {str(entry["path"]): entry for entry in found}
    files = {path for path, entry in seen.items() if not entry.get("isdir")}
    contents = {path: str(group["content"]) for group in wanted for path in group["paths"]}
    write = [path for path, content in contents.items() if not _as_wanted(seen.get(path), content)]
    folders = {posixpath.dirname(path) for path in files} | (set(seen) - files)
    make = sorted({posixpath.dirname(path) for path in write} - folders)
    return {
        "make": [{"path": path} for path in make],
        "write": [
            {"path": path, "content": contents[path], "exists": path in files, "needs": _need(path, needs or {})}
            for path in write
        ],
        "remove": [{"path": path, "needs": _need(path, needs or {})} for path in sorted(files - set(contents))],
    }


def _as_wanted(entry: Mapping[str, Any] | None, content: str) -> bool:
    if entry is None or not entry.get("isreg"):
        return False
    shape = (entry.get("mode"), entry.get("uid"), entry.get("gid"))
    return shape == (_MODE, 0, 0) and entry.get("checksum") == hashlib.sha256(content.encode()).hexdigest()


def _need(path: str, needs: Mapping[str, str]) -> str:
    starts = [start for start in needs if path.startswith(start)]
    return needs[max(starts, key=len)] if starts else NOTHING
