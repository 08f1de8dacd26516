#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""xcli top, on terminals of several sizes and as plain text, while programs come and go."""
import json
import re
import unittest

from stage import BUILD, Stage, Terminal, emulator, until

GPU = "200003b00"
TOP = [f"{BUILD}/bin/xcli", "top", "-f", "10"]


def shows(text):
    return lambda lines: any(text in line for line in lines)


def shows_not(text):
    return lambda lines: not any(text in line for line in lines)


def row_of(lines, pid):
    """The cells of a program's row, by title."""
    titles = next((line for line in lines if re.search(r"\bPID\b", line)), "").split()
    row = next((line for line in lines if re.match(rf" *{pid}\b", line)), None)
    return dict(zip(titles, row.split(None, len(titles) - 1))) if row and titles else {}


def cells_of(lines, pid, *names):
    """Those cells of a program's row; None for one that is not there, e.g. on a screen that is being drawn."""
    row = row_of(lines, pid)
    return tuple(row.get(name) for name in names)


def number_of(lines, pid, name):
    try:
        return float(row_of(lines, pid)[name])
    except (KeyError, ValueError):
        return 0.0


class Emulator(unittest.TestCase):
    """What the screens of the other tests are read from."""

    def test_scrolls_and_repeats(self):
        screen, stream = emulator(6, 5)
        stream.feed(b"".join(b"\x1b[%d;1H%c" % (i + 1, 97 + i) for i in range(5)))
        stream.feed(b"\x1b[2;4r\x1b[4;1H\x1b[2S\x1b[1;5r")
        self.assertEqual([line.rstrip() for line in screen.display], ["a", "d", "", "", "e"])
        stream.feed(b"\x1b[2;5r\x1b[T\x1b[r\x1b[1;2Hx\x1b[3b.")
        self.assertEqual([line.rstrip() for line in screen.display], ["axxxx.", "", "d", "", ""])


