/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled as C and as C++ against the installed tree. */
#include <stdio.h>
#include <xsched/xsched.h>
#ifdef USE_OPENCL
#include <xsched/opencl/hal.h>
#endif

int main(void)
{
    XQueueHandle xq = 0;
    int ok = XQueueCreate(0, 1, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedErrorInvalidValue &&
             XQueueCreate(&xq, 1234567, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedErrorNotFound &&
             XHintPriority(1234567, PRIORITY_MAX) == kXSchedErrorNotFound;

#ifdef USE_OPENCL
    ok = ok && OclQueueCreate(0, 0) == kXSchedErrorInvalidValue;
#endif
    printf("%s\n", ok ? "as documented" : "WRONG");
    return !ok;
}
