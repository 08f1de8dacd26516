/* SPDX-License-Identifier: Apache-2.0 */
/* An XQueue on a CUDA stream. */
#ifndef EXAMPLE_XS_H
#define EXAMPLE_XS_H

#include <stdio.h>
#include <stdlib.h>
#include <xsched/cuda/hal.h>
#include <xsched/xsched.h>

#define CHECK_XS(call)                                                                                       \
    do {                                                                                                     \
        XResult result_ = (call);                                                                            \
        if (result_ != kXSchedSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s: result %d\n", __FILE__, __LINE__, #call, (int)result_);              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static inline XQueueHandle xqueue_on(struct CUstream_st *stream, HwQueueHandle *hwq)
{
    XQueueHandle xq;

    CHECK_XS(CudaQueueCreate(hwq, stream));
    CHECK_XS(XQueueCreate(&xq, *hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    return xq;
}

#endif
