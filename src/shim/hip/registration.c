/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled objects register their kernels before main, each with its own runtime. The shim reads and keeps
 * nothing here: an object may have thousands. It notices a second copy of the runtime here, which comes with
 * the object that needs it. */
#include "shim/stream/stream_table.h"

XS_EXPORT void **__hipRegisterFatBinary(const void *data);

/* The handle that a program without a runtime may pass to the other registration functions. */
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
    xs_callers_new(__builtin_return_address(0));
    rt = xs_api_runtime_of(__builtin_return_address(0));
    real = (__typeof__(real))rt->real[ROW___hipRegisterFatBinary];
    if (XS_LIKELY(!xs_shim_tracing))
        return real(data);
    modules = real(data);
    xs_trace_call("__hipRegisterFatBinary", XS_HOW_PASS, 0, (int64_t)(uintptr_t)modules, true, 0);
    return modules;
}

/* RCCL asks about each of its kernels when it makes a communicator. Then they get names here, since objects
 * register thousands of kernels that no call uses. */
void xs_hip_asked_about(const struct xs_api_runtime *rt, const void *function)
{
    const char *(*name)(const void *function, hipStream_t stream) =
        (__typeof__(name))rt->real[ROW_hipKernelNameRefByPtr];

    if (function)
        xs_collective_named(function, name(function, NULL));
}
