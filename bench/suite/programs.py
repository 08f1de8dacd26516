# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that are programs of their own: they print JSON lines, one figure a line."""
import json
import os
import statistics
import subprocess
import tempfile

from . import machine

ROOT = machine.ROOT
SHIELD = []


def environment(build, more=None):
    env = dict(os.environ, BENCH_XSERVER=os.path.join(build, "bin", "xserver"), **(more or {}))
    folders = [os.path.join(build, d) for d in ("lib", "server-lib") if os.path.isdir(os.path.join(build, d))]
    env["LD_LIBRARY_PATH"] = ":".join(folders + ([env["LD_LIBRARY_PATH"]] if env.get("LD_LIBRARY_PATH") else []))
    return env


def lines(build, name, *options, timeout=600):
    out = subprocess.run(SHIELD + [machine.program(build, name), *options], check=True, stdout=subprocess.PIPE, text=True,
                         timeout=timeout, env=environment(build)).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def submit(build):
    return lines(build, "bench_submit")


def instructions(build):
    out = subprocess.run([f"{ROOT}/bench/instructions", build], check=True, stdout=subprocess.PIPE, text=True,
                         timeout=600).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def idle(build):
    return lines(build, "bench_idle")


def decision(build, samples=5000, *more):
    return lines(build, "bench_decision", "--samples", str(samples), "--sleep-samples", str(min(500, samples // (5 if samples >= 1000 else 20))),
                 *more)


def decision_64(build, samples=2000):
    return decision(build, samples, "--clients", "62")


def decision_10000(build, samples=2000):
    return decision(build, samples, "--queues", "9998")


def opencl(build):
    """An OpenCL program alone, A B A B: plain, then through the shim with xserver attached."""
    program, pairs, kernels = machine.program(build, "bench_opencl"), 11, 3000
    result = {"alone": [], "xsched": []}
    with tempfile.TemporaryDirectory() as folder:
        pocl = {"POCL_CACHE_DIR": folder, "POCL_MAX_PTHREAD_COUNT": "1"}
        sock = os.path.join(folder, "xserver.sock")
        server = subprocess.Popen(SHIELD + [f"{build}/bin/xserver", f"--socket={sock}", "--http=OFF", "--log-level=WARN"])
        shim = {"LD_PRELOAD": machine.shim(build, "opencl"), "XSCHED_PRIORITY": "0", "XSCHED_SOCKET": sock}
        try:
            work = subprocess.run(SHIELD + [program], check=True, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, **pocl}).stdout.strip()
            for _ in range(pairs):
                for name, more in (("alone", {}), ("xsched", shim)):
                    out = subprocess.run(SHIELD + [program, "--work", work, "--kernels", str(kernels)], check=True,
                                         stdout=subprocess.PIPE, text=True, env={**os.environ, **pocl, **more}).stdout
                    result[name].append(float(out.strip()))
        finally:
            server.terminate()
            server.wait()
    base = {"workload": "opencl-standalone", "side": "", "n": pairs * kernels}
    ratios = [x / p for x, p in zip(result["xsched"], result["alone"])]
    rows = [{**base, "variant": name, "metric": "kernel", "value": statistics.median(v) * 1000 / kernels, "unit": "us"}
            for name, v in result.items()]
    return rows + [{**base, "variant": "xsched", "metric": "overhead",
                    "value": 100 * (statistics.median(ratios) - 1), "unit": "%"},
                   {**base, "variant": "xsched", "metric": "overhead-of-best",
                    "value": 100 * (min(result["xsched"]) / min(result["alone"]) - 1), "unit": "%"}]


PROGRAMS = {
    "submit": (submit, "cost of a submit: ns (median) and instructions; wanted at most 60 ns and 300 instructions more "
                       "than the direct call, 20 ns without a policy"),
    "instructions": (instructions, "instructions of each path of docs/path-cost.md (callgrind)"),
    "idle": (idle, "an idle process with 100 queues: CPU, memory, threads; wanted 0 ms/s, less than 1024 KiB"),
    "decision": (decision, "a queue gets ready -> another process's queue is held; wanted p99 at most 50 us awake, asleep "
                           "at most a futex wake-up and 20 us"),
    "decision-64": (decision_64, "the same with 64 clients"),
    "decision-10000": (decision_10000, "the same with 10,000 queues"),
    "opencl": (opencl, "an OpenCL program of 0.1 ms kernels on its own; wanted at most 1 % overhead"),
}

# what a workload of programs runs: (name, function of the build and of the samples of a short run)
OF_WORKLOAD = {
    "decision": (("2", lambda b, short: decision(b, short or 5000)),
                 ("64", lambda b, short: decision_64(b, short or 2000)),
                 ("10000", lambda b, short: decision_10000(b, short or 2000))),
    "idle": (("100", lambda b, short: idle(b)),),
}
