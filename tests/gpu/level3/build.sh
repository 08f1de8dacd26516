#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh OUTPUT_FOLDER: the program `level3`, which needs an NVIDIA GPU to run. Needs nvcc and
# cuda.h to be built; the driver's library is found at run time (CUDA_LIBDIR: where).
set -e
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=${1:?output folder}
cuda=${CUDA_HOME:-/usr/local/cuda}
libdir=${CUDA_LIBDIR:-/usr/local/nvidia/lib64}
mkdir -p "$out"
"$cuda/bin/nvcc" -arch="${CUDA_ARCH:-sm_90}" -cubin -o "$out/kernels.cubin" "$here/kernels.cu"
(echo '/* made from kernels.cu */'; echo 'static const unsigned char k_cubin[] __attribute__((aligned(64))) = {'
 od -An -v -tx1 "$out/kernels.cubin" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '};') >"$out/kernels.inc"
${CC:-gcc} -std=gnu17 -O2 -g -Wall -Wextra -D_GNU_SOURCE -I"$root/src" -I"$root/include" -I"$cuda/include" -I"$out" \
    -I"$here" -rdynamic -o "$out/level3" "$here/gpu.c" "$here/share.c" "$here/kill.c" \
    "$root"/src/hal/cuda/rm/rm_objects.c "$root"/src/hal/cuda/rm/rm_control.c "$root"/src/nvrm/channel_group.c \
    "$root"/src/shim/cuda/ioctl_entry.c "$root"/src/base/env.c "$root"/src/base/log.c "$root"/src/base/str.c \
    "$root"/src/base/fd.c "$root"/src/base/futex.c -L"$cuda/lib64/stubs" -lcuda -lpthread -Wl,-rpath,"$libdir"
${CC:-gcc} -std=gnu17 -O2 -g -Wall -Wextra -D_GNU_SOURCE -I"$cuda/include" -I"$out" -o "$out/client" "$here/client.c" \
    -L"$cuda/lib64/stubs" -lcuda -Wl,-rpath,"$libdir"
