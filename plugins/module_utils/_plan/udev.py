# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a host shows to what an intent asks for: files, nodes and names, in order. Private to the collection. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.change import Change
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    BACKUP_SUFFIX,
    NAMING_FILE,
    NODES_FILE,
    OUR_DIRECTORY,
    DeviceNode,
    NameChange,
    NameIntent,
    RulesFile,
    UdevHost,
    UdevIntent,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev_outcome import (
    files_without,
    governed,
    outcome,
    overruled,
)
from ansible_collections.rdma.infiniband.plugins.module_utils._plan import naming
from ansible_collections.rdma.infiniband.plugins.module_utils._plan.udev_rules import wanted_files

# What is done to a file: write (to the text), move (aside, to the backup), restore (from the backup), remove.
WRITE, MOVE, RESTORE, REMOVE = "write", "move", "restore", "remove"


class PlanError(Exception):
    """The intent cannot be carried out on this host; nothing must be changed."""


@dataclass(frozen=True)
class FileStep:
    """One step for one file of ours, by its full path."""

    action: str
    path: str
    before: Optional[str] = None
    after: Optional[str] = None

    @property
    def backup(self) -> str:
        """Where the file that was there before ours is kept."""
        return self.path + BACKUP_SUFFIX


@dataclass(frozen=True)
class NodeStep:
    """A device node as it is and as it will be. ``reset`` asks for the kernel's own values first."""

    node: DeviceNode
    after: str
    reset: bool = False


@dataclass(frozen=True)
class UdevPlan:
    """Everything to do, and what will be called what. ``pending`` are names that only a reboot or a permission gives."""

    files: Tuple[FileStep, ...] = ()
    nodes: Tuple[NodeStep, ...] = ()
    names: Tuple[NameChange, ...] = ()
    renames: Tuple[NameChange, ...] = ()
    pending: Tuple[NameChange, ...] = ()
    unmatched: Tuple[NameIntent, ...] = ()

    @property
    def changes(self) -> Tuple[Change, ...]:
        """What the plan changes, for reports."""
        found = [Change(step.path, step.before, step.after) for step in self.files if step.action != MOVE]
        found += [Change(step.backup, None, step.before) for step in self.files if step.action == MOVE]
        found += [Change(step.node.path, step.node.shown, step.after) for step in self.nodes]
        found += [Change(_label(name), name.before, name.after, disruptive=True) for name in self.renames]
        return tuple(found)


def _label(name: NameChange) -> str:
    kind = "RDMA device" if name.kind == "rdma" else "IPoIB device"
    return "name of %s %s" % (kind, name.pci or name.guid or name.before)


def pending_changes(names: Sequence[NameChange]) -> Tuple[Change, ...]:
    """Names that devices do not have yet, with what it takes."""
    return tuple(Change(_label(name), name.before, name.after, disruptive=True, needs="reboot") for name in names)


@dataclass(frozen=True)
class Allowed:
    """What may be disrupted. ``in_use`` are names that must not go."""

    in_use: Sequence[str] = ()
    rename: bool = False
    management_path: bool = False


def plan(host: UdevHost, intent: UdevIntent, allowed: Allowed = Allowed()) -> UdevPlan:
    """What to do; raises :class:`PlanError` where nothing must be done."""
    files: List[FileStep] = []
    for name, text in wanted_files(intent).items():
        files += _file_steps(host, name, text)
    names = _names(host, intent)
    _refuse(host, intent, names, allowed)
    changing = tuple(name for name in names if name.changes)
    # Only a name that is certain, and that nobody else has now, can be given while the host runs.
    taken = {(name.kind, name.before) for name in names}
    up = {("ipoib", device.name) for device in host.ipoib if device.up}
    renames = tuple(
        name
        for name in changing
        if allowed.rename
        and host.running
        and name.after
        and name.certain
        and (name.kind, name.after) not in taken
        and (name.kind, name.before) not in up
    )
    return UdevPlan(
        files=tuple(files),
        nodes=_node_steps(host, intent),
        names=names,
        renames=renames,
        pending=tuple(name for name in changing if name not in renames),
        unmatched=naming.unmatched(host, intent),
    )


