#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests, section by section: test.sh [SECTION...]
#
#   gcc     gcc build, all tests
#   clang   clang build, all but `once` and `clock` (not part of the default; the thread sanitizer's build is clang's)
#   asan    address and undefined-behaviour sanitizers
#   tsan    thread sanitizer (without tests that need PoCL)
#   matrix  every userland: musl and Debian chroots, with the objects of the gcc build
#   robust  random programs, injected faults, growth under load, fuzzers: the short forms (ROBUST_FUZZ_SECONDS=15)
#   packages  Debian packages in a fresh root, with and without systemd
#   system  both of these, side by side
#   fast    gcc build, fast tests only (not part of the default)
#   long    gcc build, what takes too long for every run, and the section clang (not part of the default)
#
# Without arguments: gcc, robust and system side by side, while the other builds take the time that these leave idle;
# then asan and tsan side by side; then the fuzzers; and last what has the label alone, by itself or in twos. That the
# checkout is as it was before is a test too. The last line is `N passed, N failed, N skipped`, summed over the results
# of ctest; the exit status is 0 only when nothing failed.
# Labels of tests (HACKING.md): fast, full, pocl (needs PoCL), asan and tsan (run there besides fast), matrix, packages,
# robust (only there), once (what does not depend on the compiler: not in clang), clock (judged by the clock: not in
# clang. A failing one judges once more, alone, at the section's end, and is named as unstable if it passes then; more
# than UNSTABLE of them in a run are failures. Not where it crashed, hung or a sanitizer found something), alone (those
# of clock that nothing may run beside, or only one that waits as well).
set -u
cd "$(dirname "$0")/.."
jobs=${XSCHED_TEST_JOBS:-$(nproc)}
width=$((jobs * 2))
sections=$*
passed=0 failed=0 skipped=0
UNSTABLE=2
unstable=()
times=()
launcher=
if command -v ccache >/dev/null 2>&1; then launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache; fi

# The thread sanitizer of older compilers cannot start where addresses are very random.
fixed=() wrap=()
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed=(setarch "$(uname -m)" -R); fi

build()   # PRESET
{
    local log=build/$1-build.log
    mkdir -p build
    if ! { cmake --preset "$1" $launcher && cmake --build --preset "$1" -j "$jobs"; } >"$log" 2>&1 </dev/null; then
        tail -40 "$log"
        echo "build of $1 failed ($log)"
        return 1
    fi
}

# Builds PRESETs one after the other in the background, in the time that others leave idle. A session of its own, since
# the scheduler weighs sessions first (autogroup).
builder=
build_beside()   # PRESET...
{
    local idle=()
    if chrt -i 0 true 2>/dev/null; then idle=(chrt -i 0); fi
    mkdir -p build
    for preset in "$@"; do rm -f "build/$preset.built"; done
    # not exported: the tests would have it in their environment
    setsid "${idle[@]}" bash -c "jobs=$jobs launcher=$launcher; $(declare -f build)
        { echo 19 >/proc/self/autogroup; } 2>/dev/null"'
        for preset in "$@"; do build "$preset"; echo $? >"build/$preset.built"; done' build "$@" >build/beside.log 2>&1 &
    builder=$!
}

# Nothing else is left to do: the builds take their part, where this user may give it to them.
hurry()
{
    local p
    if [ -z "$builder" ]; then return; fi
    { echo 0 >"/proc/$builder/autogroup"; } 2>/dev/null
    for p in $(pgrep -s "$builder" 2>/dev/null); do chrt -o -p 0 "$p" 2>/dev/null; done
}

built()   # PRESET: waits for it
{
    until [ -s "build/$1.built" ]; do
        if ! kill -0 "$builder" 2>/dev/null; then build "$1"; return; fi
        sleep 0.2
    done
    if [ "$(cat "build/$1.built")" != 0 ]; then
        tail -40 "build/$1-build.log"
        echo "build of $1 failed (build/$1-build.log)"
        return 1
    fi
}

