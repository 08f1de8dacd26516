/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for libhipblas.so: it hides the runtime's error behind its own, as the real one does. */
#include "library.h"

#define NOT_INITIALIZED 1         /* HIPBLAS_STATUS_NOT_INITIALIZED */
#define INTERNAL_ERROR  6         /* HIPBLAS_STATUS_INTERNAL_ERROR */

__attribute__((visibility("default"))) int blas_create(void);
__attribute__((visibility("default"))) int blas_gemm(void *stream, uint32_t *log, uint32_t tag);

int blas_create(void)
{
    uint32_t log[4] = {0};

    if (library_launch(NULL, log, 0) || hipDeviceSynchronize())
        return NOT_INITIALIZED;
    return 0;
}

int blas_gemm(void *stream, uint32_t *log, uint32_t tag)
{
    return library_launch(stream, log, tag) || hipStreamSynchronize(stream) ? INTERNAL_ERROR : 0;
}
