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
iterations=$(./oclload calibrate --kernel-us 1000 | sed -n 's/.*iterations=\([0-9]*\).*/\1/p')
urgent() { xsched run -q --priority 10 -- ./oclload requests --iterations "$iterations" --kernels 4 --period-us 50000 --count 100 --out "$1"; }
urgent alone.csv
xsched run -q --priority 0 -- ./oclload stream --iterations "$iterations" --in-flight 64 --seconds 60 >stream.out &
background=$!
sleep 1
xcli list
xsched doctor "$background" || true
urgent beside.csv
venv/bin/python - <<'P'
import csv
import xsched

def median_us(name):
    rows = list(csv.DictReader(open(name)))
    took = sorted(int(r["end_ns"]) - int(r["intended_ns"]) for r in rows)
    return took[len(took) // 2] / 1e3

alone, beside = median_us("alone.csv"), median_us("beside.csv")
print(f"urgent program: median {alone:.0f} us alone, {beside:.0f} us beside the other: {beside / alone:.2f} times")
assert xsched.status().policy == "HPF"
assert xsched.hint("oclload", priority=-1)
assert beside <= 1.3 * alone, "the urgent program is slowed down"
P
kill "$background"
wait "$background" || true
grep -q correct stream.out
