# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes a plain Debian root file system a lab VM: packages, files, users. :mod:`vms.image` applies it."""

from __future__ import annotations

SUITE = "trixie"
PACKAGES = (
    "systemd", "systemd-sysv", "udev", "dbus", "libpam-systemd", "libpam-modules", "openssh-server", "python3",
    "python3-apt", "sudo", "cron", "iproute2", "iputils-ping", "kmod", "procps", "pciutils", "rdma-core",
    "ibverbs-providers", "ibverbs-utils", "rdmacm-utils", "infiniband-diags", "perftest",
    # The cloud kernel has no rdma_rxe.
    "linux-image-amd64", "initramfs-tools", "zstd",
)  # fmt: skip

# The RDMA device, and the network device that it sits on. 4200 leaves room for RoCE headers around 4096-byte packets.
DEVICE = "mlx5_0"
NETDEV = "wire0"
WIRE_MTU = 4200
MAX_COUNT = 2
# Users that log in with the lab's key through PAM, like people do: one inside the group, one outside.
GROUP = "rdma"
USERS = {"alice": (GROUP,), "bob": ()}


def wire_mac(number: int) -> str:
    """The wire's hardware address in VM ``number`` (1, 2), by which the guest finds out which VM it is."""
    return f"52:54:00:4c:42:{number:02x}"


def wire_address(number: int) -> str:
    """The wire's IPv4 address in VM ``number``; from the documentation range, which nobody routes."""
    return f"192.0.2.{number}"


def host_name(number: int) -> str:
    """The name of VM ``number``, in the guest and in the inventory."""
    return f"vm{number}"


MGMT_MAC = "52:54:00:4c:41:01"
KEYS = "/etc/ssh/lab_authorized_keys"

# Not needed here, and under emulation every unit costs.
MASKED = (
    "getty.target", "serial-getty@ttyS0.service", "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer",
    "e2scrub_reap.service", "fstrim.timer", "dpkg-db-backup.timer", "systemd-firstboot.service", "iwpmd.service",
    "systemd-networkd-wait-online.service", "systemd-hwdb-update.service", "systemd-rfkill.socket",
    "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "modprobe@drm.service",
    "modprobe@efi_pstore.service",
)  # fmt: skip

BLACKLISTED = ("ata_piix", "ccp", "cfg80211", "drm", "floppy", "i2c_piix4", "kvm_amd", "kvm_intel", "pcspkr", "psmouse")

# Before the packages are installed: the initial RAM disk needs two drivers only, not one for every machine.
EARLY_FILES = {
    "etc/initramfs-tools/conf.d/lab": "MODULES=list\nCOMPRESS=zstd\nRESUME=none\n",
}
INITRD_HOOK = """\
#!/bin/sh
[ "$1" = prereqs ] && exit 0
. /usr/share/initramfs-tools/hook-functions
manual_add_modules virtio_blk ext4
"""
EARLY_SCRIPTS = {"etc/initramfs-tools/hooks/lab": INITRD_HOOK}

FILES = {
    "etc/ssh/sshd_config.d/50-lab.conf": (
        "# Written by the lab: key login only, the same key for every user, through PAM.\n"
        f"PasswordAuthentication no\nPermitRootLogin prohibit-password\nUsePAM yes\nUseDNS no\n"
        # All connections come from one address. Looking whether sshd greets must not get that address locked out.
        "PerSourcePenalties no\nMaxStartups 100\n"
        f"AuthorizedKeysFile {KEYS}\n"
    ),
    "etc/hosts": "127.0.0.1 localhost\n"
    + "".join(f"{wire_address(n)} {host_name(n)}\n" for n in range(1, MAX_COUNT + 1)),
    "etc/resolv.conf": "nameserver 10.0.2.3\n",
    "etc/hostname": "vm\n",
    # Empty, not "uninitialized": the kernel command line gives each VM its own, and no boot is a first boot.
    "etc/machine-id": "",
    "etc/systemd/network/10-mgmt.link": f"[Match]\nMACAddress={MGMT_MAC}\n\n[Link]\nName=mgmt0\n",
    "etc/systemd/network/10-mgmt.network": (
        "# QEMU's user network has this address and gateway always; DHCP would only cost time.\n"
        "[Match]\nName=mgmt0\n\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n"
        "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
    ),
    "etc/systemd/network/10-wire.link": (
        f"[Match]\nMACAddress={' '.join(wire_mac(n) for n in range(1, MAX_COUNT + 1))}\n\n[Link]\nName={NETDEV}\n"
    ),
    # ib_umad and rdma_ucm make /dev/infiniband/umad0 and rdma_cm. The stock list loads storage and NFS drivers too,
    # which nothing here uses.
    "etc/rdma/modules/rdma.conf": "ib_uverbs\nib_umad\nrdma_ucm\n",
    # Drivers for hardware that the emulated board has and nobody uses: a third of the boot.
    "etc/modprobe.d/lab.conf": "".join(f"blacklist {module}\n" for module in BLACKLISTED),
    # Newer than /usr: no ldconfig, catalogue or sysusers run at the first boot.
    "etc/.updated": "",
    "var/.updated": "",
    "etc/systemd/system/lab-rdma-link.service": (
        "# Written by the lab: a soft-RoCE device on the wire at every boot.\n"
        f"[Unit]\nDescription=RDMA device {DEVICE} on {NETDEV}\n"
        f"BindsTo=sys-subsystem-net-devices-{NETDEV}.device\n"
        f"After=sys-subsystem-net-devices-{NETDEV}.device systemd-modules-load.service\n\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        f"ExecStart=ip link set {NETDEV} mtu {WIRE_MTU} up\n"
        f"ExecStart=rdma link add {DEVICE} type rxe netdev {NETDEV}\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    ),
    **{
        f"etc/systemd/network/20-wire-{n}.network": (
            f"[Match]\nMACAddress={wire_mac(n)}\n\n"
            f"[Network]\nAddress={wire_address(n)}/24\nLinkLocalAddressing=ipv6\nIPv6AcceptRA=no\n"
        )
        for n in range(1, MAX_COUNT + 1)
    },
}

COMMANDS = (
    f"getent group {GROUP} >/dev/null || groupadd --system {GROUP}",
    *(
        f"useradd --create-home --shell /bin/bash {'--groups ' + ','.join(groups) + ' ' if groups else ''}{user}"
        for user, groups in USERS.items()
    ),
    "systemctl --quiet enable systemd-networkd.service ssh.service lab-rdma-link.service",
    "systemctl --quiet mask " + " ".join(MASKED),
    "apt-get clean",
    # After everything else.
    "touch /etc/.updated /var/.updated",
)


def recipe() -> str:
    """Everything that decides what is in the image, as text: the cache is keyed by its hash."""
    parts: list[str] = [SUITE, *PACKAGES, *COMMANDS]
    for files in (EARLY_FILES, EARLY_SCRIPTS, FILES):
        parts += [f"{path}\n{text}" for path, text in sorted(files.items())]
    return "\n".join(parts)
