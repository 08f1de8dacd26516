/* SPDX-License-Identifier: Apache-2.0 */
/* A little work, by functions that each way finds for itself. */
#ifndef WAYS_H
#define WAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef void *ways_p;

#ifdef HIP
#define WAYS_LIBRARY "libamdhip64"
#define WAYS(X)                                                                                   \
    X(hipInit, (unsigned))                                                                        \
    X(hipSetDevice, (int))                                                                        \
    X(hipModuleLoadData, (ways_p *, const void *))                                                \
    X(hipModuleGetFunction, (ways_p *, ways_p, const char *))                                     \
    X(hipStreamCreateWithFlags, (ways_p *, unsigned))                                             \
    X(hipStreamSynchronize, (ways_p))                                                             \
    X(hipModuleLaunchKernel, (ways_p, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, ways_p, ways_p *, \
                       ways_p *))
#define WAYS_BEGIN(d) (d->hipInit(0) || d->hipSetDevice(0) || d->hipModuleLoadData(&mod, "code"))
#define WAYS_CALL(cuda, hip) hip
#else
#define WAYS_LIBRARY "libcuda"
#define WAYS_BEGIN(d) (d->cuInit(0) || d->cuDevicePrimaryCtxRetain(&mod, 0) || d->cuCtxSetCurrent(mod) || (mod = NULL, false))
#define WAYS_CALL(cuda, hip) cuda
#define WAYS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                         \
    X(cuDevicePrimaryCtxRetain, (ways_p *, int))                                                  \
    X(cuCtxSetCurrent, (ways_p))                                                                  \
    X(cuModuleGetFunction, (ways_p *, ways_p, const char *))                                      \
    X(cuStreamCreate, (ways_p *, unsigned))                                                       \
    X(cuStreamSynchronize, (ways_p))                                                              \
    X(cuLaunchKernel, (ways_p, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, ways_p, ways_p *, \
                       ways_p *))
#endif

struct ways_driver {
#define X(name, params) int(*name) params;
    WAYS(X)
#undef X
};

static inline bool ways_bind(struct ways_driver *d, void *from, void *(*find)(void *, const char *))
{
    void *p;
    bool all = true;

#define X(name, params) p = find(from, #name), memcpy(&d->name, &p, sizeof(p)), all = all && p;
    WAYS(X)
#undef X
    return all;
}

static inline bool ways_work(const struct ways_driver *d, int n)
{
    static uint32_t log[64];
    uint32_t *to = log, tag = 1;
    uint64_t ns = 1000;
    void *params[] = {&ns, &to, &tag};
    ways_p mod, stream, f;

    if (WAYS_BEGIN(d) || d->WAYS_CALL(cuModuleGetFunction, hipModuleGetFunction)(&f, mod, "work") ||
        d->WAYS_CALL(cuStreamCreate, hipStreamCreateWithFlags)(&stream, 1))
        return false;
    for (int i = 0; i < n; i++)
        if (d->WAYS_CALL(cuLaunchKernel, hipModuleLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL))
            return false;
    return d->WAYS_CALL(cuStreamSynchronize, hipStreamSynchronize)(stream) == 0 && log[0] == (uint32_t)n;
}

#endif
