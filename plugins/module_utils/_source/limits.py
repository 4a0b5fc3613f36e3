# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads where memory-lock limits are configured, and measures new sessions and units. Private to the collection."""

from __future__ import annotations

import fnmatch
import grp
import os
import posixpath
import pwd
from dataclasses import replace
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import (
    Account,
    Assignment,
    Limit,
    LimitLine,
    PamStack,
    Probe,
    Propagation,
    Unit,
    Unreadable,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import (
    limits_conf,
    pam_stack,
    proc_limits,
    slurm_conf,
    systemd_unit,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import Runner, SourceError, ToolRun

LIVE_ETC = "/etc"
# Where a distribution's own files are when /etc has only the administrator's (SUSE).
_VENDOR_SECURITY = "/usr/etc/security"
_PAM_DIRECTORIES = ("/usr/lib/pam.d", "/usr/etc/pam.d")
_SYSTEMD_DIRECTORIES = ("/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd")
# slurm.conf by packages and, without one (configless), where slurmd keeps what it was sent.
_SLURM = ("slurm/slurm.conf", "slurm-llnl/slurm.conf")
_SLURM_CACHE = ("/run/slurm/conf/slurm.conf", "/var/spool/slurmd/conf-cache/slurm.conf")


class Config:
    """The configuration below an etc directory; of the live one also what the distribution keeps outside of it.

    ``unreadable`` collects the files that are there and could not be read.
    """

    def __init__(self, etc: str) -> None:
        if not os.path.isdir(etc):
            raise SourceError("%s: not a directory" % etc)
        self.etc = etc.rstrip("/") or "/"
        self.live = self.etc == LIVE_ETC
        self.unreadable: List[Unreadable] = []

    def read(self, path: str) -> Optional[str]:
        """The text of a file; ``None`` when there is none, or none that can be read, which is noted."""
        try:
            with open(path, encoding="utf-8", errors="replace", newline="") as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            self.unreadable.append(Unreadable(path, str(error.strerror), "cat %s" % path))
            return None

    def _names(self, directory: str) -> List[str]:
        try:
            # glob(3), which these programs use, passes over names that begin with a dot.
            return [name for name in os.listdir(directory) if name.endswith(".conf") and not name.startswith(".")]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.unreadable.append(Unreadable(directory, str(error.strerror), "ls %s" % directory))
            return []

    def merged(self, directories: Sequence[str]) -> List[str]:
        """Paths of the .conf files of several directories by name; of two of one name the first directory's counts."""
        found: Dict[str, str] = {}
        for directory in directories:
            for name in self._names(directory):
                found.setdefault(name, "%s/%s" % (directory, name))
        return [found[name] for name in sorted(found, key=os.fsencode)]

    def limit_lines(self, conf: Optional[str] = None) -> Tuple[LimitLine, ...]:
        """What pam_limits reads, in its order. With the module argument ``conf=`` it reads that file only."""
        if conf:
            return limits_conf.parse(self.read(self._placed(conf)) or "", conf)
        main, directories = self.etc + "/security/limits.conf", [self.etc + "/security/limits.d"]
        if self.live:
            directories.append(_VENDOR_SECURITY + "/limits.d")
            if not os.path.exists(main):
                main = _VENDOR_SECURITY + "/limits.conf"
        lines: List[LimitLine] = []
        for path in [main] + self.merged(directories):
            lines += limits_conf.parse(self.read(path) or "", path)
        return tuple(lines)

    def _placed(self, path: str) -> str:
        """Where a path below /etc is really read."""
        return self.etc + path[len(LIVE_ETC) :] if path.startswith(LIVE_ETC + "/") else path

    def stacks(self, services: Sequence[str]) -> Tuple[PamStack, ...]:
        """The PAM stacks of those services that the host has."""
        found = [pam_stack.parse_stack(name, self.etc + "/pam.d", self._pam) for name in services if self._has(name)]
        return tuple(self._with_sshd(stack) if stack.service == "sshd" else stack for stack in found)

    def _pam(self, name: str) -> Optional[str]:
        for directory in (self.etc + "/pam.d",) + (_PAM_DIRECTORIES if self.live else ()):
            text = self.read("%s/%s" % (directory, name))
            if text is not None:
                return text
        return None

    def _has(self, service: str) -> bool:
        directories = (self.etc + "/pam.d",) + (_PAM_DIRECTORIES if self.live else ())
        return any(os.path.isfile("%s/%s" % (directory, service)) for directory in directories)

    def _with_sshd(self, stack: PamStack) -> PamStack:
        """sshd may be told to leave PAM alone."""
        path = self.etc + "/ssh/sshd_config"
        text = self.read(path)
        if text is None:
            return stack
        used, where = pam_stack.parse_use_pam(text, path, self._included)
        if used:
            return stack
        return replace(stack, state="skipped", where=where.partition(" ")[0], reason="sshd uses no PAM: %s" % where)

    def _included(self, pattern: str) -> List[Tuple[str, str]]:
        full = self._placed(pattern) if pattern.startswith("/") else "%s/ssh/%s" % (self.etc, pattern)
        directory, name = posixpath.split(full)
        try:
            names = sorted(item for item in os.listdir(directory) if fnmatch.fnmatchcase(item, name))
        except OSError:
            return []
        texts = [("%s/%s" % (directory, item), self.read("%s/%s" % (directory, item))) for item in names]
        return [(path, text) for path, text in texts if text is not None]

    def slurm(self) -> Optional[Propagation]:
        """What slurm.conf says; ``None`` on a host without one."""
        paths = ["%s/%s" % (self.etc, name) for name in _SLURM] + list(_SLURM_CACHE if self.live else ())
        for path in paths:
            text = self.read(path)
            if text is not None:
                return slurm_conf.parse(text, path, lambda inner: self.read(self._placed(inner)))
        return None

    def debian_pam(self) -> bool:
        """Whether pam_limits is Debian's, which differs in what a session starts from and in what root gets."""
        values: Dict[str, str] = {}
        for line in (self.read(self.etc + "/os-release") or "").split("\n"):
            key, separator, value = line.strip().partition("=")
            if separator:
                values[key] = value.strip("\"'")
        return bool({"debian", "ubuntu"} & set((values.get("ID", "") + " " + values.get("ID_LIKE", "")).split()))

    def accounts(self) -> Callable[[str], Optional[Account]]:
        """Looks users up by name or number: on the live system in every directory it uses, else in its files."""
        return account if self.live else self._accounts_of_files()

    def _accounts_of_files(self) -> Callable[[str], Optional[Account]]:
        groups = [line.split(":") for line in (self.read(self.etc + "/group") or "").split("\n")]
        groups = [fields for fields in groups if len(fields) >= 4 and _is_id(fields[2])]
        users = [line.split(":") for line in (self.read(self.etc + "/passwd") or "").split("\n")]
        known: Dict[str, Account] = {}
        for fields in users:
            if len(fields) < 4 or not (_is_id(fields[2]) and _is_id(fields[3])):
                continue
            gid = int(fields[3])
            own = [item for item in groups if int(item[2]) == gid or fields[0] in item[3].split(",")]
            user = Account(
                fields[0], int(fields[2]), gid, tuple(item[0] for item in own), tuple(int(item[2]) for item in own)
            )
            known.setdefault(user.name, user)
            known.setdefault("#%d" % user.uid, user)
        return lambda name: known.get(name) or known.get("#" + name)

    def with_assignments(self, unit: Unit) -> Unit:
        """The unit with the lines of its files. Files that were added since it was loaded count too."""
        drop_ins = list(unit.drop_ins)
        if unit.needs_reload:
            tops = [self.etc + "/systemd"] + list(_SYSTEMD_DIRECTORIES)
            kind = unit.name.rpartition(".")[2]
            drop_ins = self.merged(["%s/system/%s.d" % (top, name) for top in tops for name in (unit.name, kind)])
        found: List[Assignment] = []
        for path in [unit.fragment] * bool(unit.fragment) + drop_ins:
            text = self.read(self._placed(path))
            found += systemd_unit.parse_file(text or "", path, "Service", "LimitMEMLOCK")
        return replace(unit, assignments=tuple(found))

    def manager_lines(self) -> Tuple[Assignment, ...]:
        """The lines that set the manager's default, the last valid one wins."""
        tops = [self.etc + "/systemd"] + (list(_SYSTEMD_DIRECTORIES) if self.live else [])
        main = [path for path in ("%s/system.conf" % top for top in tops) if os.path.exists(path)][:1]
        found: List[Assignment] = []
        for path in main + self.merged([top + "/system.conf.d" for top in tops]):
            found += systemd_unit.parse_file(self.read(path) or "", path, "Manager", "DefaultLimitMEMLOCK")
        return tuple(found)


def _is_id(text: str) -> bool:
    return decimal(text, 11) is not None


def account(name: str) -> Optional[Account]:
    """A user of this system by name or number."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        try:
            entry = pwd.getpwuid(int(name)) if _is_id(name) else None  # type: ignore[assignment]
        except (KeyError, OverflowError):
            return None
    if entry is None:
        return None
    gids = os.getgrouplist(entry.pw_name, entry.pw_gid)
    groups: List[str] = []
    for gid in gids:
        try:
            groups.append(grp.getgrgid(gid).gr_name)
        except KeyError:
            continue  # a number without a name matches no @group
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, tuple(groups), tuple(gids))


def _said(run: ToolRun, timeout: float) -> str:
    """Why a tool gave nothing to read."""
    if run.failure == "missing":
        return "%s is not installed" % run.argv[0]
    if run.failure == "timeout":
        return "it did not end within %g seconds" % timeout
    words = " ".join((run.stderr.strip() or run.stdout.strip()).split())
    return "exit status %d: %s" % (run.rc, words[:300] or "no output")


def units(runner: Runner, names: Sequence[str], timeout: float) -> Tuple[Dict[str, Unit], Tuple[Unreadable, ...]]:
    """Units as the manager has them loaded, by the names that were asked for (which may be aliases)."""
    if not names:
        return {}, ()
    argv = ["systemctl", "show", "--no-pager", "--property=" + ",".join(systemd_unit.UNIT_PROPERTIES), "--"]
    run = runner(argv + list(names), timeout)
    reason = _said(run, timeout) if run.failure or run.rc else ""
    if not reason:
        try:
            blocks = systemd_unit.parse_show(run.stdout, len(names))
            return {name: systemd_unit.parse_unit(block) for name, block in zip(names, blocks)}, ()
        except ParseError as error:
            reason = str(error)
    return {}, (Unreadable("units %s" % ", ".join(names), reason, "systemctl show " + " ".join(names)),)


def manager_default(runner: Runner, timeout: float) -> Optional[Limit]:
    """The limit of a unit that sets none; ``None`` when systemd does not say."""
    argv = ["systemctl", "show", "--no-pager", "--property=" + ",".join(systemd_unit.MANAGER_PROPERTIES)]
    run = runner(argv, timeout)
    if run.failure or run.rc:
        return None
    try:
        return systemd_unit.shown_limit(systemd_unit.parse_show(run.stdout, 1)[0], "DefaultLimitMEMLOCK")
    except ParseError:
        return None


def probe_login(runner: Runner, user: str, timeout: float) -> Probe:
    """Open a real session of a user through PAM and read the limit in it."""
    argv = ["su", "-s", "/bin/sh", "-l", user, "-c", "cat /proc/self/limits"]
    return _probe(runner, argv, "a new login of %s" % user, timeout)


def probe_unit(runner: Runner, timeout: float) -> Probe:
    """Start a real transient unit and read the limit in it."""
    argv = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect", "cat", "/proc/self/limits"]
    return _probe(runner, argv, "a new systemd unit", timeout)


def _probe(runner: Runner, argv: Sequence[str], subject: str, timeout: float) -> Probe:
    run = runner(argv, timeout)
    shown = " ".join("'%s'" % word if " " in word else word for word in argv)
    if run.failure or run.rc:
        refused = not run.failure and "cannot open session" in run.stderr
        return Probe(subject, shown, problem=_said(run, timeout), refused=refused)
    try:
        return Probe(subject, shown, proc_limits.parse_limits(run.stdout))
    except ParseError as error:
        return Probe(subject, shown, problem=str(error))
