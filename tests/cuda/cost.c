/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time of an entry on a driver that does next to nothing: cost COUNT. For people and profilers;
 * the fake's own part is the same with and without the shim. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *P;

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 100000;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p;
    int (*init)(unsigned), (*retain)(P *, int), (*set)(P), (*create)(P *, unsigned), (*sync)(P), (*query)(P);
    int (*launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
    int (*function)(P *, P, const char *);
    P ctx, s, f;

    if (!lib)
        return 1;
#define GET(fn, name) p = dlsym(lib, name), memcpy(&fn, &p, sizeof(p))
    GET(init, "cuInit");
    GET(retain, "cuDevicePrimaryCtxRetain");
    GET(set, "cuCtxSetCurrent");
    GET(create, "cuStreamCreate");
    GET(sync, "cuStreamSynchronize");
    GET(query, "cuStreamQuery");
    GET(launch, "cuLaunchKernel");
    GET(function, "cuModuleGetFunction");
    if (init(0) || retain(&ctx, 0) || set(ctx) || create(&s, 1) || function(&f, NULL, "nop"))
        return 1;
    for (int k = 0; k < 2; k++) {
        P on = k ? NULL : s;
        double t, best = 1e18, best_sync = 1e18;

        for (int rep = 0; rep < 20; rep++) {
            t = now_ns();
            for (long i = 0; i < n / 20; i++)
                launch(f, 1, 1, 1, 32, 1, 1, 0, on, NULL, NULL);
            t = (now_ns() - t) / (double)(n / 20);
            best = t < best ? t : best;
            sync(on);
            t = now_ns();
            for (long i = 0; i < n / 200; i++) {
                launch(f, 1, 1, 1, 32, 1, 1, 0, on, NULL, NULL);
                sync(on);
            }
            t = (now_ns() - t) / (double)(n / 200);
            best_sync = t < best_sync ? t : best_sync;
        }
        printf("%s: launch %.1f ns, launch and synchronise %.1f ns\n", k ? "null" : "created", best, best_sync);
    }
    return 0;
}
