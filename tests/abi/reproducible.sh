#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same objects from two folders, and hardened programs: reproducible.sh SOURCE COMPILER PYTHON
set -eu
source=$1 compiler=$2 python=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in a a-much-longer-name; do
    mkdir -p "$work/$folder"
    (cd "$source" && tar -c --exclude=./build --exclude=./.git --exclude=./docs/results .) |
        tar -xf - -C "$work/$folder"
    cmake -S "$work/$folder" -B "$work/$folder/build" -G Ninja -DCMAKE_C_COMPILER="$compiler" -DXSCHED_TESTS=OFF -DXSCHED_RELEASE=ON \
        >"$work/log" 2>&1 && cmake --build "$work/$folder/build" -j 2 --target preempt shimopencl xcli xserver >>"$work/log" 2>&1 ||
        { tail -20 "$work/log"; exit 1; }
done
status=0
for object in lib/libpreempt.so.1 lib/libhalopencl.so.1 lib/xsched/libshimopencl.so bin/xcli bin/xserver; do
    cmp "$work/a/build/$object" "$work/a-much-longer-name/build/$object" || status=1
done
"$python" "$source/tests/abi/check_hardening.py" "$work"/a/build/bin/{xcli,xserver} || status=1
[ $status = 0 ] && echo "equal objects from two folders"
exit $status
