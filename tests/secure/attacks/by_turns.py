#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks and no attack, of one or several builds, by turns: by_turns.py RUNS NAME=BUILD_FOLDER... [-- ATTACK...]

Prints raw results as docs/results/README.md describes them: what the victim waited for, and what xserver's main loop and
all of xserver used, in percent of a core. Needs root and a quiet machine. Without ATTACKs: those on HTTP.
"""
import json
import re
import subprocess
import sys

ON_HTTP = ("event_streams", "http_body", "http_connections", "http_hint", "http_look", "http_trickle", "http_unread", "linger_http",
           "tcp_table")
FIGURES = re.compile(r": (\d+) rounds, the victim waited for ([\d.]+) ms at most.*"
                     r": 99 of 100 waits took less than ([\d.]+) ms, xserver used ([\d.]+) % of a core, its main loop ([\d.]+) %", re.S)
NAMES = (("rounds", "1"), ("wait_max", "ms"), ("wait_p99", "ms"), ("xserver", "%"), ("main_loop", "%"))


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    runs = int(arguments[0])
    rest = arguments[1:]
    attacks = ON_HTTP
    if "--" in rest:
        attacks = rest[rest.index("--") + 1:]
        rest = rest[:rest.index("--")]
    builds = [a.split("=", 1) for a in rest]
    for run in range(runs):
        for attack in ("nobody", *attacks):
            for name, folder in builds if run % 2 == 0 else builds[::-1]:
                done = subprocess.run([f"{folder}/tests/secure/attacks/attack_{attack}"], capture_output=True, text=True, check=False)
                found = FIGURES.search(done.stdout)
                if not found:
                    sys.exit(f"{name}: attack_{attack} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
                for (metric, unit), value in zip(NAMES, found.groups()):
                    print(json.dumps({"variant": name, "side": attack, "run": run, "metric": metric, "value": float(value),
                                      "unit": unit}), flush=True)
                if done.returncode:
                    print(f"{name}: attack_{attack} fails:\n{done.stdout}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
