#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy, JAX (on one device and on two), Triton, Numba or llama.cpp, each a small program with a digest of its results: frameworks.py NAME VARIANT

For llama, LLAMA names a folder with llama-server and model.gguf (bench/pack_llama makes both)."""
import hashlib
import json
import os
import sys
import time


def digest(*arrays):
    h = hashlib.sha256()
    for a in arrays:
        h.update(a.tobytes())
    return h.hexdigest()[:16]


def use_cupy():
    import cupy as cp
    x = cp.arange(512 * 512, dtype=cp.float32).reshape(512, 512) / 1000
    k = cp.RawKernel(r'extern "C" __global__ void f(float *a, int n){int i=blockIdx.x*blockDim.x+threadIdx.x;'
                     r'if(i<n)a[i]=a[i]*2+1;}', "f")
    with cp.cuda.Stream(non_blocking=True) as s:
        y = x @ x.T
        k((1024,), (256,), (y, cp.int32(y.size)))
        s.synchronize()
    return digest(cp.asnumpy(y), cp.asnumpy(cp.fft.fft(x[0])), cp.asnumpy(cp.sort(y.ravel())[:100]))


def jax_same_each_time():
    # else kernels are chosen by how long they take when tried, and results differ from start to start, natively as well
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")
    import jax
    return jax


def use_jax():
    jax = jax_same_each_time()
    import jax.numpy as jnp
    import numpy as np
    f = jax.jit(lambda a: jnp.tanh(a @ a.T).sum(0))
    x = jnp.asarray(np.linspace(-1, 1, 512 * 512, dtype=np.float32).reshape(512, 512))
    g = jax.jit(jax.grad(lambda a: (jax.nn.softmax(a @ a.T) ** 2).sum()))
    r = f(x)
    for _ in range(50):
        r = r + f(x)
    return digest(np.asarray(r), np.asarray(g(x)))


def use_jax_two():
    """A layer split over two devices, forward and backward: each half of the width on one, and a sum over both."""
    jax = jax_same_each_time()
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    if len(jax.devices()) < 2:
        raise RuntimeError("one device")
    mesh = Mesh(np.array(jax.devices()[:2]), ("half",))

    def put(a, *spec):
        return jax.device_put(jnp.asarray(a, dtype=jnp.float32), NamedSharding(mesh, P(*spec)))
    fixed = np.random.default_rng(2)
    x = put(fixed.standard_normal((256, 1024)))
    up, down = put(fixed.standard_normal((1024, 4096)) / 32, None, "half"), put(fixed.standard_normal((4096, 1024)) / 64, "half", None)
    step = jax.jit(jax.value_and_grad(lambda u, d: (jnp.tanh(jax.nn.gelu(x @ u) @ d) ** 2).mean(), (0, 1)))
    losses = []
    for _ in range(50):
        loss, (du, dd) = step(up, down)
        up, down = up - 0.1 * du, down - 0.1 * dd
        losses.append(loss)
    return digest(np.asarray(losses), np.asarray(up), np.asarray(down))


def use_triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add(a, b, c, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        m = i < n
        tl.store(c + i, tl.load(a + i, mask=m) + tl.load(b + i, mask=m), mask=m)
    globals()["tl"] = tl
    n = 10**6
    a, b = torch.arange(n, device="cuda").float(), torch.ones(n, device="cuda")
    c = torch.empty_like(a)
    for _ in range(20):
        add[(triton.cdiv(n, 1024),)](a, b, c, n, B=1024)
    return digest(c.cpu().numpy())


def use_numba():
    import numpy as np
    if not hasattr(np, "row_stack"):   # that Numba asks for a name which NumPy has dropped is nothing of ours
        np.row_stack = np.vstack
    from numba import cuda

    @cuda.jit
    def k(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += i
    d = cuda.to_device(np.zeros(1000))
    for _ in range(10):
        k[8, 128](d)
    return digest(d.copy_to_host())


def use_llama():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "clients"))
    import llama_client
    server = llama_client.Server(*(os.path.join(os.environ["LLAMA"], name) for name in ("llama-server", "model.gguf")))
    try:
        return " ".join(f"{server.request()[1]:08x}" for _ in range(3))
    finally:
        server.end()


def main():
    name, variant = sys.argv[1], sys.argv[2]
    t = time.perf_counter()
    try:
        d = globals()["use_" + name]()
    except Exception as e:
        d = f"error {type(e).__name__}: {str(e)[:200]}"
    print(json.dumps({"test": "framework", "variant": variant, "rung": name, "digest": d,
                      "seconds": round(time.perf_counter() - t, 3)}), flush=True)


main()
