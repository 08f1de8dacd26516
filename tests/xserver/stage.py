# SPDX-License-Identifier: Apache-2.0
"""A private xserver with programs that do as they are told (actor.c), and a terminal that remembers what is on it."""
import faulthandler
import fcntl
import http.client
import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time
import urllib.request

BUILD = os.environ.get("XSCHED_BUILD_DIR", "build/gcc")
PATIENCE = 90
faulthandler.dump_traceback_later(280)  # a test that hangs says where before CTest ends it (300 s)


class Actor:
    def __init__(self, stage, name, space=None, mps_priority=None):
        """@param name  what it is called in lists; space  the number of its MPS server; None: it shares in time;
        mps_priority  "higher", "lower"; None: it does not say"""
        self.process = subprocess.Popen([name, stage.socket], executable=f"{BUILD}/tests/xserver/actor", text=True,
                                        env={**os.environ, **({"SPACE": space} if space else {}),
                                             **({"MPS_PRIORITY": mps_priority} if mps_priority else {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ok\n"

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        answer = self.process.stdout.readline()
        assert answer == "ok\n", (line, answer)

    def leave(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


class Stage:
    def __init__(self, *arguments, wait_for_http=True):
        self.folder = tempfile.mkdtemp(prefix="xserver-test-")
        self.socket = os.path.join(self.folder, "xserver.sock")
        self.actors = []
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("XSCHED_", "XLOG_"))}
        self.arguments = arguments
        self.environment = {**environment, "XSCHED_SOCKET": self.socket}
        if wait_for_http:
            self.start()
        else:
            self.begin()

    def begin(self):
        """Without HTTP of its own."""
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            self.server = subprocess.Popen([f"{BUILD}/bin/xserver", "--socket", self.socket, *self.arguments], stderr=log,
                                           env={k: v for k, v in self.environment.items() if k != "XSCHED_SOCKET"})
        until(lambda: self.xcli("policy", "-q", check=False).returncode == 0)

    def start(self):
        """Also after its death."""
        if os.path.exists(beside := os.path.join(self.folder, "http.sock")):
            os.unlink(beside)
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            self.server = subprocess.Popen([f"{BUILD}/bin/xserver", "--socket", self.socket, "--port", "0", *self.arguments],
                                           stderr=log, env={k: v for k, v in self.environment.items() if k != "XSCHED_SOCKET"})
        until(lambda: os.path.exists(beside))
        self.port = json.loads(self.xcli("--json", "status").stdout)["http_port"]

    def actor(self, name, space=None, mps_priority=None):
        self.actors.append(Actor(self, name, space, mps_priority))
        return self.actors[-1]

    def xcli(self, *arguments, check=True):
        return subprocess.run([f"{BUILD}/bin/xcli", *arguments], env=self.environment, text=True, capture_output=True,
                              check=check, timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def get(self, path, headers=None, data=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers or {})
        return urllib.request.urlopen(request, timeout=PATIENCE)

    def post(self, path, body=""):
        """A change, over HTTP's Unix socket. @return the status and the answer"""
        connection = http.client.HTTPConnection("localhost", timeout=PATIENCE)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(os.path.join(self.folder, "http.sock"))
        try:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def close(self):
        for a in self.actors:
            if a.process.poll() is None:
                a.leave()
        self.server.send_signal(signal.SIGTERM)
        status = self.server.wait(PATIENCE)
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
            text = log.read()
        shutil.rmtree(self.folder)
        assert status == 0, text


def until(condition, what="it", patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.01)


def emulator(columns, rows):
    """python3-pyte's, taught what xterm can besides: ncurses scrolls by SU and SD and repeats by REP when that is shorter,
    which depends on what is drawn at once, and so on how busy the machine is. @return (screen, stream)"""
    import pyte

    class Screen(pyte.Screen):
        last = " "

        def draw(self, data):
            self.last = data[-1:] or self.last
            super().draw(data)

        def repeat(self, count=1):
            super().draw(self.last * (count or 1))

        def scrolled(self, lines, count):
            x, y = self.cursor.x, self.cursor.y
            self.cursor.y = self.margins.top if self.margins else 0
            lines(count or 1)
            self.cursor.x, self.cursor.y = x, y

        def scroll_up(self, count=1):
            self.scrolled(self.delete_lines, count)

        def scroll_down(self, count=1):
            self.scrolled(self.insert_lines, count)

    class Stream(pyte.ByteStream):
        csi = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down", "b": "repeat"}
        events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}

    screen = Screen(columns, rows)
    return screen, Stream(screen)


class Terminal:
    """A program on a terminal of its own, whose emulator remembers what it drew."""

    def __init__(self, command, columns, rows, environment):
        self.screen, self.stream = emulator(columns, rows)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.clear()
            os.environ.update({**environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """@return False when the program ended"""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                return True
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.stream.feed(data)
        return True

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def wait_for(self, condition, what):
        """Until the lines on the screen are so."""
        end = time.monotonic() + PATIENCE
        while not condition(self.lines()):
            assert time.monotonic() < end, f"{what} is not on the screen:\n" + "\n".join(self.lines())
            assert self.read(0.05), f"it ended before {what}:\n" + "\n".join(self.lines())
        return self.lines()

    def end(self):
        """@return exit status; it was told to end"""
        while self.read(0.1):
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
