/* SPDX-License-Identifier: Apache-2.0 */
/* One call of each function that launches and that the caller has. */
#ifndef PACKAGES_LAUNCHES_H
#define PACKAGES_LAUNCHES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hal/hip/hip_abi.h"

typedef void *P;

/** What a launch needs, made by the program. */
struct things {
    P stream, function, graph, memory;
    uint64_t (*scheduled)(void);          /* commands that XSched counted, or NULL without it */
};

typedef void *find_function(const char *name);

static char packages_stub;                /* its address names the compiled kernel */
static uint32_t packages_log[64];
static uint64_t packages_ns = 1000;

static inline void packages_done(P unused)
{
    (void)unused;
}

/* What the compiler adds to an object with kernels. */
static inline void packages_register(find_function *find)
{
    P binary = find("__hipRegisterFatBinary"), kernel = find("__hipRegisterFunction"), modules;
    P (*fat)(const void *);
    void (*function)(P, const void *, const char *, const char *, unsigned, P, P, P, P, int *);

    if (!binary || !kernel)
        return;
    memcpy(&fat, &binary, sizeof(fat));
    memcpy(&function, &kernel, sizeof(function));
    modules = fat("fat binary");
    function(modules, &packages_stub, NULL, "work", 0, NULL, NULL, NULL, NULL, NULL);
}

#define GRID  uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t
#define DIM3  struct xs_dim3
#define ONE   1, 1, 1, 1, 1, 1
#define TRY(name, types, ...)                                                                     \
    do {                                                                                          \
        P p = find(#name);                                                                        \
        int (*fn) types, r;                                                                       \
        uint64_t before = t->scheduled ? t->scheduled() : 0;                                      \
        memcpy(&fn, &p, sizeof(fn));                                                              \
        if (p) {                                                                                  \
            r = fn(__VA_ARGS__);                                                                  \
            printf("call %s %d", #name, r);                                                       \
            printf(t->scheduled ? " %d\n" : "\n", (int)((t->scheduled ? t->scheduled() : 0) - before)); \
        }                                                                                         \
    } while (0)

static inline void packages_launch(find_function *find, const struct things *t)
{
    struct xs_dim3 one = {1, 1, 1};
    struct xs_hip_launch_config config = {{1, 1, 1}, {1, 1, 1}, 0, t->stream, NULL, 0};
    uint32_t *to = packages_log, tag = 1;
    P args[] = {&packages_ns, &to, &tag};

    TRY(hipLaunchKernel, (const void *, DIM3, DIM3, P *, size_t, P), &packages_stub, one, one, args, 0, t->stream);
    TRY(hipLaunchCooperativeKernel, (const void *, DIM3, DIM3, P *, unsigned, P), &packages_stub, one, one, args, 0, t->stream);
    TRY(hipExtLaunchKernel, (const void *, DIM3, DIM3, P *, size_t, P, P, P, int), &packages_stub, one, one, args, 0, t->stream,
        NULL, NULL, 0);
    TRY(hipLaunchKernelExC, (const struct xs_hip_launch_config *, const void *, P *), &config, &packages_stub, args);
    TRY(hipModuleLaunchKernel, (P, GRID, unsigned, P, P *, P *), t->function, ONE, 0, t->stream, args, NULL);
    TRY(hipModuleLaunchCooperativeKernel, (P, GRID, unsigned, P, P *), t->function, ONE, 0, t->stream, args);
    TRY(hipExtModuleLaunchKernel, (P, GRID, size_t, P, P *, P *, P, P, uint32_t), t->function, ONE, 0,
        t->stream, args, NULL, NULL, NULL, 0);
    TRY(hipDrvLaunchKernelEx, (const struct xs_hip_launch_config *, P, P *, P *), &config, t->function, args, NULL);
    TRY(hipGraphLaunch, (P, P), t->graph, t->stream);
    TRY(hipLaunchHostFunc, (P, void (*)(P), P), t->stream, packages_done, NULL);
    TRY(hipMemsetAsync, (P, int, size_t, P), t->memory, 1, 64, t->stream);
    TRY(hipMemcpyAsync, (P, const void *, size_t, int, P), t->memory, t->memory, 4, 3, t->stream);
}

#endif
