# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric daemon: owns the simulator, keeps every host's sysfs in step with it, and applies faults.

It is the only reader of the simulator's console. Other commands talk to it over a Unix socket, one JSON request
and one JSON answer a connection; an answer comes after the change is visible in the hosts' sysfs.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .dump import PortState, is_end, parse_dump
from .errors import LabError
from .hardware import Machine, machine
from .hosts import leader
from .mirror import Mirror
from .state import Lab, terminable, write_atomically
from .sysfs import render
from .topology import Fabric, from_ibnetdiscover

REFRESH_SECONDS = 0.5
SIM_FILE = "/fabric.net"


def socket_path(lab: Lab) -> Path:
    """Where the daemon listens."""
    return lab.dir / "fabric.sock"


class Console:
    """The simulator and its console, read without blocking."""

    def __init__(self, lab: Lab, fabric: Fabric) -> None:
        switches = sum(node.is_switch for node in fabric.nodes.values())
        ports = sum(node.ports + 1 for node in fabric.nodes.values()) + 64
        self.process = subprocess.Popen(
            [
                "chroot", str(lab.dir / "fabric/root"), "/usr/bin/ibsim",
                "-N", str(len(fabric.nodes) + 16), "-S", str(switches + 8), "-P", str(ports), "-s", SIM_FILE,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "IBSIM_SOCKNAME": lab.sim_socket},
        )  # fmt: skip
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        os.set_blocking(self.stdout.fileno(), False)
        self._buffer = b""
        self.lines: list[str] = []

    def send(self, line: str) -> None:
        """Type a command."""
        self.stdin.write(line.encode() + b"\n")
        self.stdin.flush()

    def read(self) -> list[str]:
        """The complete lines that have come since the last call; None in the stream means that it ended."""
        while True:
            chunk = self.stdout.read(65536)
            if chunk is None:
                break
            if not chunk:
                raise LabError(f"the fabric simulator ended with status {self.process.wait()}")
            self._buffer += chunk
        *complete, self._buffer = self._buffer.split(b"\n")
        return [line.decode(errors="replace").removeprefix("sim> ") for line in complete]


