#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The variables that the tree names are the variables of env.def (and of hints.def and platforms.def in it), the man page has them all,
and every public function has a page: check_environment.py ROOT MAN_PAGE"""
import glob
import os
import re
import subprocess
import shutil
import sys

NAME = re.compile(r"\b(XSCHED_[A-Z0-9_]+|XLOG_[A-Z0-9_]+)\b")
ROW = re.compile(r"^X\((\w+),")


def main(root, page):
    sys.path.insert(0, os.path.join(root, "python/xsched"))
    from _hint_table import ALL as HINTS
    from _platforms import ALL
    table = []
    with open(os.path.join(root, "src/base/env.def"), encoding="utf-8") as f:
        for line in f:
            table += [m.group(1) for m in [ROW.match(line)] if m]
            if line == '#include "base/settings/hints.def"\n':
                table += [f"XSCHED_AUTO_XQUEUE_{h.symbol}" for h in HINTS]
            if line == '#include "base/platforms.def"\n':
                table += [f"XSCHED_{p.prefix}_LIB" for p in ALL]
    with open(page, encoding="utf-8") as f:
        text = f.read()
    bad = [f"env.def: {n} twice" for n in table if table.count(n) > 1]
    documented = re.findall(r"^\.BR (\w+) \"", text, re.M)
    if documented != table:
        bad.append(f"{page}: has {documented}, the table has {table}")
    # getenv of one of our names past the table: then neither the page nor `set-user-id` hold for it.
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for n in names:
            if not n.endswith((".c", ".h")):
                continue
            path = os.path.join(folder, n)
            with open(path, encoding="utf-8") as f:
                for number, line in enumerate(f, 1):
                    m = re.search(r'getenv\(\s*"(XSCHED_\w+|XLOG_\w+)"', line)
                    if m:
                        bad.append(f"{os.path.relpath(path, root)}:{number}: {m.group(1)} is read past xs_env_get")
    pages = sorted(p for folder in ("docs/man", "src/hal/*") for p in glob.glob(os.path.join(root, folder, "*.[1-8]")))
    for p in pages:
        with open(p, encoding="utf-8") as f:
            used = set(NAME.findall(f.read()))
        bad += [f"{os.path.relpath(p, root)}: {n} is no variable of env.def" for n in sorted(used - set(table))
                if not n.endswith("_")]
    pages.insert(0, page)
    named = set()
    for p in pages:
        with open(p, encoding="utf-8") as f:
            named |= set(re.split(r",\s*", re.search(r"^\.SH NAME\n(.*?) \\- ", f.read(), re.M).group(1)))
        if shutil.which("groff"):
            warnings = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", p], stderr=subprocess.PIPE, text=True,
                                      check=False).stderr
            if warnings:
                bad.append(warnings)
    for exports in sorted(glob.glob(os.path.join(root, "tests/abi/exports/*.txt")) +
                          glob.glob(os.path.join(root, "tests/*/hal_exports.txt"))):
        with open(exports, encoding="ascii") as f:
            bad += [f"no page in docs/man or src/hal names {n}" for n in f.read().split() if n not in named]
    print("\n".join(bad))
    print(f"{len(table)} variables")
    return 1 if bad or not table else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
