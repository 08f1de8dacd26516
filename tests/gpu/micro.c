/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs, as any program would measure it: micro VARIANT
 * Prints JSON lines: launch_sync (p50, p99 of an empty kernel and its synchronisation, us) and
 * launch (us each of many empty launches), on the null stream and on a created one. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char k_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nop() { ret; }\n";

typedef void *P;
static int (*Init)(unsigned), (*DeviceGet)(int *, int), (*PrimaryRetain)(P *, int), (*SetCurrent)(P);
static int (*LoadData)(P *, const void *), (*GetFunction)(P *, P, const char *), (*StreamCreate)(P *, unsigned);
static int (*StreamSync)(P), (*CtxSync)(void);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, void **, void **);

#define CHECK(x)                                                       \
    do {                                                               \
        int r_ = (x);                                                  \
        if (r_) {                                                      \
            fprintf(stderr, "%s: error %d\n", #x, r_);                 \
            exit(1);                                                   \
        }                                                              \
    } while (0)

static void get(void *lib, void *fn, const char *name)
{
    void *p = dlsym(lib, name);

    if (!p) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    memcpy(fn, &p, sizeof(p));
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const char *variant, const char *stream, const char *what, const char *metric, double value, int n)
{
    printf("{\"workload\": \"%s\", \"variant\": \"%s\", \"stream\": \"%s\", \"metric\": \"%s\", \"value\": %.4f, "
           "\"unit\": \"us\", \"n\": %d}\n", what, variant, stream, metric, value, n);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    enum { N = 20000, M = 20000 };
    const char *variant = argc > 1 ? argv[1] : "native";
    static double took[N];
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    P ctx, mod, f, streams[2] = {NULL, NULL};
    int dev;

    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    get(lib, &Init, "cuInit"), get(lib, &DeviceGet, "cuDeviceGet");
    get(lib, &PrimaryRetain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &LoadData, "cuModuleLoadData"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &StreamSync, "cuStreamSynchronize");
    get(lib, &CtxSync, "cuCtxSynchronize"), get(lib, &Launch, "cuLaunchKernel");
    CHECK(Init(0));
    CHECK(DeviceGet(&dev, 0));
    CHECK(PrimaryRetain(&ctx, dev));
    CHECK(SetCurrent(ctx));
    CHECK(LoadData(&mod, k_ptx));
    CHECK(GetFunction(&f, mod, "nop"));
    CHECK(StreamCreate(&streams[1], 1));
    for (int k = 0; k < 2; k++) {
        const char *name = k ? "created" : "null";
        double best = 1e9;

        for (int i = -2000; i < N; i++) {
            double t = now_us();

            CHECK(Launch(f, 1, 1, 1, 32, 1, 1, 0, streams[k], NULL, NULL));
            CHECK(StreamSync(streams[k]));
            if (i >= 0)
                took[i] = now_us() - t;
        }
        qsort(took, N, sizeof(took[0]), by_value);
        report(variant, name, "launch_sync", "p50", took[N / 2], N);
        report(variant, name, "launch_sync", "p99", took[N - N / 100], N);
        for (int rep = 0; rep < 5; rep++) {
            double t = now_us(), each;

            for (int i = 0; i < M; i++)
                CHECK(Launch(f, 1, 1, 1, 32, 1, 1, 0, streams[k], NULL, NULL));
            CHECK(StreamSync(streams[k]));
            each = (now_us() - t) / M;
            best = each < best ? each : best;
        }
        report(variant, name, "launch", "min_of_5", best, M);
    }
    return 0;
}
