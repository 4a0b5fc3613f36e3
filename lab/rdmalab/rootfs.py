# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts' root file system: built once with mmdebstrap, kept in a cache, used read-only by every host."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

from . import simtools
from .errors import LabError
from .state import run

SUITE = "trixie"
PACKAGES = (
    "systemd", "systemd-sysv", "udev", "dbus", "libpam-systemd", "openssh-server", "python3", "python3-apt", "sudo",
    "rdma-core", "ibverbs-providers", "ibverbs-utils", "infiniband-diags", "perftest", "opensm", "ibsim-utils",
    "libumad2sim0", "iproute2", "iputils-ping", "kmod", "procps", "cron", "pciutils",
)  # fmt: skip
# What is not needed in a container and costs boot time or disturbs the simulated hardware.
MASKED = (
    "getty.target", "console-getty.service", "systemd-networkd-wait-online.service", "rdma-ndd.service",
    "iwpmd.service", "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer",
    "fstrim.timer", "dpkg-db-backup.timer", "systemd-firstboot.service",
)  # fmt: skip
# Raise when the customisation below changes, so that old caches are not taken.
REVISION = 10


def cache_dir() -> Path:
    """Where built root file systems are kept: outside of the checkout, so that every clone shares them."""
    return Path(os.environ.get("RDMA_LAB_CACHE", "/var/cache/rdma-infiniband-lab"))


def path() -> Path:
    """Where the root file system for this package list is, or will be."""
    text = "\n".join((SUITE, *PACKAGES, *MASKED, str(REVISION)))
    return cache_dir() / f"root-{SUITE}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def ensure() -> Path:
    """The root file system, built when it is missing. A build that is interrupted leaves nothing that counts."""
    target = path()
    if target.is_dir():
        return target
    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second builder waits and then finds the result
        if target.is_dir():
            return target
        for leftover in cache_dir().glob("building-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        building = cache_dir() / f"building-{os.getpid()}"
        print(f"building the hosts' root file system ({SUITE}, {len(PACKAGES)} packages)", file=sys.stderr, flush=True)
        bootstrap(building, PACKAGES)
        _customise(building)
        os.rename(building, target)
    return target


# In mount and process namespaces of its own: when the builder is killed, all that it started goes with it, and no
# mount is left that the removal of the directory would walk into.
_CONTAINED = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child")


def bootstrap(root: Path, packages: tuple[str, ...], *options: str) -> None:
    """A Debian root file system with these packages."""
    run(
        *_CONTAINED,
        "mmdebstrap", "--variant=minbase", "--quiet", f"--include={','.join(packages)}",
        *(f"--dpkgopt=path-exclude=/usr/share/{place}/*" for place in ("doc", "man", "locale")),
        *options, SUITE, str(root), mirror(),
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
    )  # fmt: skip


def mirror() -> str:
    """The archive that this machine itself uses."""
    text = ""
    for source in (*Path("/etc/apt").glob("sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))):
        text += source.read_text(errors="replace") + "\n"
    match = re.search(r"(?:^URIs:\s*|^deb\s+(?:\[[^]]*\]\s+)?)(\S+/debian)/?(?=\s|$)", text, re.MULTILINE)
    if not match:
        raise LabError("no Debian archive in /etc/apt/sources.list*: the lab needs one to build its hosts")
    return match[1]


def _customise(root: Path) -> None:
    for masked in MASKED:
        (root / "etc/systemd/system" / masked).unlink(missing_ok=True)
        (root / "etc/systemd/system" / masked).symlink_to("/dev/null")
    # Debian starts a subnet manager on every host that has the package; a cluster decides that for itself.
    for wants in (root / "etc/systemd/system").glob("*.wants"):
        (wants / "opensm.service").unlink(missing_ok=True)
    (root / "etc/machine-id").write_text("uninitialized\n")
    (root / "etc/hostname").unlink(missing_ok=True)
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "etc/resolv.conf").write_text("# the lab has no name service\n")
    (root / "etc/ssh/sshd_config.d/50-lab.conf").write_text(
        "# Written by the lab: key login only, no name look-ups that would time out.\n"
        "PasswordAuthentication no\nUseDNS no\nPermitRootLogin prohibit-password\n"
        # The lab's own look whether sshd answers counts as an abandoned login, and would be punished.
        "PerSourcePenalties no\nMaxStartups 100:30:200\n"
    )
    # Logs would fill the memory that the hosts' file systems live in.
    journald = root / "etc/systemd/journald.conf.d"
    journald.mkdir(parents=True, exist_ok=True)
    (journald / "50-lab.conf").write_text("[Journal]\nStorage=volatile\nRuntimeMaxUse=16M\n")
    unit = root / "etc/systemd/system/lab-opensm.service"
    unit.write_text(
        "# Written by the lab: the real OpenSM, attached to the fabric simulator.\n"
        "[Unit]\nDescription=OpenSM on the simulated fabric\nAfter=network.target\n\n"
        "[Service]\nEnvironmentFile=/etc/lab-opensm.env\n"
        "ExecStart=/usr/sbin/opensm -F /etc/opensm/opensm.conf -p ${PRIORITY}\n"
        # A start that fails is repeated; a subnet manager that a fault killed stays dead.
        "Restart=on-failure\nRestartSec=300ms\nRestartPreventExitStatus=SIGKILL\nLimitMEMLOCK=8M\n"
    )
    (root / "var/cache/opensm").mkdir(parents=True, exist_ok=True)
    simtools.install(root)