class Daemon:
    """The state of the running fabric."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.data = lab.load()
        self.fabric = from_ibnetdiscover((lab.dir / "fabric/up" / SIM_FILE[1:]).read_text(), "the lab's fabric file")
        adapters = self.fabric.adapters()
        self.machines: list[Machine] = [
            machine(host, adapters[host], number) for number, host in enumerate(self.data["hosts"], 1)
        ]
        self.mirrors = {
            item.host: Mirror(lab.dir / "hosts" / item.host / "sys", lab.dir / "hosts" / item.host / "scratch")
            for item in self.machines
        }
        self.faults: dict[str, dict[str, dict[str, Any]]] = {}
        self.cuts: list[tuple[str, int]] = []
        self.ports: dict[tuple[str, int], PortState] = {}
        self._shown: dict[str, Any] = {}
        self._dump: list[str] = []
        self.console: Console | None = None

    def apply(self) -> None:
        """Make every host's sysfs show the fabric and its faults."""
        for item in self.machines:
            ports = {
                card.device: self.ports[card.fabric_node, 1]
                for card in item.cards
                if card.fabric_node and (card.fabric_node, 1) in self.ports
            }
            faults = self.faults.get(item.host, {})
            key = (ports, json.dumps(faults, sort_keys=True))
            if self._shown.get(item.host) != key:
                is_manager = item.host in self.data["subnet_managers"]
                self.mirrors[item.host].sync(render(item, ports, faults, is_manager))
                self._shown[item.host] = key

    def close(self) -> None:
        """End the simulator, and wait for it so that no zombie is left."""
        if self.console:
            self.console.process.kill()
            self.console.process.wait()

    def run(self) -> None:
        """Serve until killed."""
        path = socket_path(self.lab)
        path.unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        server.listen(8)
        console = self.console = Console(self.lab, self.fabric)
        self.lab.record("ibsim", console.process.pid)
        selector = selectors.DefaultSelector()
        selector.register(server, selectors.EVENT_READ)
        selector.register(console.stdout, selectors.EVENT_READ)
        waiting: list[tuple[socket.socket, dict[str, Any], int]] = []
        dumps, asked = 0, False
        next_dump = 0.0
        while True:
            now = time.monotonic()
            self._heal()
            if not asked and (now >= next_dump or waiting):
                console.send("Dump")
                asked, next_dump = True, now + REFRESH_SECONDS
            for key, _mask in selector.select(timeout=max(0.01, next_dump - now) if not asked else 5):
                if key.fileobj is server:
                    connection, _address = server.accept()
                    answer = self._handle(connection, console)
                    # Two further dumps: the one under way may have begun before the change.
                    waiting.append((connection, answer, dumps + 2 if asked else dumps + 1))
                    continue
                for line in console.read():
                    self._dump.append(line)
                    if is_end(line):
                        self.ports = parse_dump(self._dump)
                        self._dump.clear()
                        dumps, asked = dumps + 1, False
                        self.apply()
            for entry in [item for item in waiting if item[2] <= dumps]:
                waiting.remove(entry)
                with contextlib.suppress(OSError):
                    entry[0].sendall(json.dumps(entry[1]).encode())
                entry[0].close()

    def _heal(self) -> None:
        """Restart the other subnet managers when one was found to wait for an answer that was lost (see simtools)."""
        for host in self.data["hosts"]:
            marker = self.lab.dir / "hosts" / host / "stuck"
            if marker.exists():
                marker.unlink()
                others = [name for name in self.data["hosts"] if name != host]
                threading.Thread(target=self._restart_managers, args=(others,), daemon=True).start()

    def _restart_managers(self, names: list[str]) -> None:
        for name in names:
            with contextlib.suppress(LabError, OSError):
                subprocess.run(
                    ["nsenter", "-t", str(leader(self.lab, name)), "-m", "-u", "-i", "-n", "-p", "-r", "--",
                     "systemctl", "try-restart", "lab-opensm.service", "rdma-opensm@*.service"],
                    stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False,
                )  # fmt: skip

    def _handle(self, connection: socket.socket, console: Console) -> dict[str, Any]:
        connection.settimeout(2)
        try:
            request = json.loads(connection.makefile().readline())
            return {"ok": True, **self._do(request, console)}
        except (LabError, ValueError, KeyError, OSError) as error:
            return {"ok": False, "error": str(error) or type(error).__name__}

    def _do(self, request: dict[str, Any], console: Console) -> dict[str, Any]:
        kind = request["op"]
        if kind == "set":
            place = self.faults.setdefault(request["host"], {}).setdefault(request["device"], {})
            for name, value in request["values"].items():
                if isinstance(value, dict):
                    place.setdefault(name, {}).update(value)
                else:
                    place[name] = value
        elif kind == "clear":
            self._clear(request.get("host"), request.get("device"))
        elif kind == "cut":
            console.send(f'Unlink "{request["node"]}"[{request["port"]}]')
            self.cuts.append((request["node"], request["port"]))
        elif kind == "relink":
            node = request.get("node")
            for cut in [item for item in self.cuts if node is None or item[0] == node]:
                console.send(f'ReLink "{cut[0]}"[{cut[1]}]')
                self.cuts.remove(cut)
        elif kind == "counter":
            console.send(f'PerformanceSet "{request["node"]}"[{request["port"]}] {request["what"]}={request["value"]}')
        elif kind != "status":
            raise LabError(f"unknown request {kind!r}")
        write_atomically(self.lab.dir / "faults.json", json.dumps({"hosts": self.faults, "cuts": self.cuts}, indent=1))
        states = {
            f"{item.host} {card.device}": self.ports[card.fabric_node, 1].__dict__
            for item in self.machines
            for card in item.cards
            if card.fabric_node and (card.fabric_node, 1) in self.ports
        }
        return {"ports": states, "faults": self.faults, "cuts": self.cuts}

    def _clear(self, host: str | None, device: str | None) -> None:
        if host is None:
            self.faults.clear()
        elif device is None:
            self.faults.pop(host, None)
        else:
            self.faults.get(host, {}).pop(device, None)


def ask(lab: Lab, request: dict[str, Any], timeout: float = 15) -> dict[str, Any]:
    """Send one request to the daemon of a lab and return its answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(str(socket_path(lab)))
            connection.sendall(json.dumps(request).encode() + b"\n")
            text = b"".join(iter(lambda: connection.recv(65536), b""))
        except OSError as error:
            raise LabError(
                f"the fabric daemon of lab {lab.name!r} does not answer ({error}); see {lab.dir}/fabric.log"
            ) from None
    answer: dict[str, Any] = json.loads(text or b'{"ok": false, "error": "no answer"}')
    if not answer["ok"]:
        raise LabError(answer["error"])
    return answer


if __name__ == "__main__":
    daemon = Daemon(Lab(sys.argv[1]))
    with terminable(), contextlib.suppress(KeyboardInterrupt):
        daemon.run()
    daemon.close()
