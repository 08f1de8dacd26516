/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of a CUDA program's calls, one a run, for bench/instructions to count: calls PATH COUNT. The driver is the
 * fake one, whose own part is the same with and without the shim. With HIP defined, a HIP program's. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

typedef void *P;

static int (*init)(unsigned), (*retain)(P *, int), (*set_current)(P), (*create)(P *, unsigned), (*sync)(P);
static int (*launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*function)(P *, P, const char *), (*version)(int *);

#ifdef HIP
#define LIBRARY "libamdhip64.so.6"
static int (*load)(P *, const void *);
static const struct { const char *name; void *fn; } k_names[] = {
    {"hipInit", &init}, {"hipInit", &retain}, {"hipSetDevice", &set_current}, {"hipStreamCreateWithFlags", &create},
    {"hipStreamSynchronize", &sync}, {"hipModuleLaunchKernel", &launch}, {"hipModuleGetFunction", &function},
    {"hipDriverGetVersion", &version}, {"hipModuleLoadData", &load},
};
#else
#define LIBRARY "libcuda.so.1"
static const struct { const char *name; void *fn; } k_names[] = {
    {"cuInit", &init}, {"cuDevicePrimaryCtxRetain", &retain}, {"cuCtxSetCurrent", &set_current}, {"cuStreamCreate", &create},
    {"cuStreamSynchronize", &sync}, {"cuLaunchKernel", &launch}, {"cuModuleGetFunction", &function},
    {"cuDriverGetVersion", &version},
};
#endif
enum path { NOTHING, PASS, LAUNCH, SYNC, IOCTL, PATHS };
static const char *const k_paths[PATHS] = {"nothing", "pass", "launch", "sync", "ioctl"};

static P s_stream, s_kernel;
static int s_null;

__attribute__((noinline)) void bench_block(enum path path, long n);
void bench_block(enum path path, long n)
{
    int v;

    for (long i = 0; i < n; i++) {
        switch (path) {
        case PASS:
            version(&v);
            break;
        case LAUNCH:
            launch(s_kernel, 1, 1, 1, 32, 1, 1, 0, s_stream, NULL, NULL);
            break;
        case SYNC:
            sync(s_stream);
            break;
        case IOCTL:
            ioctl(s_null, 0x5401, &v);
            break;
        default:
            break;
        }
    }
}

int main(int argc, char **argv)
{
    void *lib = dlopen(LIBRARY, RTLD_NOW), *p;
    enum path path = 0;
    P context = NULL; /* HIP: device 0 */

    while (argc == 3 && path < PATHS && strcmp(argv[1], k_paths[path]))
        path++;
    if (argc != 3 || path == PATHS || !lib) {
        fprintf(stderr, "calls: %s\n", lib ? "calls PATH COUNT" : dlerror());
        return 2;
    }
    for (size_t i = 0; i < sizeof(k_names) / sizeof(k_names[0]); i++) {
        p = dlsym(lib, k_names[i].name);
        memcpy(k_names[i].fn, &p, sizeof(p));
    }
    s_null = open("/dev/null", O_RDWR | O_CLOEXEC);
#ifdef HIP
    if (load(&s_kernel, "code") || function(&s_kernel, s_kernel, "nop"))
        return 1;
#else
    if (init(0) || retain(&context, 0) || function(&s_kernel, NULL, "nop"))
        return 1;
#endif
    if (set_current(context) || create(&s_stream, 1))
        return 1;
    launch(s_kernel, 1, 1, 1, 32, 1, 1, 0, s_stream, NULL, NULL);
    sync(s_stream);
    bench_block(path, atol(argv[2]));
    return 0;
}
