# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules in effect make of a device node. Private to the collection. Pure.

udev itself decides; this foretells it from the conditions on SUBSYSTEM, KERNEL, ACTION and the jumps, so that check
mode says what will be and a finding can name the line that undoes another. A rule with other conditions is not
foretold, and counts as one that does not match.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    NODE_KINDS,
    NODES_FILE,
    DeviceNode,
    NodeIntent,
    Rule,
    RulesFile,
    Token,
    UdevHost,
)


@dataclass(frozen=True)
class Outcome:
    """Owner, group and mode of a node as the rules leave it.

    ``places`` says by which line, per key; a key in ``final`` was set with ``:=`` and no later line changes it.
    """

    owner: str
    group: str
    mode: str
    places: Mapping[str, str]
    final: Tuple[str, ...] = ()

    def value(self, key: str) -> str:
        """By the key of a rule."""
        return {"OWNER": self.owner, "GROUP": self.group, "MODE": self.mode}[key]

    @property
    def shown(self) -> str:
        """In the words of a listing."""
        return "%s:%s %s" % (self.owner, self.group, self.mode)


def outcome(kind: str, kernel_name: str, files: Iterable[RulesFile]) -> Outcome:
    """What udev makes of the node when its device appears, or is looked at again."""
    subsystem, _pattern, default = NODE_KINDS[kind]
    # What holds only when the device appears holds at the next boot.
    facts = {"SUBSYSTEM": (subsystem,), "KERNEL": (kernel_name,), "ACTION": ("change", "add")}
    values: Dict[str, str] = {}
    places: Dict[str, str] = {}
    final: List[str] = []
    for item in files:
        for rule in _taken(item.rules, facts):
            for key in ("OWNER", "GROUP", "MODE"):
                token = rule.assigned(key)
                if token is None or key in final:
                    continue
                values[key] = token.value
                places[key] = "%s:%d" % (item.path, rule.line)
                if token.operator == ":=":
                    final.append(key)
    mode = values.get("MODE")
    if mode is None:
        # Without a mode of its own, a node that is given a group is opened to the group (systemd, udev-node.c).
        grouped = values.get("GROUP", "root") not in ("root", "0") and kind not in ("uverbs", "rdma_cm")
        mode = "0660" if grouped else default
    return Outcome(values.get("OWNER", "root"), values.get("GROUP", "root"), _four(mode), places, tuple(final))


def _four(mode: str) -> str:
    return mode.rjust(4, "0")[-4:]


def _taken(rules: Iterable[Rule], facts: Mapping[str, Tuple[str, ...]]) -> Iterable[Rule]:
    """The rules that match, with jumps followed; a label is only looked for below its jump, as udev does."""
    label: Optional[str] = None
    for rule in rules:
        if label is not None:
            if any(t.key == "LABEL" and t.value == label for t in rule.tokens):
                label = None
            else:
                continue
        if rule.problem or not all(_holds(token, facts) for token in rule.tokens if token.matches):
            continue
        if any(token.key == "PROGRAM" for token in rule.tokens):
            continue
        yield rule
        goto = next((t.value for t in rule.tokens if t.key == "GOTO"), None)
        label = goto or None


def _holds(token: Token, facts: Mapping[str, Tuple[str, ...]]) -> bool:
    """Whether a condition holds for certain. The node's parents have other kernel names and no RDMA subsystem."""
    fact = facts.get(token.key) or facts.get(token.key[:-1] if token.key.endswith("S") else "")
    if fact is None or token.attribute is not None:
        return False
    patterns = token.value.split("|")
    if token.ignore_case:
        fact = tuple(text.lower() for text in fact)
        patterns = [pattern.lower() for pattern in patterns]
    found = any(fnmatch.fnmatchcase(text, pattern) for text in fact for pattern in patterns)
    return found if token.operator == "==" else not found


def files_without(host: UdevHost, names: Iterable[str]) -> Tuple[RulesFile, ...]:
    """The files in effect once those of ours with these names are gone, in udev's order."""
    found = {item.name: item for item in host.files}
    for name in names:
        found.pop(name, None)
        if name in host.beneath:
            found[name] = host.beneath[name]
    return tuple(found[name] for name in sorted(found))


def governed(item: Optional[RulesFile]) -> Tuple[str, ...]:
    """The kinds of nodes that our own file of node permissions speaks of."""
    if item is None or not item.ours:
        return ()
    found = []
    for kind, (subsystem, pattern, _mode) in NODE_KINDS.items():
        for rule in item.rules:
            if [t.value for t in rule.conditions("SUBSYSTEM")] == [subsystem] and [
                t.value for t in rule.conditions("KERNEL")
            ] == [pattern]:
                found.append(kind)
    return tuple(dict.fromkeys(found))


def overruled(node: DeviceNode, intent: NodeIntent, files: Iterable[RulesFile]) -> Tuple[str, ...]:
    """The lines of other files that give the node something else than ours: later ones, or earlier ones with ``:=``."""
    items = list(files)
    earlier = outcome(node.kind, node.kernel_name, [item for item in items if item.name < NODES_FILE])
    later = outcome(node.kind, node.kernel_name, [item for item in items if item.name > NODES_FILE])
    found = []
    for key, wanted in (("OWNER", intent.owner), ("GROUP", intent.group), ("MODE", intent.mode)):
        decisive = earlier if key in earlier.final else later
        if key in decisive.places and decisive.value(key) != wanted:
            found.append(decisive.places[key])
    return tuple(dict.fromkeys(found))
