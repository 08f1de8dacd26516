# SPDX-License-Identifier: Apache-2.0
"""Daemons that variants need: private xservers, one for each set of options, and NVIDIA's MPS daemon."""
import os
import shutil
import subprocess
import sys
import tempfile

from . import machine

sys.path.append(os.path.join(machine.ROOT, "demo"))
from xserver import ServerError as ServiceError, XServer  # noqa: E402

PATIENCE_S = 30


class Mps:
    """A daemon with a pipe folder of its own: programs without its variables do not see it."""

    def __init__(self):
        self.tool = machine.find_tool("nvidia-cuda-mps-control")
        if not self.tool:
            raise ServiceError("nvidia-cuda-mps-control is missing")
        self.folder = tempfile.mkdtemp(prefix="xsched-mps-")
        self.env = {"CUDA_MPS_PIPE_DIRECTORY": os.path.join(self.folder, "pipe"),
                    "CUDA_MPS_LOG_DIRECTORY": os.path.join(self.folder, "log")}
        try:
            self.begin()
        except BaseException:
            self.stop()
            raise

    def begin(self):
        for path in self.env.values():
            os.makedirs(path)
        try:
            done = subprocess.run([self.tool, "-d"], env=dict(os.environ, **self.env), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
        except (subprocess.TimeoutExpired, OSError) as e:
            raise ServiceError(f"the MPS daemon does not start: {e}")
        if done.returncode:
            raise ServiceError(f"the MPS daemon does not start: {done.stdout.strip()[:200]}")

    def stop(self):
        try:
            subprocess.run([self.tool], input="quit\n", env=dict(os.environ, **self.env), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, text=True, timeout=PATIENCE_S, check=False)
        except (subprocess.TimeoutExpired, OSError):
            pass
        shutil.rmtree(self.folder, ignore_errors=True)


class Services:
    """Started when first asked for, kept until the end."""

    def __init__(self, build, folder):
        self.build = build
        self.log = os.path.join(folder, "xserver.log")
        self.servers = {}
        self.mps_daemon = None
        self.mps_failed = None

    def server(self, options, prefix=()):
        key = (tuple(options), prefix)
        if key in self.servers and self.servers[key].ended():
            self.servers.pop(key).stop()
        if key not in self.servers:
            self.servers[key] = XServer(self.build, self.quietly(options), self.log, prefix)
        return self.servers[key]

    def quietly(self, options):
        return ["--log-level", "WARN", *options]

    def again(self, server, options):
        server.again(self.quietly(options))

    def mps(self):
        if self.mps_failed:
            raise ServiceError(self.mps_failed)
        if not self.mps_daemon:
            try:
                self.mps_daemon = Mps()
            except ServiceError as e:
                self.mps_failed = str(e)
                raise
        return self.mps_daemon

    def stop(self):
        for s in self.servers.values():
            s.stop()
        if self.mps_daemon:
            self.mps_daemon.stop()
        self.servers, self.mps_daemon = {}, None
