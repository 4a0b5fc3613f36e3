# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets the real OpenSM and the real infiniband-diags inside a host reach the fabric simulator.

Each tool is moved aside, and a script of its name chooses the simulated port by the device or GUID that was asked for,
as the kernel would, and runs the real one with the simulator's library in the network namespace of this machine.
"""

from __future__ import annotations

from pathlib import Path

from .topology import Adapter

# Tools that send management packets. What reads sysfs only needs no help.
TOOLS = (
    "opensm", "sminfo", "saquery", "smpquery", "ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery", "ibaddr",
    "ibroute", "ibtracert", "ibportstate", "dump_fts",
)  # fmt: skip
MAP = "lab-fabric"
_ASIDE = "usr/lib/lab"

_SCRIPT = """#!/bin/sh
# Written by the lab. Runs the real tool, attached to the fabric simulator: see docs/lab.md.
tool=$1
shift
real=/usr/lib/lab/$tool
# Without ib_umad the real tool says so itself.
[ -e /sys/class/infiniband_mad/abi_version ] && [ -e /etc/lab-fabric ] || exec "$real" "$@"
key=
conf=
left=$#
while [ "$left" -gt 0 ]; do
    arg=$1
    shift
    left=$((left - 1))
    case $tool:$arg in
    opensm:-g | opensm:--guid)
        key=$1
        set -- "$@" "$arg" "$1"
        shift
        left=$((left - 1))
        ;;
    opensm:-F | opensm:--config)
        conf=$1
        [ -n "$key" ] || key=$(sed -n 's/^guid[[:blank:]]*//p' "$1" 2>/dev/null | tail -n 1)
        set -- "$@" "$arg" "$1"
        shift
        left=$((left - 1))
        ;;
    opensm:*) set -- "$@" "$arg" ;;
    *:-C | *:--Ca)
        key=$1
        shift
        left=$((left - 1))
        ;;
    *:-P | *:--Port)
        shift
        left=$((left - 1))
        ;;
    *) set -- "$@" "$arg" ;;
    esac
done
case $key in 0x0000000000000000 | 0x0) key= ;; esac
node=
while read -r device id guid; do
    case $key in "" | "$device" | "$guid")
        node=$id
        break
        ;;
    esac
done </etc/lab-fabric
# A port that is not on the fabric: the real tool says what the kernel would.
[ -n "$node" ] || exec "$real" "$@"
place=/run/lab-sim/$$
mkdir -p "$place"
cd "$place" || exit 1
for old in /run/lab-sim/*; do [ -e "/proc/${old##*/}" ] || rm -rf "$old"; done
. /etc/lab-fabric.env
if [ "$tool" = opensm ] && [ -n "$conf" ]; then
    # The simulator knows no time-outs: an answer that was lost with a manager that went is waited for without end, by a
    # manager that discovers the fabric or sweeps it after a notice. A real OpenSM gives up after a second; here it is ended,
    # its unit starts it again, and the lab restarts the others, one of which may wait as well.
    log=$(sed -n 's/^log_file[[:blank:]]*//p' "$conf" | tail -n 1)
    (
        stuck=0
        while [ -n "$log" ] && sleep 1 && [ -e "/proc/$$" ]; do
            case $(grep -a -e 'Entering .* state' -e 'SUBNET UP' -e 'Received Generic Notice' "$log" | tail -n 1) in
            *DISCOVERING* | *'Received Generic Notice'*) stuck=$((stuck + 1)) ;;
            *) stuck=0 ;;
            esac
            if [ "$stuck" -ge 8 ]; then
                : >/run/lab/stuck
                kill $$
            fi
        done
    ) >/dev/null 2>&1 &
fi
exec nsenter --net=/run/lab/netns -- env SIM_HOST="$node" IBSIM_SOCKNAME="$IBSIM_SOCKNAME" \\
    LD_PRELOAD=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so "$real" "$@"
"""


def install(root: Path) -> None:
    """Put the scripts into a root file system."""
    aside = root / _ASIDE
    aside.mkdir(parents=True)
    script = aside / "attach"
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    for tool in TOOLS:
        for place in ("usr/sbin", "usr/bin"):
            path = root / place / tool
            if path.exists() and not path.is_symlink():
                path.rename(aside / tool)
                path.write_text(f'#!/bin/sh\nexec /usr/lib/lab/attach {tool} "$@"\n')
                path.chmod(0o755)
                break


def write_map(upper: Path, adapters: list[Adapter], socket: str) -> None:
    """Tell a host which of its devices is which node of the fabric."""
    lines = [f"{item.device} {item.node_id} 0x{item.port_guid:016x}\n" for item in adapters if item.node_id]
    (upper / MAP).write_text("".join(lines))
    (upper / (MAP + ".env")).write_text(f"IBSIM_SOCKNAME={socket}\n")
