/* SPDX-License-Identifier: Apache-2.0 */
/* A plain CUDA program; it knows nothing of XSched. Run it with `xsched run` or `xsched trace`. */
#include "../common/cu.h"

#define LAUNCHES 200u

int main(void)
{
    CUstream stream;
    CUdeviceptr log;
    double begin;

    cu_open();
    stream = cu_stream();
    log = cu_log(LAUNCHES);
    begin = now_ms();
    for (uint32_t i = 0; i < LAUNCHES; i++)
        CHECK_CU(cu_launch(stream, 1000, log, i));
    CHECK_CU(cuStreamSynchronize(stream));
    printf("%u kernels of 1 ms took %.1f ms\n", LAUNCHES, now_ms() - begin);
    if (!cu_right(log, LAUNCHES)) {
        fprintf(stderr, "the results are wrong\n");
        return 1;
    }
    puts("results are right");
    CHECK_CU(cuMemFree_v2(log));
    CHECK_CU(cuStreamDestroy_v2(stream));
    return 0;
}
