#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The status page under axe-core, light, dark and narrow: no rule is broken. A page that breaks one is found.

axe-core comes with the Python package axe-playwright-python, of which pip takes the file alone. Exit status 77: no pip, no
network or no Chromium."""
import glob
import subprocess
import sys
import tempfile
import zipfile

import browser
from stage import Stage

PACKAGE = "axe-playwright-python"
LOOKS = (("light", 1100, 760, False), ("dark", 1100, 760, True), ("narrow", 390, 844, False))
ASK = "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')))"


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def axe_core():
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE],
                           capture_output=True, text=True)
        files = glob.glob(f"{folder}/*.whl")
        if p.returncode or not files:
            skip("pip brings no " + PACKAGE)
        with zipfile.ZipFile(files[0]) as z:
            return z.read("axe_playwright_python/axe.min.js").decode()


def broken(b):
    return b.ask("Runtime.evaluate", expression=ASK, awaitPromise=True, returnByValue=True)["result"]["value"]


def main():
    if not browser.path():
        skip("no chromium")
    axe, bad = axe_core(), []
    stage = Stage()
    try:
        for name, priority in (("python3 serve.py", 20), ("python3 train.py", 0)):
            actor = stage.actor(name)
            actor.tell(f"queue 0 200003b00 {priority}")
            actor.tell("work 0 50")
        b = browser.Browser(f"http://127.0.0.1:{stage.port}/", 1100, 760)
        b.wait_for("document.querySelectorAll('#programs tr').length == 2")
        b.ask("Runtime.evaluate", expression=axe)
        for name, width, height, dark in LOOKS:
            b.look(width, height, dark)
            b.wait_for(f"innerWidth == {width}")
            bad += [f"{name}: {line}" for line in broken(b)]
        b.value("document.querySelector('main').append(document.createElement('img'), document.createElement('button')), 0")
        wrong = [line.split(":")[0] for line in broken(b)]
        if not {"image-alt", "button-name"} <= set(wrong):
            bad.append(f"an image and a button without names were not found, but {wrong}")
        print("axe-core", b.value("axe.version"), "-", len(bad), "findings")
        b.close()
    finally:
        stage.close()
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
