# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The VMs' disk image, kernel and initial RAM disk: built once, kept in a cache, never written to by a VM."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from rdmalab import rootfs
from rdmalab.state import run

from . import guest

# Sparse: what is not written takes no space.
DISK_SIZE = "4G"
# Raise when the way of building changes, so that old caches are not taken.
REVISION = 1


@dataclass(frozen=True)
class Image:
    """The files that a VM boots from."""

    dir: Path

    @property
    def disk(self) -> Path:
        """A raw ext4 file system without a partition table."""
        return self.dir / "disk.img"

    @property
    def kernel(self) -> Path:
        """The distribution's kernel."""
        return self.dir / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """Its initial RAM disk, with the drivers of our machine only."""
        return self.dir / "initrd"


def path() -> Path:
    """Where the image for this recipe is, or will be."""
    digest = hashlib.sha256(f"{guest.recipe()}\n{DISK_SIZE}\n{REVISION}".encode()).hexdigest()[:12]
    return rootfs.cache_dir() / f"vm-{guest.SUITE}-{digest}"


def ensure() -> Image:
    """The image, built when it is missing. A build that is interrupted leaves nothing that counts."""
    image = Image(path())
    if image.dir.is_dir():
        return image
    cache = rootfs.cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "vm-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second builder waits and then finds the result
        if image.dir.is_dir():
            return image
        for leftover in cache.glob("vm-building-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        building = cache / f"vm-building-{os.getpid()}"
        try:
            building.mkdir()
            print(f"building the VM image ({guest.SUITE}, {len(guest.PACKAGES)} packages)", file=sys.stderr, flush=True)
            _build(building)
            os.rename(building, image.dir)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return image


def _build(building: Path) -> None:
    root, early = building / "root", building / "early"
    for files, mode in ((guest.EARLY_FILES, 0o644), (guest.EARLY_SCRIPTS, 0o755)):
        _write(early, files, mode)
    rootfs.bootstrap(root, guest.PACKAGES, f'--essential-hook=cp -a {shlex.quote(str(early))}/. "$1"/')
    _write(root, guest.FILES, 0o644)
    for command in guest.COMMANDS:
        run("chroot", str(root), "sh", "-euc", command, env={"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C"})
    image = Image(building)
    shutil.copyfile(_only(root / "boot", "vmlinuz-*"), image.kernel)
    shutil.copyfile(_only(root / "boot", "initrd.img-*"), image.initrd)
    run("mkfs.ext4", "-q", "-F", "-L", "lab-root", "-d", str(root), str(image.disk), DISK_SIZE)
    shutil.rmtree(root)
    shutil.rmtree(early)


def _only(place: Path, pattern: str) -> Path:
    """The newest file that matches; the build fails here when the kernel package brought none."""
    return sorted(place.glob(pattern))[-1]


def _write(root: Path, files: dict[str, str], mode: int) -> None:
    for name, text in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.write_text(text)
        target.chmod(mode)
