#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For the scripts beside it: SCRIPT SHIM. Each runs a program of the distribution without us and with us (preloaded and
# as a layer, a policy in the process), and compares what the program says about its results. 77: the program is absent.
set -eu
SHIM=$1
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT INT TERM
export POCL_CACHE_DIR="$T/pocl" HOME="$T/home" XDG_CACHE_HOME="$T/home/.cache" LC_ALL=C
mkdir -p "$HOME" "$POCL_CACHE_DIR"
unset LD_PRELOAD OPENCL_LAYERS
for v in $(env | sed -n 's/^\(XSCHED_[A-Z_0-9]*\|XLOG_[A-Z]*\)=.*/\1/p'); do unset "$v"; done

need() {
    for program; do
        command -v "$program" >/dev/null && continue
        echo "skipped: $program is not installed"
        exit 77
    done
}

# plain PROGRAM ARGS...: result in $T/plain
plain() {
    "$@" >"$T/plain" 2>"$T/plain.err" || { cat "$T/plain" "$T/plain.err"; echo "fails without us"; exit 1; }
}

# ours PROGRAM ARGS...: result in $T/ours
ours() {
    env LD_PRELOAD="$SHIM" OPENCL_LAYERS="$SHIM" XSCHED_AUTO_XQUEUE=ON XSCHED_POLICY=HPF XSCHED_TRACE="$T/trace" \
        "$@" >"$T/ours" 2>"$T/ours.err" || { cat "$T/ours" "$T/ours.err"; echo "fails with us only"; exit 1; }
    if grep XSCHED "$T/ours.err"; then
        exit 1
    fi
}

# same [SED SCRIPT]: both results are equal, after taking out what differs from run to run, and not empty
same() {
    for f in plain ours; do
        sed "${1:-}" "$T/$f" >"$T/$f.cut"
    done
    test -s "$T/plain.cut"
    diff "$T/plain.cut" "$T/ours.cut" || { echo "results differ"; exit 1; }
    echo "$(wc -l <"$T/ours.cut") lines alike"
}

# counted LEAST: commands scheduled, as libpreempt and the trace count them, process by process
counted() {
    awk -v least="$1" '
        $4 == "submit" { split($2, id, "/"); n[id[1]]++; if ($NF + 0 > most[id[1]]) most[id[1]] = $NF + 0 }
        END {
            for (p in n) {
                total += n[p]
                printf "process %s: %d submits in the trace, %d counted by libpreempt\n", p, n[p], most[p]
                if (n[p] != most[p]) bad = 1
            }
            if (total < least) { printf "%d commands, at least %d expected\n", total, least; bad = 1 }
            exit bad
        }' "$T/trace"
}
