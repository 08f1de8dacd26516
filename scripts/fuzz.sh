#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzzers: fuzz.sh [NAME...]     FUZZ_SECONDS=60 in all (3600 for an hour), shared among them
#
# With libFuzzer (clang and its runtime; preset fuzz) each goes on from tests/fuzz/corpus/NAME and
# from what earlier runs found (build/fuzz/found/NAME). Without, the replaying programs of the gcc
# build change inputs of the corpora. A million messages to a server go first. What fails is kept in
# build/fuzz/failed/ until the next run; the exit status is then 1.
set -u
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60} messages=${FUZZ_MESSAGES:-1000000} jobs=$(nproc)
all=$(cd tests/fuzz && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')
names=${*:-$all}
count=$(echo $names | wc -w)
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
mkdir -p build

make_preset()   # PRESET TARGET...
{
    local preset=$1 log=build/$1-fuzz-build.log
    shift
    { cmake --preset "$preset" "${launcher[@]}" && cmake --build --preset "$preset" -j "$jobs" --target "$@"; } \
        >"$log" 2>&1 </dev/null || { tail -20 "$log"; return 1; }
}

make_preset gcc fuzzers || exit 1
begin=$SECONDS
if [[ " $names " == *" session "* || $names == "$all" ]] && [ "$messages" != 0 ]; then
    printf '%-10s ' session
    build/gcc/tests/fuzz/fuzz_session -u "$messages" tests/fuzz/corpus/session || exit 1
fi
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { (void)d; return n > 99; }' >build/probe.c
libfuzzer=false
if clang -fsanitize=fuzzer build/probe.c -o build/probe 2>/dev/null && make_preset fuzz fuzzers; then libfuzzer=true; fi
rm -f build/probe build/probe.c
if ! $libfuzzer; then
    echo "clang with libFuzzer is not here: inputs of the corpora are changed instead"
    per=$((seconds * 4000 / (count * 10)))
    for name in $names; do
        printf '%-10s ' "$name"
        timeout $((seconds + 60)) build/gcc/tests/fuzz/fuzz_$name -n $((per < 100 ? 100 : per)) -s $RANDOM$RANDOM \
            tests/fuzz/corpus/$name || exit 1
    done
    exit 0
fi
each=$((seconds * jobs / count))
[ "$each" -gt 0 ] || each=1
rm -rf build/fuzz/failed
mkdir -p build/fuzz/failed
one()   # NAME SECONDS
{
    local name=$1 log=build/fuzz/$1.log status runs
    mkdir -p "build/fuzz/found/$name"
    UBSAN_OPTIONS=print_stacktrace=1 build/fuzz/fuzzers/fuzz_"$name" -max_total_time="$2" -print_final_stats=1 \
        -timeout=30 -report_slow_units=30 -rss_limit_mb=4096 -max_len=4096 -detect_leaks=1 -artifact_prefix="build/fuzz/failed/$name-" \
        "build/fuzz/found/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 </dev/null
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    printf '%-10s %12s inputs tried, %s\n' "$name" "${runs:-?}" "$([ $status = 0 ] && echo nothing failed || echo "FAILED: $log")"
    return $status
}
export -f one
printf '%s\n' $names | xargs -P "$jobs" -I{} bash -c "one {} $each"
status=$?
total=$(cat build/fuzz/*.log | sed -n 's/^stat::number_of_executed_units: *//p' | awk '{n += $1} END {print n + 0}')
echo "fuzz: $total inputs in $((SECONDS - begin)) s, $count fuzzers, $(ls build/fuzz/failed | wc -l) failing inputs"
[ $status = 0 ]
