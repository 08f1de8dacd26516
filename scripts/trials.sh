#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Adds an intercepted function, a policy, a platform, a stage of the decision and a hint to a copy of the tree, each by a patch
# of tests/trials, builds the copy and tests it: trials.sh [--check] [function|policy|platform|stage|hint]...
#
# A patch may touch the places that HACKING.md names for it (tests/trials/NAME.places) and no other. What it adds must then be
# known everywhere: tests/trials/NAME.effect asks the programs that were built. --check: only whether the patches apply and
# stay in their places, without a build.
set -u
cd "$(dirname "$0")/.."
trials=tests/trials jobs=${XSCHED_TEST_JOBS:-$(nproc)}
only_check=0 folder=build/trials
if [ "${1:-}" = --check ]; then only_check=1 folder=build/trials/check; shift; fi # both may run at a time
names=${*:-function policy platform stage hint}
copy=$PWD/$folder/src
status=0

fail() { echo "trial $name: $*"; status=1; }

# Files that the patch touches and no line of the file of places allows.
elsewhere()   # PLACES
{
    git apply --numstat "$trials/$name.patch" | cut -f3 | while read -r file; do
        grep -v '^#' "$1" | while read -r place; do
            # shellcheck disable=SC2053  # a pattern is meant
            [[ -n $place && $file == $place ]] && echo yes && break
        done | grep -q yes || echo "$file"
    done
}

make_copy()
{
    rm -rf "$copy" && mkdir -p "$copy"
    git ls-files -z --cached --others --exclude-standard | tar c --null -T - 2>/dev/null | tar x -C "$copy"
}

apply() { (cd "$copy" && GIT_CEILING_DIRECTORIES=$PWD/.. git apply "$@" -C1 "$OLDPWD/$trials/$name.patch"); }

log=$folder/log
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
mkdir -p "$folder"
make_copy
for name in $names; do
    [ -f "$trials/$name.patch" ] || { fail "there is no $trials/$name.patch"; continue; }
    others=$(elsewhere "$trials/$name.places")
    [ -z "$others" ] || { fail "needs a place that HACKING.md does not name: ${others//$'\n'/ }"; continue; }
    # this check itself: without its row in the table, no patch stays in its places
    grep -v '\.def$' "$trials/$name.places" >"$folder/fewer"
    [ -n "$(elsewhere "$folder/fewer")" ] || { fail "a file that nobody named was overlooked"; continue; }
    apply --check 2>"$log" || { cat "$log"; fail "the patch does not apply any more"; continue; }
    [ $only_check = 1 ] && { echo "trial $name: applies, and stays in its places"; continue; }
    apply
    targets=$(sed -n 's/^# targets: //p' "$trials/$name.effect")
    # shellcheck disable=SC2086  # words
    if ! (cd "$copy" && cmake --preset gcc "${launcher[@]}" && cmake --build --preset gcc -j "$jobs" --target $targets) \
        >"$log" 2>&1 </dev/null; then
        grep -m20 -E 'error|Error' "$log" || tail -20 "$log"
        fail "does not build ($log)"
    elif (cd "$copy" && bash -eu "$OLDPWD/$trials/$name.effect" build/gcc) >"$log" 2>&1; then
        echo "trial $name: known everywhere, and its tests pass"
    else
        tail -30 "$log"
        fail "is not known everywhere, or a test failed"
    fi
    apply -R
done
[ $status = 0 ] && [ $only_check = 0 ] && rm -rf "$copy"
exit $status
