# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a PAM service's sessions run pam_limits, and whether sshd uses PAM. Private to the collection. Pure.

Format: pam.conf(5), libpam/pam_handlers.c; sshd_config(5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ansible_collections.rdma.infiniband.plugins.module_utils._model.memlock import PamStack
from ansible_collections.rdma.infiniband.plugins.module_utils._parse.numbers import decimal

# Text of a file by its name in pam.d, None when there is none.
Reader = Callable[[str], Optional[str]]
_MODULE = "pam_limits"
_WORDS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\S+")
_DEEPEST = 16
_NAMED = {
    "required": {"success": "ok", "default": "bad"},
    "requisite": {"success": "ok", "default": "die"},
    "sufficient": {"success": "done", "default": "ignore"},
    "optional": {"success": "ok", "default": "ignore"},
}
# What these two answer is known without running them.
_ALWAYS = {"pam_permit": "success", "pam_deny": "session_err"}


@dataclass(frozen=True)
class Entry:
    """A session line: what each answer leads to, the module without its path and ending, its arguments, the place."""

    actions: Mapping[str, str]
    module: str
    arguments: Tuple[str, ...]
    where: str


@dataclass(frozen=True)
class Substack:
    """A stack inside of a stack: what ends it does not end the outer one, and a jump passes it as one."""

    entries: Tuple[Union[Entry, Substack], ...]


Item = Union[Entry, Substack]


def parse_stack(service: str, path: str, read: Reader) -> PamStack:
    """What becomes of pam_limits in the sessions of a service. ``path`` is where pam.d is, for messages."""
    problems: List[str] = []
    items = _items(service, path, read, problems, (service,))
    state, entry, reason = _reached(items)
    where = entry.where if entry else ""
    if entry is None:
        off = _commented(service, path, read)
        state, reason = "missing", "no session line of it has pam_limits.so" + off
    if problems and state != "runs":
        reason += "; " + "; ".join(problems)
    arguments = entry.arguments if entry else ()
    conf = [word[5:] for word in arguments if word.startswith("conf=")]
    return PamStack(
        service, "%s/%s" % (path, service), state, reason, where, conf[-1] if conf else None, "set_all" in arguments
    )


def _commented(service: str, path: str, read: Reader) -> str:
    for number, line in enumerate((read(service) or "").split("\n"), 1):
        if line.lstrip().startswith("#") and re.search(r"\bsession\b.*\bpam_limits\b", line):
            return " (%s/%s:%d has it as a comment)" % (path, service, number)
    return ""


def _lines(text: str) -> List[Tuple[int, str]]:
    """Logical lines with the number of their first physical one, without comments."""
    found: List[Tuple[int, str]] = []
    start, pending = 0, ""
    for number, raw in enumerate(text.split("\n"), 1):
        if not pending:
            start = number
        line = raw.rstrip("\r").partition("#")[0]
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        whole, pending = (pending + line).strip(), ""
        if whole:
            found.append((start, whole))
    return found


def _items(name: str, path: str, read: Reader, problems: List[str], seen: Tuple[str, ...]) -> Tuple[Item, ...]:
    text = read(name)
    if text is None:
        problems.append("%s/%s does not exist" % (path, name))
        return ()
    found: List[Item] = []
    for number, line in _lines(text):
        where = "%s/%s:%d" % (path, name, number)
        words = _WORDS.findall(line)
        include: Optional[Tuple[str, str]] = None
        if words[0] == "@include" and len(words) > 1:
            include = ("include", words[1])
        elif words[0].lower().lstrip("-") == "session" and len(words) > 2:
            control = words[1].lower()
            if control in ("include", "substack"):
                include = (control, words[2])
            else:
                module = words[2].rpartition("/")[2]
                module = module[:-3] if module.endswith(".so") else module
                found.append(Entry(_actions(control), module, tuple(word.strip("[]") for word in words[3:]), where))
        if include is None:
            continue
        kind, other = include[0], include[1].rpartition("/")[2]
        if other in seen or len(seen) >= _DEEPEST:
            problems.append("%s includes %s again" % (where, other))
            continue
        inner = _items(other, path, read, problems, seen + (other,))
        if kind == "substack":
            found.append(Substack(inner))
        else:
            found.extend(inner)
    return tuple(found)


def _actions(control: str) -> Dict[str, str]:
    if not control.startswith("["):
        return dict(_NAMED.get(control, _NAMED["required"]))
    pairs = [word.partition("=") for word in control.strip("[]").split()]
    return {name: action for name, separator, action in pairs if separator}


def _reached(items: Sequence[Item]) -> Tuple[str, Optional[Entry], str]:
    """How far a session comes: runs, sometimes or skipped, with the entry of pam_limits that says so."""
    best: Tuple[str, Optional[Entry], str] = ("missing", None, "")
    order = ("missing", "skipped", "sometimes", "runs")
    doubt = ""  # why what follows may not be reached
    over = -1  # the entry up to which a jump, certain or possible, leads
    over_reason, over_certain = "", False
    ended = ""
    for index, item in enumerate(items):
        passed = index <= over
        if isinstance(item, Substack):
            state, entry, reason = _reached(item.entries)
        elif item.module == _MODULE:
            state, entry, reason = "runs", item, ""
        else:
            state, entry, reason = "missing", None, ""
        if entry is not None:
            if ended or (passed and over_certain):
                state, reason = "skipped", ended or over_reason
            elif state == "runs" and (doubt or passed):
                state, reason = "sometimes", doubt or over_reason
            if order.index(state) > order.index(best[0]):
                best = (state, entry, reason)
        if isinstance(item, Substack) or item.module == _MODULE or ended or (passed and over_certain):
            continue
        jump, done, certain = _effect(item)
        if jump and index + jump > over:
            # A jump that may itself be jumped over is not certain.
            over, over_certain = index + jump, certain and not passed
            over_reason = "%s (%s) jumps over it" % (item.where, item.module)
        if done:
            text = "%s (%s) ends the stack before it" % (item.where, item.module)
            if certain and not passed:
                ended = text
            doubt = doubt or text
    return best


def _effect(entry: Entry) -> Tuple[int, bool, bool]:
    """Entries jumped over, whether success ends the stack here, and whether that is certain.

    What fails ends in a refused login, not in one without limits, so only success and being ignored count.
    """
    known = _ALWAYS.get(entry.module)
    actions = list(entry.actions.values())
    if known:
        actions = [entry.actions.get(known, entry.actions.get("default", "ignore"))]
    jumps = [decimal(action, 4) or 0 for action in actions]
    return max(jumps, default=0), "done" in actions, known is not None


def parse_use_pam(text: str, path: str, read: Callable[[str], Sequence[Tuple[str, str]]]) -> Tuple[bool, str]:
    """Whether sshd uses PAM, and the line that says so. The first value counts; without one sshd does not.

    ``read`` gives path and text of every file that an Include pattern names.
    """
    found = _use_pam(text, path, read, 0)
    return found or (False, "%s does not set UsePAM, and without it sshd uses no PAM" % path)


def _use_pam(
    text: str, path: str, read: Callable[[str], Sequence[Tuple[str, str]]], depth: int
) -> Optional[Tuple[bool, str]]:
    for number, raw in enumerate(text.split("\n"), 1):
        words = [word.strip('"') for word in re.split(r"[\s=]+", raw.strip(), maxsplit=1)]
        if len(words) < 2 or not words[0] or words[0].startswith("#"):
            continue
        key, value = words[0].lower(), words[1].partition(" #")[0].strip().strip('"')
        if key == "match":
            return None  # UsePAM is not allowed from here on
        if key == "usepam":
            return value.lower() == "yes", "%s:%d UsePAM %s" % (path, number, value)
        if key == "include" and depth < _DEEPEST:
            for pattern in value.split():
                for inner, content in read(pattern):
                    answer = _use_pam(content, inner, read, depth + 1)
                    if answer:
                        return answer
    return None
