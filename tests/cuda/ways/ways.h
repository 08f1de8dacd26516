/* SPDX-License-Identifier: Apache-2.0 */
/* A little work, by functions that each way finds for itself. */
#ifndef WAYS_H
#define WAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef void *ways_p;

#define WAYS(X)                                                                                   \
    X(cuInit, (unsigned))                                                                         \
    X(cuDevicePrimaryCtxRetain, (ways_p *, int))                                                  \
    X(cuCtxSetCurrent, (ways_p))                                                                  \
    X(cuModuleGetFunction, (ways_p *, ways_p, const char *))                                      \
    X(cuStreamCreate, (ways_p *, unsigned))                                                       \
    X(cuStreamSynchronize, (ways_p))                                                              \
    X(cuLaunchKernel, (ways_p, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, ways_p, ways_p *, \
                       ways_p *))

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
    ways_p ctx, stream, f;

    if (d->cuInit(0) || d->cuDevicePrimaryCtxRetain(&ctx, 0) || d->cuCtxSetCurrent(ctx) ||
        d->cuModuleGetFunction(&f, NULL, "work") || d->cuStreamCreate(&stream, 1))
        return false;
    for (int i = 0; i < n; i++)
        if (d->cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL))
            return false;
    return d->cuStreamSynchronize(stream) == 0 && log[0] == (uint32_t)n;
}

#endif
