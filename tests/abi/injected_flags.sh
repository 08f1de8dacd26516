#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Package builders put flags of their own into every compilation, CMake's Release and hardening among them. Nothing warns
# (each finds its warnings in the other's code, too), and the preloaded objects come out as always:
# injected_flags.sh SOURCE_DIR COMPILER PYTHON
set -eu
source=$1 cc=$2 python=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags="-O3 -DNDEBUG -fstack-protector-all -fstack-clash-protection -D_FORTIFY_SOURCE=3 -D_FILE_OFFSET_BITS=64 -ftls-model=global-dynamic"
launcher=
if command -v ccache >/dev/null; then launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache; fi
cmake -S "$source" -B "$tmp/b" -G Ninja -DXSCHED_TESTS=OFF -DXSCHED_WERROR=ON -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_COMPILER="$cc" $launcher -DCMAKE_C_FLAGS="$flags" -DCMAKE_SHARED_LINKER_FLAGS="-Wl,-z,relro" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
# The flags do arrive: otherwise this test would say nothing.
grep -q -- -fstack-protector-all "$tmp/b/compile_commands.json"
targets=$(ninja -C "$tmp/b" -t targets all | sed -n 's/^\(lib\/[^:]*\.so[^:]*\): C_SHARED_LIBRARY.*/\1/p')
[ -n "$targets" ] || { echo "no preloaded object in this build"; exit 1; }
ninja -C "$tmp/b" -j 2 >"$tmp/log" 2>&1 || { grep -E -A5 'error|warning' "$tmp/log" | head -40; exit 1; }
echo "no warning with $flags"
for t in $targets; do
    case $t in
    *libxsched-*hip*) shim=libshimhip.so ;;
    *libxsched-cuda*) shim=libshimcuda.so ;;
    *libxsched-OpenCL*) shim=libshimopencl.so ;;
    *) shim= ;;
    esac
    needs=
    case $t in
    *libxsched-ze_named*) needs="--needs libshimlevelzero.so" ;;
    *libxsched-ze_*-filter.so)
        shim=nothing
        readelf -dW "$tmp/b/$t" | grep -q 'Filter library: \[libze_intel_[a-z0-9_]*\.so\.1\]' || { echo "$t: no filter"; exit 1; } ;;
    *libxsched-ze_*) # it depends on the driver in whose place the loader opens it
        needs=${t##*/}
        needs="--needs libshimlevelzero.so --needs ${needs%.so}-filter.so" ;;
    esac
    "$python" "$source/tests/abi/check_object.py" ${shim:+--stands-for "$shim"} $needs "$tmp/b/$t"
    echo "$t: as always"
done
