#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The long forms of what the section `robust` of scripts/test.sh runs shortly: robust.sh WHAT
#
#   sequences   SEQUENCES=100000 seeded programs of 100 calls for each of SEQUENCES_OF="cuda hip opencl levelzero",
#               and as many of libpreempt's own functions
#   faults      every place (FAULTS_EVERY=1)
#   model       every interleaving
#   soak        SOAK_SECONDS=60; SOAK_OUT=FILE keeps the counters
set -u
cd "$(dirname "$0")/.."
build=build/gcc log=build/gcc-robust-build.log jobs=$(nproc)
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
mkdir -p build
if ! { cmake --preset gcc "${launcher[@]}" && cmake --build --preset gcc -j "$jobs"; } >$log 2>&1 </dev/null; then
    tail -20 $log
    exit 1
fi
here=$PWD/$build
case ${1:-} in
sequences)
    n=${SEQUENCES:-100000} first=${SEQUENCES_FIRST:-1} status=0
    declare -A fake=([cuda]=cuda/driver [hip]=hip/system [opencl]=opencl/driver [levelzero]=levelzero/driver)
    for platform in ${SEQUENCES_OF:-cuda hip opencl levelzero}; do
        printf '%-10s' "$platform"
        tests/sequences/run.py $here/tests/sequences/seq_$platform $here/lib/xsched/libshim$platform.so \
            $here/tests/fakes/${fake[$platform]} $here/bin/xserver "$n" 100 "$first" || status=1
    done
    XLOG_LEVEL=OFF $here/tests/sequences/seq_preempt "$first" "$n" 100 | tail -1 || status=1
    [ "${PIPESTATUS[0]}" = 0 ] || status=1
    exit $status
    ;;
faults) exec tests/faults/run.py --build $build --every "${FAULTS_EVERY:-1}" ;;
model)  exec tests/model/run.sh $build/tests/model ;;
soak)   exec tests/soak/run.py --build $build --seconds "${SOAK_SECONDS:-60}" ${SOAK_OUT:+--out "$SOAK_OUT"} ;;
*)      sed -n '3,9p' "$0"; exit 2 ;;
esac
