/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the runtime, as far as the fake does not do better: weak, and not supported. And
 * hipGetProcAddress. */
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"

#define ROW(symbol)                                                                               \
    __attribute__((weak, visibility("default"))) hipError_t symbol(void);                         \
    __attribute__((weak, visibility("default"))) hipError_t symbol(void)                          \
    {                                                                                             \
        return XS_HIP_NOT_SUPPORTED;                                                              \
    }
#define HIP(kind, symbol, name, version, streams, params, args, stream, key) ROW(symbol)
#define HIP_PASS(symbol, name, version, streams) ROW(symbol)
#define hipGetProcAddress fake_weak_get
#include "shim/hip/hip_api.def"
#undef hipGetProcAddress

hipError_t hipGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags, int *status)
    __attribute__((visibility("default")));
__attribute__((visibility("default"))) hipError_t hipNewerThanUs(int x);
hipError_t hipNewerThanUs(int x) /* a function that no table of ours knows */
{
    return x + 1;
}

/* A hipModuleLaunchKernel of the future, with other parameters, under a symbol that no table knows (version 990). */
static hipError_t launch_990(int how)
{
    return how == 990 ? XS_HIP_SUCCESS : XS_HIP_INVALID_VALUE;
}

/* Which no symbol names, as in AMD's runtime. */
static hipError_t file_read(void)
{
    return XS_HIP_NOT_SUPPORTED;
}

static const struct row {
    const char *symbol, *name;
    void *fn;
    int streams;
} g_rows[] = {
#define ANY    0
#define LEGACY 1
#define PTDS   2
#define HIP(kind, symbol, name, version, streams, params, args, stream, key) {#symbol, #name, (void *)symbol, streams},
#define HIP_PASS(symbol, name, version, streams) {#symbol, #name, (void *)symbol, streams},
#include "shim/hip/hip_api.def"
    {"hipNewerThanUs", "hipNewerThanUs", (void *)hipNewerThanUs, 0}};

/* As AMD's runtime does: it opens itself by its path, and asks dlsym, for the function of the thread's own stream first. */
static void *asked_of_itself(const char *symbol, uint64_t flags)
{
    char per_thread[128];
    Dl_info self;
    void *lib = dladdr((void *)launch_990, &self) ? dlopen(self.dli_fname, RTLD_LAZY) : NULL, *fn = NULL;

    snprintf(per_thread, sizeof(per_thread), "%s_spt", symbol);
    if (lib && flags & XS_HIP_PROC_PER_THREAD)
        fn = dlsym(lib, per_thread);
    return lib && !fn ? dlsym(lib, symbol) : fn;
}

hipError_t hipGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags, int *status)
{
    int want = flags & XS_HIP_PROC_PER_THREAD ? PTDS : LEGACY;

    if (version >= 600 && version != 990)
        symbol = strcmp(symbol, "hipGetDeviceProperties") == 0 ? "hipGetDevicePropertiesR0600"
                 : strcmp(symbol, "hipChooseDevice") == 0      ? "hipChooseDeviceR0600"
                                                               : symbol;
    *pfn = version == 990 && strcmp(symbol, "hipModuleLaunchKernel") == 0 ? (void *)launch_990 : NULL;
    if (strcmp(symbol, "hipAmdFileRead") == 0)
        *pfn = (void *)file_read;
    if (!*pfn && fake_hip_fault("asks_itself"))
        *pfn = asked_of_itself(symbol, flags);
    for (size_t i = 0; i < sizeof(g_rows) / sizeof(g_rows[0]) && !*pfn; i++)
        if (strcmp(g_rows[i].name, symbol) == 0 && (!g_rows[i].streams || g_rows[i].streams == want))
            *pfn = g_rows[i].fn;
    for (size_t i = 0; i < sizeof(g_rows) / sizeof(g_rows[0]) && !*pfn; i++)
        if (strcmp(g_rows[i].symbol, symbol) == 0)
            *pfn = g_rows[i].fn;
    if (status)
        *status = !*pfn;
    return *pfn ? XS_HIP_SUCCESS : XS_HIP_INVALID_VALUE;
}
