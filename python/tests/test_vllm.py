# SPDX-License-Identifier: Apache-2.0
"""integration/vllm: the priority of the server follows the requests that vLLM's scheduler has. vLLM itself is not here: two
classes with the members that the real ones have stand for it."""
import os
import subprocess
import sys

from conftest import BUILD, FAKE, PACKAGE, ROOT

PROGRAM = r"""
import ctypes, os, sys, time, types
class Scheduler:
    def __init__(self, config, *, log_stats=False):
        self.config, self.log_stats, self.requests = config, log_stats, {}
    def schedule(self, throttle_prefills=False):
        return sorted(self.requests), throttle_prefills
    def update_from_output(self, scheduled, output):
        for name in output:
            del self.requests[name]
        return {0: output}
class AsyncScheduler(Scheduler):
    pass
for name in ("vllm", "vllm.v1", "vllm.v1.core", "vllm.v1.core.sched"):
    sys.modules[name] = types.ModuleType(name)
for name, cls in (("scheduler", Scheduler), ("async_scheduler", AsyncScheduler)):
    module = sys.modules["vllm.v1.core.sched." + name] = types.ModuleType(name)
    setattr(module, cls.__name__, cls)
import xsched, xsched_vllm
def work():
    cu = ctypes.CDLL("libcuda.so.1")
    ctx, stream, nop = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cu.cuInit(0); cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0); cu.cuCtxSetCurrent(ctx)
    cu.cuStreamCreate(ctypes.byref(stream), 1); cu.cuModuleGetFunction(ctypes.byref(nop), None, b"nop")
    cu.cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
    cu.cuStreamSynchronize(stream)
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.05)
if os.fork() == 0:   # a worker, as vLLM has them
    work(); os._exit(0)
def seen(want):
    for _ in range(1000):
        found = [q.priority for q in xsched.status().queues]
        if found == [want]:
            return
        time.sleep(0.02)
    raise SystemExit(f"priority {want} is not in force: {found}")
class Request:
    def __init__(self, priority): self.priority = priority
for cls in (xsched_vllm.PriorityScheduler, xsched_vllm.AsyncPriorityScheduler):
    s = cls("config", log_stats=True)
    assert s.config == "config" and s.log_stats
    s.requests["a"] = Request(3)
    assert s.schedule(throttle_prefills=True) == (["a"], True)
    seen(7)                               # 10 - 3
    s.requests["b"] = Request(-20)
    s.schedule()
    seen(30)
    assert s.update_from_output(None, ["b"]) == {0: ["b"]}
    seen(7)
    s.requests["c"] = Request(-1000)
    s.schedule()
    seen(255)
    s.update_from_output(None, ["a", "c"])
    seen(-5)
    s.xsched_teller.set(None)             # the next one is to tell
print("followed")
"""


def test_the_priority_follows_the_requests(server, tmp_path):
    script = tmp_path / "engine.py"
    script.write_text(PROGRAM)
    env = dict(os.environ, XSCHED_SOCKET=server, PYTHONPATH=f"{PACKAGE}:{os.path.join(ROOT, 'integration/vllm')}",
               LD_LIBRARY_PATH=f"{BUILD}/lib:{FAKE}", XSCHED_VLLM_BASE="10", XSCHED_VLLM_IDLE="-5")
    p = subprocess.run([os.path.join(BUILD, "bin", "xsched"), "run", "-q", "--priority", "0", "--", sys.executable, str(script)],
                       env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert p.returncode == 0 and p.stdout == "followed\n", p.stderr
