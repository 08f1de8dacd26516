#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh XSCHED PROGRAM: runs the example under the trace and wants each of its 200 kernels scheduled.
set -eu
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT
"$1" trace --summary "$summary" -- "$2"
cat "$summary"
submits=$(awk '$1 == "hipModuleLaunchKernel" { print $3 }' "$summary")
scheduled=$(sed -n 's/.*scheduled commands: \([0-9]*\)$/\1/p' "$summary")
[ "$submits" = 200 ] || { echo "scheduled kernels: $submits, not 200"; exit 1; }
[ "$scheduled" -ge 200 ] || { echo "scheduled commands: $scheduled"; exit 1; }
