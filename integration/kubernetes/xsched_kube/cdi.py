# SPDX-License-Identifier: Apache-2.0
"""The CDI specification whose devices the agent gives to containers.

All devices are in one file, which is written at the start. A runtime reads the folder when a file changes there, not when a
container asks: a device written for one container could come too late for it."""
from __future__ import annotations

import json
import logging
import os
import subprocess
from typing import Any, Dict, List, NamedTuple, Tuple

from .settings import PRIORITY_MAX, PRIORITY_MIN

KIND = "xsched.dev/pod"
FILE = "xsched-pod.json"

log = logging.getLogger("cdi")


class Libraries(NamedTuple):
    """What `xsched cdi` says a container needs."""

    mounts: Tuple[Tuple[str, str], ...]  # on the host, in the container
    environment: Dict[str, str]


def libraries(xsched: str, socket_folder: str, host_folder: str) -> Libraries:
    """@param host_folder  where the libraries are on the host, when it is not where they are here
    @raise ValueError with the reason"""
    done = subprocess.run([xsched, "cdi", f"--socket-folder={socket_folder}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=60)
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip() or f"{xsched} cdi failed")
    edits = json.loads(done.stdout)["containerEdits"]
    mounts = []
    for mount in edits["mounts"]:
        here, inside = mount["hostPath"], mount["containerPath"]
        if host_folder and here != socket_folder:  # xsched cdi puts them into one folder and the folder xsched below
            here = os.path.join(host_folder, *inside.split("/")[4:])
        mounts.append((here, inside))
    return Libraries(tuple(mounts), dict(e.split("=", 1) for e in edits["env"]))


def copy_libraries(xsched: str, socket_folder: str, to: str) -> None:
    """Copies them to the host's folder, as the agent sees it. A file that containers have mounted stays what it is: the new
    one takes its name."""
    for here, inside in libraries(xsched, socket_folder, "").mounts:
        if here == socket_folder:
            continue
        there = os.path.join(to, *inside.split("/")[4:])
        os.makedirs(os.path.dirname(there), mode=0o755, exist_ok=True)
        with open(here, "rb") as f:
            content = f.read()
        try:
            with open(there, "rb") as f:
                if f.read() == content:
                    continue
        except OSError:
            pass
        temporary = f"{there}.{os.getpid()}"
        with open(temporary, "wb") as f:
            f.write(content)
            os.fchmod(f.fileno(), 0o755)
        os.rename(temporary, there)


def device(name: str) -> str:
    """The full name of a device."""
    return f"{KIND}={name}"


def priority_device(priority: int) -> str:
    """The full name of the device that gives this priority."""
    return device(f"priority-{priority}")


def specification(given: Libraries) -> Dict[str, Any]:
    """Device preload is LD_PRELOAD alone: the agent leaves it out for a container that has one of its own."""
    def edits(environment: Dict[str, str]) -> Dict[str, List[str]]:
        return {"env": [f"{name}={value}" for name, value in environment.items()]}
    others = {name: value for name, value in given.environment.items() if name != "LD_PRELOAD"}
    devices = [{"name": "preload", "containerEdits": edits({"LD_PRELOAD": given.environment["LD_PRELOAD"]})}]
    devices += [{"name": f"priority-{n}", "containerEdits": edits({"XSCHED_PRIORITY": str(n)})}
                for n in range(PRIORITY_MIN, PRIORITY_MAX + 1)]
    mounts = [{"hostPath": here, "containerPath": inside, "options": ["bind", "ro", "nosuid", "nodev"]}
              for here, inside in given.mounts]
    return {"cdiVersion": "0.5.0", "kind": KIND, "devices": devices, "containerEdits": {**edits(others), "mounts": mounts}}


def write(folder: str, given: Libraries) -> bool:
    """Writes the file in one step, where it differs. @return whether it is there"""
    text = json.dumps(specification(given), indent=1) + "\n"
    path = os.path.join(folder, FILE)
    try:
        try:
            with open(path, encoding="utf-8") as f:
                if f.read() == text:
                    return True
        except OSError:
            pass
        os.makedirs(folder, mode=0o755, exist_ok=True)
        temporary = os.path.join(folder, f".{FILE}.{os.getpid()}")  # no runtime reads it: it does not end in .json
        with open(temporary, "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(temporary, path)
    except OSError as e:
        log.error("%s", e)
        return False
    return True
