#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a file is a trace in the JSON object form of Chrome's trace event format, by that format's published
description: required members and their types for each phase, times, and slices of one track that do not overlap.

check_trace.py FILE"""
import json
import sys

NUMBER = (int, float)
PHASES = {  # members beyond ph, pid, tid, name
    "X": {"ts": NUMBER, "dur": NUMBER, "cat": str, "args": dict},
    "i": {"ts": NUMBER, "s": str},
    "C": {"ts": NUMBER, "args": dict},
    "M": {"args": dict},
}
METADATA = {"process_name": "name", "thread_name": "name", "process_labels": "labels", "process_sort_index": "sort_index",
            "thread_sort_index": "sort_index"}


def judge(trace):
    """@return what is wrong"""
    wrong, tracks = [], {}
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["no object with an array traceEvents"]
    if trace.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        wrong.append("displayTimeUnit is neither ms nor ns")
    if not isinstance(trace.get("otherData", {}), dict):
        wrong.append("otherData is no object")
    for n, e in enumerate(trace["traceEvents"]):
        def bad(what, n=n, e=e):
            wrong.append(f"event {n}: {what}: {e}")
        if not isinstance(e, dict) or e.get("ph") not in PHASES:
            bad("no known phase")
            continue
        for member, kind in {"pid": int, "tid": int, "name": str, **PHASES[e["ph"]]}.items():
            if not isinstance(e.get(member), kind) or isinstance(e.get(member), bool):
                bad(f"{member} is missing or of another type")
                break
        else:
            if e.get("ts", 0) < 0:
                bad("it is before the beginning")
            if e["ph"] == "M" and (e["name"] not in METADATA or METADATA[e["name"]] not in e["args"]):
                bad("no known metadata")
            if e["ph"] == "i" and e["s"] not in "gpt":
                bad("its scope is none of g, p, t")
            if e["ph"] == "C" and not (e["args"] and all(isinstance(v, NUMBER) for v in e["args"].values())):
                bad("a counter counts numbers")
            if e["ph"] == "X":
                if e["dur"] < 0:
                    bad("it ends before it begins")
                tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"], n))
    for track, slices in tracks.items():
        slices.sort()
        for (_, end, n), (begin, _, m) in zip(slices, slices[1:]):
            if begin < end - 0.0015:  # three digits behind the point, twice
                wrong.append(f"events {n} and {m} of track {track} overlap")
    return wrong


def self_test():
    good = {"traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "a"}},
        {"ph": "X", "name": "run", "cat": "q", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2, "args": {}},
        {"ph": "X", "name": "run", "cat": "q", "pid": 1, "tid": 1, "ts": 3.5, "dur": 2, "args": {}},
        {"ph": "i", "s": "t", "name": "x", "pid": 1, "tid": 1, "ts": 2},
        {"ph": "C", "name": "c", "pid": 1, "tid": 0, "ts": 2, "args": {"percent": 1.5}}]}
    assert judge(good) == []
    for index, member, value in ((0, "name", "nonsense"), (0, "args", None), (1, "dur", -1), (1, "dur", 2.5),
                                 (1, "ts", "1"), (1, "pid", "1"), (2, "ph", "Q"), (3, "s", "z"), (4, "args", {}),
                                 (4, "args", {"percent": "1"}), (3, "ts", -1)):
        bad = json.loads(json.dumps(good))
        bad["traceEvents"][index][member] = value
        assert judge(bad), (index, member, value)
    assert judge([]) and judge({"traceEvents": {}})


if __name__ == "__main__":
    self_test()
    with open(sys.argv[1], encoding="utf-8") as file:
        found = judge(json.load(file))
    print("\n".join(found) or "a trace")
    sys.exit(bool(found))
