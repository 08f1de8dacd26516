/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of a CUDA program's calls, one a run, for bench/instructions to count: calls PATH COUNT. The driver is the
 * fake one, whose own part is the same with and without the shim. */
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

static const struct { const char *name; void *fn; } k_names[] = {
    {"cuInit", &init}, {"cuDevicePrimaryCtxRetain", &retain}, {"cuCtxSetCurrent", &set_current}, {"cuStreamCreate", &create},
    {"cuStreamSynchronize", &sync}, {"cuLaunchKernel", &launch}, {"cuModuleGetFunction", &function},
    {"cuDriverGetVersion", &version},
};
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
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p;
    enum path path = 0;
    P context;

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
    if (init(0) || retain(&context, 0) || set_current(context) || create(&s_stream, 1) || function(&s_kernel, NULL, "nop"))
        return 1;
    launch(s_kernel, 1, 1, 1, 32, 1, 1, 0, s_stream, NULL, NULL);
    sync(s_stream);
    bench_block(path, atol(argv[2]));
    return 0;
}
