#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh OUTPUT_FOLDER: client (of level3), gates, lazy, micro and inside (XSCHED_LIB: where libhalcuda is). Needs nvcc
# and cuda.h for client and lazy, which are linked to the driver's stub; CUDA_LIBDIR says where the driver's library is found at run time.
set -e
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?output folder}
cuda=${CUDA_HOME:-/usr/local/cuda}
libdir=${CUDA_LIBDIR:-/usr/local/nvidia/lib64}
mkdir -p "$out"
"$cuda/bin/nvcc" -arch="${CUDA_ARCH:-sm_90}" -cubin -o "$out/kernels.cubin" "$here/../level3/kernels.cu"
(echo '/* made from kernels.cu */'; echo 'static const unsigned char k_cubin[] __attribute__((aligned(64))) = {'
 od -An -v -tx1 "$out/kernels.cubin" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '};') >"$out/kernels.inc"
cc="${CC:-gcc} -std=gnu17 -O2 -g -Wall -Wextra -D_GNU_SOURCE"
stubs=$cuda/lib64/stubs
[ -e "$stubs/libcuda.so" ] || stubs=$cuda/lib/stubs
$cc -I"$cuda/include" -I"$out" -o "$out/client" "$here/../level3/client.c" -L"$stubs" -lcuda -Wl,-rpath,"$libdir"
"$cuda/bin/nvcc" -arch="${CUDA_ARCH:-sm_90}" -cubin -o "$out/lazy.cubin" "$here/lazy.cu"
"$cuda/bin/nvcc" -arch=compute_80 -ptx -o "$out/lazy.ptx" "$here/lazy.cu"
$cc -I"$cuda/include" -o "$out/lazy" "$here/lazy.c" -L"$stubs" -lcuda -ldl -lpthread -Wl,-rpath,"$libdir"
$cc -o "$out/gates" "$here/gates.c" -ldl -lpthread
$cc -o "$out/micro" "$here/../micro.c" -ldl
root=$here/../../..
$cc -I"$root/src" -I"$root/include" -o "$out/inside" "$root/tests/cuda/inside.c" -L"${XSCHED_LIB:?folder of libhalcuda}" \
    -lhalcuda -lpreempt -ldl -lpthread
