#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""xcli --host: the servers of several hosts (ports of this one), one of which is not there."""
import json
import os
import socket
import unittest

from stage import Stage

GPU = "200003b00"


class Hosts(unittest.TestCase):
    def setUp(self):
        self.stages = [Stage() for _ in range(2)]
        for stage in self.stages:
            self.addCleanup(stage.close)
            stage.actor("program").tell(f"queue 0 {GPU} 1")
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.dead = f"127.0.0.1:{unused.getsockname()[1]}"
        self.names = [f"127.0.0.1:{stage.port}" for stage in self.stages]

    def ask(self, hosts, *arguments):
        return self.stages[0].xcli("--host", ",".join(hosts), *arguments, check=False)

    def test_each_answers_for_itself(self):
        hosts = [self.names[0], self.dead, self.names[1]]
        said = self.ask(hosts, "list", "--json")
        answers = json.loads(said.stdout)
        self.assertEqual(list(answers), hosts)
        self.assertIsNone(answers[self.dead])
        self.assertEqual(said.returncode, 2)
        self.assertIn(self.dead, said.stderr)
        for name, stage in zip(self.names, self.stages):
            self.assertIn("xqueues", answers[name])
            self.assertEqual(answers[name], json.loads(stage.xcli("-p", str(stage.port), "--json", "list").stdout))

    def test_as_text_in_their_order(self):
        said = self.ask([self.names[1], self.names[0]], "status")
        self.assertEqual(said.returncode, 0, said.stderr)
        lines = said.stdout.splitlines()
        self.assertEqual([line for line in lines if line.startswith("127.")], [f"{self.names[1]}:", f"{self.names[0]}:"])
        self.assertEqual(sum("HPF" in line for line in lines), 2)

    def test_many(self):
        said = self.ask(self.names * 40, "--json", "policy", "-q")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(json.loads(said.stdout)[self.names[0]]["name"], "HPF")

    def test_wrong_ones(self):
        for hosts in (["a/b"], ["a b"], [""], [self.names[0], "x@y"]):
            self.assertEqual(self.ask(hosts, "list").returncode, 64, hosts)
        said = self.ask(["127.0.0.1:0"], "list")
        self.assertEqual((said.returncode, said.stdout.strip()), (64, "127.0.0.1:0: no answer"))
        self.assertEqual(self.ask(self.names, "suspend", str(os.getpid())).returncode, 64)
        self.assertEqual(self.ask(self.names, "top", "--once").returncode, 64)


if __name__ == "__main__":
    unittest.main()
