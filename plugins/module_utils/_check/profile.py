# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable ``infiniband_profile`` to a profile, or one error that lists all that is wrong with it.

Private to the collection. Pure. The shape is described in the documentation of the module hca_check.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.rdma.infiniband.plugins.module_utils._model.profile import (
    HcaIntent,
    Match,
    MemlockIntent,
    PcieIntent,
    Profile,
    UncabledPort,
)

WIDTHS = ("1X", "2X", "4X", "8X", "12X")
LINK_LAYERS = ("InfiniBand", "Ethernet")
PCIE_SPEEDS_GTS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0)
PCIE_WIDTHS = (1, 2, 4, 8, 12, 16, 32)

_TYPE = re.compile(r"^\S+\Z")
_NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.@:+\\-]*\Z", re.ASCII)
_PSID = re.compile(r"^[A-Z0-9_]{4,20}\Z")
_PCI = re.compile(r"^(?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_GUID = re.compile(r"^0x[0-9a-f]{16}\Z")
_FIRMWARE = re.compile(r"^[0-9]+(?:\.[0-9]+)+\Z")
_SIZE = re.compile(r"^([0-9]{1,15})\s*(|B|K|KiB|M|MiB|G|GiB)\Z")
_SIZES = {"": 1, "B": 1, "K": 1024, "KiB": 1024, "M": 1024**2, "MiB": 1024**2, "G": 1024**3, "GiB": 1024**3}


class ProfileError(ValueError):
    """The profile cannot be used; the text lists every problem with its place, value and what is allowed."""


class _Reader:
    """Collects problems, so that a person corrects them all in one go."""

    def __init__(self) -> None:
        self.problems: List[str] = []

    def problem(self, where: str, value: Any, allowed: str) -> None:
        """Note a bad value."""
        self.problems.append("%s: %r is not allowed; use %s" % (where, value, allowed))

    def mapping(self, where: str, value: Any, keys: Sequence[str]) -> Mapping[str, Any]:
        """A mapping with these keys and no others."""
        if not isinstance(value, Mapping):
            self.problem(where, value, "a mapping with the keys " + ", ".join(keys))
            return {}
        for key in value:
            if key not in keys:
                near = difflib.get_close_matches(str(key), keys, 1)
                hint = " (did you mean %r?)" % near[0] if near else ""
                self.problems.append("%s: unknown key %r%s; allowed are %s" % (where, key, hint, ", ".join(keys)))
        return {key: item for key, item in value.items() if key in keys and item is not None}

    def sequence(self, where: str, value: Any, allowed: str) -> Sequence[Any]:
        """A list; a text is not taken for a list of letters."""
        if value is None:
            return ()
        if isinstance(value, (list, tuple)):
            return value
        self.problem(where, value, "a list of " + allowed)
        return ()

    def texts(self, where: str, value: Any, form: "re.Pattern[str]", allowed: str) -> Tuple[str, ...]:
        """A list of texts of a form."""
        found = []
        for index, item in enumerate(self.sequence(where, value, allowed)):
            text = self.text("%s[%d]" % (where, index), item, form, allowed)
            if text is not None:
                found.append(text)
        return tuple(found)

    def text(self, where: str, value: Any, form: "re.Pattern[str]", allowed: str) -> Optional[str]:
        """A text of a form; ``None`` passes."""
        if value is None:
            return None
        if isinstance(value, str) and form.match(value):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            # YAML reads 28.39, 41:00.0 and 0xa088c20300bb0001 as numbers, and what was written is lost.
            allowed += ", in quotes, since YAML read a number"
        self.problem(where, value, allowed)
        return None

    def choice(self, where: str, value: Any, choices: Sequence[Any]) -> Any:
        """One of the choices; ``None`` passes."""
        if value is None or (value in choices and not isinstance(value, bool)):
            return value
        # Templates and INI inventories give digits as text.
        same = [
            item for item in choices if not isinstance(item, str) and isinstance(value, str) and _number(value) == item
        ]
        if same:
            return same[0]
        self.problem(where, value, "one of " + ", ".join(str(item) for item in choices))
        return None

    def number(self, where: str, value: Any, whole: bool, low: float, allowed: str) -> Any:
        """A number that is not smaller than ``low``; texts of digits are taken, as templates often give them."""
        if value is None:
            return None
        kind: Callable[[Any], Any] = int if whole else float
        # int() also takes 4_0 and other scripts' digits, which nobody means.
        plain = not isinstance(value, str) or (value.isascii() and "_" not in value)
        if plain and not isinstance(value, bool) and isinstance(value, (int, float, str)):
            try:
                number = kind(value)
                if number >= low and number == float(value) and number != float("inf"):
                    return number
            except (ValueError, OverflowError):
                pass
        self.problem(where, value, allowed)
        return None


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def parse_profile(raw: Any, where: str = "infiniband_profile") -> Profile:
    """The profile; raises :class:`ProfileError` with every problem."""
    reader = _Reader()
    top = reader.mapping(where, raw, ("hcas", "memlock"))
    hcas = tuple(
        _hca(reader, "%s.hcas[%d]" % (where, index), entry)
        for index, entry in enumerate(reader.sequence(where + ".hcas", top.get("hcas"), "HCA entries"))
    )
    if isinstance(top.get("hcas", []), (list, tuple)) and not hcas:
        # Without an entry everything would pass unseen. A host that shall have none says so with a count of 0.
        reader.problem(
            where + ".hcas", top.get("hcas"), "at least one entry; for a host without HCAs one with count: 0"
        )
    memlock = _memlock(reader, where + ".memlock", top["memlock"]) if "memlock" in top else None
    if reader.problems:
        raise ProfileError("\n".join(reader.problems))
    return Profile(hcas, memlock)


def _hca(reader: _Reader, where: str, raw: Any) -> HcaIntent:
    keys = (
        "name", "match", "count", "link_layer", "rate_gbps", "width", "firmware", "psid", "pcie", "slots",
        "uncabled_ports", "counters_max",
    )  # fmt: skip
    entry = reader.mapping(where, raw, keys)
    match = _match(reader, where + ".match", entry.get("match"))
    pcie = reader.mapping(where + ".pcie", entry.get("pcie", {}), ("speed_gts", "width"))
    limits = entry.get("counters_max", {})
    if not isinstance(limits, Mapping):
        reader.problem(where + ".counters_max", limits, "a mapping of counter name to highest value")
        limits = {}
    counters: Dict[str, int] = {}
    for name, value in limits.items():
        number = reader.number("%s.counters_max.%s" % (where, name), value, True, 0, "a whole number of 0 or more")
        if number is not None:
            counters[str(name)] = number
    name = reader.text(where + ".name", entry.get("name"), re.compile(r"\S"), "a text for messages")
    intent = HcaIntent(
        name=name or "HCA %s" % (match.type or match.psid or match.pci or match.device or match.guid),
        match=match,
        count=reader.number(where + ".count", entry.get("count"), True, 0, "a whole number of 0 or more"),
        link_layer=reader.choice(where + ".link_layer", entry.get("link_layer"), LINK_LAYERS),
        rate_gbps=reader.number(
            where + ".rate_gbps", entry.get("rate_gbps"), False, 1, "the port's rate in Gb/s as a number, such as 400"
        ),
        width=reader.choice(where + ".width", entry.get("width"), WIDTHS),
        firmware=reader.texts(where + ".firmware", entry.get("firmware"), _FIRMWARE, "versions such as 28.39.1002"),
        psid=reader.texts(where + ".psid", entry.get("psid"), _PSID, "PSIDs such as MT_0000000838"),
        pcie=PcieIntent(
            speed_gts=reader.choice(where + ".pcie.speed_gts", pcie.get("speed_gts"), PCIE_SPEEDS_GTS),
            width=reader.choice(where + ".pcie.width", pcie.get("width"), PCIE_WIDTHS),
        ),
        slots=tuple(
            full_address(slot)
            for slot in reader.texts(
                where + ".slots", _lower(entry.get("slots")), _PCI, "PCI addresses such as 0000:41:00.0"
            )
        ),
        uncabled_ports=_uncabled(reader, where + ".uncabled_ports", entry.get("uncabled_ports")),
        counters_max=counters,
    )
    _check_count(reader, where, intent)
    return intent


def _check_count(reader: _Reader, where: str, intent: HcaIntent) -> None:
    """A count that the entry itself makes impossible would fail every host for ever."""
    count, match = intent.count, intent.match
    if count is None:
        return
    if count > 1 and (match.pci or match.device or match.guid):
        reader.problem(where + ".count", count, "1 or 0, since the entry's match names one device")
    elif intent.slots and count > len(set(intent.slots)):
        reader.problem(where + ".count", count, "at most the number of slots (%d)" % len(set(intent.slots)))


def _match(reader: _Reader, where: str, raw: Any) -> Match:
    entry = reader.mapping(where, raw, ("type", "psid", "pci", "device", "guid", "virtual"))
    virtual = entry.get("virtual", False)
    if not isinstance(virtual, bool):
        reader.problem(where + ".virtual", virtual, "true or false")
        virtual = False
    pci = reader.text(where + ".pci", _lower(entry.get("pci")), _PCI, "a PCI address such as 0000:41:00.0")
    match = Match(
        type=reader.text(where + ".type", entry.get("type"), _TYPE, "an hca_type such as MT4129"),
        psid=reader.text(where + ".psid", entry.get("psid"), _PSID, "a PSID such as MT_0000000838"),
        pci=full_address(pci) if pci else None,
        device=reader.text(where + ".device", entry.get("device"), _TYPE, "a device name such as mlx5_0"),
        guid=reader.text(where + ".guid", _lower(entry.get("guid")), _GUID, "a GUID of 0x and 16 hex digits"),
        virtual=virtual,
    )
    nothing = not any((match.type, match.psid, match.pci, match.device, match.guid))
    # A selector whose only value is wrong has its problem already.
    if isinstance(raw, Mapping) and nothing and not any(problem.startswith(where) for problem in reader.problems):
        reader.problem(where, dict(raw), "at least one of type, psid, pci, device, guid")
    return match


def _lower(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_lower(item) for item in value]
    return value.lower() if isinstance(value, str) else value


def full_address(address: str) -> str:
    """A PCI address with its domain."""
    return address if address.count(":") == 2 else "0000:" + address


def _uncabled(reader: _Reader, where: str, raw: Any) -> Tuple[UncabledPort, ...]:
    allowed = "port numbers, or 'device/port' with the device's name or PCI address"
    found = []
    for index, item in enumerate(reader.sequence(where, raw, allowed)):
        text = str(item) if not isinstance(item, bool) else ""
        device, _slash, port = text.rpartition("/")
        if port.isascii() and port.isdigit() and len(port) < 4 and 1 <= int(port) <= 254:
            address = _lower(device)
            found.append(UncabledPort(int(port), full_address(address) if _PCI.match(address) else device or None))
        else:
            reader.problem("%s[%d]" % (where, index), item, allowed)
    return tuple(found)


def _memlock(reader: _Reader, where: str, raw: Any) -> MemlockIntent:
    entry = reader.mapping(where, raw, ("processes", "users", "soft"))
    processes = reader.texts(
        where + ".processes", entry.get("processes"), _NAME, "names such as slurmd or slurmd.service"
    )
    users = reader.texts(where + ".users", entry.get("users"), _NAME, "names of users")
    soft = entry.get("soft")
    if soft in (None, "unlimited"):
        return MemlockIntent(processes, users, None)
    size = _SIZE.match(str(soft)) if not isinstance(soft, bool) else None
    if not size:
        reader.problem(where + ".soft", soft, "unlimited, or a size such as 64GiB")
        return MemlockIntent(processes, users, None)
    return MemlockIntent(processes, users, int(size.group(1)) * _SIZES[size.group(2)])
