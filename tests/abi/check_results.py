#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/results is small and whole: check_results.py ROOT     prints what is wrong.

Its tracked files have at most LIMIT bytes together. Whatever a tracked text names below docs/results is there: a path that
begins so, a link of a document, and in the reports themselves and in decisions also the bare name of a file. A name may be
a pattern (level2-*.jsonl). Each folder is in the index, docs/results/README.md, and some text names each file of raw data and
each picture: what no text names has no reader.
"""
import fnmatch
import os
import re
import sys
import tempfile

from check_style import tracked

LIMIT = 5_000_000
RESULTS = "docs/results/"
RAW = (".jsonl", ".png", ".svg", ".log", ".txt")       # these name nothing
PATH = re.compile(r"docs/results/([\w*?][\w.*?/-]*)")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
BARE = re.compile(r"(?<![\w./*-])(\w[\w.*?-]*\.(?:jsonl|log|png|svg|txt))(?![\w/])")
PLACEHOLDER = re.compile("DATE")


def fits(path, files):
    """The files that have this path, or fit it where it is a pattern."""
    parts = path.split("/")
    return [f for f in files if f.count("/") == len(parts) - 1 and all(map(fnmatch.fnmatchcase, f.split("/"), parts))]


def named(name, text):
    """[(path below the root, or a bare file name)] that a text names."""
    for rest in PATH.findall(text):
        if not PLACEHOLDER.search(rest):
            yield RESULTS + rest
    if not name.endswith(".md"):
        return
    for link in LINK.findall(text):
        target = os.path.normpath(os.path.join(os.path.dirname(name), link))
        if "://" not in link and (target + "/").startswith(RESULTS):
            yield target
    if name.startswith((RESULTS, "docs/decisions/")):
        yield from BARE.findall(re.sub(r"\[[^\]]*\]\([^)]*\)", "", text))    # what a link shows is no name


def meant(name, what, files):
    """The files that a text of this name means by a path or by a bare name; of a folder, the folder."""
    if "/" not in what:            # of its own folder; the index and decisions: of any
        folder = os.path.dirname(name) if name.startswith(RESULTS) and name != RESULTS + "README.md" else RESULTS + "*"
        return fits(f"{folder}/{what}", files)
    path = what.rstrip("./")
    return fits(path, files) or [path for f in files if f.startswith(path + "/")][:1]


def check(root, names):
    files = [n for n in names if os.path.isfile(os.path.join(root, n))]
    inside = [n for n in files if n.startswith(RESULTS)]
    size = sum(os.path.getsize(os.path.join(root, n)) for n in inside)
    bad = [f"{RESULTS} has {size} bytes, at most {LIMIT}: scripts/thin_results.py"] if size > LIMIT else []
    index, seen = "", set()
    for name in files:
        if name.startswith(RESULTS) and name.endswith(RAW):
            continue
        with open(os.path.join(root, name), "rb") as f:
            data = f.read()
        if b"\0" in data[:4096]:
            continue
        text = data.decode("utf-8", "replace")
        for what in sorted(set(named(name, text))):
            found = meant(name, what, files)
            bad += [] if found else [f"{name} names {what}, which is not there"]
            seen.update(found)
        if name == RESULTS + "README.md":
            index = text
    for folder in sorted({n.split("/")[2] for n in inside if n.count("/") > 2}):
        if f"]({folder}/" not in index and f"]({folder})" not in index:
            bad.append(f"{RESULTS}README.md does not list {folder}")
    return bad + [f"no text names {n}" for n in inside if n.endswith(RAW) and n not in seen]


def self_test():
    """What is wrong here is found, and nothing else."""
    tree = {RESULTS + "README.md": "[a](a/README.md), `x.jsonl` in each folder", RESULTS + "a/x.jsonl": "{}\n" * (LIMIT // 3),
            RESULTS + "a/README.md": "`x.jsonl`, [shown.jsonl](x.jsonl), x*.jsonl, ../b/x.jsonl; `none.jsonl`, [gone](gone.md)",
            RESULTS + "b/x.jsonl": "{}\n", RESULTS + "a/stray.log": "", "docs/decisions/1.md": "x.jsonl there, lost.jsonl not; [a](../results/a), [c](../results/c)",
            "src/x.c": f"/* {RESULTS}a. {RESULTS}*/x.jsonl, {RESULTS}DATE-DEVICE/, {RESULTS}a/old.txt */",
            "README.md": f"other.jsonl is not of there; {RESULTS}late/ is"}
    wanted = ["bytes, at most", "none.jsonl", "a/gone.md", "lost.jsonl", "results/c,", "a/old.txt", "late", "does not list b", "stray.log"]
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = check(root, sorted(tree))
    return [f"self-test: \"{w}\" is overlooked" for w in wanted if sum(w in line for line in found) != 1] + (
        [f"self-test: {line}" for line in found] if len(found) != len(wanted) else [])


if __name__ == "__main__":
    problems = self_test() + check(sys.argv[1], tracked(sys.argv[1]))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
