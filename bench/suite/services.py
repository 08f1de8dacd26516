# SPDX-License-Identifier: Apache-2.0
"""Daemons that variants need: private xservers, one for each set of options, and NVIDIA's MPS daemon."""
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time

from . import machine


class ServiceError(Exception):
    """A daemon is missing or does not work; the text says what."""


class UnixHTTP(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class XServer:
    def __init__(self, build, options, log, prefix=()):
        self.folder = tempfile.mkdtemp(prefix="xsched-bench-")
        self.socket = os.path.join(self.folder, "xserver.sock")
        self.log = open(log, "ab")
        env = dict(os.environ)
        libs = os.path.join(build, "server-lib")
        if os.path.isdir(libs):        # carried to a machine that lacks them
            env["LD_LIBRARY_PATH"] = libs + (":" + env["LD_LIBRARY_PATH"] if env.get("LD_LIBRARY_PATH") else "")
        command = [*prefix, os.path.join(build, "bin", "xserver"), "--socket", self.socket, "--port", "0", "--log-level",
                   "WARN", *options]
        try:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        except OSError as e:
            raise ServiceError(f"xserver does not start: {e}")
        deadline = time.monotonic() + 15
        while True:
            try:
                self.get("/status")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise ServiceError(f"xserver does not answer; see {log}")
                time.sleep(0.02)

    def ask(self, method, path, body=None):
        c = UnixHTTP(os.path.join(self.folder, "http.sock"))
        try:
            c.request(method, path, None if body is None else json.dumps(body),
                      {"Content-Type": "application/json", "X-XSched": "1"})
            return json.loads(c.getresponse().read())
        finally:
            c.close()

    def get(self, path):
        return self.ask("GET", path)

    def queues(self, pid):
        return [q for q in self.get("/xqueues").get("xqueues", []) if q.get("pid") == pid]

    def cpu_ms(self):
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")
        except OSError:
            return 0.0

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        os.rmdir(self.folder)


class Mps:
    """A daemon with a pipe folder of its own: programs without its variables do not see it."""

    def __init__(self):
        self.tool = machine.find_tool("nvidia-cuda-mps-control")
        if not self.tool:
            raise ServiceError("nvidia-cuda-mps-control is missing")
        self.folder = tempfile.mkdtemp(prefix="xsched-mps-")
        self.env = {"CUDA_MPS_PIPE_DIRECTORY": os.path.join(self.folder, "pipe"),
                    "CUDA_MPS_LOG_DIRECTORY": os.path.join(self.folder, "log")}
        for path in self.env.values():
            os.makedirs(path)
        done = subprocess.run([self.tool, "-d"], env=dict(os.environ, **self.env), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=False)
        if done.returncode:
            raise ServiceError(f"the MPS daemon does not start: {done.stdout.strip()[:200]}")

    def stop(self):
        try:
            subprocess.run([self.tool], input="quit\n", env=dict(os.environ, **self.env), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, text=True, timeout=30, check=False)
        except subprocess.TimeoutExpired:
            pass


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
        if key not in self.servers:
            self.servers[key] = XServer(self.build, options, self.log, prefix)
        return self.servers[key]

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
