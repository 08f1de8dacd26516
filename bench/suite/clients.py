# SPDX-License-Identifier: Apache-2.0
"""The processes that are measured. They stay alive from one measurement to the next, for a block or for all of them
(measure.py); the driver only sends a line, then sleeps in poll(2) until the answers are there."""
import json
import os
import select
import subprocess
import time


class ClientError(Exception):
    """A client failed; the text says which and why."""


class Client:
    """One process: a command and an environment.
    @param prepare  what the child does first; None: nothing"""

    def __init__(self, command, env, log, name, prepare=None):
        self.name = name
        self.log = log
        self.buffer = b""
        self.hello = None
        self.born = time.time()
        with open(log, "ab") as f:
            f.write(f"-- {name}: {' '.join(command)}\n".encode())
            f.flush()
            try:
                self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=f,
                                                preexec_fn=prepare)
            except OSError as e:
                raise ClientError(f"{name} does not start: {e}")
        os.set_blocking(self.process.stdout.fileno(), False)

    @property
    def pid(self):
        return self.process.pid

    @property
    def worker(self):
        """The process that uses the device: this one, or the one that it named."""
        return (self.hello or {}).get("worker", self.pid)

    @property
    def which(self):
        """This process and no other, also where pids begin anew with the machine."""
        return f"{self.pid}@{self.born:.3f}"

    def why(self):
        """The last line that it said."""
        try:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                lines = [l.strip() for l in f.read()[-3000:].splitlines() if l.strip() and not l.startswith("--")]
        except OSError:
            lines = []
        return lines[-1] if lines else "nothing on stderr"

    def poll_rows(self):
        """The JSON lines that have come."""
        try:
            more = os.read(self.process.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return []
        if not more:
            raise ClientError(f"{self.name} ended (status {self.process.wait()}): {self.why()}")
        self.buffer += more
        *lines, self.buffer = self.buffer.split(b"\n")
        return [json.loads(l) for l in lines if l.startswith(b"{")]

    def send(self, text):
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise ClientError(f"{self.name} has gone: {self.why()}")

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def end(self, timeout=20):
        self.close()
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def collect(clients, wanted, timeout):
    """Waits until each client has given so many rows; sleeps meanwhile. @return client -> rows"""
    got = {c: [] for c in clients}
    deadline = time.monotonic() + timeout
    poll = select.poll()
    by_fd = {c.process.stdout.fileno(): c for c in clients}
    for fd in by_fd:
        poll.register(fd, select.POLLIN | select.POLLHUP)
    while any(len(got[c]) < wanted[c] for c in clients):
        left = deadline - time.monotonic()
        if left <= 0:
            late = ", ".join(c.name for c in clients if len(got[c]) < wanted[c])
            raise ClientError(f"no answer in {timeout:.0f} s more from {late}")
        for fd, _ in poll.poll(left * 1000):
            c = by_fd[fd]
            for row in c.poll_rows():
                if "error" in row:
                    raise ClientError(f"{c.name}: {row['error']}")
                got[c].append(row)
            if len(got[c]) >= wanted[c]:
                poll.unregister(fd)
    return got


class Pool:
    """Clients by key; what was started is kept until drop()."""

    def __init__(self, folder, say):
        self.log = os.path.join(folder, "clients.log")
        self.say = say
        self.clients = {}
        self.failed = {}

    def start(self, key, command, env, name, prepare=None):
        """Without waiting; see ready()."""
        if key not in self.clients and key not in self.failed:
            try:
                self.clients[key] = Client(command, env, self.log, name, prepare)
            except ClientError as e:
                self.failed[key] = str(e)

    def ready(self, keys, timeout=150):
        """Waits for the first line of each, that long for all; a client that fails is taken out and remembered."""
        deadline = time.monotonic() + timeout
        for key in keys:
            c = self.clients.get(key)
            if not c or c.hello:
                continue
            try:
                c.hello = collect([c], {c: 1}, max(1, deadline - time.monotonic()))[c][0]
            except ClientError as e:
                self.fail(key, str(e))

    def fail(self, key, why):
        c = self.clients.pop(key, None)
        self.failed[key] = why
        self.say(f"   {why}")
        if c:
            c.process.kill()
            c.end()

    def get(self, key):
        if key in self.failed:
            raise ClientError(self.failed[key])
        return self.clients[key]

    def drop(self):
        for c in self.clients.values():
            c.close()
        for c in self.clients.values():
            c.end()
        self.clients = {}
        self.failed = {}
