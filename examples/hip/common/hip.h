/* SPDX-License-Identifier: Apache-2.0 */
/* The HIP part that the examples have in common: the runtime, opened by name so that ROCm is not needed to build them,
 * and a kernel that takes a given time and then writes down its number, compiled when the program starts. Nothing of
 * the scheduler is in here. */
#ifndef EXAMPLE_HIP_H
#define EXAMPLE_HIP_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct ihipStream_t *hipStream_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;

/* work(ns, log, tag): spins for ns (wall_clock64 counts at 100 MHz), then appends tag to log, whose first word counts. */
static const char hip_source[] =
    "extern \"C\" __global__ void work(unsigned long long ns, unsigned *log, unsigned tag)\n"
    "{\n"
    "    unsigned long long begin = wall_clock64();\n"
    "    while ((wall_clock64() - begin) * 10 < ns) {}\n"
    "    log[1 + atomicAdd(log, 1u)] = tag;\n"
    "}\n";

#define HIP_FUNCTIONS                                                                                        \
    HIP(hipInit, (unsigned))                                                                                 \
    HIP(hipSetDevice, (int))                                                                                 \
    HIP(hipStreamCreateWithFlags, (hipStream_t *, unsigned))                                                 \
    HIP(hipStreamDestroy, (hipStream_t))                                                                     \
    HIP(hipStreamSynchronize, (hipStream_t))                                                                 \
    HIP(hipModuleLoadData, (hipModule_t *, const void *))                                                    \
    HIP(hipModuleGetFunction, (hipFunction_t *, hipModule_t, const char *))                                  \
    HIP(hipMalloc, (void **, size_t))                                                                        \
    HIP(hipFree, (void *))                                                                                   \
    HIP(hipMemcpy, (void *, const void *, size_t, int))                                                      \
    HIP(hipModuleLaunchKernel, (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
                                unsigned, hipStream_t, void **, void **))

#define HIP(name, params) static int(*name) params;
HIP_FUNCTIONS
#undef HIP

static hipFunction_t hip_work;

#define CHECK_HIP(call)                                                                                      \
    do {                                                                                                     \
        int err_ = (call);                                                                                   \
        if (err_ != 0) {                                                                                     \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, err_);                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static inline void hip_get(void *lib, void *fn, const char *name)
{
    void *p = dlsym(lib, name);

    if (!p) {
        fprintf(stderr, "there is no %s\n", name);
        exit(1);
    }
    memcpy(fn, &p, sizeof(p));
}

/* The kernel as code for this device. Without the run-time compiler (the fake runtime of the tests has none and knows the
 * kernel by its name) the source itself. */
static inline const void *hip_compile(void)
{
    void *lib = dlopen("libhiprtc.so", RTLD_NOW), *program;
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *), (*code)(void *, char *), (*size)(void *, size_t *);
    size_t n = 0;
    char *out;

    if (!lib)
        return hip_source;
    hip_get(lib, &create, "hiprtcCreateProgram");
    hip_get(lib, &compile, "hiprtcCompileProgram");
    hip_get(lib, &size, "hiprtcGetCodeSize");
    hip_get(lib, &code, "hiprtcGetCode");
    CHECK_HIP(create(&program, hip_source, "work.hip", 0, NULL, NULL));
    CHECK_HIP(compile(program, 0, NULL));
    CHECK_HIP(size(program, &n));
    out = malloc(n + 1);
    CHECK_HIP(code(program, out));
    return out;
}

/* The first device and the kernel. */
static inline void hip_open(void)
{
    static const char *const names[] = {"libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so"};
    void *lib = NULL;
    hipModule_t module;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "there is no HIP runtime here: %s\n", dlerror());
        exit(77);
    }
#define HIP(name, params) hip_get(lib, &name, #name);
    HIP_FUNCTIONS
#undef HIP
    CHECK_HIP(hipInit(0));
    CHECK_HIP(hipSetDevice(0));
    CHECK_HIP(hipModuleLoadData(&module, hip_compile()));
    CHECK_HIP(hipModuleGetFunction(&hip_work, module, "work"));
}

static inline hipStream_t hip_stream(void)
{
    hipStream_t s;

    CHECK_HIP(hipStreamCreateWithFlags(&s, 1)); /* not ordered with the default stream */
    return s;
}

/* A log with room for `count` numbers. */
static inline void *hip_log(uint32_t count)
{
    uint32_t *zero = calloc(count + 1, sizeof(*zero));
    void *log;

    CHECK_HIP(hipMalloc(&log, (count + 1) * sizeof(*zero)));
    CHECK_HIP(hipMemcpy(log, zero, (count + 1) * sizeof(*zero), 1));
    free(zero);
    return log;
}

/* Launches the kernel: takes `us`, then appends tag to the log. */
static inline int hip_launch(hipStream_t stream, uint64_t us, void *log, uint32_t tag)
{
    uint64_t ns = us * 1000;
    void *params[] = {&ns, &log, &tag};

    return hipModuleLaunchKernel(hip_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* Whether exactly the numbers 0 .. count - 1 stand in the log, in this order. */
static inline int hip_right(void *log, uint32_t count)
{
    uint32_t *got = calloc(count + 1, sizeof(*got));
    int right;

    CHECK_HIP(hipMemcpy(got, log, (count + 1) * sizeof(*got), 2));
    right = got[0] == count;
    for (uint32_t i = 0; i < count; i++)
        right = right && got[1 + i] == i;
    free(got);
    return right;
}

static inline double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

#endif