attribute()   # NAME FILE: of the first <testsuite>
{
    grep -o -m1 "\b$1=\"[0-9]*\"" "$2" | head -1 | tr -dc '0-9'
}

# A preloaded object of a sanitizer's build comes before the program's own libraries; any other
# finding ends the test.
export ASAN_OPTIONS=${ASAN_OPTIONS:-verify_asan_link_order=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}

# A server that a test leaves to `xsched run` comes and goes in here, and not where this user's own programs look.
runtime=$(mktemp -d /tmp/xsched-tests.XXXXXX)
finish()
{
    if [ -n "$builder" ]; then kill -- "-$builder" 2>/dev/null; fi
    rm -rf "$runtime"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

run_tests()   # PRESET SECTION CTEST-ARGUMENTS...
{
    local preset=$1 section=$2 junit=$PWD/build/$2.junit.xml log=$PWD/build/$2.log status all bad skip
    shift 2
    rm -f "$junit"
    export XDG_RUNTIME_DIR=$runtime/$preset
    mkdir -p -m 700 "$XDG_RUNTIME_DIR"
    # two at a time for each core: most of them wait. One that computes counts for two, one by the clock
    # runs alone, or beside one like it (cmake/XsTest.cmake).
    "${wrap[@]}" ctest --test-dir "build/$preset" -j "$width" --output-on-failure --output-junit "$junit" \
        --timeout 600 "$@" </dev/null | grep -vE '^ *Start |^Internal ctest|^Test project' | tee "$log"
    status=${PIPESTATUS[0]}
    if [ ! -s "$junit" ]; then
        [ "$status" = 0 ]   # else no test has such a label
        return
    fi
    all=$(attribute tests "$junit") bad=$(attribute failures "$junit")
    skip=$(($(attribute skipped "$junit") + $(attribute disabled "$junit")))
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then failed=$((failed + 1)); fi   # ctest itself
    judge_again "$preset" "$section" "$log"
    passed=$((passed + all - bad - skip)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

# Tests judged by the clock that failed in LOG judge once more: lowers the caller's `bad` by those that pass then.
judge_again()   # PRESET SECTION LOG
{
    local name pattern
    if grep -qE 'Sanitizer:|runtime error:' "$3"; then return; fi
    if [ -n "$builder" ]; then kill -STOP -- "-$builder" 2>/dev/null; fi
    for name in $(sed -n 's/^[[:space:]]*[0-9]* - \([^ ]*\) (Failed).*/\1/p' "$3"); do
        if [ ${#unstable[@]} -ge $UNSTABLE ]; then break; fi
        pattern="^${name//./\\.}\$"
        if ! ctest --test-dir "build/$1" -N -L '^clock$' -R "$pattern" | grep -q '^Total Tests: 1$'; then continue; fi
        echo "== $name once more, since the clock judged it"
        if "${wrap[@]}" ctest --test-dir "build/$1" --output-on-failure --timeout 600 --no-tests=error -L '^clock$' \
            -R "$pattern" </dev/null; then
            unstable+=("$2: $name")
            bad=$((bad - 1))
        fi
    done
    if [ -n "$builder" ]; then kill -CONT -- "-$builder" 2>/dev/null; fi
}

took()   # NAME SINCE
{
    times+=("$(printf '%-8s %4d s' "$1" $((SECONDS - $2)))")
}

section()   # NAME
{
    local begin=$SECONDS
    echo "== $1"
    case $1 in
    robust) build gcc && run_robust ;;
    gcc)    build gcc && run_tests gcc gcc -LE '^(matrix|packages|robust|long|alone)$' &&
            run_tests gcc gcc.alone -L '^alone$' -LE '^(matrix|packages|robust|long)$' ;;
    fast)   build gcc && run_tests gcc fast -L '^fast$' ;;
    clang)  build clang && run_tests clang clang -LE '^(matrix|packages|robust|once|clock|long)$' ;;
    asan)   build asan && run_tests asan asan -L '^(fast|asan)$' ;;
    tsan)   build tsan && run_tsan tsan -L '^(fast|tsan)$' -LE '^pocl$' ;;
    long)   build gcc && run_tests gcc long -L '^long$'; section clang ;;
    matrix) build gcc && run_tests gcc matrix -L '^matrix$' ;;
    packages) build gcc && run_tests gcc packages -L '^packages$' ;;
    system) build gcc && run_tests gcc system -L '^(matrix|packages)$' ;;
    *)      echo "no such section: $1"; false ;;
    esac || failed=$((failed + 1))
    took "$1" "$begin"
}

