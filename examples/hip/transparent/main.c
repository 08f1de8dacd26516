/* SPDX-License-Identifier: Apache-2.0 */
/* A plain HIP program; it knows nothing of XSched. Run it with `xsched run` or `xsched trace`. */
#include "../common/hip.h"

#define LAUNCHES 200u

int main(void)
{
    hipStream_t stream;
    void *log;
    double begin;

    hip_open();
    stream = hip_stream();
    log = hip_log(LAUNCHES);
    begin = now_ms();
    for (uint32_t i = 0; i < LAUNCHES; i++)
        CHECK_HIP(hip_launch(stream, 1000, log, i));
    CHECK_HIP(hipStreamSynchronize(stream));
    printf("%u kernels of 1 ms took %.1f ms\n", LAUNCHES, now_ms() - begin);
    if (!hip_right(log, LAUNCHES)) {
        fprintf(stderr, "the results are wrong\n");
        return 1;
    }
    puts("results are right");
    CHECK_HIP(hipFree(log));
    CHECK_HIP(hipStreamDestroy(stream));
    return 0;
}
