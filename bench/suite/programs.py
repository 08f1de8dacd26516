# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that are programs of their own: they print JSON lines, one figure a line."""
import json
import os
import statistics
import subprocess
import tempfile
import time

from . import services, stats

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


def decision(build, samples=5000, asleep=500, more=()):
    """One asleep takes 40 ms, another one 1 ms; of those, one in three to five finds the server awake."""
    return lines(build, "bench_decision", "--samples", str(samples), "--sleep-samples", str(asleep), *more)


def decision_64(build, samples=2000, asleep=400):
    return decision(build, samples, asleep, ("--clients", "62"))


def decision_10000(build, samples=2000, asleep=400):
    return decision(build, samples, asleep, ("--queues", "9998"))


def of_short(function):
    """For a workload: the program as it comes, or shortly, with so many requests."""
    return lambda build, short: function(build, 4 * short, max(short // 20, 1)) if short else function(build)


def decision_expected(build, samples=500):
    """Of the server that expects a program that comes every 20 ms; the other figures are `decision`'s."""
    rows = lines(build, "bench_decision", "--samples", "100", "--sleep-samples", str(samples), "--ahead", "1")
    return [r for r in rows if r.get("variant", "").startswith("expected")]


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


def start(build, pairs=300):
    """A program that does nothing, A B A B: plain, then with all shims preloaded as `xsched run` does."""
    shims = ":".join(machine.shim(build, p) for p in ("cuda", "hip", "opencl"))
    ours = {"LD_PRELOAD": shims, "XSCHED_PRIORITY": "0", "XSCHED_SCHEDULER": "GLB"}
    envs = {"alone": os.environ, "xsched": {**os.environ, **ours}}
    cpu, wall = {v: [] for v in envs}, {v: [] for v in envs}
    for i in range(pairs + 5):
        for variant, env in envs.items():
            begin = time.perf_counter_ns()
            usage = os.wait4(os.posix_spawn("/bin/true", ["true"], env), 0)[2]
            if i >= 5:
                wall[variant].append((time.perf_counter_ns() - begin) / 1e6)
                cpu[variant].append((usage.ru_utime + usage.ru_stime) * 1e3)
    return [{"workload": "start", "variant": variant, "side": "", "metric": metric, "value": round(statistics.median(of[variant]), 3),
             "unit": "ms", "n": pairs} for metric, of in (("cpu", cpu), ("wall", wall)) for variant in envs]


def fake_cuda(build, server):
    """The environment of a program on the fake CUDA driver that joins the server, or schedules itself."""
    libs = (os.path.join(build, "lib"), os.path.join(build, "tests", "fakes", "cuda", "driver"))
    how = {"XSCHED_SOCKET": server.socket, "XSCHED_PRIORITY": "0"} if server else {"XSCHED_POLICY": "HPF", "XSCHED_AUTO_XQUEUE": "ON"}
    shim = os.path.join(build, "lib", "xsched", "libshimcuda.so")
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(libs), "LD_PRELOAD": shim, **how}


def python_block(build, rounds=60):
    """Blocks of the Python package on the fake CUDA driver: median and least over batches of 1000."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        server = services.XServer(build, [], os.path.join(folder, "log"), SHIELD)
        try:
            for _ in range(3):
                for variant, s in (("under xserver", server), ("schedules itself", None)):
                    out = subprocess.run(SHIELD + ["/usr/bin/python3", "-B", f"{ROOT}/bench/clients/with_block.py", f"{ROOT}/python",
                                                   str(rounds), "nop"], check=True, stdout=subprocess.PIPE, text=True,
                                         env=fake_cuda(build, s)).stdout
                    for what, ns in json.loads(out).items():
                        for metric, value in ((what, statistics.median(ns)), (what + ", least batch", min(ns))):
                            rows.append({"workload": "python with-block", "variant": variant, "side": "", "metric": metric,
                                         "value": round(value, 1), "unit": "ns", "n": 1000 * rounds})
        finally:
            server.stop()
    return rows


def scrape(build, queues=1000, scrapes=100):
    """/metrics over the Unix socket, while one program has many queues."""
    rows, ms = [], []
    with tempfile.TemporaryDirectory() as folder:
        server = services.XServer(build, [], os.path.join(folder, "log"), SHIELD)
        client = subprocess.Popen(SHIELD + ["/usr/bin/python3", "-B", f"{ROOT}/bench/clients/many_queues.py", str(queues)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=fake_cuda(build, server))
        try:
            if client.stdout.readline() != "ready\n":
                raise OSError("the program with many queues failed")
            for i in range(scrapes + 3):
                c = services.UnixHTTP(os.path.join(server.folder, "http.sock"))
                begin = time.perf_counter_ns()
                c.request("GET", "/metrics")
                text = c.getresponse().read()
                ms += [(time.perf_counter_ns() - begin) / 1e6] if i >= 3 else []
                c.close()
            if text.count(b"\nxsched_queue_running_seconds_total{") != queues:
                raise OSError("not every queue is in the answer")
        finally:
            client.communicate()
            server.stop()
    for metric, q in (("p50", 0.5), ("p99", 0.99)):
        rows.append({"workload": "scrape", "variant": f"{queues} queues", "side": "", "metric": metric,
                     "value": round(stats.quantile(ms, q), 3), "unit": "ms", "n": scrapes})
    rows.append({"workload": "scrape", "variant": f"{queues} queues", "side": "", "metric": "bytes", "value": len(text), "unit": "1",
                 "n": 1, "report": False})
    return rows


PROGRAMS = {
    "submit": (submit, "cost of a submit: ns (median) and instructions; wanted at most 60 ns and 300 instructions more "
                       "than the direct call, 20 ns without a policy"),
    "instructions": (instructions, "instructions of each path of docs/path-cost.md (callgrind)"),
    "idle": (idle, "an idle process with 100 queues: CPU, memory, threads; wanted 0 ms/s, less than 1024 KiB"),
    "decision": (decision, "a queue gets ready -> another process's queue is held; wanted p99 at most 50 us awake, asleep "
                           "at most a futex wake-up and 20 us"),
    "decision-expected": (decision_expected, "asleep as above, of a server that expects the request (ahead-cpus)"),
    "decision-64": (decision_64, "the same with 64 clients"),
    "decision-10000": (decision_10000, "the same with 10,000 queues"),
    "python-block": (python_block, "an empty `with xsched.priority()` on the fake CUDA driver; wanted at most 1000 ns"),
    "scrape": (scrape, "a scrape of /metrics with 1,000 queues; wanted at most 50 ms"),
    "start": (start, "a program that does nothing, plain and with all shims preloaded"),
    "opencl": (opencl, "an OpenCL program of 0.1 ms kernels on its own; wanted at most 1 % overhead"),
}

# what a workload of programs runs: (name, function of the build and of the samples of a short run)
OF_WORKLOAD = {
    "decision": (("2", of_short(decision)),
                 ("expected", lambda b, short: decision_expected(b, min(short or 500, 100))),
                 ("64", of_short(decision_64)),
                 ("10000", of_short(decision_10000))),
    "idle": (("100", lambda b, short: idle(b)),),
}
