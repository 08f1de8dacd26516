#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XSCHED_MEM_LIMIT on a GPU: memory.py BUILD OUT. PyTorch with each of its allocators, and JAX, see the limit, get
their own out-of-memory errors and go on. BUILD holds lib/xsched/libshimcuda.so; OUT gets memory.jsonl. About two
minutes; exit status 1 when anything is not as it should be."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
from suite import machine  # noqa: E402

GIB = 1 << 30
CASES = (  # name, limit, its bytes (0: half of the device), program, environment
    ("native", "8G", 8 * GIB, "torch", {}),
    ("percent", "50%", 0, "torch", {}),
    ("expandable", "8G", 8 * GIB, "torch", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    ("async", "8G", 8 * GIB, "torch", {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}),
    ("scheduled", "8G", 8 * GIB, "torch", {"XSCHED_AUTO_XQUEUE": "ON", "XSCHED_POLICY": "HPF"}),
    ("jax", "8G", 8 * GIB, "jax", {}),
)


def use_torch():
    import torch
    free, total = torch.cuda.mem_get_info()
    seen = torch.cuda.get_device_properties(0).total_memory
    result = {"free": free, "total": total, "properties": seen, "caught": None, "sum": None, "refused_again": 0}
    half = torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(total // 4 * 3, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as e:
        result["caught"] = type(e).__name__
    # it goes on
    a = torch.ones(1024, 1024, device="cuda")
    result["sum"] = float((a @ a).sum())
    del half
    torch.cuda.empty_cache()
    most = torch.empty(total // 4 * 3, dtype=torch.uint8, device="cuda")
    most.fill_(1)
    torch.cuda.synchronize()
    for _ in range(20):
        try:
            torch.empty(total // 2, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError:
            result["refused_again"] += 1
    del most
    torch.cuda.empty_cache()
    result["free_at_end"] = torch.cuda.mem_get_info()[0]
    return result


def use_jax():
    import jax
    import jax.numpy as jnp
    stats = jax.devices()[0].memory_stats() or {}
    result = {"bytes_limit": stats.get("bytes_limit"), "caught": None}
    try:
        jnp.zeros((9 << 30,), dtype=jnp.uint8).block_until_ready()
    except Exception as e:  # jaxlib's own type has moved more than once
        result["caught"] = "RESOURCE_EXHAUSTED" if "RESOURCE_EXHAUSTED" in str(e) else str(e)[:200]
    x = jnp.ones((1024, 1024))
    result["sum"] = float((x @ x).sum())
    return result


def judge(case, r, limit):
    if case == "jax":
        return [w for ok, w in ((r["bytes_limit"] and r["bytes_limit"] <= limit, "it takes more than the limit"),
                                (r["caught"] == "RESOURCE_EXHAUSTED", "no out-of-memory error"),
                                (r["sum"] == 1024.0 ** 3, "it did not go on")) if not ok]
    limit = limit or r["total"]
    return [w for ok, w in ((r["total"] == limit and r["properties"] == limit, "it sees another total"),
                            (0 < r["free"] <= r["total"], "it sees more free than there is"),
                            (r["caught"] == "OutOfMemoryError", "no out-of-memory error"),
                            (r["sum"] == 1024.0 ** 3, "it did not go on"),
                            (r["refused_again"] == 20, "a refusal did not last"),
                            (r["free_at_end"] > limit // 10 * 9, "what was freed is not free")) if not ok]


def main(build, out):
    os.makedirs(out, exist_ok=True)
    wrong = 0
    common = {"workload": "memory", "report": False, "driver": machine.nvidia_driver(), "commit": machine.commit(build)}
    with open(os.path.join(out, "memory.jsonl"), "w", encoding="ascii") as raw:
        for name, limit, limit_bytes, program, more in CASES:
            env = dict(os.environ, LD_PRELOAD=os.path.join(build, "lib/xsched/libshimcuda.so"), XSCHED_MEM_LIMIT=limit, **more)
            p = subprocess.run([sys.executable, os.path.abspath(__file__), "--use", program], env=env,
                               capture_output=True, text=True, timeout=200)
            try:
                result = json.loads(p.stdout.splitlines()[-1])
                found = judge("jax" if program == "jax" else name, result, limit_bytes)
            except (IndexError, ValueError, KeyError, TypeError) as e:
                result, found = {"stderr": p.stderr[-500:]}, [f"it ended with {p.returncode}: {e}"]
            wrong += bool(found)
            raw.write(json.dumps({**common, "date": machine.now(), "variant": name, "limit": limit, "wrong": found, **result}) + "\n")
            raw.flush()
            print(name, "fine" if not found else found)
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "--use":
        print(json.dumps({"torch": use_torch, "jax": use_jax}[sys.argv[2]]()))
        sys.exit(0)
    sys.exit(main(*sys.argv[1:]))
