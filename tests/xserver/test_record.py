#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""xsched record: what happened is in the file, in both formats, whatever ends the recording."""
import json
import os
import re
import resource
import signal
import stat
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

import check_trace
from stage import BUILD, PATIENCE, Stage, until

GPU = "200003b00"


class Record(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)
        self.file = os.path.join(self.stage.folder, "trace")
        self.batch = self.stage.actor("batch-training")
        self.batch.tell(f"queue 0 {GPU} 1")

    def begin(self, *arguments, **kwargs):
        """The server keeps events when this returns."""
        before = json.loads(self.stage.xcli("--json", "status").stdout)["requests"]
        p = subprocess.Popen([f"{BUILD}/bin/xsched", "record", "-o", self.file, *arguments], env=self.stage.environment,
                             stderr=subprocess.PIPE, text=True, **kwargs)
        self.addCleanup(p.stderr.close)
        looks = 0

        def asked():
            nonlocal looks
            looks += 1
            return json.loads(self.stage.xcli("--json", "status").stdout)["requests"] - looks - before >= 4
        until(asked, "the recording")
        return p

    def finish(self, p, signo=signal.SIGINT):
        p.send_signal(signo)
        return p.wait(PATIENCE)

    def trace(self):
        with open(self.file, encoding="utf-8") as f:
            trace = json.load(f)
        self.assertEqual(check_trace.judge(trace), [])
        return trace["traceEvents"]

    def scene(self):
        """The batch program runs, is preempted by one that comes and goes, and runs again."""
        self.batch.tell("submit 0")
        online = self.stage.actor("online-service")
        online.tell(f"queue 0 {GPU} 10")
        time.sleep(0.02)
        online.tell("submit 0")
        time.sleep(0.05)
        online.tell("complete 0")
        time.sleep(0.05)
        online.leave()
        self.stage.xcli("hint", "--pid", str(self.batch.pid), "-p", "3")
        self.stage.xcli("policy", "-s", "-n", "CFS")
        return online

    def test_who_ran_and_who_was_preempted(self):
        self.online = self.stage.actor("second")
        self.online.tell(f"queue 0 {GPU} 1")  # two programs: submits are heard
        p = self.begin()
        online = self.scene()
        self.assertEqual(self.finish(p), 0)
        events = self.trace()
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertTrue(names[self.batch.pid].startswith("batch-training"))
        self.assertTrue(names[online.pid].startswith("online-service"))
        slices = [(e["name"], e["ts"], e["ts"] + e["dur"], e["args"]["priority"]) for e in events
                  if e["ph"] == "X" and e["pid"] == self.batch.pid]
        self.assertEqual([s[0] for s in slices[:3]], ["run", "preempted", "run"])
        self.assertEqual([s[3] for s in slices], [1, 1, 1, 3])
        whys = [e["args"].get("why") for e in events if e["ph"] == "X" and e["pid"] == self.batch.pid]
        self.assertEqual(whys[:3], [None, "rank", None])
        urgent = [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["pid"] == online.pid]
        self.assertEqual([s[0] for s in urgent], ["run"])
        self.assertGreater(urgent[0][2] - urgent[0][1], 45000)
        # the one was held while the other ran, but for the moments of deciding
        self.assertLess(abs(slices[1][1] - urgent[0][1]), 20000)
        self.assertGreater(slices[1][2], urgent[0][2] - 1)
        self.assertEqual([e["pid"] for e in events if e["name"] == "preempt"], [self.batch.pid])
        self.assertEqual([e["name"] for e in events if e["name"].startswith("policy ")], ["policy HPF", "policy CFS"])

    def test_devices_have_tracks(self):
        """Who had the device, by name; that is where the slices of queues say that they ran."""
        other = self.stage.actor("second")
        other.tell(f"queue 0 {GPU} 1")  # two programs: submits are heard
        p = self.begin()
        online = self.scene()
        self.assertEqual(self.finish(p), 0)
        self.assertIn("open at ui.perfetto.dev", p.stderr.read())
        events = self.trace()
        device, = [e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"] == "GPU 0000:3b:00.0"]
        slices = [e for e in events if e["ph"] == "X" and e["pid"] == device]
        batch, urgent = (re.compile(rf"(^| \+ ).*\({a.pid}\)") for a in (self.batch, online))
        self.assertTrue(any(batch.search(e["name"]) for e in slices), slices)
        for actor, name in ((self.batch, batch), (online, urgent)):
            ran = sum(e["dur"] for e in events if e["ph"] == "X" and e["pid"] == actor.pid and e["name"] == "run")
            had = sum(e["dur"] for e in slices if name.search(e["name"]))
            self.assertGreater(ran, 0)
            self.assertAlmostEqual(had, ran, delta=1)
        names = [e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == self.batch.pid]
        self.assertEqual([n.endswith(" on GPU 0000:3b:00.0") for n in names], [True])

    def test_pictures(self):
        """By the file's ending, and where the format is given, whatever the ending."""
        other = self.stage.actor("second & <third>")
        other.tell(f"queue 0 {GPU} 1")
        for name, more, begins in (("who.svg", (), "<svg "), ("who.HTML", (), "<!DOCTYPE html>"),
                                   ("who.json", ("-f", "svg"), "<svg "), ("both.svg", ("--format=chrome",), "{")):
            self.file = os.path.join(self.stage.folder, name)
            p = self.begin(*more)
            self.batch.tell("submit 0")
            other.tell("submit 0")
            self.stage.xcli("suspend", str(self.batch.pid))
            time.sleep(0.1)
            self.stage.xcli("resume", str(self.batch.pid))
            other.tell("complete 0")
            self.assertEqual(self.finish(p), 0)
            self.assertIn("ui.perfetto.dev" if begins == "{" else "any browser shows it", p.stderr.read())
            with open(self.file, encoding="utf-8") as f:
                text = f.read()
            self.assertTrue(text.startswith(begins), (name, text[:40]))
            if begins == "{":
                continue
            svg = re.search(r"<svg.*</svg>", text, re.S)[0]
            texts = ["".join(t.itertext()) for t in xml.etree.ElementTree.fromstring(svg).iter()]
            for says in (r"batch-training ", r"second & <third> ", rf"PID {self.batch.pid}, priority 1\b", "GPU 0000:3b:00.0",
                         r"queue 0x.* suspended "):
                self.assertTrue([t for t in texts if re.match(says, t)], (says, texts))

    def test_a_name_where_none_is_given(self):
        for more, name in ((("-f", "svg"), "xsched-trace.svg"), (("--format=html",), "xsched-trace.html"), ((), "xsched-trace.json")):
            folder = tempfile.mkdtemp(dir=self.stage.folder)
            subprocess.run([f"{BUILD}/bin/xsched", "record", "-q", "-d", "200ms", *more], cwd=folder, env=self.stage.environment,
                           check=True, timeout=PATIENCE)
            self.assertEqual(os.listdir(folder), [name])

    def test_a_suspended_program_does_not_run(self):
        self.batch.tell("work 0 90")
        before = time.time_ns()
        p = self.begin()
        self.stage.xcli("suspend", str(self.batch.pid))
        time.sleep(0.3)
        self.stage.xcli("resume", str(self.batch.pid))
        time.sleep(0.1)
        self.assertEqual(self.finish(p), 0)
        with open(self.file, encoding="utf-8") as f:
            trace = json.load(f)
        slices = [e for e in self.trace() if e["ph"] == "X" and e["pid"] == self.batch.pid]
        self.assertEqual([e["name"] for e in slices], ["run", "suspended", "run"])
        self.assertGreater(slices[1]["dur"], 250000)
        self.assertEqual([e for e in trace["traceEvents"] if e["name"] == "preempt"], [])
        # the clock is the wall's, from the base that torch.profiler has
        base = trace["baseTimeNanoseconds"]
        self.assertEqual(base % (7889238 * 10**9), 0)
        begun, ended = base + slices[0]["ts"] * 1000, base + (slices[2]["ts"] + slices[2]["dur"]) * 1000
        self.assertGreater(begun, before)
        self.assertLess(ended, time.time_ns())

    def test_shares_of_device_time(self):
        self.batch.tell("work 0 80")
        p = self.begin("--for", "2000ms")
        self.assertEqual(p.wait(PATIENCE), 0)
        shares = [e["args"]["percent"] for e in self.trace() if e["ph"] == "C" and e["pid"] == self.batch.pid]
        self.assertGreater(len(shares), 2)
        self.assertGreater(max(shares), 40)

    def test_the_replay_agrees(self):
        other = self.stage.actor("second")
        other.tell(f"queue 0 {GPU} 1")
        p = self.begin("--format", "replay")
        self.scene()
        self.assertEqual(self.finish(p, signal.SIGTERM), 0)
        with open(self.file, encoding="utf-8") as f:
            text = f.read()
        # up to the change of the policy, whose first decision depends on what had been charged
        text = re.sub(r"\n\d+ policy CFS\n.*", r"\n", text, flags=re.S)
        decided = re.findall(r"^# decided: (\d+) (q\d+) (run|hold)$", text, re.M)
        replayed = subprocess.run([f"{BUILD}/bin/xsched-replay", "-"], input=text, capture_output=True, text=True)
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        batch = re.search(rf"queue (q\d+) process=p{self.batch.pid} ", text)[1]
        self.assertEqual([d[1:] for d in decided if d[1] == batch][:2], [(batch, "hold"), (batch, "run")])
        self.assertEqual([line.split()[1:] for line in replayed.stdout.splitlines() if batch in line.split()][:2],
                         [[batch, "hold"], [batch, "run"]])

    def test_with_a_program(self):
        done = subprocess.run([f"{BUILD}/bin/xsched", "record", "-o", self.file, "--", "sh", "-c", "sleep 0.5; exit 7"],
                              env=self.stage.environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("entries", done.stderr)
        self.trace()

    def test_signals_end_it(self):
        for signo in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            self.assertEqual(self.finish(self.begin(), signo), 0, signo)
            self.trace()

    def test_what_a_shell_ignores(self):
        """In the background of a script, under nohup: SIGINT ends it all the same."""
        def ignore():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        p = self.begin(preexec_fn=ignore)
        with open(f"/proc/{p.pid}/status", encoding="utf-8") as f:
            ignored = int(re.search(r"^SigIgn:\s*(\w+)$", f.read(), re.M)[1], 16)
        self.assertEqual(ignored & 3, 1)
        self.assertEqual(self.finish(p), 0)
        self.trace()

    def test_the_server_ends(self):
        self.batch.tell("work 0 80")
        p = self.begin()
        self.stage.server.terminate()
        self.stage.server.wait()
        self.assertEqual(p.wait(PATIENCE), 0)
        self.assertIn("does not answer any more", p.stderr.read())
        self.assertTrue([e for e in self.trace() if e["ph"] == "X" and e["pid"] == self.batch.pid])

    def test_an_end_by_size(self):
        p = subprocess.run([f"{BUILD}/bin/xsched", "record", "-o", self.file, "--max-events", "1"],
                           env=self.stage.environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(p.returncode, 0)
        self.assertIn("--max-events", p.stderr)
        self.trace()

    def test_wrong_use(self):
        def run(*arguments, **environment):
            return subprocess.run([f"{BUILD}/bin/xsched", "record", *arguments], capture_output=True, text=True,
                                  env={**self.stage.environment, **environment}, timeout=PATIENCE)
        for wrong in (("-d", "0"), ("-d", "x"), ("--format", "x"), ("--format", ""), ("--max-events", "0"), ("--nonsense",)):
            self.assertEqual(run("-o", self.file, *wrong).returncode, 64, wrong)
        gone = run("-o", self.file, XSCHED_SOCKET="/nonexistent/xserver.sock")
        self.assertEqual(gone.returncode, 2)
        self.assertIn("no xserver answers", gone.stderr)
        self.assertFalse(os.path.exists(self.file))
        self.assertEqual(run("-o", "/nonexistent/trace", "-d", "1").returncode, 1)

    def test_without_a_server_all_files_stay(self):
        earlier, link, fifo = (os.path.join(self.stage.folder, name) for name in ("earlier", "link", "fifo"))
        with open(earlier, "w", encoding="utf-8") as f:
            f.write("a recording")
        os.symlink(earlier, link)
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDWR)
        self.addCleanup(os.close, reader)
        for file in (earlier, link, fifo):
            done = subprocess.run([f"{BUILD}/bin/xsched", "record", "-o", file], capture_output=True, text=True,
                                  env={**self.stage.environment, "XSCHED_SOCKET": "/nonexistent/xserver.sock"},
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertTrue(os.path.islink(link))
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))
        with open(earlier, encoding="utf-8") as f:
            self.assertEqual(f.read(), "a recording")

    def test_into_what_is_no_file(self):
        fifo = os.path.join(self.stage.folder, "fifo")
        os.mkfifo(fifo)
        for name in (fifo, "/dev/stdout"):
            p = subprocess.Popen([f"{BUILD}/bin/xsched", "record", "-q", "-d", "300ms", "-o", name],
                                 env=self.stage.environment, stdout=subprocess.PIPE, text=True)
            self.addCleanup(p.stdout.close)
            with open(fifo, encoding="utf-8") if name == fifo else p.stdout as f:
                trace = json.load(f)
            self.assertEqual(p.wait(PATIENCE), 0)
            self.assertEqual(check_trace.judge(trace), [])
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))

    def unwritten(self, file, **kwargs):
        done = subprocess.run([f"{BUILD}/bin/xsched", "record", "-d", "300ms", "-o", file], env=self.stage.environment,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE, **kwargs)
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_a_full_disk(self):
        self.assertEqual(self.unwritten("/dev/full"), "xsched: cannot write /dev/full: No space left on device\n")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        self.assertEqual(self.unwritten(self.file, preexec_fn=limit), f"xsched: cannot write {self.file}: File too large\n")
        self.assertFalse(os.path.exists(self.file))
        with open(self.file, "w", encoding="utf-8"):
            pass
        self.unwritten(self.file, preexec_fn=limit)
        self.assertTrue(os.path.exists(self.file), "it was there before")

    def test_a_full_disk_and_a_program(self):
        done = subprocess.run([f"{BUILD}/bin/xsched", "record", "-d", "300ms", "-o", "/dev/full", "--", "sh", "-c",
                               "sleep 1; echo ran"], env=self.stage.environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (1, "ran\n"))
        self.assertIn("No space left", done.stderr)

    def test_a_reader_that_ends(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        self.assertEqual(self.unwritten("/dev/stdout", stdout=writer), "xsched: cannot write /dev/stdout: Broken pipe\n")

    def test_a_time_that_is_over_before_the_program(self):
        p = subprocess.Popen([f"{BUILD}/bin/xsched", "record", "-d", "300ms", "-o", self.file, "--", "cat"],
                             env=self.stage.environment, stdin=subprocess.PIPE, text=True)
        self.addCleanup(p.wait)
        self.addCleanup(p.stdin.close)

        def whole():
            try:
                return self.trace()
            except (OSError, json.JSONDecodeError):
                return None
        until(whole, "the end of the file")
        self.assertIsNone(p.poll())
        p.stdin.close()
        self.assertEqual(p.wait(PATIENCE), 0)

    def test_nobody_else_is_kept_busy(self):
        """The ring is given back when nobody asks."""
        answer = json.loads(self.stage.get("/timeline").read())
        self.assertEqual(answer["events"], [])
        self.assertEqual(answer["next"], answer["end"])


if __name__ == "__main__":
    unittest.main()
