# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""udev as this collection sees it: rules, device nodes, names of devices. Private to the collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import FrozenSet, Mapping, Optional, Tuple

# The device nodes of RDMA: kind, its subsystem, the pattern of its kernel name, and the mode that the kernel gives it
# (drivers/infiniband/core: uverbs_main.c, user_mad.c, ucma.c). Owner and group are root.
NODE_KINDS: Mapping[str, Tuple[str, str, str]] = {
    "uverbs": ("infiniband_verbs", "uverbs*", "0666"),
    "umad": ("infiniband_mad", "umad*", "0600"),
    "issm": ("infiniband_mad", "issm*", "0600"),
    "rdma_cm": ("misc", "rdma_cm", "0666"),
}
POLICIES = ("unmanaged", "kernel", "pci", "guid", "fallback")
# Directories of rules, the first wins for files of one name (udev(7)).
RULE_DIRECTORIES = (
    "etc/udev/rules.d",
    "run/udev/rules.d",
    "usr/local/lib/udev/rules.d",
    "usr/lib/udev/rules.d",
    "lib/udev/rules.d",
)
OUR_DIRECTORY = "etc/udev/rules.d"
# The distribution's file of this name is replaced by ours, since udev takes one file of a name.
NAMING_FILE = "60-rdma-persistent-naming.rules"
IPOIB_FILE = "70-rdma-infiniband-ipoib.rules"
NODES_FILE = "90-rdma-infiniband-nodes.rules"
OUR_FILES = (NAMING_FILE, IPOIB_FILE, NODES_FILE)
OUR_MARK = "# Written by Ansible (rdma.infiniband.udev)."
# Does not end in .rules, so udev does not read it.
BACKUP_SUFFIX = ".before-rdma-infiniband"


@dataclass(frozen=True)
class Token:
    """One ``KEY{attribute}OPERATOR"value"`` of a rule. ``ignore_case`` is systemd's ``i"..."``."""

    key: str
    operator: str
    value: str
    attribute: Optional[str] = None
    ignore_case: bool = False

    @property
    def matches(self) -> bool:
        """Whether the token is a condition."""
        return self.operator in ("==", "!=")


@dataclass(frozen=True)
class Rule:
    """A rule and the line it starts at. ``problem`` says why udev cannot read it; its tokens are then those before."""

    line: int
    tokens: Tuple[Token, ...] = ()
    problem: Optional[str] = None

    def conditions(self, key: str, attribute: Optional[str] = None) -> Tuple[Token, ...]:
        """The conditions on one key; an ``ATTR`` asked for includes ``ATTRS``, which also looks at the parents."""
        keys = (key, key + "S")
        return tuple(t for t in self.tokens if t.matches and t.key in keys and t.attribute == attribute)

    def assigned(self, key: str) -> Optional[Token]:
        """The last assignment of one key."""
        found = [t for t in self.tokens if t.key == key and t.operator in ("=", ":=", "+=")]
        return found[-1] if found else None


@dataclass(frozen=True)
class RulesFile:
    """A file that udev reads. ``text`` is ``None`` when it could not be read, for the ``reason``."""

    path: str
    rules: Tuple[Rule, ...] = ()
    text: Optional[str] = None
    reason: Optional[str] = None

    @property
    def name(self) -> str:
        """Its name without the directory: udev orders files by it."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def ours(self) -> bool:
        """Whether the role wrote it."""
        return bool(self.text) and OUR_MARK in (self.text or "").split("\n", 1)[0]


@dataclass(frozen=True)
class NodeIntent:
    """Who may use the device nodes of one kind."""

    kind: str
    owner: str
    group: str
    mode: str

    @property
    def wanted(self) -> str:
        """In the words of a listing."""
        return "%s:%s %s" % (self.owner, self.group, self.mode)


@dataclass(frozen=True)
class NameIntent:
    """A name for what sits at a PCI address or has a GUID; ``port`` of an HCA with several ports on one function."""

    name: str
    pci: Optional[str] = None
    guid: Optional[str] = None
    port: Optional[int] = None

    @property
    def where(self) -> str:
        """In words."""
        place = "PCI address %s" % self.pci if self.pci else "GUID %s" % self.guid
        return "%s port %d" % (place, self.port) if self.port else place


@dataclass(frozen=True)
class UdevIntent:
    """Everything that the role's rules are made from. Kinds of nodes that are not listed are not governed."""

    nodes: Tuple[NodeIntent, ...] = ()
    policy: str = "unmanaged"
    fixed: Tuple[NameIntent, ...] = ()
    ipoib: Tuple[NameIntent, ...] = ()


@dataclass(frozen=True)
class DeviceNode:
    """A device node that the kernel announces. ``found`` is false when there is none in /dev."""

    kind: str
    path: str
    owner: Optional[str] = None
    group: Optional[str] = None
    mode: Optional[str] = None
    found: bool = True

    @property
    def shown(self) -> str:
        """In the words of a listing."""
        return "%s:%s %s" % (self.owner, self.group, self.mode) if self.found else "no such node"

    @property
    def kernel_name(self) -> str:
        """Its name in sysfs."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class PciPlace:
    """The PCI function that rdma_rename(8) names a device by: of a virtual function its physical one."""

    address: str
    multifunction: bool = False
    ari: bool = False
    onboard_index: Optional[int] = None
    virtual: Optional[int] = None


@dataclass(frozen=True)
class RdmaDevice:
    """An RDMA device as far as its name goes. ``protocol`` is ib, roce, iw or opa, the prefix of persistent names."""

    name: str
    pci: Optional[str] = None
    guid: Optional[str] = None
    protocol: Optional[str] = None
    driver: Optional[str] = None
    place: Optional[PciPlace] = None


@dataclass(frozen=True)
class IpoibDevice:
    """A network device of type InfiniBand. ``child`` is one of a P_Key, which is named after its parent.

    The kernel does not rename a device that is ``up``.
    """

    name: str
    pci: Optional[str] = None
    guid: Optional[str] = None
    port: Optional[int] = None
    child: bool = False
    up: bool = False


@dataclass(frozen=True)
class UdevHost:
    """What was read of a host. ``files`` are those in effect, in udev's order.

    ``beneath`` is, by the name of a file of ours, the one that is in effect when ours is not there: what was there
    before (``backups`` has the names of these), or the distribution's. ``users`` and ``groups`` map name to number;
    ``local`` are the accounts in the host's own files, the only ones that udev knows before a network is up.
    ``management`` are the network devices that carry our own connection.
    """

    nodes: Tuple[DeviceNode, ...] = ()
    rdma: Tuple[RdmaDevice, ...] = ()
    ipoib: Tuple[IpoibDevice, ...] = ()
    files: Tuple[RulesFile, ...] = ()
    beneath: Mapping[str, RulesFile] = field(default_factory=dict)
    backups: Tuple[str, ...] = ()
    running: bool = False
    rename_program: bool = False
    users: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    local_users: Tuple[str, ...] = ()
    local_groups: Tuple[str, ...] = ()
    management: FrozenSet[str] = frozenset()

    def file(self, name: str) -> Optional[RulesFile]:
        """The file of this name that is in effect."""
        return next((item for item in self.files if item.name == name), None)


@dataclass(frozen=True)
class NameChange:
    """What a device is called and would be called. ``after`` is ``None`` where that cannot be foretold."""

    kind: str
    before: str
    after: Optional[str]
    reason: str
    certain: bool = True
    pci: Optional[str] = None
    guid: Optional[str] = None

    @property
    def changes(self) -> bool:
        """Whether it would be called something else."""
        return self.after != self.before
