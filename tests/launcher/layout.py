# SPDX-License-Identifier: Apache-2.0
"""A private installation to test xsched in: bin/ and lib/xsched/ in a folder of its own."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ["XSCHED_BUILD_DIR"]
DUMMY = os.environ["DUMMY_SHIM"]


class Layout(unittest.TestCase):
    server = False      # whether the real xserver is put in
    usable = {"XSCHED_CUDA_LIB": "/nonexistent/libcuda.so.1", "XSCHED_OPENCL_LIB": "/nonexistent/libOpenCL.so.1"}

    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="xsched-test-"))
        self.bin = os.path.join(self.top, "bin")
        self.shims = os.path.join(self.top, "lib", "xsched")
        self.runtime = os.path.join(self.top, "run")
        os.makedirs(self.bin)
        os.makedirs(self.shims)
        os.mkdir(self.runtime, 0o700)
        for name in ("xsched", "xsched-doctor", "xsched-record"):
            shutil.copy2(os.path.join(BUILD, "bin", name), self.bin)
        for name in ("cuda", "opencl"):
            shutil.copy2(DUMMY, os.path.join(self.shims, f"libshim{name}.so"))
        with open(os.path.join(self.shims, "libother.so"), "w"):
            pass
        if self.server:
            shutil.copy2(os.path.join(BUILD, "bin", "xserver"), self.bin)
            shutil.copy2(os.path.join(BUILD, "bin", "xsched-http"), self.bin)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("XSCHED_", "XLOG_")) and k not in ("LD_PRELOAD", "OPENCL_LAYERS")}
        self.env["XDG_RUNTIME_DIR"] = self.runtime
        self.folder = os.path.join(self.runtime, "xsched")
        self.socket = os.path.join(self.folder, "xserver.sock")

    def tearDown(self):
        for pid in self.servers():
            os.kill(pid, signal.SIGKILL)
        for _ in range(200):
            if not self.servers():
                break
            time.sleep(0.01)
        shutil.rmtree(self.top)

    def wait_for(self, what, seconds=60):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def servers(self):
        """Processes whose executable is this layout's xserver. One that it has just started is it, too, for a moment."""
        found, parents = [], {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    if os.readlink(f"/proc/{name}/exe") == os.path.join(self.bin, "xserver"):
                        found.append(int(name))
                        with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                            parents[int(name)] = int(f.read().rpartition(")")[2].split()[1])
                except OSError:
                    pass
        return [pid for pid in found if parents.get(pid) not in found]

    def xsched(self, *args, env=None, **kwargs):
        return subprocess.run([os.path.join(self.bin, "xsched"), *args], env={**self.env, **(env or {})},
                              capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL, **kwargs)

    def use_all(self):
        """A machine that can use both platforms, whatever this one has."""
        self.env.update(self.usable)

    def environment(self, *args, env=None):
        """What a program sees that `xsched run ARGS` starts."""
        done = self.xsched("run", *args, "--", "env", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
