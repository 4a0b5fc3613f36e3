# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""limits.conf and limits.d as pam_limits reads them. Private to the collection. Pure.

Behaviour: modules/pam_limits/pam_limits.c of Linux-PAM (parse_config_file, process_limit, parse_uid_range).
"""

from __future__ import annotations

import re
from typing import List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import UNLIMITED, LimitLine

_KINDS = ("soft", "hard", "-")
_UNLIMITED_WORDS = ("unlimited", "infinity", "-1", "-")
_NUMBER = re.compile(r"^([+-]?)([0-9]+)(.*)\Z", re.ASCII | re.DOTALL)
_RANGE = re.compile(r"^[@%]?(?:[0-9]+:[0-9]*|:[0-9]+)\Z", re.ASCII)


def parse(text: str, path: str) -> Tuple[LimitLine, ...]:
    """The lines that concern memlock, with what pam_limits makes of each. Lines about other limits are passed over."""
    found: List[LimitLine] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = _line(raw, path, number)
        if line is not None:
            found.append(line)
    return tuple(found)


def _line(raw: str, path: str, number: int) -> Optional[LimitLine]:
    body = raw.lstrip(" \t\r\v\f").partition("#")[0]
    # Only blanks and tabs separate: a no-break space from a web page becomes part of the word.
    fields = [field for field in re.split(r"[ \t]+", body.strip(" \t"), maxsplit=3) if field]
    if not fields or not fields[0].strip("\r"):
        return None
    domain = fields[0]
    kind = fields[1].lower() if len(fields) > 1 else ""
    if len(fields) == 2 and kind.rstrip("\r") == "-":
        return LimitLine(path, number, domain, "exempt", problem=_domain_problem(domain))
    item = fields[2].lower() if len(fields) > 2 else ""
    if len(fields) < 4:
        if "memlock" not in body.lower():
            return None
        return LimitLine(
            path, number, domain, kind, problem="pam_limits ignores it: a line has domain, type, item and value"
        )
    value = fields[3].strip(" \t").lower()
    if item != "memlock":
        if "memlock" not in body.lower():
            return None
        return LimitLine(
            path, number, domain, kind, value, problem="pam_limits ignores it: the third word should be memlock"
        )
    problem = _domain_problem(domain)
    if kind not in _KINDS:
        problem = "pam_limits ignores it: the type %r is not soft, hard or -" % fields[1]
    if problem:
        return LimitLine(path, number, domain, kind, value, problem=problem)
    size, problem = _size(value)
    return LimitLine(path, number, domain, kind, value, size, problem)


def _domain_problem(domain: str) -> Optional[str]:
    if domain.startswith("%"):
        return "pam_limits ignores it: % is for maxlogins only, a group is written with @"
    if ":" in domain and not _RANGE.match(domain):
        return "pam_limits ignores it: %r is not a range such as 1000:2000" % domain
    return None


def _size(value: str) -> Tuple[Optional[int], Optional[str]]:
    """The bytes that pam_limits makes of a value of KiB, and what is wrong with it.

    It reads the digits at the beginning and drops the rest without a word, so that 64G is 64 KiB.
    """
    if value.endswith("\r"):
        return None, "the line ends with a carriage return, with which pam_limits cannot read the value"
    if value in _UNLIMITED_WORDS:
        return UNLIMITED, None
    match = _NUMBER.match(value)
    if not match and value.split(" ", maxsplit=1)[0] in _UNLIMITED_WORDS:
        # Linux-PAM 1.5 reads the first word, newer ones ignore the line: what is not sure counts as ignored.
        return None, "newer pam_limits ignore it, since the value has more than one word: %r" % value
    if not match:
        return None, "pam_limits ignores it: %r is neither unlimited nor a number of KiB" % value
    sign, digits, rest = match.groups()
    number = int(digits[:25])
    # A negative number wraps round to a huge one.
    size = UNLIMITED if (sign == "-" and number) or number >= UNLIMITED // 1024 else number * 1024
    if rest:
        return size, "pam_limits reads it as %d KiB and drops %r: values are a plain number of KiB" % (
            number,
            rest.strip(),
        )
    return size, None
