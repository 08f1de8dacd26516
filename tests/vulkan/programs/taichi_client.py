# SPDX-License-Identifier: Apache-2.0
"""A kernel of Taichi, again and again on one field. Prints what came out."""
import taichi as ti

ti.init(arch=ti.vulkan, offline_cache=False, log_level=ti.ERROR)
N = 256
field = ti.field(ti.f32, shape=(N, N))


@ti.kernel
def step(k: ti.i32):
    for i, j in field:
        field[i, j] = field[i, j] * 0.5 + ti.sin(i * 0.01 + k) * ti.cos(j * 0.02)


for round_ in range(50):
    step(round_)
ti.sync()
print(ti.cfg.arch, float(field.to_numpy().sum()))
