#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose device memory does not fit together, on the fake driver: by hand, by xserver's plan, and when xserver goes."""
import json
import os
import random
import re
import signal
import subprocess
import time
import unittest

from stage import BUILD, PATIENCE, Stage, until

CARD_MIB, MODEL_MIB = 320, 192      # two models do not fit


class Model:
    """swap_client: so much memory, each word of which it knows."""

    def __init__(self, stage, priority, mib=MODEL_MIB, swap=True):
        fakes = f"{BUILD}/tests/fakes/cuda/driver"
        environment = {**stage.environment, "LD_LIBRARY_PATH": fakes, "FAKE_CUDA_MEMORY": str(CARD_MIB),
                       "FAKE_CUDA_SHARED": os.path.join(stage.folder, "card"),
                       "LD_PRELOAD": f"{BUILD}/lib/xsched/libshimcuda.so", "XSCHED_PRIORITY": str(priority),
                       "XSCHED_SWAP": "ON" if swap else "OFF"}
        self.process = subprocess.Popen([f"{BUILD}/tests/gpu/swap_client", str(mib)], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        self.pid = self.process.pid

    def begun(self):
        text = self.process.stdout.readline()
        assert text, "the program ended"
        return json.loads(text)

    def tell(self, what):
        self.process.stdin.write(what + "\n")

    def ask(self, what):
        self.tell(what)
        return self.begun()

    def right(self):
        return self.ask("check")["wrong_words"] == 0

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(PATIENCE)
        self.process.stdout.close()


class Swap(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)

    def model(self, *arguments, **more):
        m = Model(self.stage, *arguments, **more)
        self.addCleanup(m.end)
        return m

    def state(self, model):
        clients = json.loads(self.stage.get("/clients").read())["clients"]
        found = [c for c in clients if c["pid"] == model.pid]
        return found[0]["swap"]["state"] if found and "swap" in found[0] else None

    def metrics(self, model):
        found = re.findall(r"^xsched_process_(\w+)\{pid=\"%d\".*\} (\d+)$" % model.pid, self.stage.get("/metrics").read().decode(), re.M)
        return {name: int(value) for name, value in found if name.startswith(("swap", "movable"))}

    def swap(self, way, model, check=True):
        return self.stage.xcli("swap", way, str(model.pid), check=check)

    def test_by_hand(self):
        one = self.model(1)
        one.begun()
        self.assertRegex(self.swap("out", one).stdout, r"^Memory of process \d+ is out \(0\.19 GiB\)$")
        self.assertEqual(self.state(one), "out")
        one.tell("step")
        time.sleep(0.3)
        self.assertEqual(self.state(one), "out")               # by hand: until somebody brings it back
        listed = self.stage.xcli("list").stdout
        self.assertIn("swapped out", listed)
        self.assertEqual(self.metrics(one), {"movable_bytes": MODEL_MIB << 20, "swapped_out": 1, "swaps_total": 1,
                                             "swapped_bytes_total": MODEL_MIB << 20})
        again = self.swap("out", one)
        self.assertEqual(again.returncode, 0, again.stderr)     # it is out already
        self.swap("in", one)
        self.assertIn("steps", one.begun())
        self.assertTrue(one.right())
        self.assertEqual(self.state(one), "in")

    def test_two_models_take_turns(self):
        """The second one's allocation makes the first one, idle, go out; each comes back when it has work."""
        low = self.model(1)
        low.begun()
        high = self.model(9)
        high.begun()
        self.assertEqual((self.state(low), self.state(high)), ("out", "in"))
        for _ in range(2):
            low.tell("step")                                   # the important one is idle: after its patience it goes
            self.assertIn("steps", low.begun())
            self.assertEqual(self.state(high), "out")
            begin = time.monotonic()
            self.assertIn("steps", high.ask("step"))           # at once
            self.assertLess(time.monotonic() - begin, 20)
            self.assertEqual(self.state(low), "out")
        self.assertTrue(high.right())
        self.assertTrue(low.right())

    def test_many(self, rounds=10):
        """Four models, of which two fit, with work at random; one is killed, xserver too, and another one takes its place."""
        rng = random.Random(5)
        models = []
        for _ in range(4):                                     # one after the other: a start beside others that work may be refused
            models.append(self.model(rng.randrange(3), mib=128))
            self.assertIn("ready", models[-1].begun())
        for n in range(rounds):
            busy = rng.sample(models, rng.randrange(1, len(models) + 1))
            for m in busy:
                m.tell(rng.choice(("step", "check", "info")))
            if n == rounds // 3:
                self.stage.server.send_signal(signal.SIGKILL)
                self.stage.server.wait()
                self.stage.start()
            if n == rounds // 2:
                models[3].process.kill()
                models[3].process.wait()
                busy = [m for m in busy if m is not models[3]]
                del models[3]
            for m in busy:
                self.assertEqual(m.begun().get("wrong_words", 0), 0)
        for m in models:
            self.assertTrue(m.right())

    def test_no_room(self):
        """A program that works and is more important stays; the other one's allocation fails as it would natively."""
        first = self.model(9, swap=False)
        first.begun()
        second = self.model(1)
        answer = second.begun()
        self.assertEqual(answer["code"], 2)
        self.assertTrue(first.right())

    def test_refusals(self):
        plain = self.model(1, mib=8, swap=False)
        plain.begun()
        answer = self.swap("out", plain, check=False)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("--swap", answer.stderr)
        answer = self.stage.xcli("swap", "out", "1", check=False)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("no joined process", answer.stderr)
        for wrong in (["swap"], ["swap", "out"], ["swap", "sideways", "1"], ["swap", "out", "x"], ["swap", "in", "1", "2"]):
            self.assertEqual(self.stage.xcli(*wrong, check=False).returncode, 64, wrong)

    def test_xserver_goes(self):
        """Nobody would bring the memory back: the program does."""
        one = self.model(1)
        one.begun()
        self.swap("out", one)
        one.tell("check")
        time.sleep(0.2)
        os.kill(self.stage.server.pid, signal.SIGKILL)
        self.assertEqual(one.begun()["wrong_words"], 0)
        self.assertIn("steps", one.ask("step"))
        self.stage.server.wait()
        self.stage.server = subprocess.Popen(["true"])

    def test_a_program_ends_while_out(self):
        one = self.model(1)
        one.begun()
        self.swap("out", one)
        os.kill(one.pid, signal.SIGKILL)
        one.process.wait()
        until(lambda: self.state(one) is None, "it is gone")
        two = self.model(1)
        two.begun()
        self.assertTrue(two.right())


if __name__ == "__main__":
    unittest.main()
