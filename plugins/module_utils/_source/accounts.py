# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's users and groups. Private to the collection.

Local ones are read from their files below the root. Those of a directory service are asked for by name, since a
service need not list them; that is possible for the running host only.
"""

from __future__ import annotations

import contextlib
import grp
import pwd
from typing import Dict, Iterable, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import Rule
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import SourceError


class Accounts:
    """Name to number, as far as it was asked for."""

    def __init__(self, root: str) -> None:
        self._live = root.rstrip("/") == ""
        self.users = _entries(root.rstrip("/") + "/etc/passwd")
        self.groups = _entries(root.rstrip("/") + "/etc/group")
        self.local_users: Tuple[str, ...] = tuple(self.users)
        self.local_groups: Tuple[str, ...] = tuple(self.groups)

    def learn(self, users: Iterable[str], groups: Iterable[str]) -> None:
        """Ask for names that are not local."""
        for name in users:
            if self._live and name not in self.users:
                with contextlib.suppress(KeyError):
                    self.users[name] = pwd.getpwnam(name).pw_uid
        for name in groups:
            if self._live and name not in self.groups:
                with contextlib.suppress(KeyError):
                    self.groups[name] = grp.getgrnam(name).gr_gid

    def learn_from(self, rules: Iterable[Rule]) -> None:
        """Ask for the names that rules give to nodes."""
        for rule in rules:
            owner, group = rule.assigned("OWNER"), rule.assigned("GROUP")
            self.learn([owner.value] if owner else [], [group.value] if group else [])

    def user_of(self, number: int) -> str:
        """The name of a user, or the number where it has none."""
        return _name_of(self.users, number)

    def group_of(self, number: int) -> str:
        """The name of a group, or the number where it has none."""
        if self._live and number not in self.groups.values():
            with contextlib.suppress(KeyError):
                self.groups[grp.getgrgid(number).gr_name] = number
        return _name_of(self.groups, number)


def _name_of(known: Dict[str, int], number: int) -> str:
    return next((name for name, value in known.items() if value == number), str(number))


def _entries(path: str) -> Dict[str, int]:
    """Name to number of a file such as passwd(5) or group(5); the first entry of a name counts."""
    found: Dict[str, int] = {}
    try:
        with open(path, "rb") as handle:
            text = handle.read().decode("utf-8", "replace")
    except OSError as error:
        raise SourceError("%s: %s" % (path, error.strerror or error)) from None
    for line in text.split("\n"):
        fields = line.split(":")
        number = decimal(fields[2], 11) if len(fields) > 2 else None
        if number is not None:
            found.setdefault(fields[0], number)
    return found
