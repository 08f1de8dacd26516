# SPDX-License-Identifier: Apache-2.0
"""What the measurements ran on, and which commit."""
import datetime
import glob
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


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
    """Of this tree; where that has no git: as bench/pack noted it beside what was built, or XSCHED_COMMIT."""
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) if shutil.which("git") else None
    if done and done.stdout.strip():
        return done.stdout.strip()
    try:
        with open(os.path.join(build or "", "commit"), encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return os.environ.get("XSCHED_COMMIT", "")


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
