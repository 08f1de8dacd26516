# SPDX-License-Identifier: Apache-2.0
"""xserver's metrics with the names that Kubernetes gives: pod, namespace and container instead of identifiers, and gpu_uuid
for UUID."""
from __future__ import annotations

from typing import Dict, List, Tuple

from .node import Node

# As src/http/metrics.c writes them. No text of a program's can look so: a quote in it has a backslash before it.
_CONTAINER = '",container="'
_ID, _POD, _UID = 12, '",pod="', 36
_LENGTH = _ID + len(_POD) + _UID + 1

Names = Dict[str, Tuple[str, str, Dict[str, str]]]


def names(node: Node) -> Names:
    """uid -> (pod, namespace, short id of a container -> its name)"""
    with node.lock:
        return {uid: (p.seen.name, p.seen.namespace, {c.id[:12]: c.name for c in p.containers.values()})
                for uid, p in node.pods.items()}


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _renamed(labels: str, of: Names) -> str:
    container, uid = labels[:_ID], labels[_ID + len(_POD):-1]
    if labels[_ID:_ID + len(_POD)] != _POD or labels[-1:] != '"' or uid not in of:
        return _CONTAINER + labels
    name, namespace, containers = of[uid]
    return (f'",container={_quoted(containers.get(container, container))},pod={_quoted(name)},'
            f'namespace={_quoted(namespace)},pod_uuid="{uid}"')


def rewrite(text: str, of: Names) -> str:
    """A program that is in no pod, or in one that nobody knows, keeps its labels."""
    pieces = text.replace('",UUID="', '",gpu_uuid="').split(_CONTAINER)
    done: Dict[str, str] = {}  # a program has many lines
    out: List[str] = pieces[:1]
    for piece in pieces[1:]:
        labels = piece[:_LENGTH]
        new = done.get(labels)
        if new is None:
            new = done[labels] = _renamed(labels, of)
        out.append(new)
        out.append(piece[_LENGTH:])
    return "".join(out)
