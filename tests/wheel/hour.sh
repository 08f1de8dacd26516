#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a user does with the wheel in an hour, in a userland without a compiler and without root. Run by `run`, in a home of its own.
set -eu
cd "$HOME"
if command -v gcc >/dev/null; then echo "there is a compiler"; exit 1; fi
python3 -m venv venv
venv/bin/pip install -q --no-index ./xsched-*.whl
PATH=$HOME/venv/bin:$PATH
export PATH POCL_MAX_PTHREAD_COUNT=1 OCL_ICD_VENDORS=/etc/OpenCL/vendors
xsched doctor || true
# Without XSched: an old PoCL may not know this machine's CPU ("unknown target CPU 'generic'").
./oclload calibrate --kernel-us 1000 >/dev/null || exit 77
iterations=$(./oclload calibrate --kernel-us 1000 | sed -n 's/.*iterations=\([0-9]*\).*/\1/p')
urgent() { xsched run -q --priority 10 -- ./oclload requests --iterations "$iterations" --kernels 4 --period-us 50000 --count 40 --out "$1"; }
# Alone and beside the other by turns, so that what else the machine does falls on both.
for round in 1 2 3; do
    urgent alone$round.csv
    xsched run -q --priority 0 -- ./oclload stream --iterations "$iterations" --in-flight 64 --seconds 60 >stream.out &
    background=$!
    until xsched doctor "$background" | grep -q "^PID $background: scheduled, priority 0"; do sleep 0.1; done
    urgent beside$round.csv
    if [ $round = 3 ]; then
        xcli list
        xsched doctor "$background" || true
        venv/bin/python -c 'import xsched; assert xsched.status().policy == "HPF"; assert xsched.hint("oclload", priority=-1)'
    fi
    kill "$background"
    wait "$background" || true
    grep -q correct stream.out
done
venv/bin/python - <<'P'
import csv

def median_us(names):
    took = sorted(int(r["end_ns"]) - int(r["intended_ns"]) for name in names for r in csv.DictReader(open(name)))
    return took[len(took) // 2] / 1e3

def by_round(name):
    return " ".join(f"{median_us([f'{name}{n}.csv']):.0f}" for n in (1, 2, 3))

print("medians of the rounds in us: alone", by_round("alone"), "beside", by_round("beside"))
alone, beside = (median_us([f"{name}{n}.csv" for n in (1, 2, 3)]) for name in ("alone", "beside"))
print(f"urgent program: median {alone:.0f} us alone, {beside:.0f} us beside the other: {beside / alone:.2f} times")
assert beside <= 1.3 * alone, "the urgent program is slowed down"
P
