#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order of the files of src/xqueue: check_circles.py ROOT     prints each breach of one of these rules.

  - No circle: X.c and X.h are one node, an include is an edge, and no node leads back to itself over another one. The
    message has the files of the circle, and the includes between them.
  - The rows of ARCHITECTURE.md ("Inside xqueue") have each file once, and none includes one of a later row.
  - src/xqueue/queue.h has the whole of a queue, so only files that need the whole include it: fewer than QUEUE_H_MOST.
  - A part of a queue (src/xqueue/parts, submit/progress.h) belongs to one file: others name no field of it.
"""
import os
import re
import sys
import tempfile

ROOM = "src/xqueue"
LARGEST = 1        # nodes in one circle; 1: there is none
QUEUE_H_MOST = 35
INCLUDE = re.compile(r'^\s*#\s*include\s*"(xqueue/[^"]+)\.h"')
# member of struct xs_queue -> its type, files that may name its fields
PARTS = {
    "bound": ("xs_queue_bound", "parts/bound.h", "submit/in_flight.c"),
    "completion": ("xs_queue_completion", "parts/completion.h", "mark.c"),
    "ends": ("xs_queue_ends", "parts/ends.h", "submit/end_mark.c", "submit/end_mark.h"),
    "gates": ("xs_gates", "parts/gates.h", "gates/gate.c"),
    "progress": ("xs_progress", "submit/progress.h", "submit/progress.c"),
}
FIELD = re.compile(r"(?:->|\.)(" + "|".join(PARTS) + r")\.(\w+)")
POINTER = re.compile(r"struct (" + "|".join(p[0] for p in PARTS.values()) + r") \*(\w+) = ")   # by which a file names fields


def lines(root):
    """(path in the room, line's number, line) of each source and header."""
    top = os.path.join(root, ROOM)
    for folder, _, names in sorted(os.walk(top)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    for number, line in enumerate(f, 1):
                        yield os.path.relpath(path, top), number, line


def components(graph):
    """The strongly connected components (Tarjan)."""
    index, low, stack, done = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for to in sorted(graph[node]):
            if to not in index:
                visit(to)
                low[node] = min(low[node], low[to])
            elif to in stack:
                low[node] = min(low[node], index[to])
        if low[node] == index[node]:
            at = stack.index(node)
            done.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return done


def rows(root):
    """What the table names, row by row: files without an ending, and folders with a slash."""
    with open(os.path.join(root, "ARCHITECTURE.md"), encoding="utf-8") as f:
        section = f.read().split("\n## Inside xqueue\n")[1].split("\n## ")[0]
    cells = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")][1:]
    return [[name.strip().removesuffix(".h") for name in cell.split(",")] for cell in cells]


def check_rows(table, graph, where):
    row, bad = {}, []
    for node in sorted(graph):
        found = [n for n, names in enumerate(table) if any(node == x or (x[-1] == "/" and node.startswith(x)) for x in names)]
        if len(found) == 1:
            row[node] = found[0]
        else:
            bad.append(f"{ROOM}/{node} is in {len(found)} rows of ARCHITECTURE.md, Inside xqueue")
    return bad + [f"{where[node, to]}: {to} is in a later row of ARCHITECTURE.md, Inside xqueue"
                  for node in row for to in sorted(graph[node]) if row.get(to, 0) > row[node]]


def check(root, table):
    graph, where, whole, bad = {}, {}, set(), []
    for path, number, line in lines(root):
        node = path[:-2]
        graph.setdefault(node, set())
        included = INCLUDE.match(line)
        if included:
            to = included.group(1)[len("xqueue/"):]
            if to != node:
                graph[node].add(to)
                where.setdefault((node, to), f"{ROOM}/{path}:{number}")
            if to == "queue":
                whole.add(path)
        named = FIELD.findall(line)
        named += [(part, name) for kind, name in POINTER.findall(line) for part in PARTS if PARTS[part][0] == kind]
        for part, name in named:
            if path not in PARTS[part]:
                bad.append(f"{ROOM}/{path}:{number}: {part}.{name}, but the part belongs to "
                           f"{' and '.join(PARTS[part][1:])}: use or add a function there")
    for node, edges in graph.items():
        graph[node] = {to for to in edges if to in graph}
    for circle in components(graph):
        if len(circle) > LARGEST:
            bad.append(f"a circle of {len(circle)} files: {', '.join(circle)}")
            bad += [f"  {where[node, to]}: {node} includes {to}"
                    for node in circle for to in sorted(graph[node]) if to in circle]
    bad += check_rows(table, graph, where) if table else []
    if len(whole) >= QUEUE_H_MOST:
        bad.append(f"{len(whole)} files include xqueue/queue.h, fewer than {QUEUE_H_MOST} should: {', '.join(sorted(whole))}")
    return bad


def self_test():
    """Each tree breaks one rule, or none."""
    def include(*names):
        return "".join(f'#include "xqueue/{n}.h"\n' for n in names)

    table = [["c/"], ["a", "b"], ["e"]]
    line = {"a.h": include("b"), "b.h": "", "b.c": include("b", "c/d"), "c/d.h": "#include <stdint.h>\n"}
    cases = [
        ("a circle of 3 files: a, b, c/d", {**line, "c/d.c": include("c/d", "a")}),     # over a header and two sources
        ("a circle of 2 files: a, b", {**line, "b.h": include("a")}),
        (None, line),
        (None, {**line, "a.c": include("a", "c/d"), "e.c": include("a", "b", "c/d", "e")}),
        ("35 files include xqueue/queue.h", {**{f"f{n}.c": include("queue") for n in range(QUEUE_H_MOST)}, "queue.h": ""}),
        (None, {**{f"f{n}.c": include("queue") for n in range(QUEUE_H_MOST - 1)}, "queue.h": ""}),
        ("src/xqueue/a.c:1: gates.shut", {"a.c": "    return q->gates.shut;\n"}),
        ("src/xqueue/a.c:1: completion.marks", {"a.c": "    return &g_queue.completion.marks[0];\n"}),
        ("src/xqueue/a.c:1: ends.e", {"a.c": "    struct xs_queue_ends *e = &q->ends;\n"}),
        (None, {"a.c": "    f(&q->gates);\n", "gates/gate.c": "    return q->gates.shut;\n"}),
    ]
    in_rows = [
        (None, {**line, "e.c": include("a")}),
        ("src/xqueue/c/d.c:2: a is in a later row", {**line, "c/d.c": include("c/d", "a"), "b.c": ""}),
        ("src/xqueue/f is in 0 rows", {**line, "f.c": "int f;\n"}),
    ]
    missed = []
    for expected, tree, table in [(*case, None) for case in cases] + [(*case, table) for case in in_rows]:
        with tempfile.TemporaryDirectory() as root:
            for path, text in tree.items():
                full = os.path.join(root, ROOM, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="ascii") as f:
                    f.write(text)
            found = check(root, table)
        if (expected is None) != (not found) or (expected and not found[0].startswith(expected)):
            missed.append(f"self-test: expected {expected}, found {found}")
    return missed


if __name__ == "__main__":
    complaints = self_test() + check(sys.argv[1], rows(sys.argv[1]))
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)
