#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# StarPU's examples with OpenCL tasks only (several queues, events polled).
. "$(dirname "$0")/lib.sh"
where=$(ls -d /usr/lib/*/starpu/examples 2>/dev/null | head -1)
need "${where:-/usr/lib/starpu/examples}/vector_scal"
export STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=0 STARPU_NOPENCL=1 STARPU_SILENT=1 STARPU_HOME="$HOME"
cd "$HOME"
for example in vector_scal block; do
    plain sh -c "$where/$example 2>&1"
    ours sh -c "$where/$example 2>&1"
    same '/generated\.$/d'
done
grep -q 'PASSED' "$T/ours"
counted 5
