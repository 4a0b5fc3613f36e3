# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VM lab's command line."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time

from rdmalab.errors import LabError
from rdmalab.state import terminable

from . import guest, image, inventory, lifecycle, ssh
from .state import VmLab


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 on success, 1 with one message on a foreseeable failure."""
    options = _parser().parse_args(arguments)
    try:
        with terminable():
            return int(options.run(options) or 0)
    except LabError as error:
        print(f"lab vm: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"lab vm: interrupted {interrupt}".rstrip(), file=sys.stderr)
        return 130


def _root_only() -> None:
    if os.geteuid() != 0:
        raise LabError("this needs root: the image is built with it, and the state lives in /run")


def _image(_options: argparse.Namespace) -> None:
    _root_only()
    if missing := lifecycle.missing_tools():
        raise LabError(f"not installed: {', '.join(missing)}; run lab/install-vm-packages")
    print(image.ensure().dir)


def _up(options: argparse.Namespace) -> None:
    _root_only()
    lab = VmLab(options.name)
    if options.replace and lifecycle.down(lab):
        print(f"took down what was left of the VMs {lab.name!r}")
    began = time.monotonic()
    lifecycle.up(lab, options.count, options.accel, options.memory, options.timeout)
    data = lab.load()
    print(f"{', '.join(data['vms'])} up with {data['accel']} after {time.monotonic() - began:.0f} s")


def _down(options: argparse.Namespace) -> None:
    _root_only()
    found = lifecycle.down(VmLab(options.name))
    print(f"the VMs {options.name!r} are down" if found else f"no VMs {options.name!r} were up")


def _status(options: argparse.Namespace) -> int:
    lab = VmLab(options.name)
    data, running = lab.load(), lab.processes()
    hosts = {
        host: {**vm, "pid": running.get(host), "ssh": ssh.answers(vm["port"]), "console": str(lab.console(host))}
        for host, vm in data["vms"].items()
    }
    if options.json:
        print(json.dumps({**data, "name": lab.name, "vms": hosts}, indent=1))
    else:
        for host, vm in hosts.items():
            state = "answers on ssh" if vm["ssh"] else "runs, no answer on ssh" if vm["pid"] else "does not run"
            print(f"{host}: {state}, 127.0.0.1 port {vm['port']}, wire {vm['wire']}, {data['accel']}, {vm['console']}")
    return 0 if all(vm["ssh"] for vm in hosts.values()) else 1


def _inventory(options: argparse.Namespace) -> None:
    print(json.dumps({} if options.host else inventory.inventory(VmLab(options.name)), indent=1))


def _exec(options: argparse.Namespace) -> int:
    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    # One word is a shell command line; several are a program with its arguments.
    command = words[0] if len(words) == 1 else shlex.join(words or ["true"])
    return subprocess.run(ssh.argv(VmLab(options.name), options.host, options.user, command), check=False).returncode


def _reboot(options: argparse.Namespace) -> None:
    began = time.monotonic()
    lifecycle.reboot(VmLab(options.name), options.host, options.timeout)
    print(f"{options.host} is back after {time.monotonic() - began:.0f} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab vm", description="Virtual machines with real verbs devices (soft-RoCE).")
    which = "which set of VMs (default: demo)"
    parser.add_argument("--name", default=os.environ.get("RDMA_LAB_VM_NAME", "demo"), help=which)
    # Also after the command, where people expect it.
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", default=argparse.SUPPRESS, help=which)
    patience = argparse.ArgumentParser(add_help=False)
    patience.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="give up after (default: 300)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    commands.add_parser("image", help="build the image and print where it is").set_defaults(run=_image)
    up = commands.add_parser("up", parents=[common, patience], help="start VMs and wait until they can be used")
    up.add_argument("--count", type=int, choices=range(1, guest.MAX_COUNT + 1), default=1, help="how many (default: 1)")
    up.add_argument(
        "--accel", choices=("auto", "tcg", "kvm"), default="auto",
        help="auto takes KVM where it really runs the kernel, and emulates elsewhere",
    )  # fmt: skip
    up.add_argument("--memory", type=int, default=1024, metavar="MIB", help="for each (default: 1024)")
    up.add_argument("--replace", action="store_true", help="take down VMs of the same name first")
    up.set_defaults(run=_up)
    commands.add_parser("down", parents=[common], help="remove every trace of them").set_defaults(run=_down)
    status = commands.add_parser("status", parents=[common], help="what runs; status 1 unless all answer")
    status.add_argument("--json", action="store_true")
    status.set_defaults(run=_status)
    listing = commands.add_parser("inventory", parents=[common], help="as an Ansible inventory script")
    listing.add_argument("--list", action="store_true", help="ignored: always all")
    listing.add_argument("--host", help="answers {}: everything is in the list already")
    listing.set_defaults(run=_inventory)
    execute = commands.add_parser("exec", parents=[common], help="run a command in a fresh login")
    execute.add_argument("--user", default="root", help=f"root (default), {' or '.join(guest.USERS)}")
    execute.add_argument("host")
    execute.add_argument("command", nargs=argparse.REMAINDER)
    execute.set_defaults(run=_exec)
    again = commands.add_parser("reboot", parents=[common, patience], help="reboot one and wait until it is back")
    again.add_argument("host")
    again.set_defaults(run=_reboot)
    return parser
