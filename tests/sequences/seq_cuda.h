/* SPDX-License-Identifier: Apache-2.0 */
/* What seq_cuda.c and one of seq_cuda_fake.c and seq_cuda_gpu.c share. */
#ifndef XS_TESTS_SEQ_CUDA_H
#define XS_TESTS_SEQ_CUDA_H

#include "hal/cuda/cuda_abi.h"
#include "seq_stream.h"

enum row {
#define CU(kind, symbol, name, version, streams, params, args, stream, key) ROW_##symbol,
#define CU_PASS(symbol, name, version, streams)                             ROW_##symbol,
#include "shim/cuda/cuda_api.def"
#undef CU
#undef CU_PASS
    ROWS
};

extern CUfunction seq_work, seq_nop; /* both (u64 ns, u32 *log, u32 tag); fakes/cuda/fake_cuda.h explains them */

/** Tells run.py how many kernels were confined so far; the digest leaves it out.
 *  @param seen  the count by the program itself, for a driver that does not count */
void seq_say_confined(int seen);

#define DEV(p) ((CUdeviceptr)(uintptr_t)(p))
#define LAUNCH_TYPES                                                                                         \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,    \
     void **)

#endif
