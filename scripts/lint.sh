#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Format and static checks: lint.sh [BASE|--all]   over the C files that differ from BASE (default main).
#
#                lint.sh --cppcheck      cppcheck over src/: a gate, exit status 1 on a finding
#                lint.sh --analyzer      gcc -fanalyzer over src/ (minutes; much of what it says of C is not so)
#
# Shows what clang-format would change in the changed lines and what clang-tidy finds; advice, no gate.
set -u
cd "$(dirname "$0")/.."
base=${1:-main}
case $base in
--cppcheck)
    command -v cppcheck >/dev/null || { echo "cppcheck is not installed"; exit 1; }
    # what it cannot parse (macros with types) is no finding; neither is a test for NULL that came before
    exec cppcheck --enable=warning,portability --std=c11 --inline-suppr --quiet -j "$(nproc)" -Iinclude -Isrc \
        -D_GNU_SOURCE -DXSCHED_VERSION='"0"' --error-exitcode=1 --suppressions-list=scripts/cppcheck.txt \
        --template='{file}:{line}: {severity}: {id}: {message}' src
    ;;
--analyzer)
    rm -rf build/analyzer
    cmake -S . -B build/analyzer -G Ninja -DXSCHED_TESTS=OFF -DCMAKE_C_COMPILER=gcc \
        -DCMAKE_C_FLAGS="-fanalyzer -Wno-error -Wno-analyzer-malloc-leak" >/dev/null || exit 1
    cmake --build build/analyzer -j "$(nproc)" 2>&1 | grep -E "\[-Wanalyzer" | sort -u
    exit 0
    ;;
esac
if [ "$base" = --all ]; then
    mapfile -t files < <(git ls-files 'src/*.c' 'tests/*.c' 'bench/*.c' 'examples/*.c')
else
    from=$(git merge-base "$base" HEAD) || exit 1
    mapfile -t files < <(git diff --name-only --diff-filter=d "$from" -- '*.c')
    if command -v git-clang-format >/dev/null; then git clang-format --diff "$from" -- || true; fi
fi
[ ${#files[@]} -gt 0 ] || { echo "no C file differs from $base"; exit 0; }
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 1; }
cmake --preset clang >/dev/null || exit 1
build=build/clang
known=()
for f in "${files[@]}"; do grep -q "/$f\"" $build/compile_commands.json && known+=("$f"); done
printf '%s\n' "${known[@]}" | xargs -r -P "$(nproc)" -n 4 clang-tidy -p $build --quiet 2>/dev/null
