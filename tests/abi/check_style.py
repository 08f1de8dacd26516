#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SPDX line, width, tabs, words that do not belong here: check_style.py ROOT     prints FILE:LINE for each."""
import os
import re
import subprocess
import sys

WIDTH = 110   # wanted; a line over WIDTH_MAX is a failure
WIDTH_MAX = 130
SOURCE = re.compile(r"(\.(c|h|S|def|cl|map|py|sh|cmake|syms|cpp)|CMakeLists\.txt|Makefile)$")
C_LIKE = re.compile(r"\.(c|h|cl)$")
# Split, so that this file does not hold them.
WORDS = re.compile("|".join([
    "/wo" + "rk/", r"\bbri" + r"ef\.md", r"\b(design|abi|pitfalls|libraries|platforms|mission)\.md\b",
    "sha" + "red/(lab|facts|hooks)", r"\bdeb\." + r"debian\.org", "pypi\\." + "org", r"\bClau" + "de\\b",
    r"\bissue #?\d", "Co-Auth" + "ored-By", r"\b(FIX" + r"ME|X" + r"XX)\b",
]))
DOCUMENT = re.compile(r"\.(md|txt|[1-8]|ini|conf|service|in|json|yml|yaml)$")


def tracked(root):
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return [n for n in out.decode().split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, dirs, files in os.walk(root):
            dirs[:] = [d for d in dirs if not d.startswith((".", "build")) and d != "out"]
            names += [os.path.relpath(os.path.join(folder, n), root) for n in files]
        return names


def judge(name, text):
    """Complaints (line, what) about one file."""
    lines = text.split("\n")
    script = lines[0].startswith("#!")
    if (SOURCE.search(name) or script) and text.strip():
        first = lines[1] if script and len(lines) > 1 else lines[0]
        if "SPDX-License-Identifier: Apache-2.0" not in first:
            yield 1, "no SPDX line at the top"
    for number, line in enumerate(lines, 1):
        if C_LIKE.search(name):
            if len(line) > WIDTH_MAX:
                yield number, f"{len(line)} columns, at most {WIDTH}"
            if "\t" in line:
                yield number, "a tab"
            if line != line.rstrip():
                yield number, "space at the end"
        m = WORDS.search(line)
        if m:
            yield number, f"\"{m.group(0)}\" does not belong in the tree"


def main(root):
    bad = []
    samples = {"a.c": "int x;", "b.c": "/* SPDX-License-Identifier: Apache-2.0 */\n" + "x" * 131,
               "c.md": "see /wo" + "rk/main", "d.h": "/* SPDX-License-Identifier: Apache-2.0 */\n\tint x;"}
    for name, text in samples.items():
        if not list(judge(name, text)):
            bad.append(f"self-test: {name} was overlooked")
    for name in tracked(root):
        path = os.path.join(root, name)
        if not os.path.isfile(path) or os.path.islink(path) or name == "LICENSE" or name.startswith("docs/results/"):
            continue
        with open(path, "rb") as f:
            data = f.read()
        if b"\0" in data[:4096] or not (SOURCE.search(name) or DOCUMENT.search(name) or data.startswith(b"#!")):
            continue
        bad += [f"{name}:{n}: {what}" for n, what in judge(name, data.decode("utf-8", "replace"))]
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
