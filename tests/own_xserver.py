# SPDX-License-Identifier: Apache-2.0
"""An xserver of a test's own."""
import contextlib
import os
import subprocess
import tempfile
import time


def wait_for(server, socket):
    """Returns when the server has made its socket."""
    until = time.monotonic() + 20
    while not os.path.exists(socket):
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError("xserver does not start")
        time.sleep(0.02)


@contextlib.contextmanager
def xserver(program, env, *arguments):
    """Its socket, for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "s")
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            with subprocess.Popen([program, "--no-http", f"--socket={socket}", *arguments], stdout=log, stderr=log,
                                  env=env) as server:
                try:
                    wait_for(server, socket)
                    yield socket
                finally:
                    server.terminate()
