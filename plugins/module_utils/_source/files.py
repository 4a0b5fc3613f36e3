# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads files below a root without tripping over what vanishes or cannot be read. Private to the collection."""

from __future__ import annotations

import errno
import os
from typing import Dict, List, Optional

# A file that is not there is an absent value. These say that the kernel would not give the value.
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_LIMIT = 65536


class Files:
    """File access below ``root``; ``unreadable`` collects the files that exist and could not be read."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        self.unreadable: List[str] = []

    def path(self, relative: str) -> str:
        """The full path of a path relative to the root."""
        return self.root + "/" + relative

    def read(self, path: str) -> Optional[str]:
        """The text of a file given by its full path, without the final newline; ``None`` when there is none.

        One open, one read, one close: a host has thousands of these files.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                data = os.read(descriptor, _LIMIT)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in _ABSENT:
                self.unreadable.append("%s: %s" % (path, error.strerror))
            return None
        return data.decode("utf-8", "replace").strip()

    @staticmethod
    def read_all(path: str) -> Dict[str, Optional[str]]:
        """Name to text of every file in a directory, ``None`` for what cannot be read; empty without a directory.

        The names are opened relative to the directory, which saves walking a dozen path components a file: the
        tables of P_Keys, GIDs and counters are most of what is read.
        """
        try:
            directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return {}
        found: Dict[str, Optional[str]] = {}
        try:
            for name in os.listdir(directory):
                try:
                    descriptor = os.open(name, os.O_RDONLY, dir_fd=directory)
                    try:
                        found[name] = os.read(descriptor, _LIMIT).decode("utf-8", "replace").strip()
                    finally:
                        os.close(descriptor)
                except OSError:
                    found[name] = None
        finally:
            os.close(directory)
        return found

    @staticmethod
    def names(path: str) -> List[str]:
        """The sorted names in a directory; none when there is no such directory."""
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    @staticmethod
    def link(path: str) -> Optional[str]:
        """The last part of a symbolic link's target."""
        try:
            return os.path.basename(os.readlink(path))
        except OSError:
            return None
