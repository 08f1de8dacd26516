/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 for queues of other platforms: NVIDIA's Vulkan driver makes its channel groups by the same requests. */
#include "hal/cuda/rm/rm.h"

#include "base/env.h"
#include "xqueue/interface.h"

#include <errno.h>
#include <sched.h>

#define LOOKS_MOST 1000u /* while other threads change the table */

static bool has(XDevice device)
{
    struct xs_rm_group g;
    uint32_t address, looks = 0;
    uint64_t us;

    for (uint32_t i = 0; looks < LOOKS_MOST;) {
        int r = xs_rm_group_get(i, &g);

        if (r == -ENOENT)
            return false;
        if (r == 0)
            r = xs_rm_group_facts(&g, &address, &us);
        if (r == -EAGAIN) {
            looks++;
            sched_yield();
            continue;
        }
        if (r == 0 && device == ((XDevice)kDeviceTypeGPU << 32 | address))
            return true;
        i++;
    }
    return false;
}

void xs_rm_lend(void)
{
    static const struct xs_interrupt_lender lender = {
        .abi = XS_HAL_ABI,
        .size = sizeof(struct xs_interrupt_lender),
        .has = has,
        .use = xs_rm_publish,
    };

    if (xs_env_i64(XS_ENV_XSCHED_CUDA_LEVEL, 3) == 3) /* else `xsched doctor --probe` saw it fail on this driver */
        xsched_priv_interrupt_lend(&lender);
}
