# SPDX-License-Identifier: Apache-2.0
"""Those who look while others are measured: a scrape of /metrics each second, what `xcli top` asks for, and `xsched record`."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class WatchError(Exception):
    """Nobody looked; the text says why."""


class Watchers:
    """Around one measurement; stop() says what they saw, and fails if they saw nothing."""

    def __init__(self, server, build, folder):
        self.trace = os.path.join(folder, "watched-trace.json")
        if os.path.exists(self.trace):
            os.unlink(self.trace)
        env = dict(os.environ, XSCHED_SOCKET=server.socket)
        libs = os.path.join(build, "server-lib")
        if os.path.isdir(libs):
            env["LD_LIBRARY_PATH"] = libs + (":" + env["LD_LIBRARY_PATH"] if env.get("LD_LIBRARY_PATH") else "")
        self.log = open(os.path.join(folder, "watchers.log"), "ab")
        self.looker = self.recorder = None
        try:
            self.looker = subprocess.Popen([sys.executable, os.path.join(HERE, "clients", "watch.py"),
                                            os.path.join(server.folder, "http.sock")],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
            self.recorder = subprocess.Popen([os.path.join(build, "bin", "xsched"), "record", "-q", "-o", self.trace], env=env,
                                             stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        except OSError as e:
            self.end()
            raise WatchError(f"the watchers do not start: {e}")
        deadline = time.monotonic() + 20
        ready = self.looker.stdout.readline() == "ready\n"
        while ready and not os.path.exists(self.trace) and self.recorder.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if not ready or not os.path.exists(self.trace) or self.recorder.poll() is not None:
            self.end()
            raise WatchError("the watchers do not see the server: see watchers.log")

    def end(self):
        for p in (self.looker, self.recorder):
            if p and p.poll() is None:
                p.kill()
                p.wait()
        self.log.close()

    def stop(self):
        """@return {"scrapes": number, "longest_ms": time of the longest, "bytes": of the last, "events": in the trace}"""
        try:
            said, _ = self.looker.communicate(timeout=20)
            self.recorder.terminate()
            self.recorder.wait(20)
            row = json.loads(said.splitlines()[-1])
            with open(self.trace, encoding="utf-8") as f:
                row["events"] = len(json.load(f)["traceEvents"])
        except (subprocess.TimeoutExpired, OSError, ValueError, KeyError, IndexError) as e:
            raise WatchError(f"the watchers failed: {e}")
        finally:
            self.end()
        if row["scrapes"] < 1 or row["events"] < 1:
            raise WatchError(f"the watchers saw nothing: {row}")
        return row
