# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory-lock limits: what is wanted, what processes have, and where it was set. Private to the collection.

Limits are bytes. Unlimited is the kernel's own value for it, so that limits compare as numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple

UNLIMITED = (1 << 64) - 1
_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def size_text(size: int) -> str:
    """A limit for people: ``unlimited``, ``8 MiB``, ``1000 bytes``."""
    if size >= UNLIMITED:
        return "unlimited"
    for unit, name in _UNITS:
        if size and size % unit == 0:
            return "%d %s" % (size // unit, name)
    return "%d bytes" % size


@dataclass(frozen=True)
class Limit:
    """A soft and a hard limit."""

    soft: int
    hard: int

    def reaches(self, wanted: Limit) -> bool:
        """Whether it is at least what is wanted."""
        return self.soft >= wanted.soft and self.hard >= wanted.hard

    def at_most(self, ceiling: Limit) -> Limit:
        """What of it remains under a ceiling that cannot be raised."""
        hard = min(self.hard, ceiling.hard)
        return Limit(min(self.soft, hard), hard)

    def __str__(self) -> str:
        if self.soft == self.hard:
            return size_text(self.soft)
        return "soft %s, hard %s" % (size_text(self.soft), size_text(self.hard))


@dataclass(frozen=True)
class LimitLine:
    """A line about memlock in limits.conf or limits.d. ``kind`` is soft, hard, ``-`` (both), or ``exempt``.

    An exempt line (``alice -``) takes a user out of all limits. ``problem`` says why pam_limits ignores the line, or
    reads another value than whoever wrote it meant; ``size`` is what it reads, ``None`` when it ignores the line.
    """

    path: str
    line: int
    domain: str
    kind: str
    value: str = ""
    size: Optional[int] = None
    problem: Optional[str] = None

    @property
    def where(self) -> str:
        """The place for messages."""
        return "%s:%d" % (self.path, self.line)

    @property
    def says(self) -> str:
        """The line as it was written, without blanks."""
        return ("%s %s memlock %s" % (self.domain, self.kind, self.value)).strip()


@dataclass(frozen=True)
class Account:
    """A user with every group it is in; the primary one is among them."""

    name: str
    uid: int
    gid: int
    groups: Tuple[str, ...] = ()
    gids: Tuple[int, ...] = ()


@dataclass(frozen=True)
class LoginLimit:
    """What pam_limits gives to a new session. ``None`` as a line: that part is not set by any line."""

    limit: Limit
    soft_line: Optional[LimitLine] = None
    hard_line: Optional[LimitLine] = None
    exempt_line: Optional[LimitLine] = None

    @property
    def touched(self) -> bool:
        """Whether any line sets a part of it."""
        return self.soft_line is not None or self.hard_line is not None


@dataclass(frozen=True)
class Process:
    """A running process. ``origin`` says who set its limit: ``service``, ``session``, ``manager`` or ``other``.

    ``unit`` is its systemd unit; ``session_uid`` the user whose login it belongs to.
    """

    name: str
    pid: int
    uid: int
    limit: Limit
    origin: str = "other"
    unit: Optional[str] = None
    session_uid: Optional[int] = None


@dataclass(frozen=True)
class Assignment:
    """A line of a unit or manager file that sets the limit; ``limit`` is ``None`` when systemd cannot read it."""

    path: str
    line: int
    text: str
    limit: Optional[Limit] = None

    @property
    def where(self) -> str:
        """The place for messages."""
        return "%s:%d" % (self.path, self.line)


@dataclass(frozen=True)
class Unit:
    """A systemd unit as the manager has it loaded. ``assignments`` come in the order in which the last one wins."""

    name: str
    load_state: str = "loaded"
    active_state: str = "active"
    main_pid: int = 0
    limit: Optional[Limit] = None
    needs_reload: bool = False
    fragment: str = ""
    drop_ins: Tuple[str, ...] = ()
    assignments: Tuple[Assignment, ...] = ()

    @property
    def on_disk(self) -> Optional[Assignment]:
        """The assignment that wins in the files."""
        valid = [item for item in self.assignments if item.limit is not None]
        return valid[-1] if valid else None


@dataclass(frozen=True)
class PamStack:
    """Whether the sessions of a PAM service run pam_limits: ``state`` is runs, missing, skipped or sometimes."""

    service: str
    path: str
    state: str
    reason: str = ""
    where: str = ""
    conf: Optional[str] = None
    set_all: bool = False


@dataclass(frozen=True)
class Propagation:
    """Whether Slurm copies the submitter's memory-lock limit over the node's; ``setting`` is the line that says so."""

    where: str
    propagates: bool
    setting: str
    problem: Optional[str] = None


@dataclass(frozen=True)
class Ceiling:
    """A hard limit that nothing on the host can raise, and why."""

    limit: Limit
    reason: str


@dataclass(frozen=True)
class Probe:
    """A limit that was measured in a new session or unit; ``problem`` when it could not be."""

    subject: str
    command: str
    limit: Optional[Limit] = None
    problem: Optional[str] = None
    refused: bool = False


@dataclass(frozen=True)
class Unreadable:
    """Something that should have been read and could not be."""

    subject: str
    reason: str
    command: str


@dataclass(frozen=True)
class MemlockWanted:
    """What processes, logins and units must have. A name that ends in a unit type, such as .service, is a unit."""

    names: Tuple[str, ...]
    limit: Limit
    absent_severity: str = "error"


@dataclass(frozen=True)
class MemlockView:
    """All that was seen of a host. ``init`` is the limit of process 1.

    ``debian_pam``: Debian's pam_limits starts every session from the limits of process 1, does not apply groups and
    wildcards to root, and does not refuse a login when a limit cannot be set. Everyone else's does the opposite.
    """

    processes: Tuple[Process, ...] = ()
    units: Mapping[str, Unit] = field(default_factory=dict)
    manager: Optional[Limit] = None
    manager_lines: Tuple[Assignment, ...] = ()
    lines: Tuple[LimitLine, ...] = ()
    conf_lines: Mapping[str, Tuple[LimitLine, ...]] = field(default_factory=dict)
    accounts: Tuple[Account, ...] = ()
    session_accounts: Mapping[int, Account] = field(default_factory=dict)
    stacks: Tuple[PamStack, ...] = ()
    daemons: Mapping[str, Limit] = field(default_factory=dict)
    slurm: Optional[Propagation] = None
    init: Optional[Limit] = None
    ceiling: Optional[Ceiling] = None
    debian_pam: bool = False
    logins: Tuple[Probe, ...] = ()
    new_unit: Optional[Probe] = None
    unreadable: Tuple[Unreadable, ...] = ()
