#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The public interface of libpreempt against the dump that is kept: abi_diff.sh FOLDER LIBRARY HEADERS [--write]
#
# A function or type that changed or went away fails. What was added is named: then run it with --write, and commit.
set -u
folder=$1 library=$2 headers=$3
command -v abidw >/dev/null || { echo "skipped: libabigail (abigail-tools) is not installed"; exit 77; }
ignore=$folder/dump/private.abignore
new=$(mktemp)
trap 'rm -f "$new"' EXIT
abidw --headers-dir "$headers" --drop-private-types --no-show-locs --no-comp-dir-path --suppressions "$ignore" \
    --out-file "$new" "$library" || exit 1
if [ "${4:-}" = --write ]; then cp "$new" "$folder/dump/libpreempt.abi"; exit; fi
abidiff --suppressions "$ignore" "$folder/dump/libpreempt.abi" "$new"
status=$?
[ $((status & 3)) = 0 ] || exit 1           # it could not compare
[ $((status & 8)) = 0 ] || { echo "the interface changed incompatibly"; exit 1; }
if [ $((status & 4)) != 0 ] && abidiff --no-added-syms --suppressions "$ignore" "$folder/dump/libpreempt.abi" "$new" >/dev/null; then
    echo "only added to: tests/abi/abi_diff.sh ... --write"
    exit 0
fi
exit $((status & 4))
