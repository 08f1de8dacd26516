/* SPDX-License-Identifier: Apache-2.0 */
/* Shims that are wrong on purpose, each in one way in which users met it. They must fail the tests that ours passes:
 *
 * SECOND   opens the system's copy of the runtime beside the wheel's, and lacks one function that makes streams
 * HIDDEN   the same copy for launches, and its registration functions are not exported
 * NEXT     takes the real functions from dlsym(RTLD_NEXT)
 * MANGLED  knows hipExtModuleLaunchKernel by its C++ name only
 * DEFAULT  passes the default stream by
 * FOREIGN  asks its own copy of the runtime about a stream that the framework's made */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "hal/hip/hip_abi.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

#define SECOND  1
#define HIDDEN  2
#define NEXT    3
#define MANGLED 4
#define DEFAULT 5
#define FOREIGN 6

static int g_seen;
EXPORT int wrong_seen(void);
int wrong_seen(void)
{
    return g_seen;
}

static int visit(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    if (!strstr(info->dlpi_name, "/torch/lib/libamdhip64.so"))
        return 0;
    strcpy(path, info->dlpi_name);
    return 1;
}

static void *real(const char *name)
{
    char path[4096] = "";
    void *lib;

    if (WRONG == NEXT)
        return dlsym(RTLD_NEXT, name);
    if (WRONG == MANGLED || WRONG == DEFAULT)
        dl_iterate_phdr(visit, path);
    lib = dlopen(path[0] ? path : getenv("SYSTEM_HIP"), RTLD_NOW | RTLD_LOCAL);
    return lib ? dlsym(lib, name) : NULL;
}

#define FORWARD(name, params, args)                                                               \
    EXPORT int name params;                                                                       \
    int name params                                                                               \
    {                                                                                             \
        int(*fn_) params;                                                                         \
        void *p = real(#name);                                                                    \
        memcpy(&fn_, &p, sizeof(p));                                                              \
        return fn_ args;                                                                          \
    }

#if WRONG != FOREIGN
FORWARD(hipGetDeviceCount, (int *n), (n))
FORWARD(hipSetDevice, (int d), (d))
FORWARD(hipDeviceSynchronize, (void), ())
FORWARD(hipStreamSynchronize, (void *s), (s))
FORWARD(hipModuleLoadData, (void **mod, const void *image), (mod, image))
FORWARD(hipModuleGetFunction, (void **f, void *mod, const char *name), (f, mod, name))
#if WRONG != SECOND
FORWARD(hipStreamCreateWithPriority, (void **s, unsigned flags, int priority), (s, flags, priority))
#endif
#if WRONG != HIDDEN
EXPORT void **__hipRegisterFatBinary(const void *data);
void **__hipRegisterFatBinary(const void *data)
{
    void **(*f)(const void *);
    void *p = real("__hipRegisterFatBinary");

    memcpy(&f, &p, sizeof(p));
    return f(data);
}

EXPORT void __hipRegisterFunction(void **modules, const void *stub, char *device, const char *name, unsigned threads,
                                  void *a, void *b, void *c, void *d, int *wave);
void __hipRegisterFunction(void **modules, const void *stub, char *device, const char *name, unsigned threads, void *a,
                           void *b, void *c, void *d, int *wave)
{
    void (*f)(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *, int *);
    void *p = real("__hipRegisterFunction");

    memcpy(&f, &p, sizeof(p));
    f(modules, stub, device, name, threads, a, b, c, d, wave);
}
#endif

EXPORT int hipLaunchKernel(const void *stub, struct xs_dim3 grid, struct xs_dim3 block, void **args, size_t shared,
                           void *s);
int hipLaunchKernel(const void *stub, struct xs_dim3 grid, struct xs_dim3 block, void **args, size_t shared, void *s)
{
    int (*f)(const void *, struct xs_dim3, struct xs_dim3, void **, size_t, void *);
    void *p = real("hipLaunchKernel");

    if (WRONG != DEFAULT || s)
        g_seen++;
    memcpy(&f, &p, sizeof(p));
    return f(stub, grid, block, args, shared, s);
}

#define EXT(export_as, name)                                                                      \
    EXPORT int name(void *f, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t g, size_t shared, \
                    void *s, void **params, void **extra, void *start, void *stop, uint32_t flags) __asm__(export_as); \
    int name(void *f, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t g, size_t shared, void *s, \
             void **params, void **extra, void *start, void *stop, uint32_t flags)                \
    {                                                                                             \
        int (*fn)(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, void *, void **, void **, \
                  void *, void *, uint32_t);                                                      \
        void *p = real(export_as);                                                                \
        g_seen++;                                                                                 \
        memcpy(&fn, &p, sizeof(p));                                                               \
        return fn(f, a, b, c, d, e, g, shared, s, params, extra, start, stop, flags);             \
    }
EXT("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j", mangled)
#if WRONG != MANGLED
EXT("hipExtModuleLaunchKernel", plain)
#endif

#else
/* A HAL's entry: 0, or the runtime's error. */
EXPORT int HipQueueCreate(uint64_t *hwq, void *stream);
int HipQueueCreate(uint64_t *hwq, void *stream)
{
    int (*f)(void *, unsigned *), r;
    void *p = real("hipStreamGetFlags");
    unsigned flags;

    memcpy(&f, &p, sizeof(p));
    r = f(stream, &flags);
    *hwq = r ? 0 : (uintptr_t)stream;
    return r;
}
#endif
