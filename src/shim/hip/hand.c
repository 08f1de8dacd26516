/* SPDX-License-Identifier: Apache-2.0 */
/* Functions written by hand: entry points, the lives of devices, copies. */
#include "shim/stream/stream_call.h"
#include "shim/stream/prototypes.h"

/* ---- start ---- */

hipError_t xs_hand_hipInit(const struct xs_api_runtime *rt, unsigned flags)
{
    return XS_REAL(hipInit)(flags);
}

hipError_t xs_hand_hipGetDeviceCount(const struct xs_api_runtime *rt, void *count)
{
    return XS_REAL(hipGetDeviceCount)(count);
}

/* ---- modules ---- */

void xs_hip_functions_made(const struct xs_api_runtime *rt, void *const *functions, unsigned number, void *module)
{
    typedef hipError_t count_of(unsigned *ret_count, void *module);
    unsigned count = 0;

    /* behind the module's last function the program's array has what it had before */
    if (!functions || ((count_of *)rt->real[ROW_hipModuleGetFunctionCount])(&count, module) != XS_HIP_SUCCESS)
        return;
    for (unsigned i = 0; i < number && i < count; i++)
        xs_api_object_made(rt, functions[i]);
}

/* ---- entry points ---- */

static hipError_t answer(const struct xs_api_runtime *rt, hipError_t r, const char *symbol, void **pfn, int version,
                         uint64_t flags)
{
    if (r == XS_HIP_SUCCESS && symbol && pfn && *pfn)
        *pfn = xs_api_answer(rt, symbol, version, flags, *pfn);
    return r;
}

hipError_t xs_hand_hipGetProcAddress(const struct xs_api_runtime *rt, const char *symbol, void **pfn,
                                     int hipVersion, uint64_t flags, void *symbolStatus)
{
    return answer(rt, XS_REAL(hipGetProcAddress)(symbol, pfn, hipVersion, flags, symbolStatus), symbol, pfn,
                  9999, flags);
}

hipError_t xs_hand_hipGetProcAddress_spt(const struct xs_api_runtime *rt, const char *symbol, void **pfn,
                                         int hipVersion, uint64_t flags, void *symbolStatus)
{
    return answer(rt, XS_REAL(hipGetProcAddress_spt)(symbol, pfn, hipVersion, flags, symbolStatus), symbol, pfn,
                  9999, flags ? flags : XS_HIP_PROC_PER_THREAD);
}

hipError_t xs_hand_hipGetDriverEntryPoint(const struct xs_api_runtime *rt, const char *symbol, void **funcPtr,
                                          unsigned long long flags, void *status)
{
    return answer(rt, XS_REAL(hipGetDriverEntryPoint)(symbol, funcPtr, flags, status), symbol, funcPtr, 9999, flags);
}

hipError_t xs_hand_hipGetDriverEntryPoint_spt(const struct xs_api_runtime *rt, const char *symbol, void **funcPtr,
                                              unsigned long long flags, void *status)
{
    return answer(rt, XS_REAL(hipGetDriverEntryPoint_spt)(symbol, funcPtr, flags, status), symbol, funcPtr, 9999,
                  flags ? flags : XS_HIP_PROC_PER_THREAD);
}

/* HIP has no versions to look up. An address that is not the row's symbol is another function; if the runtime
 * exports no such symbol, the name alone tells. */
bool xs_api_is_version(const struct xs_api_runtime *rt, enum xs_row row, uint64_t flags, const void *real)
{
    (void)flags;
    return rt->real[row] == real || rt->real[row] == xs_api_absent(row, false);
}

/* ---- devices ---- */

#define RESET(call)                                                                               \
    do {                                                                                          \
        struct xs_hip_device *reset = xsched_priv_hip_reset(rt->hal);                             \
        hipError_t r = call;                                                                      \
        xsched_priv_hip_reset_done(reset, r == XS_HIP_SUCCESS);                                   \
        return r;                                                                                 \
    } while (0)

hipError_t xs_hand_hipDeviceReset(const struct xs_api_runtime *rt)
{
    RESET(XS_REAL(hipDeviceReset)());
}

hipError_t xs_hand_hipDevicePrimaryCtxReset(const struct xs_api_runtime *rt, int dev)
{
    const struct xs_hip_api *api = rt->hal;
    int current = -1;

    if (api && api->hipGetDevice && api->hipGetDevice(&current) == XS_HIP_SUCCESS && current == dev)
        RESET(XS_REAL(hipDevicePrimaryCtxReset)(dev));
    return XS_REAL(hipDevicePrimaryCtxReset)(dev);
}

/* ---- copies that wait ---- */

/* A copy to the host has waited for the stream when it returns. One within the device is a command. Its call
 * may wait, as it did in many versions, so its turn comes before the call. Others may return early. */
#define WAITING_COPY(symbol, kind, on, per_thread, args)                                          \
    do {                                                                                          \
        struct xs_api_submit s;                                                                   \
        struct xs_api_wait w;                                                                     \
        hipError_t r;                                                                             \
        if (kind == XS_HIP_MEMCPY_ON_DEVICE && xs_api_mode_now() == XS_SHIM_ACTIVE) {             \
            const enum xs_row row = ROW_##symbol;                                                 \
            if (XS_UNLIKELY(xs_api_intra()))                                                      \
                xs_api_lend_context(rt->hal);                                                     \
            xs_api_submit_open(&s, rt, row, NULL, on, per_thread);                                \
            if (s.queue)                                                                          \
                xsched_priv_submit_begin(s.queue, XS_KEY_BYTES(sizeBytes), XS_SUBMIT_OUTSIDE, &s.ticket); \
            else                                                                                  \
                xs_api_captured_open(&s, 0);                                                      \
            r = XS_REAL(symbol) args;                                                             \
            xs_api_submit_close(&s, r);                                                           \
            return r;                                                                             \
        }                                                                                         \
        if (kind != XS_HIP_MEMCPY_TO_HOST || xs_api_mode_now() != XS_SHIM_ACTIVE) {                \
            if (XS_UNLIKELY(xs_api_intra())) /* if it waits, it waits all the same */              \
                xs_api_lend_context(rt->hal);                                                     \
            return XS_REAL(symbol) args;                                                          \
        }                                                                                         \
        xs_api_wait_open(&w, rt, ROW_##symbol, NULL, on, per_thread, true);                       \
        r = XS_REAL(symbol) args;                                                                 \
        if (w.queue)                                                                              \
            xsched_priv_wait_end(w.queue, w.began, r == XS_HIP_SUCCESS);                          \
        return r;                                                                                 \
    } while (0)

hipError_t xs_hand_hipMemcpy(const struct xs_api_runtime *rt, void *dst, const void *src, size_t sizeBytes, int kind)
{
    WAITING_COPY(hipMemcpy, kind, NULL, false, (dst, src, sizeBytes, kind));
}

hipError_t xs_hand_hipMemcpy_spt(const struct xs_api_runtime *rt, void *dst, const void *src, size_t sizeBytes,
                                 int kind)
{
    WAITING_COPY(hipMemcpy_spt, kind, NULL, true, (dst, src, sizeBytes, kind));
}

hipError_t xs_hand_hipMemcpyWithStream(const struct xs_api_runtime *rt, void *dst, const void *src,
                                       size_t sizeBytes, int kind, hipStream_t stream)
{
    WAITING_COPY(hipMemcpyWithStream, kind, stream, false, (dst, src, sizeBytes, kind, stream));
}
