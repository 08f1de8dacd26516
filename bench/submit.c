/* SPDX-License-Identifier: Apache-2.0 */
/* What a submit costs: the direct call, an XQueue that no policy looks at, and an XQueue with a
 * scheduler attached and nothing to wait for, completion marks included: as a queue of 10 us
 * kernels has them (one in 50), and as the tightest usual configuration (one in 8). The variants
 * alternate; the median of many blocks counts. Fails unless every submit took its path. */
#include "bench.h"
#include "null_device.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum variant { DIRECT, NO_POLICY, SCHEDULED, SCHEDULED_BATCH_50, SCHEDULED_BATCH_8, VARIANTS };
static const char *const k_names[VARIANTS] = {"direct", "no-policy", "scheduled", "scheduled-batch-50", "scheduled-batch-8"};
/* commands between two marks; 0: by estimated time, which for these commands of no length is hardly ever */
static const int k_batch[VARIANTS] = {0, 0, 0, 50, 8};

static struct null_stream g_streams[VARIANTS];

__attribute__((noinline)) void bench_block(enum variant v, long n);
void bench_block(enum variant v, long n)
{
    struct null_stream *s = &g_streams[v];

    if (v == DIRECT)
        for (long i = 0; i < n; i++)
            null_launch(s, (uint64_t)i);
    else
        for (long i = 0; i < n; i++)
            null_api_launch(s, (uint64_t)i, 0x1234567);
}

static void check(enum variant v, uint64_t before, long n)
{
    uint64_t took = xsched_priv_scheduled_count() - before;

    if (took != (v == DIRECT ? 0 : (uint64_t)n))
        bench_fail("%s: %llu of %ld submits took the scheduled path", k_names[v], (unsigned long long)took, n);
}

/* Queues for the variants of one scheduler; the environment has chosen it. */
static void open_queue(enum variant v)
{
    HwQueueHandle hwq;
    XQueueHandle xq;

    if (null_queue(&g_streams[v], 0, &hwq) != kXSchedSuccess)
        bench_fail("no hardware queue");
    if (xsched_priv_auto_queue(hwq, 0) != kXSchedSuccess)
        bench_fail("no XQueue");
    /* the others are not touched by the public calls: those take an interest, and bound the queue */
    if (k_batch[v] && (XQueueGet(&xq, hwq) != kXSchedSuccess ||
                       XQueueSetLaunchConfig(xq, 2 * k_batch[v], k_batch[v]) != kXSchedSuccess))
        bench_fail("no launch configuration");
}

static void scheduler(bool on)
{
    if (XHintSetScheduler(on ? kSchedulerLocal : kSchedulerAppManaged, kPolicyHighestPriorityFirst) != kXSchedSuccess)
        bench_fail("no scheduler");
    usleep(20000);                /* it takes the queues over */
}

int main(int argc, char **argv)
{
    long n = bench_option(argc, argv, "submits", 100000), blocks = bench_option(argc, argv, "blocks", 31);
    long only = bench_option(argc, argv, "variant", -1);
    struct bench_samples s[VARIANTS] = {0};
    double direct;

    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_SCHEDULER", "APP", 1);
    for (int v = NO_POLICY; v < VARIANTS; v++)
        if (only < 0 || only == v)
            open_queue(v);
    for (long b = 0; b < blocks; b++) {
        for (int v = 0; v < VARIANTS; v++) {
            uint64_t before, t0;

            if (only >= 0 && only != v)
                continue;
            scheduler(v >= SCHEDULED);
            bench_block(v, 1000);
            before = xsched_priv_scheduled_count();
            t0 = xs_now_ns();
            bench_block(v, n);
            bench_add(&s[v], (double)(xs_now_ns() - t0) / (double)n);
            check(v, before, n);
        }
    }
    if (only >= 0)
        return 0;
    direct = bench_quantile(&s[DIRECT], 0.5);
    for (int v = 0; v < VARIANTS; v++) {
        bench_figure("submit-path", k_names[v], NULL, "p50", bench_quantile(&s[v], 0.5), "ns", s[v].n * (size_t)n);
        if (v != DIRECT)
            bench_figure("submit-path", k_names[v], NULL, "more-than-direct", bench_quantile(&s[v], 0.5) - direct, "ns",
                         s[v].n * (size_t)n);
    }
    return 0;
}
