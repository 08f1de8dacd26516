/* SPDX-License-Identifier: Apache-2.0 */
/* A library of 1000 compiled objects, as far as the runtime sees: each registers a fat binary and three kernels when it
 * is loaded. As a program (-DPROGRAM): fat LIBRARY loads it and counts devices. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#ifdef PROGRAM
int hipGetDeviceCount(int *n);
int main(int argc, char **argv)
{
    int n = -1;
    void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

    if (!lib)
        return 1;
    printf("devices: %d\n", hipGetDeviceCount(&n));
    return 0;
}
#else
void **__hipRegisterFatBinary(const void *data);
void __hipUnregisterFatBinary(void **modules);
void __hipRegisterFunction(void **modules, const void *stub, char *device, const char *name, unsigned threads,
                           void *a, void *b, void *c, void *d, int *wave);

#define OBJECTS 1000
static int g_objects = OBJECTS;
static struct { /* __CudaFatBinaryWrapper */
    uint32_t magic, version;
    const void *binary, *unused;
} g_wrapper[OBJECTS];
static char g_stubs[OBJECTS][3];
static void **g_modules[OBJECTS];

__attribute__((constructor)) static void load(void)
{
    static const char bundle[4096] = "__CLANG_OFFLOAD_BUNDLE__";
    static char names[3][8] = {"first", "second", "third"};

    if (getenv("FAT_OBJECTS"))
        g_objects = atoi(getenv("FAT_OBJECTS"));
    for (int i = 0; i < g_objects; i++) {
        g_wrapper[i].magic = 0x48495046;
        g_wrapper[i].version = 1;
        g_wrapper[i].binary = bundle;
        g_modules[i] = __hipRegisterFatBinary(&g_wrapper[i]);
        for (int k = 0; k < 3; k++)
            __hipRegisterFunction(g_modules[i], &g_stubs[i][k], names[k], names[k], ~0u, NULL, NULL, NULL, NULL, NULL);
    }
}

__attribute__((destructor)) static void unload(void)
{
    for (int i = 0; i < g_objects; i++)
        __hipUnregisterFatBinary(g_modules[i]);
}
#endif
