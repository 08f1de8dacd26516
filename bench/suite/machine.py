# SPDX-License-Identifier: Apache-2.0
"""What the measurements ran on, and which commit."""
import datetime
import glob
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# this lies in PREFIX/share/xsched/bench and not in a source tree
INSTALLED = not os.path.exists(os.path.join(ROOT, "CMakeLists.txt"))


def build_folder():
    """Where the programs are, unless it is named."""
    return os.environ.get("XSCHED_BUILD_DIR") or (os.path.dirname(os.path.dirname(ROOT)) if INSTALLED else f"{ROOT}/build/gcc")


def program(build, name):
    """One of the benchmark's own, where it was built, or where it was installed."""
    there = os.path.join(build, "libexec", "xsched", name)
    return there if os.path.exists(there) else os.path.join(build, "bench", name)


def shim(build, platform):
    """libshimPLATFORM.so, below lib or where the distribution has its libraries."""
    name = f"libshim{platform}.so"
    found = glob.glob(os.path.join(build, "lib", "*", "xsched", name))
    usual = os.path.join(build, "lib", "xsched", name)
    return found[0] if found and not os.path.exists(usual) else usual


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            for line in f:
                if line.startswith("model name"):
                    return f"{os.cpu_count()} x {line.split(':', 1)[1].strip()}"
    except OSError:
        pass
    return f"{os.cpu_count()} x processor"


def commit(build=None):
    """Of what is measured: as bench/pack noted it beside what was built, since the tree around it may be another one;
    else of this tree, else XSCHED_COMMIT."""
    try:
        with open(os.path.join(build or "", "commit"), encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        pass
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) if shutil.which("git") else None
    return (done.stdout.strip() if done else "") or os.environ.get("XSCHED_COMMIT", "")


def nvidia_driver():
    for path, pattern in (("/sys/module/nvidia/version", r"(\S+)"),
                          ("/proc/driver/nvidia/version", r"Module.*?\s(\d+\.\d+\S*)")):
        try:
            with open(path, encoding="utf-8") as f:
                found = re.search(pattern, f.read())
        except OSError:
            continue
        if found:
            return found.group(1)
    return ""


def find_tool(name):
    """On PATH, or where container images keep NVIDIA's."""
    places = [shutil.which(name)] + sorted(glob.glob(f"/usr/local/nvidia/bin/{name}") + glob.glob(f"/usr/local/cuda/bin/{name}"))
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
