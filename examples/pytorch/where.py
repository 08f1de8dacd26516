# SPDX-License-Identifier: Apache-2.0
"""Where XSched is, and which of its libraries this PyTorch needs. Used by the other scripts here."""
import os
import shutil


def root():
    """The folder that holds bin/ and lib/: XSCHED_ROOT, else that of xserver in PATH, else a build of this tree."""
    if os.environ.get("XSCHED_ROOT"):
        return os.environ["XSCHED_ROOT"]
    server = shutil.which("xserver")
    if server:
        return os.path.dirname(os.path.dirname(os.path.realpath(server)))
    tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for build in ("release", "gcc", "clang"):
        if os.path.exists(os.path.join(tree, "build", build, "bin", "xserver")):
            return os.path.join(tree, "build", build)
    raise SystemExit("XSched was not found: set XSCHED_ROOT to the folder that holds its bin/ and lib/")


def library(name):
    """libpreempt.so, libhal*.so or a shim. The first two have their name without a number only where programs are built."""
    for folder in ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"):
        for suffix in ("", ".1"):
            path = os.path.join(root(), folder, name + suffix)
            if os.path.exists(path):
                return path
    raise SystemExit(f"{name} is not below {root()}")


def platform():
    """cuda or hip: torch.cuda is the name of both in PyTorch."""
    import torch
    return "hip" if getattr(torch.version, "hip", None) else "cuda"


def shim(which=None):
    return library(os.path.join("xsched", f"libshim{which or platform()}.so"))


def loaded(part):
    """Mapped files whose name contains this."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as f:
        return sorted({line.split()[-1] for line in f if part in os.path.basename(line.split()[-1])})