class Top(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)
        self.batch = self.stage.actor("batch-training")
        self.online = self.stage.actor("online-service")
        self.batch.tell(f"queue 0 {GPU} 1")
        self.batch.tell(f"queue 3 {GPU} 1")
        self.online.tell(f"queue 0 {GPU} 10")

    def terminal(self, columns, rows, *arguments):
        t = Terminal([*TOP, *arguments], columns, rows, self.stage.environment)
        self.addCleanup(lambda: t.pid and t.kill())
        return t

    def preemptions(self, actor):
        answer = json.loads(self.stage.xcli("--json", "list").stdout)
        return sum(q["preemptions"] for q in answer["xqueues"] if q["pid"] == actor.pid)

    def quit(self, t):
        t.press("q")
        self.assertEqual(t.end(), 0)
        t.pid = 0

    def test_shares_of_a_device_add_up(self):
        """Two programs that both say that they had nearly all of it: their shares are scaled to the time that passed."""
        other = self.stage.actor("another-training")
        other.tell(f"queue 0 {GPU} 1")
        self.batch.tell("work 0 90")
        other.tell("work 0 90")
        t = self.terminal(120, 20)
        lines = t.wait_for(lambda lines: "shares are estimates" in lines[0] and
                           min(number_of(lines, a.pid, "DEV%") for a in (self.batch, other)) > 30, "both shares")
        shares = [number_of(lines, a.pid, "DEV%") for a in (self.batch, other)]
        self.assertLessEqual(sum(shares), 101, lines)
        listed = [line.split() for line in self.stage.xcli("list").stdout.splitlines()]
        column = listed[0].index("SHARE%")
        self.assertLessEqual(sum(int(row[column]) for row in listed[1:] if row[column] != "-"), 101, listed)
        other.tell("work 0 0")
        t.wait_for(lambda lines: "shares are estimates" not in lines[0], "one program alone")
        self.quit(t)

    def test_programs_and_changes(self):
        self.batch.tell("work 0 90")
        t = self.terminal(120, 20)
        lines = t.wait_for(lambda lines: number_of(lines, self.batch.pid, "DEV%") > 30 and
                           cells_of(lines, self.batch.pid, "STATE", "PRI", "LV", "Q") == ("running", "1", "1", "2") and
                           "batch-training" in row_of(lines, self.batch.pid).get("COMMAND", ""), "a share")
        self.assertIn("HPF, 2 programs, 3 queues", lines[0])
        self.assertRegex(lines[1], r"^GPU:0000:76:00.0 \[\|+ *\d+%\]$|^GPU:\S+ \[\|+ *\d+%\]$")

        self.online.tell("work 0 50")
        t.wait_for(lambda lines: row_of(lines, self.batch.pid).get("STATE") == "waiting", "the batch waiting")
        t.wait_for(lambda lines: number_of(lines, self.batch.pid, "WAIT%") > 50, "its waiting time")
        # once, or again where this machine kept the other one from its work for a second: as often as the server says
        t.wait_for(lambda lines: number_of(lines, self.batch.pid, "PREEMPT") == self.preemptions(self.batch) >= 1,
                   "its preemptions")

        # the batch program is chosen and gets a priority of 200: it runs, the other waits
        t.press("/batch\n")
        t.wait_for(shows_not("online-service"), "the filter")
        t.press("n200\n")
        t.wait_for(shows(f"process {self.batch.pid}: priority 200"), "the answer")
        t.wait_for(lambda lines: row_of(lines, self.batch.pid).get("PRI") == "200", "the priority")
        t.press("+")
        t.wait_for(lambda lines: row_of(lines, self.batch.pid).get("PRI") == "201", "the raised priority")
        t.press("n999\n")
        t.wait_for(shows("a priority is -255 to 255"), "the refusal")
        t.press("/\x1b")
        t.wait_for(lambda lines: row_of(lines, self.online.pid).get("STATE") == "waiting", "the other one waiting")

        # queues, policy, suspension
        t.press("t")
        t.wait_for(lambda lines: sum("queue 0x" in line for line in lines) == 3, "the queues")
        t.press("t")
        t.press("Pcfs\n")
        t.wait_for(lambda lines: lines[0].startswith("CFS"), "the policy")
        t.press("Pnonsense\n")
        t.wait_for(shows("there is no policy 'nonsense'"), "the refusal")
        t.press("/batch\n ")
        t.wait_for(lambda lines: row_of(lines, self.batch.pid).get("STATE") == "suspended" and
                   re.search(r"1 running, 0 waiting, 2 suspended", lines[0]), "the suspended program, and its queues among the sums")
        t.press(" ")
        t.wait_for(lambda lines: row_of(lines, self.batch.pid).get("STATE") in ("running", "waiting"), "the resumed program")
        t.press("/\x1b")

        # order
        t.press("ssss")
        t.wait_for(shows("s Sort: pid"), "the order")
        t.wait_for(lambda lines: [int(x.split()[0]) for x in lines if re.match(r" *\d+ ", x)] ==
                   sorted([self.batch.pid, self.online.pid]), "both in order")
        t.press("r")
        t.wait_for(lambda lines: [int(x.split()[0]) for x in lines if re.match(r" *\d+ ", x)] ==
                   sorted([self.batch.pid, self.online.pid], reverse=True), "the other order")
        t.press("h")
        t.wait_for(shows("preemption level in force"), "the help")
        t.press("x")

        # a program leaves while it is shown and chosen
        t.press("\x1bOB")
        self.batch.leave()
        t.wait_for(shows_not("batch-training"), "the program gone")
        t.wait_for(lambda lines: row_of(lines, self.online.pid).get("STATE") == "running", "the other one running")
        self.quit(t)

    def test_all_about_one(self):
        """Enter on a row: why the program waits, its waits, memory and queues; Escape and q lead back."""
        self.batch.tell(f"memory {3 << 29} {8 << 30}")
        self.batch.tell("work 0 90")
        self.online.tell("work 0 90")
        t = self.terminal(110, 24, "--sort", "pid")
        t.wait_for(lambda lines: cells_of(lines, self.batch.pid, "STATE", "MEM") == ("waiting", "1.5/8.0G") and
                   row_of(lines, self.online.pid).get("MEM") == "-", "both rows")
        if self.online.pid < self.batch.pid:
            t.press("\x1bOB")
        t.press("\n")

        def told(name):
            return lambda lines: next((x[13:] for x in lines if x.startswith(name)), "")

        def waits(lines):
            return (told("Process")(lines).startswith(f"{self.batch.pid}, of user ") and
                    told("Command")(lines).startswith("batch-training ") and
                    told("State")(lines) == f"waiting: a more important program has work: process {self.online.pid}" and
                    told("Memory")(lines) == "1.5/8.0G, of its limit" and told("Queues")(lines) == "2" and
                    re.match(r"[1-9]\d* % of the last interval, .* preempted [1-9]", told("Waits")(lines)) and
                    sum(bool(re.match(r"0x[0-9a-f]+ ", x)) for x in lines) == 2)
        t.wait_for(waits, "all about it")
        t.press("h")
        t.wait_for(shows("device memory in use, of its limit"), "the help")
        t.press("h")
        t.wait_for(waits, "the program again")
        # the keys act on it
        t.press("Pfifo\n")
        t.wait_for(shows("there is no policy 'fifo'"), "the refusal")
        t.press("n20\n")
        t.wait_for(lambda lines: told("Priority")(lines).startswith("20;") and told("State")(lines).startswith("running:"),
                   "the new priority")
        t.press(" ")
        t.wait_for(lambda lines: told("State")(lines) == "suspended: by a user, until it is resumed", "the suspension")
        self.stage.xcli("resume", str(self.batch.pid))
        self.stage.xcli("suspend", str(self.batch.pid), "--for", "1h")
        t.wait_for(lambda lines: re.match(r"suspended: by a user, for another (0h59|1h00)$", told("State")(lines)), "its end")
        t.press(" n-256\n")
        t.wait_for(lambda lines: told("State")(lines) == "waiting: a program of priority -256 never runs", "the reason")
        self.batch.tell("rest")
        t.wait_for(lambda lines: told("State")(lines) == "idle: it has no work", "no work")
        for back in ("q", "\x1b", "\n"):
            t.press(back)
            t.wait_for(lambda lines: row_of(lines, self.online.pid).get("STATE") == "running", "the table")
            t.press("\n")
            t.wait_for(lambda lines: told("Process")(lines).startswith(str(self.batch.pid)), "the program")
        # more queues than lines
        for cell in range(1, 16):
            if cell != 3:
                self.batch.tell(f"queue {cell} {GPU} 1")
        last = lambda lines: [x for x in lines if re.match(r"0x[0-9a-f]+ ", x)][-1:]  # noqa: E731
        t.resize(110, 14)
        before = t.wait_for(lambda lines: told("Queues")(lines) == "16" and last(lines), "the queues")
        t.press("\x1b[9;5u")     # no key that it knows
        t.press("\x1bOB")
        t.wait_for(lambda lines: last(lines) and last(lines) != last(before), "the next line")
        t.press("\x1bOF")
        t.wait_for(lambda lines: len([x for x in lines if re.match(r"0x[0-9a-f]+ ", x)]) > 8, "the end")
        t.press("\x1bOH")
        t.wait_for(told("Process"), "the beginning")
        # it leaves: nothing else gets its keys
        self.batch.leave()
        t.wait_for(shows(f"process {self.batch.pid} has left"), "that it has left")
        t.press("+")
        t.wait_for(shows("there is no program to change"), "that nothing changes")
        t.press("q")
        t.wait_for(lambda lines: cells_of(lines, self.online.pid, "STATE", "PRI") == ("running", "10"), "the table")
        self.quit(t)

    def test_sizes(self):
        self.batch.tell("work 0 90")
        self.online.tell("work 0 90")
        t = self.terminal(20, 6)
        for columns, rows in ((20, 6), (200, 50), (80, 24), (40, 10), (20, 3), (10, 2), (1, 1), (60, 15)):
            t.resize(columns, rows)
            for _ in range(2):  # all about one program, and back
                t.press("\n")
                self.assertTrue(t.read(0.1))
            if columns >= 20 and rows >= 6:
                t.wait_for(lambda lines: row_of(lines, self.batch.pid).get("STATE") == "waiting" and
                           row_of(lines, self.online.pid).get("PRI") == "10", f"the rows at {columns} columns")
            else:
                self.assertTrue(t.read(0.3))
        self.quit(t)

    def test_the_server_leaves_and_comes_back(self):
        t = self.terminal(80, 24)
        t.wait_for(shows("batch-training"), "the program")
        self.stage.xcli("list")
        self.stage.server.terminate()
        self.stage.server.wait()
        t.wait_for(shows("no xserver answers"), "that there is no server")
        other = Stage.__new__(Stage)
        other.__dict__.update(self.stage.__dict__)
        import subprocess
        self.stage.server = subprocess.Popen([f"{BUILD}/bin/xserver", "--socket", self.stage.socket, "--port", "0"],
                                             env=self.stage.environment, stderr=subprocess.DEVNULL)
        t.wait_for(shows("0 programs"), "the new server")
        t.press("+")
        t.wait_for(shows("there is no program to change"), "that nobody is there")
        self.quit(t)

    def test_plain_text(self):
        self.batch.tell("work 0 90")
        out = []

        def looked():   # where this machine has no time for the program meanwhile, its share is small
            out[:] = self.stage.xcli("top", "--once", "-f", "5", "--queues").stdout.splitlines()
            return number_of(out, self.batch.pid, "DEV%") > 20
        until(looked, "a share")
        self.assertEqual(sum("queue 0x" in line for line in out), 3)
        self.assertEqual(len([line for line in out if "PID" in line]), 1)
        out = self.stage.xcli("top", "-n", "1", "--filter", "ONLINE", "--sort", "pid").stdout
        self.assertIn("online-service", out)
        self.assertNotIn("batch-training", out)
        # plain on a terminal too: the picture stays there when it ended by itself
        t = self.terminal(120, 20, "-b", "-n", "1")
        status, t.pid = t.end(), 0
        self.assertEqual(status, 0)
        self.assertTrue(any("online-service" in line for line in t.lines()), t.lines())
        for wrong in (("--sort", "nothing"), ("--filter", "x" * 64), ("-f", "0")):
            self.assertEqual(self.stage.xcli("top", *wrong, check=False).returncode, 64)
        self.stage.environment["XSCHED_SOCKET"] = "/nonexistent/xserver.sock"
        gone = self.stage.xcli("top", "--once", check=False)
        self.assertEqual(gone.returncode, 2)
        self.assertTrue(gone.stderr.startswith("xcli: no xserver answers:\n  /nonexistent/xserver.sock: "), gone.stderr)
        # a socket that is not xserver's
        import os
        import socket
        import threading
        path = os.path.join(self.stage.folder, "other")
        os.mkdir(path)
        s = socket.socket(socket.AF_UNIX)
        s.bind(path + "/http.sock")
        s.listen(8)

        def answer():
            for _ in range(2):
                c = s.accept()[0]
                c.recv(65536)
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                c.close()
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        self.stage.environment["XSCHED_SOCKET"] = path + "/xserver.sock"  # xcli asks over that one
        none = self.stage.xcli("top", "--once", check=False)
        self.assertEqual(none.returncode, 2)
        self.assertIn("xserver.sock: nothing is there", none.stderr)
        self.stage.environment["XSCHED_SOCKET"] = path + "/http.sock"
        other = self.stage.xcli("top", "--once", check=False)
        s.close()
        self.assertEqual(other.returncode, 1)
        self.assertIn("the answer is no JSON object", other.stderr)


if __name__ == "__main__":
    until(lambda: True)
    unittest.main()
