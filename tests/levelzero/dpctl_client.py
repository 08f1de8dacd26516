# SPDX-License-Identifier: Apache-2.0
"""Copies by dpctl, on the SYCL runtime: what they give is printed."""
import hashlib

import dpctl
from dpctl import memory

q = dpctl.SyclQueue("level_zero:gpu")
device, shared = memory.MemoryUSMDevice(4096, queue=q), memory.MemoryUSMShared(4096, queue=q)
h = hashlib.sha256()
for i in range(200):
    device.copy_from_host(bytes((i * 7 + k) % 256 for k in range(4096)))
    shared.copy_from_device(device)
    h.update(bytes(shared.copy_to_host()))
q.wait()
print(q.sycl_device.name, h.hexdigest())
