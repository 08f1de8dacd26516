# SPDX-License-Identifier: Apache-2.0
"""xsched-kube: the agent of a node, and the questions to it. xsched-kube(8) has the options."""
from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from typing import Any, Dict, List, Optional

from . import answers, apiserver, cdi, nri
from .follow import Follower
from .node import Node
from .settings import read_table
from .xserver import XServer

LOOK_S = 2.0  # how often files are looked at
NRI_S = 10.0  # a runtime that has not answered by then has no NRI

log = logging.getLogger("main")


def _arguments(argv: List[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="xsched-kube", description=(__doc__ or "").splitlines()[0])
    p.add_argument("--socket", default="/run/xsched-kube/kube.sock", metavar="PATH", help="where the agent answers top and why")
    commands = p.add_subparsers(dest="command", required=True)
    agent = commands.add_parser("agent", help="runs on each node")
    agent.add_argument("--xserver-folder", default="/run/xsched", metavar="DIR", help="folder of xserver's sockets, on the host too")
    agent.add_argument("--libraries", default="/opt/xsched/lib", metavar="DIR", help="folder of the host for the libraries")
    agent.add_argument("--copy-to", default="", metavar="DIR",
                       help="that folder as the agent sees it; empty: the host has the libraries where the agent has them")
    agent.add_argument("--cdi", default="/var/run/cdi", metavar="DIR", help="folder of CDI specifications")
    agent.add_argument("--nri", default="/var/run/nri/nri.sock", metavar="PATH", help="socket of NRI")
    agent.add_argument("--device-plugins", default="/var/lib/kubelet/device-plugins", metavar="DIR",
                       help="folder of the kubelet; where it is absent, there are no resources")
    agent.add_argument("--table", default="/etc/xsched-kube/table", metavar="FILE", help="namespaces and priority classes")
    agent.add_argument("--limits", default="/run/xsched-kube/limits", metavar="FILE", help="xserver's option pod-limits-file")
    agent.add_argument("--metrics-port", type=int, default=0, metavar="PORT", help="0: none")
    agent.add_argument("--api-server", default=apiserver.address(), metavar="URL", help="default: the cluster's; empty: none")
    agent.add_argument("--node", default=os.environ.get("NODE_NAME", ""), metavar="NAME", help="default: $NODE_NAME")
    agent.add_argument("--xsched", default="xsched", metavar="PROGRAM", help=argparse.SUPPRESS)
    for name, text in (("top", "pods by GPU time"), ("why", "what a pod gets and why")):
        c = commands.add_parser(name, help=text)
        if name == "why":
            c.add_argument("pod", help="NAME or NAMESPACE/NAME")
    return p.parse_args(argv)


class Agent:
    """Main thread."""

    def __init__(self, a: argparse.Namespace) -> None:
        self.a = a
        given = self._libraries()
        self.node = Node(given.environment.get("LD_PRELOAD", "") if given else "", a.limits)
        self.node.injects = given is not None and cdi.write(a.cdi, given)
        self.server = XServer(os.path.join(a.xserver_folder, "http.sock"))
        self.follower = Follower(self.node, self.server)
        self.table_seen: Optional[bytes] = None
        self.api: Optional[apiserver.Api] = None
        if a.api_server and a.node:
            self.api = apiserver.Api(self.node, a.api_server, a.node)
        self.plugins: Any = None
        if given and os.path.isdir(a.device_plugins):
            try:
                from . import deviceplugin
                self.plugins = deviceplugin.Plugins(a.device_plugins, given, self.api.kubelet_minor if self.api else lambda: 0)
            except ImportError as e:
                log.warning("no resources xsched.dev/...: %s", e)

    def _libraries(self) -> Optional[cdi.Libraries]:
        a = self.a
        try:
            os.makedirs(a.xserver_folder, mode=0o755, exist_ok=True)
            if a.copy_to:
                cdi.copy_libraries(a.xsched, a.xserver_folder, a.copy_to)
            return cdi.libraries(a.xsched, a.xserver_folder, a.libraries if a.copy_to else "")
        except (OSError, ValueError, KeyError) as e:
            log.error("pods get no XSched: %s", e)
            return None

    def _look_at_table(self) -> None:
        try:
            with open(self.a.table, "rb") as f:
                content = f.read()
        except FileNotFoundError:
            content = b""
        except OSError as e:
            log.warning("%s", e)
            return
        if content == self.table_seen:
            return
        first, self.table_seen = self.table_seen is None, content
        try:
            self.node.set_table(read_table(content.decode()))
            log.info("%s read", self.a.table)
        except (ValueError, UnicodeDecodeError) as e:
            log.error("%s: %s; %s", self.a.table, e, "no namespace has limits" if first else "the earlier table stays")

    def run(self) -> None:
        """Until a signal."""
        self._look_at_table()  # before the first pod
        answers.serve(self.node, self.server, self.a.socket, self.a.metrics_port)
        plugin = nri.Plugin(self.node, self.a.nri)
        threading.Thread(target=plugin.run, name="nri", daemon=True).start()
        if self.api:
            self.api.start()
        next_look, began = 0.0, time.monotonic()
        while True:
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + LOOK_S
                self._look_at_table()
                if self.plugins:
                    self.plugins.step()
                if self.node.has_nri is None and time.monotonic() - began > NRI_S:
                    log.info("the runtime has no NRI at %s", self.a.nri)
                    self.node.set_nri(False)
            self.node.wake.clear()
            again = self.follower.step()
            self.node.wake.wait(min(LOOK_S, again or LOOK_S))


def _seconds(us: int) -> str:
    return f"{us / 1e6:.1f}"


def _top(answer: Dict[str, Any]) -> int:
    rows = [("NAMESPACE", "POD", "PRIORITY", "GPU-S", "WAIT-S", "PREEMPTED")]
    for pod in sorted(answer["pods"], key=lambda p: -sum(int(x["device_us"]) for x in p["programs"])):
        programs = pod["programs"]
        if programs:
            priorities = sorted({str(p["priority"]) for p in programs if p["priority"] is not None})
            rows.append((pod["namespace"], pod["pod"], ",".join(priorities) or "-", _seconds(sum(p["device_us"] for p in programs)),
                         _seconds(sum(p["waiting_us"] for p in programs)), str(sum(p["preemptions"] for p in programs))))
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))
    return 0