def names_only(host: UdevHost, intent: UdevIntent) -> UdevPlan:
    """What devices are called and would be called, with nothing else to do and nothing refused."""
    names = _names(host, intent)
    return UdevPlan(
        names=names,
        pending=tuple(name for name in names if name.changes),
        unmatched=naming.unmatched(host, intent),
    )


def _names(host: UdevHost, intent: UdevIntent) -> Tuple[NameChange, ...]:
    return naming.rdma_names(host, intent, host.beneath.get(NAMING_FILE)) + naming.ipoib_names(host, intent)


def _ours(host: UdevHost, name: str) -> Optional[RulesFile]:
    item = host.file(name)
    return item if item is not None and item.ours and item.path.startswith("/%s/" % OUR_DIRECTORY) else None


def _foreign(host: UdevHost, name: str) -> Optional[RulesFile]:
    item = host.file(name)
    return item if item is not None and not item.ours and item.path.startswith("/%s/" % OUR_DIRECTORY) else None


def _file_steps(host: UdevHost, name: str, text: Optional[str]) -> List[FileStep]:
    path = "/%s/%s" % (OUR_DIRECTORY, name)
    ours, foreign = _ours(host, name), _foreign(host, name)
    if text is not None:
        before = ours.text if ours else None
        if before == text:
            return []
        steps = []
        if foreign is not None:
            if name in host.backups:
                raise PlanError(
                    "%s was not written by this role, and %s, the file that was there before, exists already. Keep one of "
                    "the two and remove the other." % (path, path + BACKUP_SUFFIX)
                )
            steps.append(FileStep(MOVE, path, foreign.text))
        return steps + [FileStep(WRITE, path, before, text)]
    if foreign is not None:
        return []
    if name in host.backups:
        return [FileStep(RESTORE, path, ours.text if ours else None, None)]
    return [FileStep(REMOVE, path, ours.text, None)] if ours else []


def _refuse(host: UdevHost, intent: UdevIntent, names: Sequence[NameChange], allowed: Allowed) -> None:
    """Everything that must stop the run before a file is written."""
    for node in intent.nodes:
        for word, value, known in (("owner", node.owner, host.users), ("group", node.group, host.groups)):
            if value not in known:
                raise PlanError("%s of %s: the %s %r does not exist on this host" % (word, node.kind, word, value))
    renaming = bool(intent.fixed) or intent.policy not in ("unmanaged", "kernel")
    if renaming and not host.rename_program:
        raise PlanError(
            "policy %s needs the program rdma_rename, which is not in /usr/lib/udev: install rdma-core first"
            % intent.policy
        )
    clashing = naming.clashes(names)
    if clashing:
        raise PlanError("two devices cannot have one name: %s" % "; ".join(clashing))
    cut_off = naming.cut_off(names, host.management)
    if cut_off and not allowed.management_path:
        raise PlanError(
            "our own connection runs over a device that would have another name: %s. Whoever configures the network must "
            "know the new name first; allow it with allow_management_path" % "; ".join(cut_off)
        )
    objections = naming.objections(names, allowed.in_use)
    if objections:
        raise PlanError(
            "the inventory uses names that would go: %s. Change the inventory first, or take these names out of "
            "names_in_use" % "; ".join(objections)
        )


def _node_steps(host: UdevHost, intent: UdevIntent) -> Tuple[NodeStep, ...]:
    """The nodes that are not what they will be."""
    intents = {node.kind: node for node in intent.nodes}
    released = [kind for kind in governed(_ours(host, NODES_FILE)) if kind not in intents]
    others = files_without(host, [NODES_FILE])
    steps = []
    for node in host.nodes:
        if not node.found:
            continue
        if node.kind in intents:
            # Where another rule undoes ours, the node stays as that rule has it, which a check reports.
            wanted = intents[node.kind].wanted
            if node.shown != wanted and not overruled(node, intents[node.kind], others):
                steps.append(NodeStep(node, wanted))
        elif node.kind in released:
            wanted = outcome(node.kind, node.kernel_name, others).shown
            if node.shown != wanted:
                steps.append(NodeStep(node, wanted, reset=True))
    return tuple(steps)
