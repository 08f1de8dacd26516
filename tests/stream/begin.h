/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs that run on CUDA and, with HIP defined, on HIP: the names that differ, and a device made current. */
#ifndef TESTS_STREAM_BEGIN_H
#define TESTS_STREAM_BEGIN_H

#include <dlfcn.h>
#include <string.h>

typedef void *P;
#define GET(fn, name) p = dlsym(lib, name), memcpy(&fn, &p, sizeof(p))

#ifdef HIP
#define LIBRARY       "libamdhip64.so.6"
#define PREFIX        "hip"
#define STREAM_CREATE "hipStreamCreateWithFlags"
#define EVENT_CREATE  "hipEventCreateWithFlags"
#define LAUNCH        "hipModuleLaunchKernel"

static int begin_device(void *lib, int device)
{
    int (*set)(int);
    void *p;

    GET(set, "hipSetDevice");
    return set(device);
}
#else
#define LIBRARY       "libcuda.so.1"
#define PREFIX        "cu"
#define STREAM_CREATE "cuStreamCreate"
#define EVENT_CREATE  "cuEventCreate"
#define LAUNCH        "cuLaunchKernel"

static int begin_device(void *lib, int device)
{
    int (*init)(unsigned), (*retain)(P *, int), (*set)(P);
    void *p;
    P ctx;

    GET(init, "cuInit");
    GET(retain, "cuDevicePrimaryCtxRetain");
    GET(set, "cuCtxSetCurrent");
    return init(0) || retain(&ctx, device) || set(ctx);
}
#endif

#endif
