#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The static probes in a program or library are those that it should have, with their values, and the man page
names them all. readelf reads them, as tracers do.

check_probes.py MAN_PAGE FILE NAME:VALUES..."""
import re
import subprocess
import sys


def probes(text):
    """{name: number of values}"""
    found = {}
    for m in re.finditer(r"Provider: (\S+)\s+Name: (\S+)\s.*?Arguments:([^\n]*)", text, re.S):
        if m[1] == "xsched":
            found.setdefault(m[2], set()).add(len(re.findall(r"(?:^|\s)-?[1248]@", m[3])))
    return found


def judge(text, page, wanted):
    found = probes(text)
    wrong = [f"there is no probe {n}" for n in wanted if n not in found]
    wrong += [f"the probe {n} is not expected" for n in found if n not in wanted]
    wrong += [f"the probe {n} has {found[n]} values, not {v}" for n, v in wanted.items() if found.get(n, {v}) != {v}]
    wrong += [f"the man page does not name {n}" for n in wanted if not re.search(rf"\b{n}\b", page)]
    return wrong


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        page = f.read().replace("\\", "")
    wanted = {n: int(v) for n, v in (a.split(":") for a in sys.argv[3:])}
    note = "  stapsdt 1 2\n    Provider: xsched\n    Name: a\n    Location: 1\n    Arguments: -4@72(%rbx) 8@%rax\n"
    assert judge(note, "a", {"a": 2}) == []
    assert judge(note, "a", {"a": 1}) and judge(note, "", {"a": 2}) and judge(note, "a b", {"b": 2}) and judge("", "a", {"a": 2})
    text = subprocess.run(["readelf", "-n", sys.argv[2]], capture_output=True, text=True, check=True).stdout
    wrong = judge(text, page, wanted)
    print("\n".join(wrong) or f"{len(wanted)} probes")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
