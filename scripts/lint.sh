#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Static checks, as a gate: the exit status is 1 on a finding.   lint.sh [WHAT...]
#
#   (nothing)         cppcheck, clang-tidy and gcc -fanalyzer over src/ (half an hour on two cores)
#   --quick [BASE]    cppcheck, and clang-tidy without its path analysis, over src/; -fanalyzer over what lies in the path
#                     of a launch and what differs from BASE (default main): what scripts/test.sh runs
#   --cppcheck, --tidy [FILE...], --tidy-quick [FILE...], --analyzer [FILE...]      one of them
#   --format [BASE]   what clang-format would change in lines that differ; advice
#
# What they look for, and what is left out and why: .clang-tidy, scripts/cppcheck.txt, scripts/analyzer.txt. A single
# finding of clang-tidy's that is none has a comment beside it that says why.
set -u
cd "$(dirname "$0")/.."
jobs=$(nproc)
# The files through which each launch goes.
hot="src/xqueue/submit/submit.c src/xqueue/submit/in_flight.c src/xqueue/wait.c src/xqueue/gates/gate.c src/xqueue/mark.c src/xqueue/estimate.c src/xqueue/gates/context_blocking.c src/xqueue/inherit.c
    src/shim/stream/entries.c src/shim/opencl/opencl_submit.c src/shim/opencl/entries.c src/hal/cuda/gates.c src/wire/wire.c
    src/xserver/sessions.c src/xserver/messages.c"

need()   # PROGRAM
{
    command -v "$1" >/dev/null || { echo "$1 is not installed: scripts/setup.sh test"; exit 77; }
}

run_cppcheck()
{
    need cppcheck
    # what it cannot parse (macros with types) is no finding
    if cppcheck --enable=warning,portability --std=c11 --inline-suppr --quiet -j "$jobs" -Iinclude -Isrc \
        -D_GNU_SOURCE -DXSCHED_VERSION='"0"' --error-exitcode=1 --suppressions-list=scripts/cppcheck.txt \
        --template='{file}:{line}: {severity}: {id}: {message}' src; then
        echo "cppcheck: $(find src -name '*.c' | wc -l) files, no findings"
    else
        return 1
    fi
}

# Files of the C room that a configured build compiles, with its flags.
configured()   # FOLDER FILE...: those that it has
{
    local build=$1 f
    shift
    for f in "$@"; do grep -q "\"file\": \"$PWD/$f\"" "$build/compile_commands.json" && printf '%s\n' "$f"; done
}

run_tidy()   # CHECKS FILE...: CHECKS is added to what .clang-tidy names
{
    local out=build/tidy.txt files checks=$1
    shift
    need clang-tidy
    cmake --preset clang -B build/lint >/dev/null || return 1 # not build/clang: scripts/test.sh may be building there
    mapfile -t files < <(configured build/lint "$@")
    [ ${#files[@]} -gt 0 ] || return 0
    printf '%s\n' "${files[@]}" | xargs -r -P "$jobs" -n 1 clang-tidy -p build/lint --quiet \
        ${checks:+--checks=$checks} >$out 2>$out.err
    if grep -E '(warning|error): ' $out | sort -u | grep -E '^'; then return 1; fi
    if grep -qE '^Error while processing|error: ' $out.err; then
        grep -E '^Error while processing|error: ' $out.err | head
        return 1
    fi
    echo "clang-tidy: ${#files[@]} files, no findings"
}

run_analyzer()   # FILE...
{
    local out=build/analyzer.txt files
    cmake --preset gcc >/dev/null || return 1
    mapfile -t files < <(configured build/gcc "$@")
    [ ${#files[@]} -gt 0 ] || return 0
    python3 - "${files[@]}" <<'PY' | xargs -r -P "$jobs" -d '\n' -n 1 sh -c >$out 2>&1
import json, os, shlex, sys
want, seen = set(map(os.path.abspath, sys.argv[1:])), set()
for row in json.load(open("build/gcc/compile_commands.json")):
    if row["file"] in want - seen:
        seen.add(row["file"])
        words = shlex.split(row["command"])
        at = words.index("-o")
        words = [w for i, w in enumerate(words) if i not in (at, at + 1) and w not in ("-Werror", "ccache") and
                 not w.endswith("/ccache")]
        print("cd " + shlex.quote(row["directory"]) + " && " + shlex.join(words) + " -O1 -fanalyzer -Wno-analyzer-malloc-leak "
              "-Wno-analyzer-file-leak -o /dev/null")
PY
    if grep -E '\[-Wanalyzer|error: ' $out | sort -u | grep -vE -f <(grep -v '^#' scripts/analyzer.txt) | grep -E '^'; then
        return 1
    fi
    echo "gcc -fanalyzer: ${#files[@]} files, no findings"
}

changed()   # BASE
{
    local from
    from=$(git merge-base "$1" HEAD 2>/dev/null) && git diff --name-only --diff-filter=d "$from" -- 'src/*.c'
}

quick=-clang-analyzer-*   # the path analysis: nearly all of the time
all=$(find src -name '*.c' | sort)
what=${1:-}
[ $# -gt 0 ] && shift
case $what in
"") status=0
    run_cppcheck || status=1
    run_tidy "" $all || status=1
    run_analyzer $all || status=1
    exit $status ;;
--quick)
    status=0
    some=$( { printf '%s\n' $hot; changed "${1:-main}"; } | sort -u)
    run_cppcheck || status=1
    run_tidy "$quick" $all || status=1
    run_analyzer $some || status=1
    exit $status ;;
--cppcheck) run_cppcheck ;;
--tidy)     run_tidy "" ${*:-$all} ;;
--tidy-quick) run_tidy "$quick" ${*:-$all} ;;
--analyzer) run_analyzer ${*:-$all} ;;
--format)
    from=$(git merge-base "${1:-main}" HEAD) || exit 1
    need git-clang-format
    git clang-format --diff "$from" -- || true ;;
*)  sed -n '3,14p' "$0"; exit 2 ;;
esac
