#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All models: run.sh FOLDER_OF_THE_PROGRAMS. The last line counts what they explored.
set -u
folder=$1 status=0 out=$(mktemp)
trap 'rm -f "$out"' EXIT
for program in "$folder"/model_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    "$program" | tee -a "$out" || status=1
done
awk '/^(ok|FAIL)/ || / interleavings run/ {
         n++; wrong += / as it must be/
         for (i = 2; i <= NF; i++) { if ($i == "interleavings") runs += $(i-1); if ($i ~ /^states/) states += $(i-1); if ($i ~ /^transitions/) moves += $(i-1) }
     }
     END { printf "model: %d models, %d of them wrong on purpose and found; %d interleavings run, %d states, %d transitions\n", n, wrong, runs, states, moves }' "$out"
exit $status
