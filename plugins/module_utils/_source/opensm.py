# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the installed OpenSM what it knows, and what it makes of a file. Private to the collection.

``opensm -c`` writes its options and ends before it looks for a port, so this disturbs nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.opensm import OpensmLog, OptionSpec
from ansible_collections.rdma.infiniband.plugins.module_utils._parse import opensm_conf, opensm_log
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.errors import ParseError
from ansible_collections.rdma.infiniband.plugins.module_utils._source.tools import Runner, SourceError

_LOG_TAIL = 262144


@dataclass(frozen=True)
class Installed:
    """The installed OpenSM: its version and its options."""

    version: str
    specs: Mapping[str, OptionSpec]


def installed(runner: Runner, program: str, folder: str, timeout: float) -> Installed:
    """The options of the installed version. ``folder`` is a temporary one of the caller's."""
    target = os.path.join(folder, "template.conf")
    said = _create(runner, (program, "-F", os.devnull, "-f", os.path.join(folder, "log"), "-c", target), timeout)
    try:
        version = opensm_log.parse(said).version
        return Installed(version or "unknown", opensm_conf.parse_template(_text(target)))
    except ParseError as error:
        raise SourceError("%s -c: %s" % (program, error)) from None


def read_back(
    runner: Runner, program: str, folder: str, text: str, timeout: float
) -> Tuple[Dict[str, str], Dict[str, str]]:
    """What OpenSM says about an options file, and the options that it then has."""
    candidate, target = os.path.join(folder, "candidate.conf"), os.path.join(folder, "back.conf")
    with open(candidate, "w", encoding="ascii") as stream:
        stream.write(text)
    said = _create(runner, (program, "-F", candidate, "-c", target), timeout)
    return opensm_conf.complaints(said), dict(opensm_conf.parse(_text(target)).options)


def _create(runner: Runner, argv: Tuple[str, ...], timeout: float) -> str:
    run = runner(argv, timeout)
    if run.failure == "missing":
        raise SourceError("%s is not installed" % argv[0])
    if run.failure or run.rc:
        words = run.failure or (run.stderr or run.stdout).strip()[-300:] or "status %d" % run.rc
        raise SourceError("%s -c: %s" % (argv[0], words))
    return run.stdout + "\n" + run.stderr


def _text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read().decode("utf-8", "replace")
    except OSError as error:
        raise SourceError("%s: %s" % (path, error.strerror or error)) from None


def read_log(path: str) -> Optional[OpensmLog]:
    """The end of a log from the last start of OpenSM; ``None`` when there is no log."""
    try:
        with open(path, "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _LOG_TAIL))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return None
    # Every start writes its version first, at level 3 and then at level 0x80.
    lines = text.split("\n")
    starts = [index for index, line in enumerate(lines) if "0x03 -> OpenSM " in line]
    return opensm_log.parse("\n".join(lines[starts[-1] :] if starts else lines))
