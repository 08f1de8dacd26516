# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, told what to do over a pipe (its DevTools protocol)."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def path():
    return shutil.which("chromium") or shutil.which("chromium-browser")


ANSWER_S = 60  # the longest wait for an answer
STARTS = 3     # one that answers nothing is not what is tested


class Silent(AssertionError):
    """The browser did not answer in time."""


class Browser:
    def __init__(self, url, width=1000, height=500):
        for left in reversed(range(STARTS)):
            self.start(width, height)
            try:
                target = self.ask("Target.createTarget", url="about:blank")["targetId"]
                self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
                for domain in ("Runtime", "Log", "Page", "Accessibility"):
                    self.ask(f"{domain}.enable")
                break
            except Silent as e:
                self.close()
                if not left:
                    raise
                print(f"{e}: it is started again")
        self.ask("Page.navigate", url=url)

    def start(self, width, height):
        self.folder = tempfile.mkdtemp(prefix="browser-")
        theirs_in, self.out = os.pipe()
        self.input, theirs_out = os.pipe()

        def pipes():
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)
        self.process = subprocess.Popen(
            [path(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder}", f"--window-size={width},{height}"],
            preexec_fn=pipes, pass_fds=(3, 4, theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.rest, self.session = 0, b"", None
        self.complaints = []  # exceptions of scripts, and what the page's policy refused

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + ANSWER_S
        while True:
            while b"\0" not in self.rest:
                if not select.select([self.input], [], [], max(0, end - time.monotonic()))[0]:
                    raise Silent(f"the browser did not answer {method} in {ANSWER_S} s")
                data = os.read(self.input, 1 << 20)
                assert data, "the browser ended"
                self.rest += data
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(answer["params"]["exceptionDetails"])
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.complaints.append(answer["params"]["entry"])
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression, patience=60):
        end = time.monotonic() + patience
        while not self.value(expression):
            assert time.monotonic() < end, f"{expression}: not in\n" + str(self.value("document.documentElement.outerHTML"))
            time.sleep(0.1)

    def look(self, width, height, dark=False):
        """From now on a window of that size, light or dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def nodes(self):
        """What a screen reader is told: [(role, name)]."""
        found = self.ask("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in found if not n.get("ignored")]

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[key],
                     **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def screenshot(self, file):
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        with open(file, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        os.close(self.out)
        os.close(self.input)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
