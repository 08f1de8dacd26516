/* SPDX-License-Identifier: Apache-2.0 */
/* An XQueue on a HIP stream. */
#ifndef EXAMPLE_XS_H
#define EXAMPLE_XS_H

#include <stdio.h>
#include <stdlib.h>
#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

#define CHECK_XS(call)                                                                                       \
    do {                                                                                                     \
        XResult result_ = (call);                                                                            \
        if (result_ != kXSchedSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s: result %d\n", __FILE__, __LINE__, #call, (int)result_);              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static inline XQueueHandle xqueue_on(struct ihipStream_t *stream, HwQueueHandle *hwq)
{
    XQueueHandle xq;

    CHECK_XS(HipQueueCreate(hwq, stream));
    CHECK_XS(XQueueCreate(&xq, *hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    return xq;
}

#endif
