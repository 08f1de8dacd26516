# SPDX-License-Identifier: Apache-2.0
"""An installed tree, an xserver of it on a port of its own, and programs on the fakes and PoCL."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ["XSCHED_BUILD_DIR"]
SOURCE = os.environ["XSCHED_SOURCE_DIR"]
PREFIX = os.environ["PREFIX"]
LIB = os.path.join(PREFIX, "lib")
if not os.path.exists(os.path.join(LIB, "libpreempt.so")):
    LIB = os.path.dirname(subprocess.run(["find", PREFIX, "-name", "libpreempt.so"], capture_output=True, text=True,
                                         check=True).stdout.split()[0])
BIN = os.path.join(PREFIX, "bin")
FAKES = {"cuda": os.path.join(BUILD, "tests/fakes/cuda/driver"), "hip": os.path.join(BUILD, "tests/fakes/hip/system"),
         "opencl": ""}
NAMES = {"cuda": "libcuda.so.1", "hip": "libamdhip64.so.6", "opencl": "libOpenCL.so.1"}


def programs(platform, seconds):
    """Ways in which programs come to the vendor's library: opened by name, and as a dependency."""
    found = {}
    if platform in ("cuda", "hip"):
        found["opens"] = [os.path.join(BUILD, f"tests/{platform}/{platform}_pair"), str(seconds)]
    else:
        found["linked"] = [os.path.join(BUILD, "demo/oclload"), "stream", "--iterations", "2000", "--in-flight", "4",
                           "--seconds", str(seconds)]
    return {how: command for how, command in found.items() if os.path.exists(command[0])}


class Original(unittest.TestCase):
    policy = "HPF"

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="xsched-original-")
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("XSCHED_", "XLOG_", "LD_", "PYTHONPATH")) and k != "PREFIX"}
        self.env.update(XDG_RUNTIME_DIR=self.top, XSCHED_SOCKET=os.path.join(self.top, "xs.sock"))
        self.running = []
        self.server = None
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]

    def tearDown(self):
        for p in self.running:
            p.terminate()
        for p in self.running:
            p.communicate(timeout=30)
        if self.server:
            self.server.terminate()
            self.server.communicate()
        shutil.rmtree(self.top, ignore_errors=True)

    def serve(self, *args):
        self.server = subprocess.Popen([os.path.join(BIN, "xserver"), *(args or (self.policy, str(self.port)))],
                                       env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.wait_for(lambda: self.xcli("policy", "-q").returncode == 0, "xserver answers")

    def xcli(self, *args):
        return subprocess.run([os.path.join(BIN, "xcli"), "-p", str(self.port), *args], env=self.env, text=True,
                              capture_output=True, timeout=30, stdin=subprocess.DEVNULL, check=False)

    def wait_for(self, what, text, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = what()
            if found:
                return found
            time.sleep(0.05)
        return self.fail(f"not within {seconds} s: {text}")

    def export(self, platform, **variables):
        """An environment in which the program finds the fake as its vendor's library, behind what LIBRARY_PATH is."""
        env = dict(self.env, **variables)
        path = [env.get("LD_LIBRARY_PATH"), FAKES[platform]]
        env["LD_LIBRARY_PATH"] = ":".join(p for p in path if p)
        if not env["LD_LIBRARY_PATH"]:
            del env["LD_LIBRARY_PATH"]
        return env

    def start(self, command, env):
        p = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.running.append(p)
        return p

    def end(self, p):
        self.running.remove(p)
        p.terminate()
        out, err = p.communicate(timeout=30)
        return out, err

    def queues(self, pid=None):
        done = self.xcli("list", "--json")
        if done.returncode:
            return []
        return [q for q in json.loads(done.stdout)["xqueues"] if pid is None or q["pid"] == pid]

    def queue(self, p):
        """The program's queue, once xserver has it."""
        return self.wait_for(lambda: self.queues(p.pid), f"a queue of {p.args}")[0]


