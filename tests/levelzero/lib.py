# SPDX-License-Identifier: Apache-2.0
"""What the tests of Level Zero share: environments with XSched and without, and an xserver of their own. LEVELZERO_LOADER is the
folder of another loader than the distribution's."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import own_xserver  # noqa: E402

OURS = ("XSCHED_", "XLOG_", "ZE_", "FAKE_ZE", "LD_PRELOAD", "LD_LIBRARY_PATH")
DRIVERS = ("gpu",)   # those that are installed, as `xsched run` names them
LOADER = os.environ.get("LEVELZERO_LOADER")
WAYS = ("proxy", "preload", "both")


def plain(driver, **extra):
    """An environment without XSched, where the real loader finds the fake driver, which is in the folder `driver`."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    env.update(LD_LIBRARY_PATH=f"{LOADER}:{driver}" if LOADER else driver, **extra)
    return env


def under(driver, shims, way, **extra):
    """The same with XSched, whose shims are in the folder `shims`."""
    env = plain(driver)
    if way != "preload":
        env["ZE_ENABLE_ALT_DRIVERS"] = ",".join(f"{shims}/libxsched-ze_intel_{d}.so" for d in DRIVERS)
        env["ZE_ENABLE_LOADER_DRIVER_DDI_PATH"] = "0"
    if way != "proxy":
        env["LD_PRELOAD"] = f"{shims}/libshimlevelzero.so"
    env.update(extra)
    return env


def xserver(program, *arguments):
    """The socket of an xserver of our own."""
    return own_xserver.xserver(program, {k: v for k, v in os.environ.items() if not k.startswith(OURS[:3])}, *arguments)
