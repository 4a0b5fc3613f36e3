# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the VM lab that need no VM."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rdmalab.errors import LabError
from vms import guest, image, inventory, qemu, state
from vms.state import VmLab


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VmLab:
    monkeypatch.setattr(state, "RUN", tmp_path)
    lab = VmLab("unit")
    lab.dir.mkdir()
    return lab


def test_image_is_keyed_by_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.path()
    assert image.path() == before
    monkeypatch.setitem(guest.FILES, "etc/hosts", "127.0.0.1 other\n")
    changed_file = image.path()
    monkeypatch.setattr(guest, "PACKAGES", (*guest.PACKAGES, "nano"))
    assert len({before, changed_file, image.path()}) == 3


def test_two_vms_differ_where_they_must_and_share_the_wire(lab: VmLab) -> None:
    files, size = image.Image(Path("/image")), qemu.Size("tcg", 512, 2)
    first, second = (
        qemu.arguments(lab, number, files, size, 2000 + number, "ssh-ed25519 AAAA lab") for number in (1, 2)
    )
    differing = {(a, b) for a, b in zip(first, second, strict=True) if a != b}
    text = "\n".join(f"{a} {b}" for a, b in differing)
    assert guest.wire_mac(1) in text and guest.wire_mac(2) in text
    assert "tcp:127.0.0.1:2001-:22" in text and "tcp:127.0.0.1:2002-:22" in text
    assert any("mcast=" in argument for argument in first)
    assert not any("mcast=" in a for a, _b in differing)
    assert any(argument.endswith("snapshot=on,cache=unsafe") for argument in first)


def test_the_key_reaches_the_guest(lab: VmLab) -> None:
    arguments = qemu.arguments(lab, 1, image.Image(Path("/i")), qemu.Size("kvm", 512, 1), 2001, "ssh-ed25519 AAAA lab")
    kernel = arguments[arguments.index("-append") + 1]
    credential = re.search(r"systemd\.set_credential_binary=tmpfiles\.extra:(\S+)", kernel)
    assert credential
    line = base64.b64decode(credential[1]).decode()
    assert line == f"f+ {guest.KEYS} 0644 root root - ssh-ed25519 AAAA lab\n"
    # More than that the kernel cuts off without a word.
    assert len(kernel) < 2048


def test_labs_do_not_hear_each_other() -> None:
    groups = {VmLab(name).wire_group for name in ("demo", "a", "b", "t1", "t2")}
    assert len(groups) == 5
    assert all(re.fullmatch(r"239(\.\d{1,3}){3}", group) for group in groups)


def test_inventory_has_the_groups_of_the_container_lab(lab: VmLab) -> None:
    lab.save({"vms": {"vm1": {"port": 2001}, "vm2": {"port": 2002}}})
    listing = inventory.inventory(lab)
    assert listing["compute"]["hosts"] == ["vm1", "vm2"]
    assert listing["infiniband"]["children"] == ["subnet_managers", "compute"]
    assert listing["_meta"]["hostvars"]["vm2"] == {"ansible_port": 2002}


def test_nothing_up_says_how_to_start(lab: VmLab) -> None:
    with pytest.raises(LabError, match="no VMs of the name 'unit' are up. Start them with: lab/lab vm up"):
        lab.load()


def test_only_our_own_process_is_adopted(lab: VmLab) -> None:
    """A pid file may be left from before this machine booted, its number now belonging to somebody else."""
    lab.pidfile("vm1").write_text(f"{os.getpid()}\n")
    lab.pidfile("vm2").write_text("not a number\n")
    lab.adopt()
    assert lab.processes() == {}
    ours = subprocess.Popen(
        [sys.executable, "-c", "import sys; print('runs', flush=True); sys.stdin.read()", "-pidfile", lab.pidfile("vm1")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert ours.stdout and ours.stdout.readline() == "runs\n"
        lab.pidfile("vm1").write_text(f"{ours.pid}\n")
        lab.adopt()
        assert lab.processes() == {"vm1": ours.pid}
    finally:
        ours.communicate()
    assert lab.processes() == {}


def test_kvm_is_not_taken_for_its_device_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A nested /dev/kvm may abort at once or hang; only a kernel that ran to its end counts."""
    monkeypatch.setattr("os.access", lambda *_args: True)
    for name, body, expected in (
        ("aborts", "exit 134", "tcg"),
        ("hangs", "exec sleep 60", "tcg"),
        ("works", "exit 0", "kvm"),
    ):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        monkeypatch.setattr(qemu, "QEMU", str(program))
        assert qemu.pick_accel("auto", image.Image(tmp_path), patience=1) == expected
    assert qemu.pick_accel("tcg", image.Image(tmp_path)) == "tcg"
    monkeypatch.setattr("os.access", lambda *_args: False)
    assert qemu.pick_accel("auto", image.Image(tmp_path)) == "tcg"
