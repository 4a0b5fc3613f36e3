# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that an inventory asks of OpenSM, against those that the installed one has. Private to the collection. Pure.

OpenSM takes what it does not understand for its default and goes on, so nothing of it may reach the file. Ranges are
those of its template's comments and of the InfiniBand specification where its own check is weaker (osm_subnet.c).
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import NULL, OptionSpec

_NUMBER = re.compile(r"^(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\Z")
# Lowest and highest value of numbers that OpenSM reads without a look, or whose rejection it only mentions.
RANGES: Mapping[str, Tuple[int, int]] = {
    "sm_priority": (0, 15),
    "lmc": (0, 7),
    "sm_sl": (0, 15),
    "max_op_vls": (1, 5),
    "fdr10": (0, 2),
    "force_link_speed": (0, 15),
    "force_link_speed_ext": (0, 31),
    "force_link_width": (0, 255),
    "packet_life_time": (0, 31),
    "head_of_queue_lifetime": (0, 31),
    "leaf_head_of_queue_lifetime": (0, 31),
    "vl_stall_count": (1, 7),
    "leaf_vl_stall_count": (1, 7),
    "subnet_timeout": (0, 31),
    "m_key_protection_level": (0, 3),
    "local_phy_errors_threshold": (0, 15),
    "overrun_errors_threshold": (0, 15),
    "console_port": (1, 65535),
    "lash_start_vl": (0, 15),
    "nue_max_num_vls": (0, 15),
    "qos_max_vls": (0, 15),
}
ENUMS: Mapping[str, Tuple[str, ...]] = {
    "part_enforce": ("both", "in", "out", "off"),
    "console": ("off", "local", "loopback", "socket"),
}
ENGINES: Tuple[str, ...] = (
    "minhop", "updn", "dnup", "file", "ftree", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp", "no_fallback",
)  # fmt: skip
NVIDIA_ENGINES: Tuple[str, ...] = ("ar_updn", "ar_ftree", "ar_torus", "ar_dor", "ar_minhop", "pqft", "chain")
# Found in NVIDIA's template and never in the upstream one.
_NVIDIA_OPTIONS = (
    "virt_enabled",
    "ar_mode",
    "max_op_vls_per_port",
    "smp_threads",
    "gmp_threads",
    "routing_threads_num",
)
# OpenSM reads lines into a buffer of this size and takes the rest for another line.
_LINE_LIMIT = 1022


def is_nvidia(specs: Mapping[str, OptionSpec]) -> bool:
    """Whether the installed OpenSM is NVIDIA's."""
    return any(name in specs for name in _NVIDIA_OPTIONS)


def check_options(
    wanted: Mapping[str, Any], specs: Mapping[str, OptionSpec], managed: FrozenSet[str] = frozenset()
) -> Tuple[Dict[str, str], Tuple[str, ...]]:
    """The wanted options as texts for the file, and what is wrong with them: option, value, what is allowed.

    ``managed`` are options that are set in another way and must not be given here.
    """
    texts: Dict[str, str] = {}
    problems: List[str] = []
    for name, value in wanted.items():
        if name not in specs:
            problems.append("%s: this OpenSM has no such option%s" % (name, _suggestion(str(name), list(specs))))
            continue
        if name in managed:
            problems.append("%s: has a variable of its own and is not given among the options" % name)
            continue
        text, problem = _text(specs[name], value, specs)
        if problem:
            problems.append("%s: %r is not allowed; use %s" % (name, value, problem))
        else:
            texts[name] = text
    return texts, tuple(problems)


def _suggestion(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.75)
    return "; did you mean %s?" % near[0] if near else ""


def _text(spec: OptionSpec, value: Any, specs: Mapping[str, OptionSpec]) -> Tuple[str, Optional[str]]:
    """The text of a value, or what is allowed instead."""
    if value is None:
        return (NULL, None) if spec.default == NULL else ("", "a value; its default is %s" % spec.default)
    if spec.kind == "boolean":
        return _boolean(value)
    if spec.name == "routing_engine":
        return _engines(value, specs)
    if isinstance(value, (list, tuple)):
        value = ",".join(str(item) for item in value)
    text = ("TRUE" if value else "FALSE") if isinstance(value, bool) else str(value)
    if spec.kind == "number":
        return _number(spec, value, text)
    if spec.name in ENUMS:
        return (text, None) if text in ENUMS[spec.name] else ("", "one of %s" % ", ".join(ENUMS[spec.name]))
    return _plain(spec, text)


def _boolean(value: Any) -> Tuple[str, Optional[str]]:
    if isinstance(value, bool):
        return ("TRUE" if value else "FALSE"), None
    if value in ("TRUE", "FALSE"):
        return str(value), None
    return "", "true or false"


def _number(spec: OptionSpec, value: Any, text: str) -> Tuple[str, Optional[str]]:
    low, high = RANGES.get(spec.name, (0, 2**64 - 1))
    allowed = "a number from %d to %d" % (low, high) if spec.name in RANGES else "a number, decimal or with 0x"
    if isinstance(value, (bool, float)) or not _NUMBER.match(text):
        return "", allowed
    number = int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    if not low <= number <= high:
        return "", allowed
    return ("0x%x" % number if text[:2] in ("0x", "0X") else str(number)), None


def _engines(value: Any, specs: Mapping[str, OptionSpec]) -> Tuple[str, Optional[str]]:
    names = list(value) if isinstance(value, (list, tuple)) else str(value).split(",")
    names = [str(name).strip() for name in names]
    known = ENGINES + NVIDIA_ENGINES if is_nvidia(specs) else ENGINES
    for name in names:
        if name in known:
            continue
        if name in NVIDIA_ENGINES:
            return "", "%s; %s is of NVIDIA's OpenSM, and this one is not" % (", ".join(known), name)
        return "", "a list of %s%s" % (", ".join(known), _suggestion(name, known))
    if not names or len(set(names)) != len(names) or names == ["no_fallback"]:
        return "", "a list of different engines, in the order in which they are tried"
    return ",".join(names), None


def _plain(spec: OptionSpec, text: str) -> Tuple[str, Optional[str]]:
    """A text that OpenSM reads back as it was given."""
    if not text or text != text.strip() or text == NULL or text[0] in "\"'":
        return "", "a text without blanks or quotes around it"
    if re.search(r"[^ -~]", text):
        return "", "printable ASCII characters only"
    if len(spec.name) + 1 + len(text) > _LINE_LIMIT:
        return "", "at most %d characters, since OpenSM reads no more of a line" % (_LINE_LIMIT - len(spec.name) - 1)
    return text, None


def check_readback(texts: Mapping[str, str], said: Mapping[str, str], back: Mapping[str, str]) -> Tuple[str, ...]:
    """What the installed OpenSM did not take as given: its own words, or the value that it has instead."""
    problems = []
    for name, text in texts.items():
        if name in said:
            problems.append("%s: %r is not allowed; OpenSM says: %s" % (name, text, said[name]))
        elif name not in back or not _same(text, back[name]):
            problems.append("%s: %r is not allowed; OpenSM takes it for %r" % (name, text, back.get(name)))
    problems += ["%s: OpenSM says: %s" % (name, words) for name, words in said.items() if name not in texts]
    return tuple(problems)


def _same(given: str, back: str) -> bool:
    if given == back:
        return True
    return bool(_NUMBER.match(given) and _NUMBER.match(back)) and _value(given) == _value(back)


def _value(text: str) -> int:
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)
