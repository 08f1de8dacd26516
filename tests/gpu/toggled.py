#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What being scheduled costs a program that runs alone: ResNet-18 batch 1 in a closed loop, in short turns with and without
an XQueue on its stream, in one process. Two starts of one program, and two moments of one host, differ by more than what is
looked for; two turns that follow each other do not. Without a queue a launch still passes the shim (some 44 instructions).
toggled.py BUILD [PAIRS [REQUESTS]]    JSON lines on stdout: all pairs, then the median ratio and its interval
TOGGLED=launches: 60 empty launches and a wait instead of the model, where there is no PyTorch."""
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "bench"), os.path.join(ROOT, "python")]
from suite import machine, stats  # noqa: E402
from suite.services import XServer  # noqa: E402
from suite.variants import clean_environment  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 400
REQUESTS = int(sys.argv[3]) if len(sys.argv) > 3 else 12
LEVEL, PRIORITY = 3, 1


def outer():
    """An xserver, and this again under the shim."""
    server = XServer(BUILD, ["--log-level", "WARN"], os.devnull)
    try:
        env = dict(clean_environment(), XSCHED_SOCKET=server.socket, LD_PRELOAD=machine.shim(BUILD, "cuda"), XSCHED_SCHEDULER="GLB",
                   XSCHED_AUTO_XQUEUE="OFF", TOGGLED_INNER="1")
        return subprocess.run([sys.executable, *sys.argv], env=env, check=False).returncode
    finally:
        server.stop()


def resnet():
    import torch
    import torchvision
    torch.backends.cudnn.benchmark = False
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    m = torchvision.models.resnet18().cuda().eval()
    x = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(2)).cuda()

    def once():
        y = m(x)
        torch.cuda.synchronize()
        return y

    return once, lambda y: float(y.double().sum())


def launches():
    cuda = ctypes.CDLL("libcuda.so.1")
    context, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    assert not (cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or cuda.cuCtxSetCurrent(context))
    assert not cuda.cuModuleGetFunction(ctypes.byref(kernel), None, b"nop")

    def once():
        for _ in range(60):
            assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
        return cuda.cuStreamSynchronize(None)

    return once, float


def ok(result):
    if result:
        sys.exit(f"{result!r}")


def main():
    once, checksum = launches() if os.environ.get("TOGGLED") == "launches" else resnet()
    from xsched import XSched
    from xsched.cuda import XSchedCuda

    right = checksum(once())
    for _ in range(30):
        once()
    result, hwq = XSchedCuda.CudaQueueCreate(0)
    ok(result)

    def turn(queue):
        if queue:
            result, handle = XSched.XQueueCreate(hwq, LEVEL, 0)
            ok(result or XSched.XHintPriority(handle, PRIORITY))
        for _ in range(2):
            once()
        took = []
        for _ in range(REQUESTS):
            t = time.perf_counter()
            y = once()
            took.append((time.perf_counter() - t) * 1e3)
        if queue:
            ok(XSched.XQueueDestroy(handle))
        if checksum(y) != right:
            sys.exit("a result is wrong")
        return statistics.median(took)

    for _ in range(20):        # kernels are timed, the allocator is warm
        turn(True), turn(False)
    ratios, with_queue, without = [], [], []
    for i in range(PAIRS):
        ms = {}
        for queue in (True, False) if i % 2 else (False, True):
            ms[queue] = turn(queue)
        ratios.append(ms[True] / ms[False])
        with_queue.append(ms[True])
        without.append(ms[False])
    print(json.dumps({"workload": "toggled", "metric": "pairs", "n": PAIRS, "queue_ms": [round(x, 4) for x in with_queue],
                      "no_queue_ms": [round(x, 4) for x in without]}))
    low, high = stats.interval(stats.quantile_draws(ratios, .5))
    print(json.dumps({"workload": "toggled", "metric": "ratio", "value": round(statistics.median(ratios), 4), "n": PAIRS,
                      "low": round(low, 4), "high": round(high, 4),
                      "no_queue_ms": round(statistics.median(without), 4)}))


if os.environ.get("TOGGLED_INNER"):
    main()
else:
    sys.exit(outer())
