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
# One core is the device that the programs share, as a GPU is. xserver may run on all.
core=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')
load="taskset -c $core ./oclload"
# Without XSched: an old PoCL may not know this machine's CPU ("unknown target CPU 'generic'").
$load calibrate --kernel-us 1000 >/dev/null || exit 77
iterations=$($load calibrate --kernel-us 1000 | sed -n 's/.*iterations=\([0-9]*\).*/\1/p')
high() { $1 $load requests --iterations "$iterations" --kernels 8 --period-us 40000 --count 30 --out "$2"; }
low() { exec $1 $load stream --iterations "$iterations" --in-flight 64 --seconds 60 >stream.out; }
end() { kill "$background" && wait "$background" || true; grep -q correct stream.out; }
urgent="xsched run -q --priority 10 --"
# Alone, beside the other natively, and beside it under XSched, by turns: what else the machine does falls on all of them.
for round in 1 2 3 4; do
    high "$urgent" alone$round.csv
    low "" &
    background=$!
    sleep 1
    high "" natively$round.csv
    end
    low "xsched run -q --priority 0 --" &
    background=$!
    until xsched doctor "$background" | grep -q "^PID $background: scheduled, priority 0"; do sleep 0.1; done
    high "$urgent" beside$round.csv
    if [ $round = 4 ]; then
        xcli list
        xsched record -q -d 1s -o who.svg && grep -q "PID $background, priority 0" who.svg
        xsched doctor "$background" || true
        venv/bin/python -c 'import xsched; assert xsched.status().policy == "HPF"; assert xsched.hint("oclload", priority=-1)'
    fi
    end
done
venv/bin/python - <<'P'
import csv

def median_us(names):
    took = sorted(int(r["end_ns"]) - int(r["intended_ns"]) for name in names for r in csv.DictReader(open(name)))
    return took[len(took) // 2] / 1e3

ROUNDS = range(1, 5)
median = {}
for variant in ("alone", "natively", "beside"):
    names = [f"{variant}{n}.csv" for n in ROUNDS]
    median[variant] = median_us(names)
    print(f"urgent program, {variant}: median {median[variant]:.0f} us, {median[variant] / median['alone']:.2f} times, of the rounds",
          *(f"{median_us([name]):.0f}" for name in names))
assert median["beside"] <= 1.3 * median["alone"], "the urgent program is slowed down"
assert median["natively"] > 1.3 * median["alone"], "nor is it without XSched: this shows nothing"
P
