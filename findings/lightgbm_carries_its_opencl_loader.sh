#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# LightGBM's Python wheel carries an OpenCL loader inside lib_lightgbm.so: device_type=gpu runs without libOpenCL.so.1, and that
# loader knows no layers, so a library of that soname and OPENCL_LAYERS see none of its kernels. A preloaded clEnqueueNDRangeKernel
# sees them all, since the wheel's library exports the loader's functions and calls them by name.
#
# Whom it matters to: whoever traces, schedules or virtualises OpenCL by a layer or by a libOpenCL.so.1 of his own; whoever
# decides by /proc/PID/maps whether a process uses OpenCL.
# Guess before the run: the wheel opens libOpenCL.so.1 of the system, so both ways work.
# Seen: lightgbm 4.7.0, PoCL 3.1 and ocl-icd 2.3.1 of Debian 12, 2026-11-30.
#
# Needs x86-64, gcc, python3 with venv and pip, the packages pocl-opencl-icd, ocl-icd-libopencl1 and opencl-headers; no GPU.
# It downloads 4 MB. PoCL compiles for a minute or two.
set -eu
for f in /usr/include/CL/cl_layer.h /etc/OpenCL/vendors/pocl.icd; do
    [ -e "$f" ] || { echo "needed: $f"; exit 1; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip download -q --no-deps --only-binary :all: --platform manylinux_2_28_x86_64 -d "$dir" lightgbm==4.7.0
python3 -m zipfile -e "$dir"/lightgbm-4.7.0-*.whl "$dir/wheel"
cat > "$dir/layer.c" <<'C'
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_layer.h>
#include <stdio.h>
#include <string.h>

cl_int clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *ret)
{
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const char text[] = "count";
    int number = name == CL_LAYER_API_VERSION;
    size_t n = number ? sizeof(version) : sizeof(text);

    if (value && size >= n)
        memcpy(value, number ? (const void *)&version : text, n);
    if (ret)
        *ret = n;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *ret_n, const cl_icd_dispatch **ret)
{
    fputs("layer begins\n", stderr);
    *ret_n = n;
    *ret = target;
    return CL_SUCCESS;
}
C
cat > "$dir/preload.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int launch_fn(void *, void *, unsigned, const void *, const void *, const void *, unsigned, const void *, void *);

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dim, const void *offset, const void *global, const void *local,
                           unsigned n, const void *wait, void *event)
{
    /* The function of the library that calls: RTLD_NEXT ends before it. */
    void *library = dlopen(getenv("LIGHTGBM"), RTLD_NOW | RTLD_NOLOAD);
    launch_fn *real = (launch_fn *)dlsym(library, "clEnqueueNDRangeKernel");

    fputs("preload sees a launch\n", stderr);
    dlclose(library);
    return real(queue, kernel, dim, offset, global, local, n, wait, event);
}
C
gcc -shared -fPIC -o "$dir/layer.so" "$dir/layer.c"
gcc -shared -fPIC -o "$dir/preload.so" "$dir/preload.c" -ldl
cat > "$dir/train.py" <<'PY'
import ctypes, os, random, sys

L = ctypes.CDLL(os.environ["LIGHTGBM"])
L.LGBM_GetLastError.restype = ctypes.c_char_p
ROWS, COLUMNS = 2000, 8
random.seed(1)

def ok(r):
    if r:
        sys.exit(L.LGBM_GetLastError().decode())

table = (ctypes.c_float * (ROWS * COLUMNS))(*(random.random() for _ in range(ROWS * COLUMNS)))
label = (ctypes.c_float * ROWS)(*(table[i * COLUMNS] for i in range(ROWS)))
data, booster, done = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
options = b"device_type=gpu max_bin=63 num_threads=1 objective=regression verbosity=1"
ok(L.LGBM_DatasetCreateFromMat(table, 0, ROWS, COLUMNS, 1, options, None, ctypes.byref(data)))
ok(L.LGBM_DatasetSetField(data, b"label", label, ROWS, 0))
ok(L.LGBM_BoosterCreate(data, options, ctypes.byref(booster)))
ok(L.LGBM_BoosterUpdateOneIter(booster, ctypes.byref(done)))
with open("/proc/self/maps") as maps:
    print("maps libOpenCL" if "libOpenCL.so" in maps.read() else "maps no libOpenCL", file=sys.stderr)
PY
export OPENCL_LAYERS="$dir/layer.so" POCL_CACHE_DIR="$dir/cache" LIGHTGBM="$dir/wheel/lightgbm/lib/lib_lightgbm.so"
mkdir "$dir/cache"
python3 -c 'import ctypes; ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint()))' 2> "$dir/system"
HOME="$dir" LD_PRELOAD="$dir/preload.so" timeout 400 python3 "$dir/train.py" > "$dir/lightgbm" 2>&1 ||
    { tail -5 "$dir/lightgbm"; exit 1; }
count() { grep -c "$1" "$2" || true; }
system=$(count "layer begins" "$dir/system") layer=$(count "layer begins" "$dir/lightgbm")
launches=$(count "preload sees" "$dir/lightgbm") maps=$(count "maps no libOpenCL" "$dir/lightgbm")
echo "lightgbm 4.7.0, $(dpkg-query -W -f '${Package} ${Version}' pocl-opencl-icd)"
echo "expected: LightGBM opens libOpenCL.so.1, whose loader begins the layer"
echo "seen: the layer begins in the system's loader: $system, in LightGBM: $layer; LightGBM without libOpenCL: $maps;" \
    "launches that the preloaded function sees: $launches"
[ "$system" -gt 0 ] && [ "$layer" = 0 ] && [ "$maps" = 1 ] && [ "$launches" -gt 0 ] && echo "as found" || { echo "it changed"; exit 1; }
