/* SPDX-License-Identifier: Apache-2.0 */
/* Two streams of one program with different priorities, set by the program itself. It runs under
 * the shim, which hands every launch to the XQueue of its stream:
 *
 *   XSCHED_AUTO_XQUEUE=OFF xsched run --intra --local-policy HPF -- ./hints
 */
#include "../common/cu.h"
#include "../common/xs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define KERNEL_US 1000
#define MANY      65536u
#define REQUESTS  20

static atomic_bool stop;

/* Launches kernels without end. */
static void *background(void *stream)
{
    CUdeviceptr log;
    uint32_t launches = 0;

    CHECK_CU(cuCtxSetCurrent(cu_context));
    log = cu_log(MANY);
    while (!stop && launches < MANY) {
        CHECK_CU(cu_launch(stream, KERNEL_US, log, launches));
        if (++launches % 64 == 0)
            CHECK_CU(cuStreamSynchronize(stream));
    }
    CHECK_CU(cuStreamSynchronize(stream));
    printf("background: %u kernels, results are %s\n", launches, cu_right(log, launches) ? "right" : "WRONG");
    CHECK_CU(cuMemFree_v2(log));
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One kernel now and then. @return median time of one in ms */
static double urgent(CUstream stream, CUdeviceptr log, uint32_t *launches)
{
    double took[REQUESTS];

    for (int i = 0; i < REQUESTS; i++) {
        double begin;

        sleep_ms(10);
        begin = now_ms();
        CHECK_CU(cu_launch(stream, KERNEL_US, log, *launches));
        CHECK_CU(cuStreamSynchronize(stream));
        took[i] = now_ms() - begin;
        ++*launches;
    }
    qsort(took, REQUESTS, sizeof(took[0]), by_value);
    return took[REQUESTS / 2];
}

int main(void)
{
    CUstream low_stream, high_stream;
    HwQueueHandle low_hwq, high_hwq;
    XQueueHandle low, high;
    uint32_t launches = 0;
    int64_t counted = 0;
    double equal, important;
    CUdeviceptr log;
    pthread_t thread;
    int right;

    cu_open();
    low_stream = cu_stream();
    high_stream = cu_stream();
    low = xqueue_on(low_stream, &low_hwq);
    high = xqueue_on(high_stream, &high_hwq);
    log = cu_log(2 * REQUESTS);

    pthread_create(&thread, NULL, background, low_stream);
    equal = urgent(high_stream, log, &launches);
    CHECK_XS(XHintPriority(high, 10)); /* at run time, from any thread */
    important = urgent(high_stream, log, &launches);
    stop = true;
    pthread_join(thread, NULL);
    printf("urgent kernel of 1 ms, median: %.2f ms with equal priorities, %.2f ms with the higher one\n",
           equal, important);
    CHECK_XS(XQueueProfileHwCommandCount(high, &counted));
    printf("urgent: %u kernels, results are %s; the XQueue counted %lld commands\n", launches,
           cu_right(log, launches) ? "right" : "WRONG", (long long)counted);
    if (counted < (int64_t)launches) {
        fprintf(stderr, "the launches did not go through the XQueue: is the shim loaded?\n");
        return 1;
    }
    CHECK_XS(XQueueDestroy(high));
    CHECK_XS(XQueueDestroy(low));
    right = cu_right(log, launches);
    CHECK_CU(cuMemFree_v2(log));
    return right ? 0 : 1;
}
