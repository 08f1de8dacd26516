#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# zig.sh cc|ar|ranlib ARGUMENT...: what Zig brings for C, for glibc 2.17 whatever this machine has. XSCHED_ZIG_PYTHON is a
# Python with the package ziglang. The linker knows no --push-state and --pop-state, and no libraries in -Wl: those are
# taken out, the libraries stand by themselves. An object that is a filter (-Wl,--filter=LIBRARY) or has one
# (-Wl,--auxiliary=LIBRARY) is linked by LLD itself: Zig's own linker options lack both.
set -eu
tool=$1 arguments=() libraries=() by_lld=
shift
for a in "$@"; do
    case $a in
    -Wl,--filter=* | -Wl,--auxiliary=*) by_lld=yes ;;
    esac
    if [[ $a = -Wl,* ]]; then
        a=${a//,--push-state/} a=${a//,--pop-state/}
        while [[ $a =~ ^(.*),(/[^,]*\.so[^,]*)(.*)$ ]]; do
            libraries=("${BASH_REMATCH[2]}" "${libraries[@]}")
            a=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
        done
        [ "$a" = -Wl ] || arguments+=("$a")
        arguments+=("${libraries[@]}")
        libraries=()
        continue
    fi
    arguments+=("$a")
done

# What of the compiler's arguments is for the linker. All objects are for glibc 2.17 already, and need no start files.
lld()
{
    local given=("$@") to=(-shared --eh-frame-hdr) parts i
    for ((i = 0; i < ${#given[@]}; i++)); do
        case ${given[i]} in
        -Wl,*)
            IFS=, read -r -a parts <<<"${given[i]#-Wl,}"
            to+=("${parts[@]}")
            ;;
        -o) to+=(-o "${given[++i]}") ;;
        -s | -L* | *.o | *.a | *.so | *.so.*) to+=("${given[i]}") ;;
        -isystem | -I) i=$((i + 1)) ;;
        esac
    done
    exec "${XSCHED_ZIG_PYTHON:-python3}" -m ziglang ld.lld "${to[@]}"
}

[ -z "$by_lld" ] || lld "${arguments[@]}"
[ "$tool" != cc ] || arguments=(-target "$(uname -m)-linux-gnu.2.17" "${arguments[@]}")
exec "${XSCHED_ZIG_PYTHON:-python3}" -m ziglang "$tool" "${arguments[@]}"
