#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds an implementation of HIP that runs on the CPU, outside this tree, for the test hip.samples:
#
#   scripts/build-hip-cpu.sh [FOLDER]              default /opt/hipcpu; about 1 GB there, and 460 small and large files to compile
#   HIP_TEST_LIBDIR=FOLDER/test ctest --test-dir build/gcc -R hip.samples --output-on-failure
#
# It is chipStar, an implementation of HIP over OpenCL and SPIR-V, on Intel's OpenCL runtime for processors (a binary
# under Intel's licence; PoCL of Debian 12 has no SPIR-V), with chipStar's library under the name libamdhip64.so.5.
# FOLDER/test then holds that library, samples of chipStar, the two sides of `ordered` (tests/hip/real/order.hip) and
# `environment`, the variables that they need. Sources come from the projects' repositories at fixed commits, compilers
# from Debian 12 (see `packages` below). Not part of `make test`: it takes too long.
# JOBS=N compiles N files at once (default 1); SOURCES=FOLDER takes sources that are there already.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
top=${1:-/opt/hipcpu}
jobs=${JOBS:-1}
sources=${SOURCES:-$top/src}
llvm=/usr/lib/llvm-15
packages="clang-15 llvm-15-dev libclang-15-dev libclang-cpp15-dev llvm-spirv-15 ocl-icd-opencl-dev patchelf cmake
    ninja-build git python3-venv zlib1g-dev libxml2-dev"

case ${1:-} in -h | --help) sed -n '3,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;; esac

missing=$(for p in $packages; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
done)
if [ -n "$missing" ]; then
    echo "build-hip-cpu: these packages are missing: apt-get install --no-install-recommends" $missing >&2
    exit 1
fi

# get FOLDER REPOSITORY COMMIT
get()
{
    [ -z "${SOURCES:-}" ] && [ ! -e "$sources/$1/.fetched" ] || return 0
    echo "build-hip-cpu: fetching $2"
    mkdir -p "$sources/$1"
    git -C "$sources/$1" init -q
    git -C "$sources/$1" fetch -q --depth 1 "https://github.com/$2" "$3"
    git -C "$sources/$1" checkout -q FETCH_HEAD
    touch "$sources/$1/.fetched"
}

get chipStar CHIP-SPV/chipStar ffebe4d310ea75c19cbbba28be1e0d95f750bf4a # v1.1
get chipStar/HIP CHIP-SPV/HIP 0e9eee1922ee9f00dc8caa49bdb44e360137c329
get chipStar/HIPCC CHIP-SPV/HIPCC f43fdf9bbda1fdb21962e83382ea166efcf1361a
get chipStar/bitcode/ROCm-Device-Libs CHIP-SPV/ROCm-Device-Libs b5c3eddd352a074ce6c8222be859ed152faed9f3

# ---- OpenCL on the CPU with SPIR-V: Intel's runtime, a binary package for Python ----
if [ ! -e "$top/opencl/.done" ]; then
    python3 -m venv "$top/opencl"
    "$top/opencl/bin/pip" install -q intel-opencl-rt==2025.0.5 intel-cmplr-lib-rt==2025.0.5 intel-cmplr-lic-rt==2025.3.3 \
        tbb==2022.3.1 tcmlib==1.6.0
    mkdir -p "$top/opencl/vendors"
    echo "$top/opencl/lib/libintelocl.so" >"$top/opencl/vendors/intel.icd"
    touch "$top/opencl/.done"
fi

# ---- chipStar: library, device library, compiler driver ----
chip=$top/build/chipstar
mkdir -p "$top/bin"
ln -sf /usr/bin/llvm-spirv-15 "$top/bin/llvm-spirv" # by this name clang looks for it
if [ ! -e "$chip/.done" ]; then
    mkdir -p "$sources/chipStar/hip-tests" "$sources/chipStar/hip-testsuite" # asked for, not needed
    # HIP's own tests need more, and are not ours to run
    sed -i 's|^  add_subdirectory(HIP/tests/catch catch)|  # &|' "$sources/chipStar/CMakeLists.txt"
    cmake -G Ninja -S "$sources/chipStar" -B "$chip" -DCMAKE_BUILD_TYPE=Release \
        -DLLVM_CONFIG_BIN=$llvm/bin/llvm-config -DLLVM_SPIRV=/usr/bin/llvm-spirv-15 -DCHIP_BUILD_TESTS=OFF \
        -DCHIP_BUILD_SAMPLES=OFF
    cmake --build "$chip" -j "$jobs" --target CHIP devicelib_bc LLVMHipPasses hipcc.bin hipconfig.bin
    patchelf --set-soname libamdhip64.so.5 "$chip/libCHIP.so" # so that programs ask for it by this name
    touch "$chip/.done"
fi

# ---- the folder for the test ----
mkdir -p "$top/test"
cp "$chip/libCHIP.so" "$top/test/libamdhip64.so.5"
cat >"$top/test/environment" <<END
OCL_ICD_VENDORS=$top/opencl/vendors
CHIP_DEVICE_TYPE=cpu
CHIP_BE=opencl
CHIP_LOGLEVEL=crit
LD_LIBRARY_PATH=$top/test:$top/opencl/lib
END
samples=$sources/chipStar/samples
compile()
{
    [ ! "$top/test/$1" -nt "$2" ] || return 0
    echo "build-hip-cpu: $1"
    name=$1
    shift
    PATH=$top/bin:$llvm/bin:$PATH "$chip/bin/hipcc.bin" -w -O2 "$@" -o "$top/test/$name" || failed="${failed:-} $name"
}
compile order -x hip "$here/tests/hip/real/order.hip"
compile vecadd "$samples/2_vecadd/VecAdd.cpp"
compile streams "$samples/7_streams/stream.cpp"
compile transpose "$samples/0_MatrixTranspose/MatrixTranspose.cpp"
compile event "$samples/1_hipEvent/hipEvent.cpp"
compile shared_memory "$samples/3_shared_memory/sharedMemory.cpp"
compile dynamic_shared "$samples/6_dynamic_shared/dynamic_shared.cpp"
compile unroll "$samples/9_unroll/unroll.cpp"
compile callbacks "$samples/hipMultiThreadAddCallback/hipMultiThreadAddCallback.cc"
compile non_blocking "$samples/hipKernelLaunchIsNonBlocking/hipKernelLaunchIsNonBlocking.cc"
compile graphs "$samples/graphs/graphs.cpp"
compile symbol "$samples/hipSymbol/hipTestConstantDeviceSymbol.cpp"
for name in BitonicSort DCT FloydWarshall Histogram dwtHaar1D; do
    compile $name -I"$samples/hip-cuda/include" "$samples/hip-cuda/$name/$name.cpp"
done
[ -z "${failed:-}" ] || echo "build-hip-cpu: not compiled:$failed" >&2
echo "build-hip-cpu: HIP_TEST_LIBDIR=$top/test"
