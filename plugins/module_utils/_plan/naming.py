# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What devices will be called. Private to the collection. Pure.

RDMA devices are named by rdma_rename(8) of rdma-core, which udev runs once when a device appears; its rules are
followed here (kernel-boot/rdma_rename.c). Network devices are named by the first rule that sets NAME.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.udev import (
    IPOIB_FILE,
    NAMING_FILE,
    OUR_DIRECTORY,
    IpoibDevice,
    NameChange,
    NameIntent,
    RdmaDevice,
    RulesFile,
    UdevHost,
    UdevIntent,
)

_ONBOARD_MAX = 16 * 1024 - 1
_PROGRAM = re.compile(r"^(?:\S*/)?rdma_rename\s+%k\s+(NAME_[A-Z]+)(?:\s+(\S+))?$")
_POLICY_OF = {"NAME_KERNEL": "kernel", "NAME_PCI": "pci", "NAME_GUID": "guid", "NAME_FALLBACK": "fallback"}
# What rdma_rename makes of a PCI address. A name of this form was given by the same rule, also where a newer version
# than the one followed here knows more (slots, sub-functions).
_PCI_FORM = re.compile(
    r"^(?:ib|roce|iw|opa|usnic|rdma)(?:P[0-9]+)?(?:p[0-9]+s[0-9]+|s[0-9]+)(?:f[0-9]+)?(?:v[0-9]+)?(?:S[0-9]+)?$"
)
_ONBOARD_FORM = re.compile(r"^(?:ib|roce|iw|opa|usnic|rdma)o[0-9]+$")
_GUID_FORM = re.compile(r"^(?:ib|roce|iw|opa|usnic|rdma)x[0-9a-f]{16}$")
# Driver of the PCI function to the name that the kernel counts up; others are the driver's own name.
_KERNEL_NAMES = {"mlx5_core": "mlx5_", "mlx4_core": "mlx4_", "hfi1": "hfi1_", "bnxt_en": "bnxt_re", "ice": "irdma"}


class Naming(NamedTuple):
    """What names RDMA devices: a policy with exceptions, or ``None`` where the rules say more than we can foretell."""

    policy: Optional[str]
    fixed: Sequence[NameIntent] = ()
    place: str = ""


def rdma_names(host: UdevHost, intent: UdevIntent, restored: Optional[RulesFile]) -> Tuple[NameChange, ...]:
    """The name of each RDMA device after the intent's rules; ``restored`` is the file that ours hides or hid."""
    if intent.policy != "unmanaged":
        naming = Naming(intent.policy, intent.fixed, "/%s/%s" % (OUR_DIRECTORY, NAMING_FILE))
    elif any(item.ours for item in host.files if item.name == NAMING_FILE):
        naming = naming_of(restored)
    else:
        return tuple(
            NameChange("rdma", dev.name, dev.name, "not governed", True, dev.pci, dev.guid) for dev in host.rdma
        )
    return _resolved(host.rdma, [_rdma_name(device, naming, host.rdma) for device in host.rdma])


def naming_of(item: Optional[RulesFile]) -> Naming:
    """The policy that a rules file sets, if it is as plain as the distributions' own."""
    if item is None or not item.rules:
        return Naming("kernel", (), "no rule")
    found: List[Tuple[str, bool]] = []
    for rule in item.rules:
        program = next((t for t in rule.tokens if t.key == "PROGRAM"), None)
        match = _PROGRAM.match(program.value) if program else None
        if match:
            plain = all(t.key in ("ACTION", "SUBSYSTEM", "PROGRAM") for t in rule.tokens)
            found.append((match.group(1), plain))
    if not found:
        return Naming("kernel", (), item.path)
    if len(found) == 1 and found[0][1] and found[0][0] in _POLICY_OF:
        return Naming(_POLICY_OF[found[0][0]], (), item.path)
    return Naming(None, (), item.path)


def matches_rdma(name: NameIntent, device: RdmaDevice) -> bool:
    """Whether an entry speaks of this device."""
    return name.pci == device.pci if name.pci else name.guid is not None and name.guid == device.guid


