#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The section REASONS of xcli(1) is what reasons.def says: check_reasons.py REASONS.DEF XCLI.1 [--write]"""
import re
import sys

NAMES = {"%p": "PROGRAM", "%u": "USER", "%t": ", for TIME at most"}


def section(table):
    rows = re.findall(r'^XS_WHY\(\w+, +"(\w+)", +"([^"]+)"\)$', table, re.M)
    assert len(rows) > 5, "reasons.def has other rows than this reads"
    out = [".SH REASONS", "Why a queue waits, or runs although it would not by the policy alone (WHY in", ".BR list ,",
           "the state in the details of", ".BR top ,", "\"why\" and \"why_text\" in JSON, the label", ".I reason",
           "of xsched_waiting_seconds_total). A colon and the process that runs instead may follow."]
    for code, words in rows:
        for short, name in NAMES.items():
            words = words.replace(short, name)
        out += [".TP", ".B " + code, words.replace("-", "\\-")]
    return "\n".join(out) + "\n"


def main():
    table, page = (open(p, encoding="utf-8").read() for p in sys.argv[1:3])
    old = re.search(r"^\.SH REASONS\n.*?(?=^\.SH )", page, re.M | re.S)
    wanted = section(table)
    if "--write" in sys.argv:
        page = page.replace(old[0], wanted) if old else page.replace(".SH TOP\n", wanted + ".SH TOP\n", 1)
        open(sys.argv[2], "w", encoding="utf-8").write(page)
        return 0
    if not old or old[0] != wanted:
        print(f"REASONS in {sys.argv[2]} is not what {sys.argv[1]} says: call this with --write")
        return 1
    print("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
