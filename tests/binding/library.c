/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for a copy of a vendor's library: its version is ID. LACKS leaves out the function that callers look for. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define API __attribute__((visibility("default"))) int

#if defined(HIP)
API hipInit(unsigned flags)
{
    return flags ? 1 : 0;
}

API hipGetDeviceCount(int *n)
{
    *n = 1;
    return 0;
}

API hipRuntimeGetVersion(int *v)
{
    *v = ID;
    return 0;
}

API hipDriverGetVersion(int *v)
{
    *v = ID;
    return 0;
}

#ifndef LACKS
API hipGetStreamDeviceId(void *stream)
{
    return stream ? 1 : 0;
}
#endif

API hipNewerThanAll(void)
{
    return ID;
}
#elif defined(CUDA)
API cuInit(unsigned flags)
{
    return flags ? 1 : 0;
}

API cuDriverGetVersion(int *v)
{
    *v = ID;
    return 0;
}

#ifndef LACKS
API cuKernelGetName(const char **name, void *kernel)
{
    (void)kernel;
    *name = "";
    return 0;
}
#endif

API cuNewerThanAll(void)
{
    return ID;
}

/* A driver without these is none. */
#define NOTHING(name)   \
    API name(void *a)   \
    {                   \
        return a != 0;  \
    }
NOTHING(cuCtxGetCurrent)
NOTHING(cuCtxPushCurrent_v2)
NOTHING(cuCtxPopCurrent_v2)
NOTHING(cuCtxGetDevice)
NOTHING(cuDeviceGetAttribute)
NOTHING(cuStreamSynchronize)
#elif defined(OPENCL)
API clGetPlatformIDs(unsigned count, void **platforms, unsigned *ret)
{
    for (unsigned i = 0; i < count && i < ID; i++)
        platforms[i] = (void *)(unsigned long)(ID * 16 + i);
    if (ret)
        *ret = ID;
    return 0;
}

API clGetPlatformInfo(void *platform, unsigned name, unsigned long size, void *value, unsigned long *ret)
{
    (void)name;
    if (value && size)
        *(char *)value = 0;
    if (ret)
        *ret = 1;
    return (unsigned long)platform / 16 == ID ? 0 : -32; /* of another copy: invalid */
}

#ifndef LACKS
API clUnloadCompiler(void)
{
    return 0;
}
#endif

API clNewerThanAll(void)
{
    return ID;
}
#endif