def matches_ipoib(name: NameIntent, device: IpoibDevice) -> bool:
    """Whether an entry speaks of this network device; those of P_Keys are never meant."""
    if device.child:
        return False
    at = name.pci == device.pci if name.pci else name.guid is not None and name.guid == device.guid
    return at and name.port in (None, device.port)


def _rdma_name(device: RdmaDevice, naming: Naming, devices: Sequence[RdmaDevice]) -> NameChange:
    def named(after: Optional[str], reason: str, certain: bool = True) -> NameChange:
        return NameChange("rdma", device.name, after, reason, certain, device.pci, device.guid)

    fixed = next((name for name in naming.fixed if matches_rdma(name, device)), None)
    if fixed is not None:
        # Who makes a software device gives it a name, which rdma_rename keeps since rdma-core 53.
        return named(fixed.name, "fixed name for %s" % fixed.where, device.pci is not None)
    if naming.policy is None:
        return named(None, "decided by %s" % naming.place, False)
    if device.pci is None:
        return named(device.name, "a software device keeps the name that it was made with")
    if naming.policy == "kernel":
        return _kernel_name(device, devices, named)
    if naming.policy == "guid":
        if device.guid in (None, "0x" + "0" * 16):
            return named(device.name, "it has no GUID to be named by")
        return named("%sx%s" % (_prefix(device), str(device.guid)[2:]), "policy guid")
    return _pci_name(device, naming.policy, named)


def _prefix(device: RdmaDevice) -> str:
    return device.protocol or "rdma"


def _kernel_name(device: RdmaDevice, devices: Sequence[RdmaDevice], named):  # type: ignore[no-untyped-def]
    base = _KERNEL_NAMES.get(device.driver or "")
    if base and re.match(re.escape(base) + "[0-9]+$", device.name):
        return named(device.name, "policy kernel")
    if not base and not _is_persistent(device.name):
        return named(device.name, "policy kernel", False)
    if not base:
        return named(None, "policy kernel: given in the order of detection", False)
    # The kernel counts in the order of detection, which mostly is that of the PCI addresses.
    same = sorted(str(other.pci) for other in devices if other.driver == device.driver and other.pci)
    name = "%s%d" % (base, same.index(str(device.pci)))
    return named(name, "policy kernel: given in the order of detection", False)


def _is_persistent(name: str) -> bool:
    return any(form.match(name) for form in (_PCI_FORM, _ONBOARD_FORM, _GUID_FORM))


def _pci_name(device: RdmaDevice, policy: str, named):  # type: ignore[no-untyped-def]
    place = device.place
    if place is None:
        return named(device.name, "it has no PCI address to be named by")
    onboard = place.onboard_index
    if policy == "fallback" and onboard is not None and onboard <= _ONBOARD_MAX:
        return named("%so%d" % (_prefix(device), onboard), "policy fallback: index of an onboard device")
    forms = (_PCI_FORM,) if policy == "pci" else (_PCI_FORM, _ONBOARD_FORM)
    if any(form.match(device.name) for form in forms):
        return named(device.name, "policy %s" % policy)
    domain, bus, rest = place.address.split(":")
    slot, function = int(rest.split(".")[0], 16), int(rest.split(".")[1], 16)
    if place.ari:
        function += slot * 8
    parts = [_prefix(device)]
    if int(domain, 16):
        parts.append("P%d" % int(domain, 16))
    parts.append("p%ds%d" % (int(bus, 16), slot))
    if function or place.multifunction:
        parts.append("f%d" % function)
        if place.virtual is not None:
            parts.append("v%d" % place.virtual)
    return named("".join(parts), "policy %s" % policy)