# What the long runs would print is printed here too: how much was tried.
tried()
{
    grep -hE '(API calls|faults injected|inputs tried|^soak:|^upgrade:).*[0-9]' build/gcc/Testing/Temporary/LastTest.log
}

run_fuzz()
{
    if FUZZ_SECONDS=${ROBUST_FUZZ_SECONDS:-15} FUZZ_MESSAGES=100000 scripts/fuzz.sh; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

run_robust()
{
    local status
    run_tests gcc robust -L '^robust$'
    status=$?
    tried
    run_fuzz
    return $status
}

run_tsan()   # SECTION CTEST-ARGUMENTS...
{
    local status
    wrap=("${fixed[@]}")
    run_tests tsan "$@"
    status=$?
    wrap=()
    return $status
}

# Runs COMMAND once PRESET is built, beside what else runs: its output is in build/PRESET.out, what it counted in .count.
aside()   # PRESET TESTS-AT-A-TIME COMMAND...
{
    local begin=$SECONDS preset=$1
    width=$2
    shift 2
    passed=0 failed=0 skipped=0
    { built "$preset" && begin=$SECONDS && "$@"; } >"build/$preset.out" 2>&1 || failed=$((failed + 1))
    echo "$passed $failed $skipped $((SECONDS - begin))" >"build/$preset.count"
}

collect()   # PRESET
{
    local p f s seconds
    echo "== $1"
    cat "build/$1.out"
    read -r p f s seconds <"build/$1.count" || p=0 f=1 s=0 seconds=0
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    times+=("$(printf '%-8s %4d s' "$1" "$seconds")")
}

# All sections, in the order that the first lines of this file say.
everything()
{
    local begin=$SECONDS preset beside=()
    echo "== gcc, robust and system"
    if build gcc; then
        took build $begin
        build_beside asan tsan fuzz
        begin=$SECONDS
        run_tests gcc gcc -LE '^(long|alone)$' || failed=$((failed + 1))
        tried
        took gcc $begin
    else
        failed=$((failed + 1))
        build_beside asan tsan fuzz
    fi
    hurry
    rm -f build/{asan,tsan}.{out,count}
    aside asan $jobs run_tests asan asan -L '^(fast|asan)$' -LE '^alone$' & beside+=($!)
    aside tsan $jobs run_tsan tsan -L '^(fast|tsan)$' -LE '^(pocl|alone)$' & beside+=($!)
    wait "${beside[@]}"
    for preset in asan tsan; do collect $preset; done
    built fuzz >/dev/null
    begin=$SECONDS
    echo "== fuzz"
    run_fuzz
    took fuzz $begin
    begin=$SECONDS
    echo "== alone"
    run_tests gcc gcc.alone -L '^alone$' -LE '^long$' || failed=$((failed + 1))
    run_tests asan asan.alone -L '^(fast|asan)$' -L '^alone$' || failed=$((failed + 1))
    run_tsan tsan.alone -L '^(fast|tsan)$' -L '^alone$' -LE '^pocl$' || failed=$((failed + 1))
    took alone $begin
}

tree() { git status --porcelain 2>/dev/null; }
before=$(tree)
if [ -z "$sections" ]; then everything; fi
for s in $sections; do section "$s"; done
echo
if [ "$(tree)" = "$before" ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "something was left in the checkout, or changed there:"
    diff <(printf '%s\n' "$before") <(tree) | grep '^[<>]'
fi
printf '%s\n' "${times[@]}"
for s in "${unstable[@]}"; do echo "unstable: $s failed, and passed when it judged again"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
