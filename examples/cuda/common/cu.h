/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA part that the examples have in common: the driver's interface, opened by name so that no toolkit is needed
 * to build them, a context, and a kernel that takes a given time and then writes down its number. Nothing of the
 * scheduler is in here. */
#ifndef EXAMPLE_CU_H
#define EXAMPLE_CU_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef unsigned long long CUdeviceptr;

/* work(ns, log, tag): spins for ns, then appends tag to log, whose first word counts. */
static const char cu_ptx[] = ".version 7.0\n"
                             ".target sm_52\n"
                             ".address_size 64\n"
                             ".visible .entry work(.param .u64 ns, .param .u64 log, .param .u32 tag)\n"
                             "{\n"
                             "    .reg .pred %p<3>;\n"
                             "    .reg .b32 %r<3>;\n"
                             "    .reg .b64 %d<9>;\n"
                             "    ld.param.u64 %d1, [ns];\n"
                             "    ld.param.u64 %d2, [log];\n"
                             "    ld.param.u32 %r1, [tag];\n"
                             "    mov.u64 %d3, %globaltimer;\n"
                             "SPIN:\n"
                             "    mov.u64 %d4, %globaltimer;\n"
                             "    sub.u64 %d5, %d4, %d3;\n"
                             "    setp.lt.u64 %p1, %d5, %d1;\n"
                             "    @%p1 bra SPIN;\n"
                             "    cvta.to.global.u64 %d6, %d2;\n"
                             "    atom.global.add.u32 %r2, [%d6], 1;\n"
                             "    mul.wide.u32 %d7, %r2, 4;\n"
                             "    add.u64 %d8, %d6, %d7;\n"
                             "    st.global.u32 [%d8+4], %r1;\n"
                             "    ret;\n"
                             "}\n";

#define CU_FUNCTIONS                                                                                         \
    CU(cuInit, (unsigned))                                                                                   \
    CU(cuDevicePrimaryCtxRetain, (CUcontext *, int))                                                         \
    CU(cuCtxSetCurrent, (CUcontext))                                                                         \
    CU(cuStreamCreate, (CUstream *, unsigned))                                                               \
    CU(cuStreamDestroy_v2, (CUstream))                                                                       \
    CU(cuStreamSynchronize, (CUstream))                                                                      \
    CU(cuModuleLoadData, (CUmodule *, const void *))                                                         \
    CU(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                          \
    CU(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                               \
    CU(cuMemFree_v2, (CUdeviceptr))                                                                          \
    CU(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                                 \
    CU(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                                       \
    CU(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
                        CUstream, void **, void **))

#define CU(name, params) static int(*name) params;
CU_FUNCTIONS
#undef CU

static CUcontext cu_context;
static CUfunction cu_work;

#define CHECK_CU(call)                                                                                       \
    do {                                                                                                     \
        int err_ = (call);                                                                                   \
        if (err_ != 0) {                                                                                     \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, err_);                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static inline void cu_get(void *lib, void *fn, const char *name)
{
    void *p = dlsym(lib, name);

    if (!p) {
        fprintf(stderr, "the CUDA driver has no %s\n", name);
        exit(1);
    }
    memcpy(fn, &p, sizeof(p));
}

/* The first device, its primary context, the kernel. */
static inline void cu_open(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    CUmodule module;

    if (!lib) {
        fprintf(stderr, "there is no CUDA driver here: %s\n", dlerror());
        exit(77);
    }
#define CU(name, params) cu_get(lib, &name, #name);
    CU_FUNCTIONS
#undef CU
    CHECK_CU(cuInit(0));
    CHECK_CU(cuDevicePrimaryCtxRetain(&cu_context, 0));
    CHECK_CU(cuCtxSetCurrent(cu_context));
    CHECK_CU(cuModuleLoadData(&module, cu_ptx));
    CHECK_CU(cuModuleGetFunction(&cu_work, module, "work"));
}

static inline CUstream cu_stream(void)
{
    CUstream s;

    CHECK_CU(cuStreamCreate(&s, 1)); /* not ordered with the default stream */
    return s;
}

/* A log with room for `count` numbers. */
static inline CUdeviceptr cu_log(uint32_t count)
{
    uint32_t *zero = calloc(count + 1, sizeof(*zero));
    CUdeviceptr log;

    CHECK_CU(cuMemAlloc_v2(&log, (count + 1) * sizeof(*zero)));
    CHECK_CU(cuMemcpyHtoD_v2(log, zero, (count + 1) * sizeof(*zero)));
    free(zero);
    return log;
}

/* Launches the kernel: takes `us`, then appends tag to the log. */
static inline int cu_launch(CUstream stream, uint64_t us, CUdeviceptr log, uint32_t tag)
{
    uint64_t ns = us * 1000;
    void *params[] = {&ns, &log, &tag};

    return cuLaunchKernel(cu_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* Whether exactly the numbers 0 .. count - 1 stand in the log, in this order. */
static inline int cu_right(CUdeviceptr log, uint32_t count)
{
    uint32_t *got = calloc(count + 1, sizeof(*got));
    int right;

    CHECK_CU(cuMemcpyDtoH_v2(got, log, (count + 1) * sizeof(*got)));
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
