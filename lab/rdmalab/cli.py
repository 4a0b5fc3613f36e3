# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's command line."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from . import fabricd, faults, inventory, lifecycle, rootfs
from .errors import LabError
from .state import Lab, terminable
from .topology import clos, from_ibnetdiscover


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 on success, 1 with one message on a foreseeable failure."""
    options = _parser().parse_args(arguments)
    try:
        with terminable():
            return int(options.run(options) or 0)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"lab: interrupted {interrupt}", file=sys.stderr)
        return 130


def _lab(options: argparse.Namespace) -> Lab:
    return Lab(options.name)


def _root_only() -> None:
    if os.geteuid() != 0:
        raise LabError("this needs root: the lab makes mounts, a bridge and containers")


def _up(options: argparse.Namespace) -> None:
    _root_only()
    lab = _lab(options)
    if options.replace and lifecycle.down(lab):
        print(f"took down what was left of lab {lab.name!r}")
    begin = time.monotonic()
    if options.fabric:
        try:
            text = Path(options.fabric).read_text(errors="replace")
        except OSError as error:
            raise LabError(f"--fabric {options.fabric}: {error.strerror}") from None
        fabric = from_ibnetdiscover(text, options.fabric)
    else:
        fabric = clos(options.leaves, options.spines, options.hosts)
    for note in fabric.notes[:10]:
        print(f"note: {note}", file=sys.stderr)
    lifecycle.up(lab, fabric, options.subnet_managers, options.boot, not options.no_opensm)
    names = lab.load()["hosts"]
    switches = sum(node.is_switch for node in fabric.nodes.values())
    print(f"lab {lab.name!r} is up: {len(names)} hosts, {switches} switches, {time.monotonic() - begin:.0f} s")


def _down(options: argparse.Namespace) -> None:
    _root_only()
    print(f"lab {options.name!r} is down" if lifecycle.down(_lab(options)) else f"lab {options.name!r} was not up")


def _status(options: argparse.Namespace) -> int:
    lab = _lab(options)
    data = lab.load()
    answer = fabricd.ask(lab, {"op": "status"})
    processes = lab.processes()
    running = [host for host in data["hosts"] if f"host-{host}" in processes]
    if options.json:
        print(
            json.dumps(
                {**data, "running": running, **{key: answer[key] for key in ("ports", "faults", "cuts")}}, indent=1
            )
        )
        return 0
    print(
        f"lab {lab.name!r}: {len(running)} of {len(data['hosts'])} hosts run; subnet managers: {', '.join(data['subnet_managers']) or 'none'}"
    )
    for name, port in answer["ports"].items():
        print(
            f"  {name}: {port['state']}/{port['phys_state']} {port['width']}X {port['speed']} LID {port['lid']} SM LID {port['sm_lid']}"
        )
    for cut in answer["cuts"]:
        print(f"  cut: {cut[0]} port {cut[1]}")
    for host, devices in answer["faults"].items():
        for device, values in devices.items():
            if values:
                print(f"  fault: {host} {device}: {json.dumps(values)}")
    return 0 if len(running) == len(data["hosts"]) else 1


def _inventory(options: argparse.Namespace) -> None:
    if options.host:  # variables of every host are in _meta already
        print("{}")
    else:
        print(json.dumps(inventory.inventory(_lab(options)), indent=1))


def _exec(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    done = lifecycle.in_host(_lab(options), options.host, *(command or ["true"]), check=False)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


def _rootfs(_options: argparse.Namespace) -> None:
    _root_only()
    print(rootfs.ensure())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab", description="A simulated InfiniBand cluster on this machine.")
    parser.add_argument("--name", default=os.environ.get("RDMA_LAB_NAME", "demo"), help="which lab (default: demo)")
    # Also after the command, where people expect it.
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", default=argparse.SUPPRESS, help="which lab (default: demo)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = commands.add_parser("up", parents=[common], help="start a lab")
    up.add_argument("--leaves", type=int, default=2)
    up.add_argument("--spines", type=int, default=2)
    up.add_argument("--hosts", type=int, default=8)
    up.add_argument("--subnet-managers", type=int, help="how many hosts run OpenSM (default: 2, as far as there are)")
    up.add_argument("--no-opensm", action="store_true", help="leave the fabric INIT: a playbook starts the managers")
    up.add_argument("--fabric", metavar="FILE", help="an ibnetdiscover output instead of a size")
    up.add_argument("--boot", type=int, metavar="N", help="boot only the first N hosts of the fabric")
    up.add_argument("--replace", action="store_true", help="take down a lab of the same name first")
    up.set_defaults(run=_up)
    commands.add_parser("down", parents=[common], help="remove a lab and every trace of it").set_defaults(run=_down)
    status = commands.add_parser("status", parents=[common], help="hosts, ports and faults")
    status.add_argument("--json", action="store_true")
    status.set_defaults(run=_status)
    listing = commands.add_parser("inventory", parents=[common], help="the lab as an Ansible inventory")
    listing.add_argument("--list", action="store_true")
    listing.add_argument("--host", metavar="NAME")
    listing.set_defaults(run=_inventory)
    execute = commands.add_parser("exec", parents=[common], help="run a command inside a host")
    execute.add_argument("host")
    execute.add_argument("command", nargs=argparse.REMAINDER)
    execute.set_defaults(run=_exec)
    # For the help only: lab/lab hands the word over before this parser sees it.
    commands.add_parser("vm", add_help=False, help="virtual machines with real verbs devices; see: lab vm --help")
    commands.add_parser("rootfs", parents=[common], help="build the hosts' root file system").set_defaults(run=_rootfs)
    _fault_parsers(
        commands.add_parser("fault", parents=[common], help="break something").add_subparsers(
            required=True, metavar="FAULT"
        )
    )
    return parser


def _fault_parsers(group) -> None:  # type: ignore[no-untyped-def]
    def add(name: str, text: str, *positions: str):  # type: ignore[no-untyped-def]
        parser = group.add_parser(name, help=text)
        for position in positions:
            parser.add_argument(position)
        return parser

    def act(parser, function) -> None:  # type: ignore[no-untyped-def]
        def run(options: argparse.Namespace) -> None:
            _root_only()
            print(function(_lab(options), options))

        parser.set_defaults(run=run)

    def override(text: str, **values):  # type: ignore[no-untyped-def]
        def function(lab: Lab, options: argparse.Namespace) -> str:
            resolved = {key: value(options) if callable(value) else value for key, value in values.items()}
            faults.set_values(lab, options.host, options.device, **resolved)
            return f"{options.host} {options.device}: {text}" + "".join(
                f" {value}" for value in resolved.values() if value is not True
            )

        return function

    act(add("cut", "unplug a cable: HOST DEVICE, or SWITCH PORT", "host", "device"),
        lambda lab, o: faults.cut(lab, o.host, o.device))  # fmt: skip
    restore = group.add_parser("restore", help="undo faults: all, a host's or a device's")
    restore.add_argument("host", nargs="?")
    restore.add_argument("device", nargs="?")
    act(restore, lambda lab, o: faults.restore(lab, o.host, o.device))
    degrade = add("degrade", "a narrower or slower link", "host", "device")
    degrade.add_argument("--width", metavar="1X|2X|4X")
    degrade.add_argument("--speed", metavar="HDR|EDR|…")
    act(degrade, lambda lab, o: faults.degrade(lab, o.host, o.device, o.width, o.speed))
    act(add("firmware", "another firmware version", "host", "device", "version"),
        override("now shows firmware", firmware=lambda o: o.version))  # fmt: skip
    act(add("psid", "another PSID", "host", "device", "psid"), override("now shows PSID", psid=lambda o: o.psid))
    counter = add("counter", "set an error counter", "host", "device", "counter")
    counter.add_argument("value", type=int)
    act(counter, lambda lab, o: faults.counter(lab, o.host, o.device, o.counter, o.value))
    act(add("remove", "the card falls off the bus", "host", "device"), override("removed from the bus", removed=True))
    act(add("unbind", "no driver bound to the card", "host", "device"), override("driver unbound", unbound=True))
    act(add("disable", "the port is disabled", "host", "device"), override("port disabled", disabled=True))
    act(
        add("train", "the port never finishes training", "host", "device"),
        override("port stays training", training=True),
    )
    pcie = add("pcie", "a slower or narrower PCIe link", "host", "device")
    pcie.add_argument("--speed", default="32.0", metavar="GT/s")
    pcie.add_argument("--width", type=int, default=16)
    pcie.add_argument(
        "--hop", choices=("device", "root"), default="device", help="which link: at the card, or at the root port"
    )
    act(
        pcie,
        override("PCIe link now", pcie_speed=lambda o: o.speed, pcie_width=lambda o: o.width, pcie_hop=lambda o: o.hop),
    )
    act(add("link-layer", "another link layer", "host", "device", "layer"),
        override("link layer now", link_layer=lambda o: o.layer))  # fmt: skip
    act(add("guid", "another node and port GUID (0x…)", "host", "device", "guid"),
        override("GUID now", guid=lambda o: int(o.guid, 16)))  # fmt: skip
    umad = add("no-umad", "the ib_umad module is not loaded", "host")
    act(umad, lambda lab, o: fabricd.ask(lab, {"op": "set", "host": o.host, "device": "", "values": {"no_umad": True}})
        and f"{o.host}: ib_umad is gone")  # fmt: skip
    act(add("stop-sm", "kill a subnet manager", "host"), lambda lab, o: faults.subnet_manager(lab, o.host, "stop"))
    act(add("start-sm", "start a subnet manager", "host"), lambda lab, o: faults.subnet_manager(lab, o.host, "start"))
