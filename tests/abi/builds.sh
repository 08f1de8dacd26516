#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What people and distributions build, without a warning: builds.sh SOURCE COMPILER FLAGS
set -eu
source=$1 compiler=$2 flags=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$source" -B "$work" -G Ninja -DCMAKE_C_COMPILER="$compiler" -DXSCHED_TESTS=OFF -DXSCHED_WERROR=ON -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="$flags" >"$work/log" 2>&1 && cmake --build "$work" -j 2 >>"$work/log" 2>&1 ||
    { grep -E -A5 'error|warning' "$work/log" | head -40; exit 1; }
echo "no warning with $flags"
