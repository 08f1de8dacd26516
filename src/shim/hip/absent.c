/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of functions that the runtime lacks, and the steps after the first queue. */
#include "base/env.h"
#include "hal/hip/kfd/kfd.h"
#include "shim/stream/stream_table.h"

static hipError_t no_device(void)
{
    return XS_HIP_NO_DEVICE;
}

static hipError_t not_supported(void)
{
    return XS_HIP_NOT_SUPPORTED;
}

static const char *text(void)
{
    return "hipErrorNoDevice";
}

static int minus_one(void)
{
    return -1;
}

/* Functions that do not answer with an error code. */
void *xs_api_absent(enum xs_row row, bool no_library)
{
    switch (row) {
    case ROW_hipGetErrorName:
    case ROW_hipGetErrorString:
    case ROW_hipApiName:
    case ROW_hipKernelNameRef:
    case ROW_hipKernelNameRefByPtr:
    case ROW_hipGetCmdName:
    case ROW_hiprtcGetErrorString:
    case ROW_amd_dbgapi_get_build_name:
    case ROW_amd_dbgapi_get_git_hash:
        return (void *)text;
    case ROW___hipRegisterFatBinary:
        return xs_hip_registers_nowhere();
    case ROW_hipGetStreamDeviceId:
        return (void *)minus_one;
    default:
        return no_library ? (void *)no_device : (void *)not_supported;
    }
}

/* Offers level 3, at which the process itself takes its queues off the device: the runtime has asked the kernel
 * driver its version by now. hal/hip/gates.c sets the meaning of level auto. */
void xs_api_first_queue_made(void)
{
    bool works = xs_kfd_level() == 3 && !atomic_load(&xsched_priv_hip_at_level1);

    if (works)
        xs_kfd_publish();
    xsched_priv_hip_level(1u << kPreemptLevelInterrupt, works);
}

void xs_api_level1_only(void)
{
    xsched_priv_hip_level1_only();
    xs_kfd_end("functions that submit work pass unseen");
}
