# SPDX-License-Identifier: Apache-2.0
"""A private xserver, for the demos and the benchmarks: started in a folder of its own, asked over HTTP, ended."""
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time


class ServerError(Exception):
    """It is missing or does not work; the text says what."""


class UnixHTTP(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class XServer:
    """@param build    folder with bin/xserver; with server-lib/ where it was carried to a machine that lacks its libraries
    @param options  of xserver, more than the sockets
    @param prefix   before its command line, e.g. taskset"""

    def __init__(self, build, options, log, prefix=()):
        self.folder = tempfile.mkdtemp(prefix="xsched-private-")
        self.socket = os.path.join(self.folder, "xserver.sock")
        self.build, self.prefix, self.log_name = build, prefix, log
        self.log = open(log, "ab")
        self.process = None
        try:
            self.begin(options)
        except BaseException:     # also when the caller is told to end meanwhile
            self.stop()
            raise

    def begin(self, options):
        env = dict(os.environ)
        libs = os.path.join(self.build, "server-lib")
        if os.path.isdir(libs):
            env["LD_LIBRARY_PATH"] = libs + (":" + env["LD_LIBRARY_PATH"] if env.get("LD_LIBRARY_PATH") else "")
        command = [*self.prefix, os.path.join(self.build, "bin", "xserver"), "--socket", self.socket, "--port", "0", *options]
        try:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        except OSError as e:
            raise ServerError(f"xserver does not start: {e}")
        deadline = time.monotonic() + 15
        while True:
            try:
                self.get("/status")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.end()
                    raise ServerError(f"xserver does not answer; see {self.log_name}")
                time.sleep(0.02)

    def again(self, options):
        """Another one with other options in its place, which programs join by themselves within a second or two."""
        self.end()
        self.begin(options)

    def ask(self, method, path, body=None):
        c = UnixHTTP(os.path.join(self.folder, "http.sock"))
        try:
            c.request(method, path, None if body is None else json.dumps(body),
                      {"Content-Type": "application/json"})
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

    def ended(self):
        return self.process is None or self.process.poll() is not None

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def stop(self):
        self.end()
        self.log.close()
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        os.rmdir(self.folder)
