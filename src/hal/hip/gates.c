/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: the device waits for permit words in stream order, as on CUDA (decision 0012). HIP documents such
 * waits for signal memory only, and on some devices each is a kernel. So XSched offers it if marks that the
 * device writes arrive, and level auto means it only if a probe says so. */
#include "base/env.h"
#include "base/log.h"
#include "hal/hip/hal.h"

void xs_hip_gates_offer(const struct xs_hip_api *api)
{
    uint32_t wanted = 1u << xs_env_i64(XS_ENV_XSCHED_HIP_LEVEL, 1);

    /* relaxed: as levels */
    __atomic_fetch_or(&xs_hip_ops_write.auto_levels, wanted, __ATOMIC_RELAXED);
    __atomic_fetch_or(&xs_hip_ops_event.auto_levels, wanted, __ATOMIC_RELAXED);
    if (api->hipStreamWaitValue64 && api->hipHostRegister && api->hipHostGetDevicePointer)
        __atomic_fetch_or(&xs_hip_ops_write.levels, 1u << kPreemptLevelDeactivate, __ATOMIC_RELAXED);
    xsched_priv_hip_level(0, true); /* none where only level 1 works */
}

struct xs_ctx_entries *xs_hip_ctx_entries(void *opaque)
{
    struct xs_hip_hw *hw = opaque;

    return &hw->device->ctx_entries;
}

static int never(struct xs_hip_hw *hw, hipError_t r)
{
    atomic_store_explicit(&hw->st.no_gates, true, memory_order_relaxed);
    XS_WARN_ONCE("HIP: this device cannot wait for permission (error %d); level 1 takes the place of level 2", r);
    return -1;
}

int xs_hip_gate(void *opaque, _Atomic uint64_t *word, uint64_t serial, uint64_t number)
{
    struct xs_hip_hw *hw = opaque;
    struct xs_hip_entered e;
    hipError_t r;
    uint64_t at;

    if (atomic_load_explicit(&hw->st.no_gates, memory_order_relaxed))
        return -1;
    if (!xs_hip_may_append(hw))
        return 0;
    at = xs_hip_device_address(hw->device, word, serial);
    if (!at)
        return never(hw, 0);
    /* a created stream brings its device */
    if (!xs_hip_enter(hw->api, xs_stream_native(&hw->st) == (uintptr_t)hw->stream ? -1 : hw->device->dev, &e))
        return 0;
    r = hw->api->hipStreamWaitValue64(hw->stream, (void *)(uintptr_t)at, number, XS_HIP_WAIT_GTE, UINT64_MAX);
    xs_hip_leave(&e);
    if (XS_LIKELY(r == XS_HIP_SUCCESS))
        return 1;
    return r == XS_HIP_NOT_SUPPORTED || r == XS_HIP_INVALID_VALUE ? never(hw, r) : 0;
}
