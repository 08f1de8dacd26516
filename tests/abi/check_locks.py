#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each lock says at its declaration what it protects and who holds it, and the tables of docs/lock-order.md are made of
that: check_locks.py SOURCES LOCK-ORDER.MD [--write]

    /* Lock 5: the list of contexts. A thread that ends one holds it. */
    static struct xs_lock g_lock;

A mutex of xserver has no number."""
import os
import re
import sys

DECLARED = re.compile(r"^ *(?:static )?(?:struct xs_lock|pthread_mutex_t) (\w+)(?: = \w+)?;(.*)$", re.M)
SAID = re.compile(r"/\* Lock( \d+)?: ((?:(?!\*/).)+?) \*/\n$", re.S)
BEGIN, END = "<!-- made by tests/abi/check_locks.py -->\n", "<!-- end -->\n"


def locks(root):
    """@return rows (order or 0, file, lock, text), and what is wrong"""
    rows, wrong = [], []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            short = os.path.relpath(path, root)
            if not name.endswith((".c", ".h")) or short == "base/lock.h":
                continue
            text = open(path, encoding="utf-8").read()
            for m in DECLARED.finditer(text):
                said = SAID.search(text[max(0, m.start() - 800):m.start()])
                line = text.count("\n", 0, m.start()) + 1
                if not said or bool(said[1]) != ("xs_lock" in m[0]):
                    wrong.append(f"{short}:{line}: nothing of the form '/* Lock 5: what it protects. Who holds it. */' "
                                 f"stands before {m[1]}")
                    continue
                words = re.sub(r"\s*\n\s*\*\s*", " ", said[2])
                owner = re.findall(r"^struct (\w+) \{", text[:m.start()], re.M) if m[0].startswith(" ") else []
                name = f"{owner[-1]}.{m[1]}" if owner and name.endswith(".h") else m[1]
                rows.append((int(said[1] or 0), short, name, words))
    return sorted(rows), wrong


def tables(rows):
    ordered = ["| order | lock | protects |", "|---|---|---|"]
    ordered += [f"| {n} | {f}: {name} | {text} |" for n, f, name, text in rows if n]
    mutexes = ["| mutex of xserver | protects |", "|---|---|"]
    mutexes += [f"| {f}: {name} | {text} |" for n, f, name, text in rows if not n]
    return [BEGIN + "\n".join(t) + "\n" + END for t in (ordered, mutexes)]


def main():
    root, page = sys.argv[1:3]
    rows, wrong = locks(root)
    if len(rows) < 30:
        wrong.append(f"only {len(rows)} locks found: has a declaration another form?")
    text = open(page, encoding="utf-8").read()
    found = re.findall(re.escape(BEGIN) + ".*?" + re.escape(END), text, re.S)
    wanted = tables(rows)
    if len(found) != len(wanted):
        wrong.append(f"{page} has {len(found)} tables")
    elif found != wanted and "--write" in sys.argv:
        made = iter(wanted)
        text = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: next(made), text, flags=re.S)
        open(page, "w", encoding="utf-8").write(text)
    elif found != wanted:
        wrong.append(f"{page} is not what the declarations say: call this with --write")
    print("\n".join(wrong or ["done"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
