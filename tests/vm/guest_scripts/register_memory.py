# Copyright (c) 2026, the rdma.infiniband contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registers memory with the real libibverbs: ``register_memory.py MIB [DEVICE]``.

Prints what happened; status 0 when it was registered, 1 when the kernel refused, 2 when it did not come to that.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys

LOCAL_WRITE = 1


def main() -> int:
    size = int(sys.argv[1]) << 20
    wanted = sys.argv[2] if len(sys.argv) > 2 else None
    verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
    verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
    verbs.ibv_get_device_name.restype = ctypes.c_char_p
    verbs.ibv_get_device_name.argtypes = [ctypes.c_void_p]
    for name in ("ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr"):
        getattr(verbs, name).restype = ctypes.c_void_p
    verbs.ibv_open_device.argtypes = verbs.ibv_alloc_pd.argtypes = [ctypes.c_void_p]
    verbs.ibv_reg_mr.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    count = ctypes.c_int()
    devices = verbs.ibv_get_device_list(ctypes.byref(count))
    found = {verbs.ibv_get_device_name(devices[n]).decode(): devices[n] for n in range(count.value)}
    if not found or (wanted and wanted not in found):
        print(f"no RDMA device {wanted or ''}; there is: {', '.join(found) or 'none'}")
        return 2
    name, device = next((n, d) for n, d in found.items() if wanted in (None, n))
    context = verbs.ibv_open_device(device)
    if not context:
        print(f"ibv_open_device {name}: {os.strerror(ctypes.get_errno())}")
        return 2
    domain = verbs.ibv_alloc_pd(context)
    memory = mmap.mmap(-1, size)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if not verbs.ibv_reg_mr(domain, address, size, LOCAL_WRITE):
        print(f"ibv_reg_mr of {size} bytes on {name}: {os.strerror(ctypes.get_errno())}")
        return 1
    print(f"registered {size} bytes on {name}")
    return 0


sys.exit(main())
