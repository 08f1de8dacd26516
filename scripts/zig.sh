#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# zig.sh cc|ar|ranlib ARGUMENT...: what Zig brings for C, for glibc 2.17 whatever this machine has. XSCHED_ZIG_PYTHON is a
# Python with the package ziglang. The linker knows no --push-state and --pop-state, and no libraries in -Wl: those are
# taken out, the libraries stand by themselves. An object that is a filter (-Wl,--filter=LIBRARY) is linked by LLD itself.
set -eu
tool=$1 arguments=() libraries=() filter= name= object=
shift
for a in "$@"; do
    case $a in
    -Wl,--filter=*) filter=${a#*=} ;;
    -Wl,-soname,*) name=${a##*,} ;;
    *.o) object=$a ;;
    *.so) result=$a ;;
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
[ -z "$filter" ] ||
    exec "${XSCHED_ZIG_PYTHON:-python3}" -m ziglang ld.lld -shared -s -z nodelete -z now -z noexecstack -soname "$name" --filter "$filter" \
        -o "$result" "$object"
[ "$tool" != cc ] || arguments=(-target "$(uname -m)-linux-gnu.2.17" "${arguments[@]}")
exec "${XSCHED_ZIG_PYTHON:-python3}" -m ziglang "$tool" "${arguments[@]}"
