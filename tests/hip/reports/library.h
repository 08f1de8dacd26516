/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a compiled kernel, linked against the runtime: what the compiler adds to each such object. */
#ifndef XS_REPORT_LIBRARY_H
#define XS_REPORT_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "hal/hip/hip_abi.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

int hipGetDeviceCount(int *n);
int hipSetDevice(int d);
int hipDeviceSynchronize(void);
int hipStreamCreateWithPriority(void **s, unsigned flags, int priority);
int hipStreamSynchronize(void *s);
int hipLaunchKernel(const void *stub, struct xs_dim3 grid, struct xs_dim3 block, void **args, size_t shared, void *s);
int hipModuleLoadData(void **mod, const void *image);
int hipModuleGetFunction(void **f, void *mod, const char *name);
int hipModuleEnumerateFunctions(void **functions, unsigned number, void *mod);
typedef int ext_launch(void *f, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t shared, void *s,
                       void **params, void **extra, void *start, void *stop, uint32_t flags);
ext_launch hipExtModuleLaunchKernel;
ext_launch hipExtModuleLaunchKernelMangled
    __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
void **__hipRegisterFatBinary(const void *data);
void __hipRegisterFunction(void **modules, const void *stub, char *device, const char *name, unsigned threads,
                           void *tid, void *bid, void *block, void *grid, int *wave);
int __hipPushCallConfiguration(struct xs_dim3 grid, struct xs_dim3 block, size_t shared, void *s);
int __hipPopCallConfiguration(struct xs_dim3 *grid, struct xs_dim3 *block, size_t *shared, void **s);

static const char library_stub = 0; /* its address names the kernel */

__attribute__((constructor)) static void library_register(void)
{
    void **modules = __hipRegisterFatBinary("fat binary");

    __hipRegisterFunction(modules, &library_stub, NULL, "work", 0, NULL, NULL, NULL, NULL, NULL);
}

/* kernel<<<1, 1, 0, stream>>>(100 us, log, tag) */
static int library_launch(void *stream, uint32_t *log, uint32_t tag)
{
    struct xs_dim3 grid = {1, 1, 1}, block = {1, 1, 1};
    uint64_t ns = 100000;
    void *args[] = {&ns, &log, &tag}, *s = NULL;
    size_t shared = 0;
    int r = __hipPushCallConfiguration(grid, block, 0, stream);

    if (!r)
        r = __hipPopCallConfiguration(&grid, &block, &shared, &s);
    return r ? r : hipLaunchKernel(&library_stub, grid, block, args, shared, s);
}

#endif
