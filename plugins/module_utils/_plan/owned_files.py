# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From files as they are to files as they are wanted, where all of them are ours. Private to the collection. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.change import Change


class ForeignFile(Exception):
    """A file of our name that we did not write."""


@dataclass(frozen=True)
class OwnedFile:
    """Text and mode, such as ``0600``."""

    text: str
    mode: str = "0644"


@dataclass(frozen=True)
class Step:
    """A file to write, or to remove when ``after`` is ``None``."""

    path: str
    before: Optional[OwnedFile]
    after: Optional[OwnedFile]

    @property
    def change(self) -> Change:
        """For reports: the text, or the mode where only that differs."""
        old, new = self.before, self.after
        if old and new and old.text == new.text:
            return Change(self.path, "mode " + old.mode, "mode " + new.mode)
        return Change(self.path, old.text if old else None, new.text if new else None)


def plan_files(present: Mapping[str, OwnedFile], wanted: Mapping[str, OwnedFile], mark: str) -> Tuple[Step, ...]:
    """The steps: writes in the order of ``wanted``, then removals.

    ``present`` are the files of these names, and all others in folders of ours. Raises :class:`ForeignFile` for one
    that does not begin with ``mark``, since nothing of somebody else's is overwritten or removed.
    """
    steps: List[Step] = []
    for path, new in wanted.items():
        if path in present and not present[path].text.startswith(mark):
            raise ForeignFile(path)
        if present.get(path) != new:
            steps.append(Step(path, present.get(path), new))
    for path in sorted(set(present) - set(wanted)):
        if present[path].text.startswith(mark):
            steps.append(Step(path, present[path], None))
    return tuple(steps)
