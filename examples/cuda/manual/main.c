/* SPDX-License-Identifier: Apache-2.0 */
/* The application is its own scheduler: one thread launches kernels, another suspends and resumes
 * their stream. It runs under the shim, with XSCHED_SCHEDULER=APP (the default):
 *
 *   XSCHED_SCHEDULER=APP XSCHED_AUTO_XQUEUE=OFF xsched run --no-server -- ./manual
 */
#include "../common/cu.h"
#include "../common/xs.h"

#include <pthread.h>
#include <stdatomic.h>

#define LAUNCHES 300u

static CUdeviceptr g_log;
static atomic_int finished; /* kernels that the launching thread saw complete */

static void *launch_all(void *stream)
{
    CHECK_CU(cuCtxSetCurrent(cu_context));
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        CHECK_CU(cu_launch(stream, 1000, g_log, i));
        CHECK_CU(cuStreamSynchronize(stream));
        atomic_fetch_add(&finished, 1);
    }
    return NULL;
}

static void wait_for(int kernels)
{
    while (atomic_load(&finished) < kernels)
        sleep_ms(1);
}

int main(void)
{
    CUstream stream;
    HwQueueHandle hwq;
    XQueueHandle xq;
    pthread_t thread;
    int status = 0;

    cu_open();
    stream = cu_stream();
    g_log = cu_log(LAUNCHES);
    xq = xqueue_on(stream, &hwq);
    pthread_create(&thread, NULL, launch_all, stream);
    for (int round = 1; round <= 3; round++) {
        int before, after;

        wait_for(round * (int)LAUNCHES / 4);
        CHECK_XS(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue));
        sleep_ms(20); /* the launching thread may still have to notice its last kernel's end */
        before = atomic_load(&finished);
        sleep_ms(100);
        after = atomic_load(&finished);
        printf("suspended for 100 ms: %d kernels before, %d after\n", before, after);
        if (after != before) {
            fprintf(stderr, "kernels ran while the stream was suspended: is the shim loaded?\n");
            status = 1;
        }
        CHECK_XS(XQueueResume(xq, kQueueResumeFlagNone));
    }
    pthread_join(thread, NULL);
    if (!cu_right(g_log, LAUNCHES)) {
        fprintf(stderr, "the results are wrong\n");
        status = 1;
    }
    printf("%u kernels%s\n", LAUNCHES, status ? "" : ", results are right");
    CHECK_CU(cuMemFree_v2(g_log));
    CHECK_XS(XQueueDestroy(xq));
    CHECK_XS(HwQueueDestroy(hwq));
    return status;
}
