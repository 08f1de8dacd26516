/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch costs, as any program would measure it: micro VARIANT
 * Prints JSON lines: launch_sync (p50, p99 of an empty kernel and its synchronisation, us) and
 * launch (us each of many empty launches), on the null stream and on a created one.
 *
 * micro pairs: under the shim only. The same calls by turns through the shim and past it, in short blocks of one process, since
 * two processes differ by more than what is looked for. Prints for each the ratio, ours to the driver's: the median over
 * pairs of blocks, and between which two it lies in 95 of 100 (pairs drawn anew). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
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

/* ---- the driver past the shim ---- */

static void *symbol_of(const struct dl_phdr_info *o, const char *name)
{
    const ElfW(Dyn) *d = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;

    for (int i = 0; i < o->dlpi_phnum; i++)
        if (o->dlpi_phdr[i].p_type == PT_DYNAMIC)
            d = (const ElfW(Dyn) *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr);
    for (; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB)
            strings = (const char *)d->d_un.d_ptr;
    }
    /* the strings lie behind the symbols */
    for (; symbols && strings && (const char *)(symbols + 1) <= strings; symbols++)
        if (symbols->st_shndx != SHN_UNDEF && !strcmp(strings + symbols->st_name, name))
            return (char *)o->dlpi_addr + symbols->st_value;
    return NULL;
}

struct wanted {
    const char *name;
    void *found;
};

static int look(struct dl_phdr_info *o, size_t size, void *arg)
{
    struct wanted *w = arg;
    const char *file = strrchr(o->dlpi_name, '/');

    (void)size;
    if (!file || strncmp(file, "/libcuda.so", 11) != 0 || !symbol_of(o, "cuGetExportTable"))
        return 0;
    w->found = symbol_of(o, w->name);
    return w->found != NULL;
}

static void get_past(void *fn, const char *name)
{
    struct wanted w = {name, NULL};

    dl_iterate_phdr(look, &w);
    if (!w.found) {
        fprintf(stderr, "no %s of the driver itself\n", name);
        exit(1);
    }
    memcpy(fn, &w.found, sizeof(w.found));
}

static void report(const char *variant, const char *stream, const char *what, const char *metric, double value, int n)
{
    printf("{\"workload\": \"%s\", \"variant\": \"%s\", \"stream\": \"%s\", \"metric\": \"%s\", \"value\": %.4f, "
           "\"unit\": \"us\", \"n\": %d}\n", what, variant, stream, metric, value, n);
    fflush(stdout);
}

typedef int (*launch_fn)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, void **, void **);
typedef int (*sync_fn)(P);

/* @return us each */
static double block(launch_fn launch, sync_fn sync, P f, P stream, int n, int each)
{
    double t = now_us();

    for (int i = 0; i < n; i++) {
        CHECK(launch(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
        if (each)
            CHECK(sync(stream));
    }
    if (!each)
        CHECK(sync(stream));
    return (now_us() - t) / n;
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(v[0]), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void pairs(P f, P stream, const char *name, int each)
{
    enum { PAIRS = 400, DRAWS = 1000 };
    static double ratio[PAIRS], past_us[PAIRS], drawn[PAIRS], medians[DRAWS];
    launch_fn past_launch;
    sync_fn past_sync;
    int n = each ? 250 : 500;
    uint64_t seed = 1;

    get_past(&past_launch, "cuLaunchKernel"), get_past(&past_sync, "cuStreamSynchronize");
    for (int i = -20; i < PAIRS; i++) {
        double ours = i % 2 ? block(Launch, StreamSync, f, stream, n, each) : 0;
        double past = block(past_launch, past_sync, f, stream, n, each);

        ours = i % 2 ? ours : block(Launch, StreamSync, f, stream, n, each);
        if (i >= 0)
            ratio[i] = ours / past, past_us[i] = past;
    }
    for (int d = 0; d < DRAWS; d++) {
        for (int i = 0; i < PAIRS; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            drawn[i] = ratio[(seed >> 33) % PAIRS];
        }
        medians[d] = median(drawn, PAIRS);
    }
    qsort(medians, DRAWS, sizeof(medians[0]), by_value);
    printf("{\"workload\": \"%s\", \"variant\": \"pairs\", \"stream\": \"%s\", \"metric\": \"ratio\", \"value\": %.4f, "
           "\"low\": %.4f, \"high\": %.4f, \"n\": %d, \"driver_us\": %.3f}\n", each ? "launch_sync" : "launch", name,
           median(ratio, PAIRS), medians[DRAWS / 40], medians[DRAWS - DRAWS / 40], PAIRS, median(past_us, PAIRS));
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

        if (!strcmp(variant, "pairs")) {
            pairs(f, streams[k], name, 1);
            pairs(f, streams[k], name, 0);
            continue;
        }
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
