# SPDX-License-Identifier: Apache-2.0
"""What both demos share: finding what was built, starting xserver, statistics, table."""
import csv
import math
import os
import select
import signal
import subprocess
import sys

from xserver import ServerError, XServer

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class DemoError(Exception):
    """Something is missing or went wrong; the text is for the user."""


def say(text):
    print(text, flush=True)


def installed():
    """Whether this file lies in PREFIX/share/xsched/demo and not in a source tree."""
    return not os.path.exists(os.path.join(ROOT, "CMakeLists.txt"))


def build_dir():
    named = os.environ.get("XSCHED_BUILD_DIR")
    if installed():
        places = [os.path.dirname(os.path.dirname(ROOT))]
    else:
        places = [os.path.join(ROOT, "build", n) for n in ("gcc", "clang", "")]
    for path in [named] if named else places:
        if os.path.exists(os.path.join(path, "bin", "xsched")):
            return os.path.abspath(path)
    raise DemoError("nothing is built yet (build/gcc/bin/xsched is missing): run `make demo` in the top folder, "
                    "or set XSCHED_BUILD_DIR")


def out_dir():
    path = os.path.abspath(os.environ.get("DEMO_OUT", "out" if installed() else os.path.join(ROOT, "out")))
    os.makedirs(path, exist_ok=True)
    return path


def client_program(build):
    """The OpenCL program, where it was built or where it was installed."""
    for path in (os.path.join(build, "demo", "oclload"), os.path.join(build, "libexec", "xsched", "oclload")):
        if os.path.exists(path):
            return path
    raise DemoError(f"{build}/demo/oclload is missing (it needs the OpenCL headers and loader: packages "
                    "opencl-headers and ocl-icd-opencl-dev)")


def cores():
    """The clients' core and xserver's: 0 and 1, unless this machine does not lend those."""
    allowed = sorted(os.sched_getaffinity(0))
    clients = 0 if 0 in allowed else allowed[0]
    rest = [c for c in allowed if c != clients]
    server = 1 if 1 in rest else (rest[0] if rest else clients)
    if (clients, server) != (0, 1):
        say(f"note: clients run on core {clients} and xserver on core {server}, since 0 and 1 are not both there")
    return clients, server


def client_env(out):
    """The device: PoCL with one thread. Nothing that was set outside reaches the measurement."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("XSCHED_", "XLOG_", "POCL_", "OCL_", "OPENCL_")) and k != "LD_PRELOAD"}
    env["POCL_MAX_PTHREAD_COUNT"] = "1"
    env["POCL_CACHE_DIR"] = os.path.join(out, "pocl-cache")
    for name in ("OCL_ICD_VENDORS", "XLOG_LEVEL", "XLOG_FILE"):
        if name in os.environ:
            env[name] = os.environ[name]
    os.makedirs(env["POCL_CACHE_DIR"], exist_ok=True)
    return env


def requests_asked(usual):
    asked = os.environ.get("DEMO_REQUESTS", str(usual))
    if not asked.isdigit() or int(asked) < 1:
        raise DemoError(f"DEMO_REQUESTS takes a number of at least 1, not \"{asked}\"")
    return int(asked)


def blocks_of(requests, usual):
    """Alternating blocks cancel what changes with time; a short run has other worries, and takes the time to start two."""
    return usual if requests >= 100 else min(2, requests)


def read_requests(path):
    """[(intended, begin, end)] in ns."""
    with open(path, newline="") as f:
        return [(int(r["intended_ns"]), int(r["begin_ns"]), int(r["end_ns"])) for r in csv.DictReader(f)]


def percentile(values, p):
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(p / 100 * len(ordered)) - 1)]


def first_line(process, timeout=60):
    """The first line that a program prints; "" when it ends or takes too long."""
    ready, _, _ = select.select([process.stdout], [], [], timeout)
    return process.stdout.readline().strip() if ready else ""


def end_process(process, signo=signal.SIGTERM, timeout=30):
    if process.poll() is None:
        process.send_signal(signo)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise DemoError(f"{process.args[0]} (pid {process.pid}) did not end within {timeout} s after "
                            f"signal {int(signo)}")
    return process.returncode


class Server(XServer):
    """An xserver of the demo's own."""

    def __init__(self, build, core, log_path):
        try:
            super().__init__(build, ["--policy", "HPF"], log_path, ("taskset", "-c", str(core)))
        except ServerError as e:
            raise DemoError(str(e))


def table(header, rows):
    """Plain text, first column to the left, the others to the right."""
    text = [header] + [[c if isinstance(c, str) else f"{c:.2f}" for c in row] for row in rows]
    width = [max(len(line[i]) for line in text) for i in range(len(header))]
    lines = []
    for line in text:
        lines.append("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, width))))
        if len(lines) == 1:
            lines.append("-" * len(lines[0]))
    return "\n".join(lines)


def main_guard(main):
    """Runs a demo's main; every failure is one clear line and a non-zero status. Who ends it by a signal, or closes its
    terminal, ends its programs too."""
    def ended(signo, _):
        for s in caught:
            signal.signal(s, signal.SIG_IGN)     # once: what follows ends the programs
        sys.exit(128 + signo)
    caught = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) != signal.SIG_IGN]     # nohup
    for s in caught:
        signal.signal(s, ended)
    try:
        return main()
    except DemoError as e:
        print(f"demo: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
