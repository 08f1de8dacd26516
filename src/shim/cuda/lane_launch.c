/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that the scheduler wants confined to a part of the device. A kernel that may not run there, or
 * that the driver refuses there, goes to the program's own stream, and the program sees the driver's answer
 * to that. */
#include "shim/stream/stream_call.h"
#include "shim/stream/prototypes.h"

/* Each attribute by itself is harmless on another stream, or bars the kernel from one. Those that bar it tie
 * it to its neighbours in the stream, need all of its blocks at once, or are unknown to us. @param
 * ret_cluster  blocks of a cluster */
static bool attributes_allow(const struct xs_cu_launch_config *config, unsigned *ret_cluster)
{
    const struct xs_cu_launch_attribute *attrs = config->attrs;

    for (unsigned i = 0; i < config->attrs_count; i++) {
        const unsigned *v = attrs[i].value;

        switch (attrs[i].id) {
        case XS_CU_LAUNCH_IGNORE:
        case XS_CU_LAUNCH_ACCESS_WINDOW:
        case XS_CU_LAUNCH_CLUSTER_POLICY:
        case XS_CU_LAUNCH_PRIORITY:
        case XS_CU_LAUNCH_SYNC_DOMAIN_MAP:
        case XS_CU_LAUNCH_SYNC_DOMAIN:
        case XS_CU_LAUNCH_CARVEOUT:
            break;
        case XS_CU_LAUNCH_CLUSTER:
            *ret_cluster = v[0] * v[1] * v[2];
            break;
        case XS_CU_LAUNCH_COOPERATIVE:
        case XS_CU_LAUNCH_PROGRAMMATIC:
            if (v[0])
                return false;
            break;
        default:
            return false;
        }
    }
    return true;
}

#define LANE_LAUNCH(symbol, per_thread)                                                           \
    CUresult xs_api_lane_##symbol(const struct xs_api_runtime *rt, struct xs_ticket *t, XS_CUDA_LAUNCH_PARAMS) \
    {                                                                                             \
        const struct xs_cuda_kernel k = {                                                         \
            .f = f, .blocks = (uint64_t)gridDimX * gridDimY * gridDimZ, .threads = blockDimX * blockDimY * blockDimZ, \
            .shared_bytes = sharedMemBytes,                                                       \
        };                                                                                        \
        struct xs_cuda_bracket b;                                                                 \
        CUresult r;                                                                               \
        if (xsched_priv_cuda_lane_enter(t, hStream, per_thread, &k, &b)) {                        \
            r = XS_REAL(symbol)(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, b.stream, \
                                kernelParams, extra);                                             \
            xsched_priv_cuda_lane_leave(&b, r == XS_CU_SUCCESS);                                  \
            if (XS_LIKELY(r == XS_CU_SUCCESS) || xs_api_is_over(r))                               \
                return r;                                                                         \
        }                                                                                         \
        return XS_REAL(symbol)(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, \
                               kernelParams, extra);                                              \
    }

#define LANE_LAUNCH_EX(symbol, per_thread)                                                        \
    CUresult xs_api_lane_##symbol(const struct xs_api_runtime *rt, struct xs_ticket *t, XS_CUDA_LAUNCH_EX_PARAMS) \
    {                                                                                             \
        const struct xs_cu_launch_config *c = config;                                             \
        struct xs_cuda_kernel k = {.f = f};                                                       \
        struct xs_cuda_bracket b;                                                                 \
        CUresult r;                                                                               \
        if (c && attributes_allow(c, &k.cluster)) {                                               \
            struct xs_cu_launch_config on_lane = *c;                                              \
            k.blocks = xs_cuda_config_blocks(c);                                                  \
            k.threads = c->block[0] * c->block[1] * c->block[2];                                  \
            k.shared_bytes = c->shared_bytes;                                                     \
            if (xsched_priv_cuda_lane_enter(t, c->stream, per_thread, &k, &b)) {                  \
                on_lane.stream = b.stream;                                                        \
                r = XS_REAL(symbol)(&on_lane, f, kernelParams, extra);                            \
                xsched_priv_cuda_lane_leave(&b, r == XS_CU_SUCCESS);                              \
                if (XS_LIKELY(r == XS_CU_SUCCESS) || xs_api_is_over(r))                           \
                    return r;                                                                     \
            }                                                                                     \
        } else {                                                                                  \
            xsched_priv_submit_whole(t);                                                          \
        }                                                                                         \
        return XS_REAL(symbol)(config, f, kernelParams, extra);                                   \
    }

LANE_LAUNCH(cuLaunchKernel, false)
LANE_LAUNCH(cuLaunchKernel_ptsz, true)
LANE_LAUNCH_EX(cuLaunchKernelEx, false)
LANE_LAUNCH_EX(cuLaunchKernelEx_ptsz, true)
