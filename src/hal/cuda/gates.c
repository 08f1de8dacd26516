/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: the device waits for permit words in stream order (docs/decisions/0012). */
#include "hal/cuda/hal.h"

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"

#include <stdlib.h>

void xs_cuda_gates_offer(const struct xs_cuda_api *api, bool writes)
{
    int64_t probed = xs_env_i64(XS_ENV_XSCHED_CUDA_LEVEL, 0);

    if (probed == 2) /* relaxed: as levels */
        __atomic_fetch_or(&xs_cuda_ops.auto_levels, 1u << kPreemptLevelDeactivate, __ATOMIC_RELAXED);
    if (writes && api->cuStreamWaitValue64_v2)
        xsched_priv_cuda_level(1u << kPreemptLevelDeactivate, true);
}

struct xs_ctx_entries *xs_cuda_ctx_entries(void *opaque)
{
    struct xs_cuda_hw *hw = opaque;

    return &hw->context->ctx_entries;
}

/* A context has so many connections to the device (docs/decisions/0012). Under MPS NVIDIA's default is two. */
uint32_t xs_cuda_connections(void)
{
    const char *value = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    int64_t connections = xs_mps_has_pipes(xs_env_mps_folder()) ? 2 : 8;

    if (value && xs_str_parse_i64(value, &connections) == 0)
        connections = XS_MAX(1, XS_MIN(connections, 32)); /* as the driver takes it */
    return (uint32_t)connections;
}

static int never(struct xs_cuda_hw *hw, CUresult r)
{
    atomic_store_explicit(&hw->st.no_gates, true, memory_order_relaxed);
    XS_WARN_ONCE("CUDA: this device cannot wait for permission (error %d); level 1 takes the place of level 2", r);
    return -1;
}

int xs_cuda_gate(void *opaque, _Atomic uint64_t *word, uint64_t serial, uint64_t number)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_hw *hw = opaque;
    struct xs_cuda_entered e = {0};
    bool foreign = xs_stream_native(&hw->st) != (uintptr_t)hw->stream; /* a created stream brings its context */
    CUdeviceptr at;
    CUresult r;

    if (atomic_load_explicit(&hw->st.no_gates, memory_order_relaxed))
        return -1;
    if (!xs_cuda_may_append(hw))
        return 0;
    at = xs_cuda_device_address(hw->context, word, serial);
    if (!at)
        return never(hw, 0);
    if (foreign && !xs_cuda_enter(hw->ctx, &e))
        return 0;
    r = api->cuStreamWaitValue64_v2(hw->stream, at, number, XS_CU_WAIT_GEQ);
    if (foreign)
        xs_cuda_leave(&e);
    if (XS_LIKELY(r == XS_CU_SUCCESS))
        return 1;
    return r == XS_CU_NOT_SUPPORTED ? never(hw, r) : 0;
}
