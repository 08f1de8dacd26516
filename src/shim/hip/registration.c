/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled objects register their kernels before main, each with the runtime that it was linked to. Nothing
 * is read or kept here: an object may hold thousands. This is also where a second copy of the runtime is
 * noticed, since it comes with the object that needs it. */
#include "shim/stream/stream_table.h"

XS_EXPORT void **__hipRegisterFatBinary(const void *data);

/* What a program without a runtime may hand to the other registration functions. */
static void **nobody(const void *data)
{
    static void *none[1];

    (void)data;
    return none;
}

void *xs_hip_registers_nowhere(void)
{
    return (void *)nobody;
}

XS_EXPORT void **__hipRegisterFatBinary(const void *data)
{
    const struct xs_api_runtime *rt;
    void **(*real)(const void *data), **modules;

    if (XS_UNLIKELY(xs_api_mode_now() == XS_SHIM_UNBOUND) && !xs_api_start(__builtin_return_address(0)))
        return nobody(data);
    xs_api_caller_new(__builtin_return_address(0));
    rt = xs_api_runtime_of(__builtin_return_address(0));
    real = (__typeof__(real))rt->real[ROW___hipRegisterFatBinary];
    if (XS_LIKELY(!xs_shim_tracing))
        return real(data);
    modules = real(data);
    xs_trace_call("__hipRegisterFatBinary", XS_HOW_PASS, 0, (int64_t)(uintptr_t)modules, true, 0);
    return modules;
}

/* RCCL asks about each of its kernels when a communicator is made; that is when they get names here, since thousands of
 * kernels are registered that nobody uses. */
void xs_hip_asked_about(const struct xs_api_runtime *rt, const void *function)
{
    const char *(*name)(const void *function, hipStream_t stream) =
        (__typeof__(name))rt->real[ROW_hipKernelNameRefByPtr];

    if (function)
        xs_collective_named(function, name(function, NULL));
}
