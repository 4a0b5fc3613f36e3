# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps a directory equal to a :data:`~rdmalab.sysfs.Tree`, changing only what differs."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from .sysfs import Symlink, Tree


class Mirror:
    """Writes trees below ``root``. Each file is replaced atomically, so that no reader sees half of one.

    ``scratch`` must be on the same file system as ``root``.
    """

    def __init__(self, root: Path, scratch: Path) -> None:
        self.root = root
        self.scratch = scratch
        self._written: Tree = {}
        scratch.mkdir(parents=True, exist_ok=True)

    def sync(self, tree: Tree) -> int:
        """Make the directory show ``tree``; returns how many entries changed."""
        changed = 0
        wanted_dirs = {parent for path in tree for parent in _parents(path)} | {p for p, v in tree.items() if v is None}
        old_dirs = {parent for path in self._written for parent in _parents(path)}
        for path in sorted(set(self._written) - set(tree), reverse=True):
            if self._written[path] is not None and path not in wanted_dirs:
                with contextlib.suppress(FileNotFoundError):
                    (self.root / path).unlink()
                changed += 1
        for path in sorted(old_dirs - wanted_dirs, key=len, reverse=True):
            # The root complex directories are mount points in the host and must stay.
            if not (path.startswith("devices/pci") and path.count("/") == 1):
                shutil.rmtree(self.root / path, ignore_errors=True)
        for path, value in tree.items():
            if self._written.get(path, "") == value and path in self._written:
                continue
            self._put(self.root / path, value)
            changed += 1
        self._written = dict(tree)
        return changed

    def _put(self, target: Path, value: str | Symlink | None) -> None:
        if value is None:
            target.mkdir(parents=True, exist_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.scratch / "next"
        temporary.unlink(missing_ok=True)
        if isinstance(value, Symlink):
            temporary.symlink_to(value.target)
        else:
            temporary.write_text(value + "\n")
        os.replace(temporary, target)


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