def _resolved(devices: Sequence[RdmaDevice], changes: List[NameChange]) -> Tuple[NameChange, ...]:
    """A name that another device has already cannot be given: the later one keeps what it has.

    So it is with virtual functions of a single-function card, whose persistent name is that of the physical one.
    """
    order = sorted(range(len(devices)), key=lambda index: (_virtual(devices[index]), str(devices[index].pci)))
    taken: Set[str] = set()
    found: Dict[int, NameChange] = {}
    for index in order:
        change = changes[index]
        if change.after in taken and change.reason.startswith("policy"):
            change = _kept(change)
        if change.after is not None:
            taken.add(change.after)
        found[index] = change
    return tuple(found[index] for index in range(len(devices)))


def _virtual(device: RdmaDevice) -> bool:
    return device.place is not None and device.place.virtual is not None


def _kept(change: NameChange) -> NameChange:
    reason = "keeps its name, since %s is taken" % change.after
    return NameChange(change.kind, change.before, change.before, reason, change.certain, change.pci, change.guid)


def ipoib_names(host: UdevHost, intent: UdevIntent) -> Tuple[NameChange, ...]:
    """The name of each IPoIB network device after the intent's rules."""
    ours = next((item for item in host.files if item.name == IPOIB_FILE and item.ours), None)
    given = names_given(ours)
    found = []
    for device in host.ipoib:
        wanted = next((name for name in intent.ipoib if matches_ipoib(name, device)), None)
        if wanted is not None:
            after, reason, certain = wanted.name, "named by %s" % wanted.where, True
        elif device.name in given and not device.child:
            after, reason, certain = None, "the rule that gives it this name goes: named by the distribution", False
        else:
            after, reason, certain = device.name, "not governed", True
        found.append(NameChange("ipoib", device.name, after, reason, certain, device.pci, device.guid))
    return tuple(found)


def names_given(item: Optional[RulesFile]) -> Set[str]:
    """The names of network devices that a file gives."""
    tokens = [rule.assigned("NAME") for rule in item.rules] if item else []
    return {token.value for token in tokens if token is not None}


def objections(changes: Sequence[NameChange], in_use: Sequence[str]) -> Tuple[str, ...]:
    """Why these names must not be given: a name that the inventory relies on would go, or would be another device's."""
    found = []
    present = {change.before: change for change in changes}
    later: Dict[str, List[NameChange]] = {}
    for change in changes:
        if change.after is not None:
            later.setdefault(change.after, []).append(change)
    for name in dict.fromkeys(in_use):
        now = present.get(name)
        if now is None or not now.changes:
            continue
        becomes = now.after or "a name that cannot be foretold"
        text = "%s (%s) would become %s (%s)" % (name, now.pci or now.guid or "no PCI address", becomes, now.reason)
        heirs = [other for other in later.get(name, []) if other is not now]
        if heirs:
            text += ", and %s would be the device that is %s now" % (name, heirs[0].before)
        found.append(text)
    return tuple(found)


def cut_off(changes: Sequence[NameChange], management: Iterable[str]) -> Tuple[str, ...]:
    """Network devices that carry our own connection and would have another name, now or after a reboot."""
    carriers = set(management)
    return tuple(
        "%s would become %s" % (change.before, change.after or "a name that cannot be foretold")
        for change in changes
        if change.kind == "ipoib" and change.changes and change.before in carriers
    )


def clashes(changes: Sequence[NameChange]) -> Tuple[str, ...]:
    """Names that two devices of one kind would have."""
    later: Dict[Tuple[str, str], List[str]] = {}
    for change in changes:
        if change.after is not None:
            later.setdefault((change.kind, change.after), []).append(change.before)
    return tuple(
        "%s would be the name of %s" % (name, " and ".join(befores))
        for (_kind, name), befores in later.items()
        if len(befores) > 1
    )


def unmatched(host: UdevHost, intent: UdevIntent) -> Tuple[NameIntent, ...]:
    """Entries that speak of no device of this host."""
    lost = [name for name in intent.fixed if not any(matches_rdma(name, device) for device in host.rdma)]
    lost += [name for name in intent.ipoib if not any(matches_ipoib(name, device) for device in host.ipoib)]
    return tuple(lost)
