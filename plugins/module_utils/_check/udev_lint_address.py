# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network addresses in udev rules, where most of them are wrong. Private to the collection. Pure.

sysfs writes the 20 bytes of an IPoIB address in lower case with colons: 1 byte of flags, 3 of the queue pair number,
16 of the GID, whose last 8 are the port GUID.
"""

from __future__ import annotations

import re
from typing import Iterable, Optional

from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint_common import (
    CHANGES,
    GLOB,
    NEVER,
    Problem,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import Rule, Token

_BYTES = re.compile(r"^[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2})*$")
_HEX = re.compile(r"^(?:0[xX])?[0-9A-Fa-f]{16}$")
# Characters of an address that stand before the queue pair number, and before the GID: 1 byte, 4 bytes, with colons.
_QPN_START, _QPN_END = 3, 11
_GID_CHARS = 16 * 3 - 1
_ADDRESS_CHARS = 20 * 3 - 1


def network_address(rule: Rule) -> Iterable[Problem]:
    """An address that sysfs never shows, or not after the next reload of the driver."""
    for token in rule.conditions("ATTR", "address"):
        if token.operator != "==":
            continue
        found = [_address_problem(value, token, rule) for value in token.value.split("|")]
        wrong = [problem for problem in found if problem]
        # Of alternatives, one that is right makes the rule match.
        if wrong and len(wrong) == len(found):
            yield wrong[0]


def _address_problem(value: str, token: Token, rule: Rule) -> Optional[Problem]:
    shown = '%s{address}=="%s"' % (token.key, value)
    if not GLOB.search(value):
        return _exact_address(shown, value, token)
    if not token.ignore_case and re.search(r"[A-F]", re.sub(r"\[[^]]*\]", "", value)):
        return NEVER, "%s: sysfs writes lower-case digits" % shown, _form(token, value.lower())
    literal = re.sub(r"[*?\[\]!]", "", value)
    if re.search(r"[^0-9A-Fa-f:-]", literal.replace("-", ":")):
        return NEVER, "%s: an address has hex digits and colons only" % shown, _form(token, "*<last 8 bytes>")
    if "-" in literal and not re.search(r"\[[^]]*-[^]]*\]", value):
        return NEVER, "%s: sysfs writes colons between the bytes" % shown, _form(token, value.replace("-", ":").lower())
    if "*" not in value:
        length = len(re.sub(r"\[[^]]*\]", "x", value))
        if length != _ADDRESS_CHARS:
            right = _form(token, "*" + _tail(value)) if len(_tail(value)) >= 23 else _form(token, "*<last 8 bytes>")
            return (
                NEVER,
                "%s: it can only match %d characters, and an IPoIB address has %d" % (shown, length, _ADDRESS_CHARS),
                right,
            )
    if _names_queue_pair(value):
        return (
            CHANGES,
            "%s: bytes 2 to 4 are the queue pair number, which is another one after the driver is loaded again" % shown,
            (_form(token, "*" + _tail(value)) if len(_tail(value)) == 23 else _form(token, "*<last 8 bytes>")),
        )
    return None


def _exact_address(shown: str, value: str, token: Token) -> Optional[Problem]:
    """A comparison of the whole address, by the number of bytes."""
    if _HEX.match(value):
        digits = value.lower()[-16:]
        right = "*" + ":".join(digits[start : start + 2] for start in range(0, 16, 2))
        return NEVER, "%s: a GUID is not how sysfs writes an address" % shown, _form(token, right)
    if not _BYTES.match(value):
        if not re.search(r"[0-9A-Fa-f]{2}", value) or "$" in value or "%" in value:
            return None  # a substitution of udev, or nothing that we understand
        digits = re.sub(r"[:.-]", "", value)
        if _HEX.match(digits):
            right = "*" + ":".join(digits.lower()[start : start + 2] for start in range(0, 16, 2))
            return NEVER, "%s: sysfs writes single bytes with colons between" % shown, _form(token, right)
        return NEVER, "%s: this is no address" % shown, _form(token, "*<last 8 bytes>")
    parts = value.replace("-", ":").lower().split(":")
    if len(parts) == 20:
        right = _form(token, "*" + ":".join(parts[12:]))
        if (value != value.lower() and not token.ignore_case) or "-" in value:
            return NEVER, "%s: sysfs writes lower-case digits with colons between" % shown, right
        return (
            CHANGES,
            "%s: bytes 2 to 4 (%s) are the queue pair number, which is another one after the driver is loaded again"
            % (shown, ":".join(parts[1:4])),
            right,
        )
    if len(parts) in (8, 16):
        right = _form(token, "*" + ":".join(parts[-8:]))
        return NEVER, "%s: an IPoIB address has 20 bytes, and == without a wildcard compares all of them" % shown, right
    if len(parts) == 6:
        why = "a 6-byte Ethernet MAC never matches a type 32 (InfiniBand) device, whose address has 20 bytes"
        return NEVER, "%s: %s" % (shown, why), _form(token, "*<last 8 bytes: the port GUID>")
    return NEVER, "%s: an IPoIB address has 20 bytes, not %d" % (shown, len(parts)), _form(token, "*<last 8 bytes>")


def _form(token: Token, value: str) -> str:
    return '%s{address}=="%s"' % (token.key, value)


def _tail(value: str) -> str:
    """What follows the last *, at most the 8 bytes of the port GUID, in lower case."""
    text = value.rsplit("*", 1)[-1].lower()
    while text.startswith(("?", ":")):
        text = text[1:]
    return text[-23:]


def _names_queue_pair(value: str) -> bool:
    """Whether a pattern with a wildcard can only match some queue pair numbers."""
    pattern = re.sub(r"\[[^]]*\]", "x", value)
    head = pattern.split("*", 1)[0]
    if re.search(r"[^?:]", head[_QPN_START:_QPN_END]):
        return True
    if "*" not in pattern:
        return False
    tail = pattern.rsplit("*", 1)[1]
    # Counted from the end, the queue pair number begins where the GID, a colon and three bytes end.
    beyond = tail[: max(0, len(tail) - _GID_CHARS)]
    return bool(re.search(r"[^?:]", beyond))
