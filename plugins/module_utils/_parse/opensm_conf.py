# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenSM's options file, and the template that ``opensm -c`` writes. Private to the collection. Pure.

Format: opensm/osm_subnet.c, osm_subn_parse_conf_file: the first word of a line is the option, the rest its value
without blanks and one pair of quotes around it. Lines that begin with # are comments; others have none.
"""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import OpensmConf, OptionSpec
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError

_NUMBER = re.compile(r"^(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20})\Z")
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_]*\Z", re.ASCII)
# What a template has at the least, whatever its version.
_ALWAYS = ("guid", "sm_priority", "routing_engine", "partition_config_file")


def parse(text: str) -> OpensmConf:
    """The options of a file; never fails, since OpenSM does not."""
    options: Dict[str, str] = {}
    duplicates: Dict[str, None] = {}
    keyless: List[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1:
            keyless.append(number)
            continue
        if words[0] in options:
            duplicates[words[0]] = None
        options[words[0]] = unquoted(words[1])
    return OpensmConf(options, tuple(duplicates), tuple(keyless))


def unquoted(value: str) -> str:
    """A value without blanks around it and without one pair of quotes."""
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def parse_template(text: str) -> Dict[str, OptionSpec]:
    """The options that the installed OpenSM knows, from what ``opensm -c`` wrote."""
    found: Dict[str, OptionSpec] = {}
    comment: List[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.lstrip("#").strip())
            continue
        name, _blank, value = stripped.partition(" ")
        if name and _NAME.match(name):
            shared = " ".join(part for part in comment if part)
            found[name] = OptionSpec(name, _kind(value.strip()), value.strip(), shared)
        comment = []
    missing = [name for name in _ALWAYS if name not in found]
    if missing:
        raise ParseError("opensm -c", "a template has the option %s" % missing[0], text)
    return found


def _kind(default: str) -> str:
    if default in ("TRUE", "FALSE"):
        return "boolean"
    return "number" if _NUMBER.match(default) else "text"


_COMPLAINTS: Tuple["re.Pattern[str]", ...] = (
    re.compile(r"^-E- Parsing error in field (\S+), (.*)$"),
    re.compile(r'^\s*Unrecognized token: "([^"]*)"()$'),
    re.compile(r"^\s*Invalid Cached Option Value:\s*(\S+) = (.*?)[:,] ?Using Default:.*$"),
    re.compile(r"^\s*Invalid Cached Option:?\s*(\S+)(.*)$"),
)


def complaints(stdout: str) -> Dict[str, str]:
    """What OpenSM said about options when it read a file: option to its words. It ends with 0 all the same."""
    found: Dict[str, str] = {}
    for line in stdout.split("\n"):
        for form in _COMPLAINTS:
            match = form.match(line.rstrip())
            if match:
                found.setdefault(match.group(1), line.strip())
                break
    return found
