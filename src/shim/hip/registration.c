/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled objects register their kernels before main, each with the runtime that it was linked to. Nothing
 * is read or kept here: an object may hold thousands. This is also where a second copy of the runtime is
 * noticed, since it comes with the object that needs it. */
#include "shim/stream/table.h"

XS_EXPORT void **__hipRegisterFatBinary(const void *data);

XS_EXPORT void **__hipRegisterFatBinary(const void *data)
{
    static void *nobody[1]; /* what a program without a runtime may hand to the other registration functions */
    const struct xs_api_runtime *rt;
    void **(*real)(const void *data);

    if (xs_api_mode_now() == XS_API_UNBOUND && !xs_api_start(__builtin_return_address(0)))
        return nobody;
    xs_api_caller_new(__builtin_return_address(0));
    rt = xs_api_runtime_of(__builtin_return_address(0));
    if (rt->real[ROW___hipRegisterFatBinary] == xs_api_absent(ROW___hipRegisterFatBinary, false))
        return nobody;
    real = (__typeof__(real))rt->real[ROW___hipRegisterFatBinary];
    return real(data);
}
