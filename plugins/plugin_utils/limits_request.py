# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory-lock limits that an inventory asks for, in the words of limits.conf and of systemd. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ALLOWED_SIZE = "unlimited, a number of KiB, or a size such as 64GiB"
_SIZE = re.compile(r"([1-9][0-9]{0,14}) ?(?:([KMG])(?:iB)?)?", re.ASCII)
_KIB = {None: 1, "K": 1, "M": 1 << 10, "G": 1 << 20}
# A user, a group, a range of user or group numbers (limits.conf(5)). "%" counts logins and never locked memory.
_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*\$?"
_DOMAIN = re.compile(rf"\*|@?{_NAME}|@?[0-9]+:[0-9]*|@?:[0-9]+", re.ASCII)
_SERVICE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:\\-]*", re.ASCII)
_UNIT_TYPE = re.compile(r"[.](?:service|socket|slice|scope|target|mount|timer)$")


@dataclass(frozen=True)
class LimitsRequest:
    """``soft`` and ``hard`` are KiB or ``unlimited``; ``systemd`` is the value of ``LimitMEMLOCK``.

    ``users`` and ``groups`` are the names among the domains, which the host must know.
    """

    soft: str = ""
    hard: str = ""
    systemd: str = ""
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def parse_request(given: Mapping[str, Any]) -> LimitsRequest:
    """The request of the variables of the role limits, by their names; every problem with variable and value."""
    problems: list[str] = []
    soft, hard = (_kib(given, f"limits_memlock_{kind}", problems) for kind in ("soft", "hard"))
    if soft and hard and _rank(soft) > _rank(hard):
        problems.append(
            f"limits_memlock_soft: {given['limits_memlock_soft']!r} is above limits_memlock_hard: "
            f"{given['limits_memlock_hard']!r}; a soft limit can be at most the hard one"
        )
    domains = _each(given, "limits_domains", problems, _domain_problem)
    services = _each(given, "limits_services", problems, _service_problem)
    _each(given, "limits_check_users", problems, _user_problem)
    if given["limits_state"] == "present" and not (domains or services or given["limits_manager_default"]):
        problems.append(
            "limits_domains and limits_services are empty and limits_manager_default is false, so there is no limit to "
            "write; give one of them, or remove the limits with limits_state: absent"
        )
    if problems:
        return LimitsRequest(problems=tuple(problems))
    values = dict.fromkeys("infinity" if size == "unlimited" else f"{size}K" for size in (soft, hard))
    return LimitsRequest(
        soft,
        hard,
        ":".join(values),
        tuple(name for name in domains if re.fullmatch(_NAME, name)),
        tuple(name[1:] for name in domains if re.fullmatch("@" + _NAME, name)),
    )


def _kib(given: Mapping[str, Any], variable: str, problems: list[str]) -> str:
    value = given[variable]
    text = "" if isinstance(value, bool) else str(value)
    if text == "unlimited":
        return text
    size = _SIZE.fullmatch(text)
    if not size:
        problems.append(f"{variable}: {value!r} is not allowed; use {_ALLOWED_SIZE}")
        return ""
    return str(int(size[1]) * _KIB[size[2]])


def _rank(size: str) -> float:
    return float("inf") if size == "unlimited" else int(size)


def _each(given: Mapping[str, Any], variable: str, problems: list[str], judge: Any) -> list[str]:
    """The entries of a list that are as they should be; the others become problems."""
    good: list[str] = []
    for entry in given[variable]:
        problem = "it is given twice" if entry in good else judge(entry)
        if problem:
            problems.append(f"{variable}: {entry!r} is not allowed; {problem}")
        else:
            good.append(entry)
    return good


def _domain_problem(entry: Any) -> str | None:
    if isinstance(entry, str) and _DOMAIN.fullmatch(entry):
        return None
    hint = "; a group is written @name" if isinstance(entry, str) and entry.startswith("%") else ""
    return f"use users, @groups, * or a range of numbers such as 1000: as in limits.conf(5){hint}"


def _service_problem(entry: Any) -> str | None:
    good = isinstance(entry, str) and _SERVICE.fullmatch(entry) and not _UNIT_TYPE.search(entry)
    return None if good else "use names of services without '.service', such as slurmd"


def _user_problem(entry: Any) -> str | None:
    return None if isinstance(entry, str) and re.fullmatch(_NAME, entry) else "use names of users"
