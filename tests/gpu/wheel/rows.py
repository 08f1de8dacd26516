# SPDX-License-Identifier: Apache-2.0
"""What wheel_first saw, as a line of JSON.
rows.py turn ROUND VARIANT SECONDS WHAT_SERVE_SAID TIMES STEPS [DOCTOR]    a turn: latencies, and the other's steps in that time
rows.py result FILE FROM_NOTHING_S                                         of all turns in FILE"""
import json
import sys


def quantile(values, q):
    values = sorted(values)
    return round(values[min(len(values) - 1, int(q * len(values)))], 3)


def turn(number, variant, seconds, said, times, steps, doctor=""):
    with open(times, encoding="utf-8") as f:
        rows = [[float(word) for word in line.split()] for line in f]
    ms = [row[1] for row in rows]
    row = {"part": "turn", "round": int(number), "variant": variant, "n": len(ms), "p50_ms": quantile(ms, .5),
           "p99_ms": quantile(ms, .99), "turn_s": float(seconds), "torch": said, "samples_ms": [round(v, 3) for v in ms]}
    try:
        with open(steps, encoding="utf-8") as f:
            marks = [[float(word) for word in line.split()] for line in f if line.endswith("\n")]
        marks = [m for m in marks if rows[0][0] <= m[0] <= rows[-1][0]]
        row["steps_per_s"] = round((marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0]), 3) if len(marks) > 1 else 0
    except OSError:
        pass                   # a turn alone
    if doctor:
        row["doctor"] = doctor
    return row


def result(path, from_nothing_s):
    with open(path, encoding="utf-8") as f:
        turns = [r for r in map(json.loads, f) if r["part"] == "turn"]
    row = {"part": "result", "from_nothing_s": float(from_nothing_s)}
    for variant in ("alone", "native", "xsched"):
        ms = [v for r in turns if r["variant"] == variant for v in r["samples_ms"]]
        if ms:
            row[variant] = {"n": len(ms), "p50_ms": quantile(ms, .5), "p99_ms": quantile(ms, .99)}
    for variant in ("native", "xsched"):
        if variant in row and "alone" in row:
            row[variant]["times_alone"] = round(row[variant]["p50_ms"] / row["alone"]["p50_ms"], 3)
    row["ok"] = row.get("xsched", {}).get("times_alone", 99) <= 1.3 and row["from_nothing_s"] < 120
    return row


print(json.dumps({"turn": turn, "result": result}[sys.argv[1]](*sys.argv[2:])))
