#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replay_check.sh XSCHED-REPLAY FOLDER: each FOLDER/X.trace gives FOLDER/X.expected; each
# FOLDER/bad/X.N.trace is refused with status 2 and a message that names line N.
tool=$1
dir=$2
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
checked=0
for trace in "$dir"/*.trace; do
    "$tool" "$trace" > "$tmp/out" 2> "$tmp/err"
    status=$?
    if [ $status -ne 0 ] || [ -s "$tmp/err" ] || ! diff -u "${trace%.trace}.expected" "$tmp/out"; then
        echo "$trace: status $status"; cat "$tmp/err"; failed=1
    fi
    # the same again, from standard input and as JSON: one object for each decision
    "$tool" --json - < "$trace" > "$tmp/json" || failed=1
    if [ "$(grep -c '^{"time_us":.*"queue":".*"run":.*}$' "$tmp/json")" -ne "$(wc -l < "$tmp/out")" ]; then
        echo "$trace: JSON differs"; failed=1
    fi
    checked=$((checked + 1))
done
for trace in "$dir"/bad/*.trace; do
    line=${trace%.trace}
    line=${line##*.}
    "$tool" "$trace" > "$tmp/out" 2> "$tmp/err"
    status=$?
    if [ $status -ne 2 ] || ! grep -a -q "$trace:$line: ." "$tmp/err"; then
        echo "$trace: status $status, expected 2 and line $line"; cat -v "$tmp/err"; failed=1
    fi
    checked=$((checked + 1))
done
"$tool" "$dir/there-is-no-such.trace" 2> /dev/null
[ $? -eq 2 ] || { echo "a missing file: wrong status"; failed=1; }
echo "$checked traces"
[ $checked -ge 27 ] || { echo "traces are missing"; failed=1; }
exit $failed
