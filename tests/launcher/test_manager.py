# SPDX-License-Identifier: Apache-2.0
"""xsched run starts xserver through the user's service manager, and without it where the manager refuses or hangs."""
import os
import socket
import unittest

from layout import Layout


class Manager(Layout):
    server = True

    def with_systemd(self, script):
        """A user's manager that is there, and a systemd-run that is this script."""
        os.makedirs(os.path.join(self.runtime, "systemd"))
        manager = socket.socket(socket.AF_UNIX)
        self.addCleanup(manager.close)
        manager.bind(os.path.join(self.runtime, "systemd", "private"))
        tools = os.path.join(self.top, "tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "systemd-run"), "w") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(os.path.join(tools, "systemd-run"), 0o755)
        return {"PATH": f"{tools}:{os.environ['PATH']}"}

    def test_server_has_a_scope_of_its_own(self):
        asked = os.path.join(self.top, "asked")
        path = self.with_systemd(f'echo "$@" >{asked}; while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
        done = self.xsched("run", "--", "true", env=path)
        self.assertIn("xsched started one for this user", done.stderr)
        pid, = self.servers()
        self.assertIn(f"pid {pid},", done.stderr)
        with open(asked) as f:
            words = f.read().split()
        self.assertEqual(words[:2], ["--user", "--scope"])
        self.assertIn("--log-max-kib", words)
        with open(os.path.join(self.folder, "xserver.log")) as f:  # the server may write it after the launcher has gone on
            self.wait_for(lambda: f.seek(0) == 0 and "policy HPF" in f.read())

    def test_a_manager_that_refuses_is_no_reason(self):
        done = self.xsched("run", "--", "true", env=self.with_systemd("exit 1\n"))
        self.assertIn("xsched started one for this user", done.stderr)
        self.assertEqual(len(self.servers()), 1)

    def test_a_manager_that_hangs_is_no_reason(self):
        done = self.xsched("run", "--", "true", env=self.with_systemd("exec sleep 60\n"))
        self.assertIn("xsched started one for this user", done.stderr)
        self.assertEqual(len(self.servers()), 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
