# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys, operators and values of udev rules that udev or the kernel does not take. Private to the collection. Pure."""

from __future__ import annotations

import fnmatch
import re
from typing import Iterable, Mapping, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._check.udev_lint_common import (
    GLOB,
    IGNORED,
    NEVER,
    NODE_NAME,
    Problem,
    kind_of,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import NODE_KINDS, Rule

SUBSYSTEMS = ("infiniband", "infiniband_verbs", "infiniband_mad", "infiniband_cm", "infiniband_srp", "ucma")
_GUID_FILES = ("node_guid", "sys_image_guid")
_IFNAMSIZ = 15


def unreadable_line(rule: Rule) -> Iterable[Problem]:
    """A line that udev cannot read."""
    if rule.problem:
        yield IGNORED, "udev skips the line: %s" % rule.problem, 'KEY=="value" for a condition, KEY="value" to set'


# Keys that can only be compared, and those that can only be set (src/udev/udev-rules.c).
_CONDITIONS = (
    "ACTION",
    "DEVPATH",
    "KERNEL",
    "KERNELS",
    "SUBSYSTEM",
    "SUBSYSTEMS",
    "DRIVER",
    "DRIVERS",
    "ATTRS",
    "TAGS",
)
_ASSIGNMENTS = ("OWNER", "GROUP", "MODE", "GOTO", "LABEL", "RUN", "OPTIONS")


def wrong_operators(rule: Rule) -> Iterable[Problem]:
    """Conditions that set, and settings that compare."""
    for token in rule.tokens:
        key = "%s{%s}" % (token.key, token.attribute) if token.attribute else token.key
        shown = '%s%s"%s"' % (key, token.operator, token.value)
        if token.key in _CONDITIONS and not token.matches:
            yield (
                IGNORED,
                "%s: %s can only be compared, so udev skips the line" % (shown, key),
                '%s=="%s"' % (key, token.value),
            )
        elif token.key in _ASSIGNMENTS and token.matches:
            yield (
                IGNORED,
                "%s: %s can only be set, so udev skips the line" % (shown, key),
                '%s="%s"' % (key, token.value),
            )
        elif token.key == "ATTR" and not token.matches and token.attribute in ("address", "type", "dev_port", "dev_id"):
            yield IGNORED, "%s writes to sysfs instead of comparing" % shown, '%s=="%s"' % (key, token.value)
        elif token.key == "NAME" and token.operator == "==" and rule.conditions("ATTR", "address"):
            yield IGNORED, "%s compares the name and gives none" % shown, 'NAME="%s"' % token.value


def wrong_subsystem(rule: Rule) -> Iterable[Problem]:
    """A subsystem that the device is not in."""
    for token in rule.conditions("SUBSYSTEM"):
        if token.operator != "==" or token.ignore_case:
            continue
        values = token.value.split("|")
        known = [value for value in values if value.lower() != value and value.lower() in SUBSYSTEMS + ("net", "misc")]
        if known and len(known) == len(values):
            yield (
                NEVER,
                'SUBSYSTEM=="%s": names of subsystems are lower case' % token.value,
                'SUBSYSTEM=="%s"' % token.value.lower(),
            )
            return
        wanted = _wanted_subsystem(rule)
        if wanted is None or token.key != "SUBSYSTEM":
            continue
        name, subsystem = wanted
        if not any(fnmatch.fnmatchcase(subsystem, value) for value in values):
            yield NEVER, "%s is not of subsystem %s" % (name, token.value), 'SUBSYSTEM=="%s"' % subsystem
            return


def _wanted_subsystem(rule: Rule) -> Optional[Tuple[str, str]]:
    """What the rule speaks of and the subsystem that it is in, as far as one key says it."""
    for token in rule.conditions("KERNEL"):
        kinds = {kind_of(value) for value in token.value.split("|")}
        subsystems = {NODE_KINDS[kind][0] for kind in kinds if kind}
        if token.key == "KERNEL" and token.operator == "==" and None not in kinds and len(subsystems) == 1:
            return 'KERNEL=="%s"' % token.value, subsystems.pop()
    for token in rule.conditions("ATTR", "type"):
        if token.key == "ATTR" and token.operator == "==" and token.value == "32":
            return 'a device with ATTR{type}=="32"', "net"
    for attribute in _GUID_FILES + ("board_id", "hca_type", "fw_ver"):
        if any(token.key == "ATTR" and token.operator == "==" for token in rule.conditions("ATTR", attribute)):
            return "a device with ATTR{%s}" % attribute, "infiniband"
    return None


def node_pattern(rule: Rule) -> Iterable[Problem]:
    """KERNEL is the name in sysfs: without a directory, in lower case, and for uverbs, umad and issm with a number."""
    for token in rule.conditions("KERNEL"):
        if token.operator != "==":
            continue
        values = token.value.split("|")
        wrong = [value for value in values if _node_problem(value, token.ignore_case)]
        if wrong and len(wrong) == len(values):
            right = "|".join(_node_right(value) for value in values)
            yield (
                NEVER,
                '%s=="%s": %s' % (token.key, token.value, _node_problem(wrong[0], token.ignore_case)),
                '%s=="%s"'
                % (
                    token.key,
                    right,
                ),
            )
            return


def _node_problem(value: str, ignore_case: bool) -> Optional[str]:
    kind = kind_of(value.lower())
    if kind is None:
        return None
    if "/" in value:
        return "the kernel's name has no directory, also where the node is in /dev/infiniband"
    if value != value.lower() and not ignore_case:
        return "the kernel's names are lower case"
    match = NODE_NAME.match(value.lower())
    if match and not match.group(2):
        return "the kernel's names carry a number (%s0), and == without a wildcard compares all of it" % kind
    if match and "#" in match.group(2):
        return "# is no wildcard"
    return None


def _node_right(value: str) -> str:
    last = value.rsplit("/", 1)[-1].lower()
    match = NODE_NAME.match(last)
    if match and (not match.group(2) or "#" in match.group(2)):
        return match.group(1) + "*"
    return last


def type_number(rule: Rule) -> Iterable[Problem]:
    """The type of a network device is a number."""
    for token in rule.conditions("ATTR", "type"):
        if token.operator == "==" and token.value.lower() in ("infiniband", "0x20", "ib", "ipoib", "032"):
            yield NEVER, 'ATTR{type}=="%s": sysfs shows the number' % token.value, 'ATTR{type}=="32"'


def guid_files(rule: Rule) -> Iterable[Problem]:
    """node_guid and sys_image_guid are four groups of four lower-case digits."""
    for attribute in _GUID_FILES:
        for token in rule.conditions("ATTR", attribute):
            if token.operator != "==" or GLOB.search(token.value):
                continue
            values = token.value.split("|")
            digits = [re.sub(r"^0[xX]|[:.-]", "", value).lower() for value in values]
            right = "|".join(
                ":".join(d[start : start + 4] for start in range(0, 16, 4)) for d in digits if len(d) == 16
            )
            known = not token.ignore_case and all(re.match(r"^[0-9a-f]{16}$", d) for d in digits)
            if known and not any(value in right.split("|") for value in values):
                yield (
                    NEVER,
                    '%s{%s}=="%s": sysfs writes four groups of four lower-case digits'
                    % (token.key, attribute, token.value),
                    '%s{%s}=="%s"' % (token.key, attribute, right),
                )


def port_files(rule: Rule) -> Iterable[Problem]:
    """dev_id is hexadecimal with 0x, dev_port decimal and counted from 0."""
    for token in rule.conditions("ATTR", "dev_id"):
        if token.operator == "==" and token.value.isdecimal():
            yield (
                NEVER,
                '%s{dev_id}=="%s": sysfs writes 0x%s' % (token.key, token.value, token.value),
                ('ATTR{dev_port}=="%s"' % token.value),
            )
    for token in rule.conditions("ATTR", "dev_port"):
        if token.operator == "==" and re.match(r"^0x[0-9a-fA-F]+$", token.value):
            number = int(token.value, 16)
            yield (
                NEVER,
                '%s{dev_port}=="%s": sysfs writes a decimal number' % (token.key, token.value),
                'ATTR{dev_port}=="%d"' % number,
            )


def given_name(rule: Rule) -> Iterable[Problem]:
    """A name that udev or the kernel does not give."""
    token = rule.assigned("NAME")
    if token is None:
        return
    subsystems = [t.value for t in rule.conditions("SUBSYSTEM") if t.operator == "=="]
    network = "net" in subsystems or bool(rule.conditions("ATTR", "address"))
    if network and len(token.value) > _IFNAMSIZ and not re.search(r"[$%]", token.value):
        text = 'NAME="%s" has %d characters' % (token.value, len(token.value))
        yield IGNORED, text + ": the kernel refuses it", "a name of at most %d characters" % _IFNAMSIZ
    elif "infiniband" in subsystems:
        yield (
            IGNORED,
            'NAME="%s": udev renames network devices only, never an RDMA device' % token.value,
            'PROGRAM=="rdma_rename %%k NAME_FIXED %s"' % token.value,
        )


def given_accounts(
    rule: Rule, users: Optional[Mapping[str, int]], groups: Optional[Mapping[str, int]]
) -> Iterable[Problem]:
    """Owners and groups that the host does not know."""
    for key, known, word in (("OWNER", users, "user"), ("GROUP", groups, "group")):
        token = rule.assigned(key)
        if token is None or known is None or token.value.isdecimal() or re.search(r"[$%]", token.value):
            continue
        if token.value not in known:
            text = '%s="%s": there is no such %s, so udev leaves it out' % (key, token.value, word)
            yield IGNORED, text, "an existing %s" % word


def given_mode(rule: Rule) -> Iterable[Problem]:
    """A mode that is no octal number."""
    token = rule.assigned("MODE")
    if token is not None and not re.match(r"^[0-7]{1,5}$", token.value) and not re.search(r"[$%]", token.value):
        yield IGNORED, 'MODE="%s" is no octal number' % token.value, 'such as MODE="0660"'
