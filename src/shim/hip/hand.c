/* SPDX-License-Identifier: Apache-2.0 */
/* Functions written by hand: entry points, the lives of devices. */
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
