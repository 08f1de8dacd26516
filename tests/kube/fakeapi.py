# SPDX-License-Identifier: Apache-2.0
"""An API server that knows pods, one node and events: as much as the agent asks for."""
import http.server
import json
import socketserver
import threading
from urllib.parse import parse_qs, urlsplit


class FakeApi:
    """On a port of the loopback."""

    def __init__(self, kubelet="v1.34.1"):
        self.kubelet, self.pods, self.events, self.log = kubelet, {}, [], []
        self.version, self.changed = 1, threading.Condition()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, body, status=200):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                at = urlsplit(self.path)
                query = parse_qs(at.query)
                if at.path.startswith("/api/v1/nodes/"):
                    self.answer({"status": {"nodeInfo": {"kubeletVersion": api.kubelet}}})
                elif at.path != "/api/v1/pods" or query.get("fieldSelector") != ["spec.nodeName=node1"]:
                    self.answer({}, 404)
                elif "watch" not in query:
                    with api.changed:
                        self.answer({"metadata": {"resourceVersion": str(len(api.log))}, "items": list(api.pods.values())})
                else:
                    self.watch(int(query["resourceVersion"][0]))

            def watch(self, at):
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                try:
                    while True:
                        with api.changed:
                            while len(api.log) <= at:
                                api.changed.wait()
                            line = json.dumps(api.log[at]).encode() + b"\n"
                        at += 1
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                        self.wfile.flush()
                except OSError:
                    pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with api.changed:
                    api.events.append(body)
                self.answer(body, 201)

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def put(self, uid, name, annotations=None, namespace="default", priority_class="", containers=()):
        """A pod is there, or has changed. @param containers  (name, id)"""
        item = {"metadata": {"uid": uid, "name": name, "namespace": namespace, "annotations": annotations or {}},
                "spec": {"priorityClassName": priority_class},
                "status": {"phase": "Running", "containerStatuses": [
                    {"name": n, "containerID": f"containerd://{i}"} for n, i in containers]}}
        with self.changed:
            kind = "MODIFIED" if uid in self.pods else "ADDED"
            self.pods[uid] = item
            self.log.append({"type": kind, "object": item})
            self.changed.notify_all()

    def put_pod(self, pod, annotations=None, **more):
        """The same for a pod of cri.py."""
        self.put(pod.uid, pod.name, annotations, pod.namespace, **more)
