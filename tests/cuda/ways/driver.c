/* SPDX-License-Identifier: Apache-2.0 */
/* The least driver with which a program can launch something, for a C library that the fake driver is not built for:
 * what is launched is done at once. */
#include <stdint.h>

#define API __attribute__((visibility("default"))) int
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef void *P;
static char g_context, g_stream, g_function, g_event;
static __thread P t_current;

API cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}

API cuDriverGetVersion(int *v)
{
    *v = 13000;
    return 0;
}

API cuDeviceGetAttribute(int *v, int attribute, int device)
{
    (void)attribute, (void)device;
    *v = 0;
    return 0;
}

API cuDevicePrimaryCtxRetain(P *ret, int device)
{
    (void)device;
    *ret = &g_context;
    return 0;
}

API cuCtxSetCurrent(P c)
{
    t_current = c;
    return 0;
}

API cuCtxPushCurrent_v2(P c)
{
    return cuCtxSetCurrent(c);
}

API cuCtxPopCurrent_v2(P *ret)
{
    *ret = t_current;
    return 0;
}

API cuCtxGetCurrent(P *ret)
{
    *ret = t_current;
    return 0;
}

API cuCtxGetDevice(int *ret)
{
    *ret = 0;
    return 0;
}

API cuModuleGetFunction(P *ret, P module, const char *name)
{
    (void)module, (void)name;
    *ret = &g_function;
    return 0;
}

API cuStreamCreate(P *ret, unsigned flags)
{
    (void)flags;
    *ret = &g_stream;
    return 0;
}

API cuStreamGetCtx(P stream, P *ret)
{
    (void)stream;
    *ret = &g_context;
    return 0;
}

API cuLaunchKernel(P f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned h, P stream,
                   P *params, P *extra)
{
    uint32_t *log = *(uint32_t **)params[1];

    (void)f, (void)a, (void)b, (void)c, (void)d, (void)e, (void)g, (void)h, (void)stream, (void)extra;
    log[1 + log[0]] = *(uint32_t *)params[2];
    log[0]++;
    return 0;
}

API cuStreamSynchronize(P stream)
{
    (void)stream;
    return 0;
}

API cuEventCreate(P *ret, unsigned flags)
{
    (void)flags;
    *ret = &g_event;
    return 0;
}

API cuEventRecord(P event, P stream)
{
    (void)event, (void)stream;
    return 0;
}

API cuEventQuery(P event)
{
    (void)event;
    return 0;
}
