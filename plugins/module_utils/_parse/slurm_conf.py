# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What slurm.conf says about resource limits. Private to the collection. Pure.

Behaviour: src/common/slurm_rlimits_info.c (parse_rlimits) and read_config.c of Slurm.
"""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import Propagation

# Text of an included file, None when there is none.
Reader = Callable[[str], Optional[str]]
_PAIR = re.compile(r'([A-Za-z0-9_]+)\s*=\s*("[^"]*"|\S*)')
_RLIMITS = ("CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS")
_EXCEPT, _ONLY = "propagateresourcelimitsexcept", "propagateresourcelimits"
_DEEPEST = 8


def parse(text: str, path: str, read: Reader) -> Propagation:
    """Whether Slurm propagates memlock. Without a word about it Slurm propagates all limits; the exception wins."""
    settings = {key.lower(): (key, value, where) for key, value, where in _pairs(text, path, read, 0)}
    for name, propagates in ((_EXCEPT, False), (_ONLY, True)):
        if name in settings:
            key, value, where = settings[name]
            return _judge(key, value, where, propagates)
    return Propagation(path, True, "neither PropagateResourceLimits nor PropagateResourceLimitsExcept is set")


def _judge(key: str, value: str, where: str, listed_propagates: bool) -> Propagation:
    setting = "%s=%s" % (key, value)
    if value == "ALL":
        return Propagation(where, listed_propagates, setting)
    if value == "NONE":
        return Propagation(where, not listed_propagates, setting)
    names = [name[7:] if name.startswith("RLIMIT_") else name for name in re.split(r"[, \t]+", value) if name]
    unknown = [name for name in names if name not in _RLIMITS]
    problem = "Slurm knows no limit named %s and refuses to start" % ", ".join(unknown) if unknown else None
    return Propagation(where, ("MEMLOCK" in names) == listed_propagates, setting, problem)


def _pairs(text: str, path: str, read: Reader, depth: int) -> List[Tuple[str, str, str]]:
    found: List[Tuple[str, str, str]] = []
    start, pending = 0, ""
    for number, raw in enumerate(text.split("\n"), 1):
        if not pending:
            start = number
        line = re.sub(r"(?<!\\)#.*\Z", "", raw.rstrip("\r"))
        pending += line
        if line.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        whole, pending = pending.strip(), ""
        words = whole.split(None, 1)
        if len(words) == 2 and words[0].lower() == "include" and not words[1].startswith("="):
            name = words[1].strip()
            inner = name if name.startswith("/") else path.rpartition("/")[0] + "/" + name
            included = read(inner) if depth < _DEEPEST else None
            if included is not None:
                found += _pairs(included, inner, read, depth + 1)
            continue
        found += [(key, value.strip('"'), "%s:%d" % (path, start)) for key, value in _PAIR.findall(whole)]
    return found
