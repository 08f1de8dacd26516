# SPDX-License-Identifier: Apache-2.0
"""integration/pytorch-server on PoCL: requests of two priorities, right results, each class on its own queue."""
import http.client
import json
import os
import re
import subprocess
import sys

from conftest import PACKAGE, ROOT

HERE = os.path.join(ROOT, "integration", "pytorch-server")


def test_requests_of_two_priorities():
    env = dict(os.environ, PYTHONPATH=PACKAGE, EXAMPLE_DEVICE="opencl")
    server = subprocess.Popen([sys.executable, "-m", "xsched", "run", "-q", "--intra", "--local-policy", "HPF",
                               os.path.join(HERE, "server.py"), "--port", "0"], env=env, stdout=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r":(\d+)/infer", server.stdout.readline()).group(1))
        load = subprocess.run([sys.executable, os.path.join(HERE, "load.py"), str(port), "1"], env=env, capture_output=True,
                              text=True, timeout=120)
        assert load.returncode == 0 and "results are right" in load.stdout, load.stdout + load.stderr
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        c.request("GET", "/")
        classes = {s["priority"]: s for s in json.loads(c.getresponse().read())["classes"]}
        assert classes[0]["launches"] and classes[20]["launches"] and not classes[10]["launches"]
        for s in classes.values():
            assert s["commands"] >= s["launches"]  # through the XQueue
        for headers, status in (({"X-Priority": "soon"}, 400), ({"X-Priority": "-5"}, 200), ({"X-Priority": "15"}, 200)):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            c.request("POST", "/infer", "", headers)
            r = c.getresponse()
            answer = json.loads(r.read())
            assert r.status == status, (headers, answer)
        assert answer["priority"] == 10  # the most urgent class that 15 may use
    finally:
        server.kill()
        server.wait()
