/* SPDX-License-Identifier: Apache-2.0 */
/* A program that gives hints: with_hints PRIORITY [SECONDS]. It puts an XQueue on its stream and keeps it busy; the launches
 * are the vendor's own calls, so that they are scheduled where a shim is loaded. */
#include "../../examples/cuda/common/cu.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

int main(int argc, char **argv)
{
    int priority = argc > 1 ? atoi(argv[1]) : 0;
    double end;
    HwQueueHandle hwq;
    XQueueHandle xq;
    CUdeviceptr log;
    CUstream stream;
    int64_t count = 0;

    cu_open();
    stream = cu_stream();
    log = cu_log(1);
    if (CudaQueueCreate(&hwq, stream) || XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone) ||
        XQueueSetLaunchConfig(xq, 8, 4) || XHintPriority(xq, priority))
        return 1;
    end = now_ms() + (argc > 2 ? atof(argv[2]) : 30) * 1e3;
    while (now_ms() < end) {
        CHECK_CU(cuMemcpyHtoD_v2(log, "\0\0\0", 4));
        CHECK_CU(cu_launch(stream, 1000, log, 0));
        CHECK_CU(cuStreamSynchronize(stream));
    }
    if (XQueueProfileHwCommandCount(xq, &count) || XQueueDestroy(xq) || HwQueueDestroy(hwq))
        return 1;
    printf("%s\n", count ? "commands came through the XQueue" : "no command came through the XQueue");
    return 0;
}
