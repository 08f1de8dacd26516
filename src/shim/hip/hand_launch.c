/* SPDX-License-Identifier: Apache-2.0 */
/* Launches in two steps, and launches on several devices at once. */
#include "shim/stream/stream_call.h"
#include "shim/stream/prototypes.h"

static _Thread_local hipStream_t t_configured;

hipStream_t xs_hip_configured_stream(void)
{
    return t_configured;
}

hipError_t xs_hand_hipConfigureCall(const struct xs_api_runtime *rt, struct xs_dim3 gridDim, struct xs_dim3 blockDim,
                                    size_t sharedMem, hipStream_t stream)
{
    t_configured = stream;
    return XS_REAL(hipConfigureCall)(gridDim, blockDim, sharedMem, stream);
}

#define PARTS 16u

/* One command on each stream. Only the first waits for its turn: a part that waits behind another would stop
 * them all. */
struct parts {
    unsigned n;
    struct xs_api_submit of[PARTS];
};

static void parts_open(struct parts *p, const struct xs_api_runtime *rt, enum xs_row row, hipStream_t stream,
                       const void *function)
{
    struct xs_api_submit *s = &p->of[p->n];

    if (p->n == PARTS || xs_api_mode_now() != XS_SHIM_ACTIVE)
        return;
    xs_api_submit_open(s, rt, row, NULL, stream, false);
    if (s->queue)
        xsched_priv_submit_begin(s->queue, XS_KEY_KERNEL(function, p->n), p->n ? XS_SUBMIT_PASS : 0, &s->ticket);
    p->n++;
}

static hipError_t parts_close(struct parts *p, hipError_t r)
{
    for (unsigned i = 0; i < p->n; i++)
        xs_api_submit_close(&p->of[i], r);
    return r;
}

#define MULTI(symbol, type, list, n, call)                                                        \
    do {                                                                                          \
        const type *part = list;                                                                  \
        struct parts p = {0};                                                                     \
        for (unsigned i = 0; part && i < (unsigned)(n) && i < PARTS; i++)                         \
            parts_open(&p, rt, ROW_##symbol, part[i].stream, part[i].function);                   \
        return parts_close(&p, call);                                                             \
    } while (0)

hipError_t xs_hand_hipLaunchCooperativeKernelMultiDevice(const struct xs_api_runtime *rt, void *launchParamsList,
                                                         int numDevices, unsigned flags)
{
    MULTI(hipLaunchCooperativeKernelMultiDevice, struct xs_hip_launch_params, launchParamsList, numDevices,
          XS_REAL(hipLaunchCooperativeKernelMultiDevice)(launchParamsList, numDevices, flags));
}

hipError_t xs_hand_hipExtLaunchMultiKernelMultiDevice(const struct xs_api_runtime *rt, void *launchParamsList,
                                                      int numDevices, unsigned flags)
{
    MULTI(hipExtLaunchMultiKernelMultiDevice, struct xs_hip_launch_params, launchParamsList, numDevices,
          XS_REAL(hipExtLaunchMultiKernelMultiDevice)(launchParamsList, numDevices, flags));
}

hipError_t xs_hand_hipModuleLaunchCooperativeKernelMultiDevice(const struct xs_api_runtime *rt,
                                                               void *launchParamsList, unsigned numDevices,
                                                               unsigned flags)
{
    MULTI(hipModuleLaunchCooperativeKernelMultiDevice, struct xs_hip_module_launch_params, launchParamsList,
          numDevices, XS_REAL(hipModuleLaunchCooperativeKernelMultiDevice)(launchParamsList, numDevices, flags));
}
