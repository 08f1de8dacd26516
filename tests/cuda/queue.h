/* SPDX-License-Identifier: Apache-2.0 */
/* The XQueue that the shim gave a stream of a small test program. */
#ifndef TESTS_CUDA_QUEUE_H
#define TESTS_CUDA_QUEUE_H

#include "../stream/check.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

static inline XQueueHandle queue_of(void *stream)
{
    HwQueueHandle hwq;
    XQueueHandle xq;

    TRUE(CudaQueueGet(&hwq, stream) == kXSchedSuccess && XQueueGet(&xq, hwq) == kXSchedSuccess);
    return xq;
}

/** Its priority is set as well. */
static inline XQueueHandle queue_with_priority(void *stream, int priority)
{
    XQueueHandle xq = queue_of(stream);

    TRUE(XHintPriority(xq, priority) == kXSchedSuccess);
    return xq;
}

#endif