def _why(answer: Dict[str, Any], name: str) -> int:
    found = [p for p in answer["pods"] if name in (p["pod"], f"{p['namespace']}/{p['pod']}")]
    for pod in found:
        print(f"{pod['namespace']}/{pod['pod']}")
        for container, got in pod["containers"].items():
            began = got["began_with"]
            without = "it began without XSched" if began == "" else ""
            print(f"  container {container}: " + (without or f"priority {0 if got['priority'] is None else got['priority']}"))
            for p in pod["programs"]:
                if p["container"] == got["id"]:
                    print(f"    pid {p['pid']} {p['command'][:60]}: priority {p['priority']} in force, "
                          f"{_seconds(p['device_us'])} s of GPU, waited {_seconds(p['waiting_us'])} s, "
                          f"preempted {p['preemptions']} times")
            if not without and not any(p["container"] == got["id"] for p in pod["programs"]):
                print("    no program of it has joined xserver yet")
        for note in pod["notes"]:
            print(f"  {note['reason']}: {note['text']}")
        if not pod["containers"] and not pod["notes"]:
            print("  nobody has asked for anything")
    if not found:
        print(f"xsched-kube: this node has no pod {name}", file=sys.stderr)
    return 0 if found else 1


def main(argv: Optional[List[str]] = None) -> int:
    """@return exit status"""
    a = _arguments(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    if a.command == "agent":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: os._exit(0))  # nothing is to be put away: files and programs stay as they are
        Agent(a).run()
    try:
        answer = answers.fetch(a.socket)
    except (OSError, ValueError) as e:
        print(f"xsched-kube: no agent answers at {a.socket}: {e}", file=sys.stderr)
        return 1
    if answer["xserver"]:
        print(f"xsched-kube: no xserver answers on this node: programs run unscheduled ({answer['xserver']})", file=sys.stderr)
    return _top(answer) if a.command == "top" else _why(answer, a.pod)


if __name__ == "__main__":
    sys.exit(main())
