/* SPDX-License-Identifier: Apache-2.0 */
/* Two streams of one program with different priorities, set by the program itself. It runs under
 * the shim, which hands every launch to the XQueue of its stream:
 *
 *   XSCHED_AUTO_XQUEUE=OFF xsched run --intra --local-policy HPF -- ./hints
 */
#include "../common/hip.h"
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
    void *log;
    uint32_t launches = 0;

    CHECK_HIP(hipSetDevice(0));
    log = hip_log(MANY);
    while (!stop && launches < MANY) {
        CHECK_HIP(hip_launch(stream, KERNEL_US, log, launches));
        if (++launches % 64 == 0)
            CHECK_HIP(hipStreamSynchronize(stream));
    }
    CHECK_HIP(hipStreamSynchronize(stream));
    printf("background: %u kernels, results are %s\n", launches,
           hip_right(log, launches) ? "right" : "WRONG");
    CHECK_HIP(hipFree(log));
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One kernel now and then. @return median time of one in ms */
static double urgent(hipStream_t stream, void *log, uint32_t *launches)
{
    double took[REQUESTS];

    for (int i = 0; i < REQUESTS; i++) {
        double begin;

        sleep_ms(10);
        begin = now_ms();
        CHECK_HIP(hip_launch(stream, KERNEL_US, log, *launches));
        CHECK_HIP(hipStreamSynchronize(stream));
        took[i] = now_ms() - begin;
        ++*launches;
    }
    qsort(took, REQUESTS, sizeof(took[0]), by_value);
    return took[REQUESTS / 2];
}

int main(void)
{
    hipStream_t low_stream, high_stream;
    HwQueueHandle low_hwq, high_hwq;
    XQueueHandle low, high;
    uint32_t launches = 0;
    int64_t counted = 0;
    double equal, important;
    void *log;
    pthread_t thread;
    int right;

    hip_open();
    low_stream = hip_stream();
    high_stream = hip_stream();
    low = xqueue_on(low_stream, &low_hwq);
    high = xqueue_on(high_stream, &high_hwq);
    log = hip_log(2 * REQUESTS);

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
           hip_right(log, launches) ? "right" : "WRONG", (long long)counted);
    if (counted < (int64_t)launches) {
        fprintf(stderr, "the launches did not go through the XQueue: is the shim loaded?\n");
        return 1;
    }
    CHECK_XS(XQueueDestroy(high));
    CHECK_XS(XQueueDestroy(low));
    right = hip_right(log, launches);
    CHECK_HIP(hipFree(log));
    return right ? 0 : 1;
}
