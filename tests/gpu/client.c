/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary CUDA programs for tests of robustness, without a toolkit: they open the driver by its name and bring their
 * kernel as text, so that they run on any device and on the fake driver.
 *
 *   gpu_client calibrate                     rounds of the kernel in a millisecond, which the others take as PER_MS
 *   gpu_client low T_MS SECONDS PER_MS [fork]  kernels of T_MS without a pause, two in flight, until SECONDS or SIGTERM;
 *                                            fork: leaves a child that has done nothing and sleeps
 *   gpu_client high N PER_MS                 N jobs of ten kernels, 1.2 ms in all, 6 to 11 ms apart
 *   gpu_client park PER_MS                   wants to run one kernel, and may not
 *   gpu_client contexts SECONDS PER_MS       makes contexts, uses them and destroys them
 *   gpu_client devices                       how the driver answers and how many devices there are
 *
 * "ready" on stderr when the program is about to begin; one JSON object on stdout; 1 when a result is wrong, 3 when the
 * driver refuses something. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../cuda/ptx.h"

typedef void *P;
typedef uint64_t U;

#define BLOCKS  (132 * 8)
#define THREADS 256
#define JOB     10

#define FUNCTIONS(X)                                                                              \
    X(Init, "cuInit", (unsigned))                                                                 \
    X(DeviceCount, "cuDeviceGetCount", (int *))                                                   \
    X(Retain, "cuDevicePrimaryCtxRetain", (P *, int))                                             \
    X(SetCurrent, "cuCtxSetCurrent", (P))                                                         \
    X(CtxDestroy, "cuCtxDestroy_v2", (P))                                                         \
    X(LoadData, "cuModuleLoadData", (P *, const void *))                                          \
    X(GetFunction, "cuModuleGetFunction", (P *, P, const char *))                                 \
    X(StreamCreate, "cuStreamCreate", (P *, unsigned))                                            \
    X(StreamSync, "cuStreamSynchronize", (P))                                                     \
    X(EventCreate, "cuEventCreate", (P *, unsigned))                                              \
    X(EventRecord, "cuEventRecord", (P, P))                                                       \
    X(EventSync, "cuEventSynchronize", (P))                                                       \
    X(Alloc, "cuMemAlloc_v2", (U *, size_t))                                                      \
    X(Memset, "cuMemsetD32Async", (U, unsigned, size_t, P))                                       \
    X(DtoH, "cuMemcpyDtoHAsync_v2", (void *, U, size_t, P))                                       \
    X(CtxCreate, "cuCtxCreate_v2", (P *, unsigned, int))                                          \
    X(Launch, "cuLaunchKernel",                                                                   \
      (P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *))

#define X(fn, name, params) static int (*fn) params;
FUNCTIONS(X)
#undef X

#define CHECK(call)                                                          \
    do {                                                                     \
        int r_ = (call);                                                     \
        if (r_) {                                                            \
            fprintf(stderr, "gpu_client: %s: %d\n", #call, r_);              \
            _exit(3);                                                        \
        }                                                                    \
    } while (0)

static P s_burn, s_stream;
static U s_sum;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void bind(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p;

    if (!lib) {
        fprintf(stderr, "gpu_client: %s\n", dlerror());
        _exit(3);
    }
#define X(fn, name, params)                                                   \
    p = dlsym(lib, name);                                                     \
    if (!p) {                                                                 \
        fprintf(stderr, "gpu_client: no %s\n", name);                         \
        _exit(3);                                                             \
    }                                                                         \
    memcpy(&fn, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
}

static void burn(unsigned blocks, U rounds)
{
    P args[] = {&rounds, &s_sum};

    CHECK(Launch(s_burn, blocks, 1, 1, THREADS, 1, 1, 0, s_stream, args, NULL));
}

static U sum(void)
{
    U v;

    CHECK(DtoH(&v, s_sum, 8, s_stream));
    CHECK(StreamSync(s_stream));
    return v;
}

/* What a context needs; the current one. */
static void equip(void)
{
    P module;

    CHECK(LoadData(&module, k_ptx));
    CHECK(GetFunction(&s_burn, module, "grind"));
    CHECK(StreamCreate(&s_stream, 1));
    CHECK(Alloc(&s_sum, 8));
}

static void open_device(void)
{
    P context;

    bind();
    CHECK(Init(0));
    CHECK(Retain(&context, 0));
    CHECK(SetCurrent(context));
    equip();
}

static void zero(void)
{
    CHECK(Memset(s_sum, 0, 2, s_stream));
    CHECK(StreamSync(s_stream));
}

static volatile sig_atomic_t s_stop;
static void stop(int sig)
{
    (void)sig;
    s_stop = 1;
}

static int calibrate(void)
{
    double best = 1e18;

    zero();
    burn(BLOCKS, 10);
    sum();
    for (int i = 0; i < 10; i++) {
        double t0 = now_us(), t;

        burn(BLOCKS, 20000);
        CHECK(StreamSync(s_stream));
        t = now_us() - t0;
        best = t < best ? t : best;
    }
    printf("{\"rounds_per_ms\":%.3f}\n", 20000 / best * 1000);
    return 0;
}

static int low(double t_ms, double seconds, double per_ms, int forks)
{
    U rounds = (U)(per_ms * t_ms) + 1, before, one, n = 0;
    pid_t child = 0;
    P events[2];
    double began;

    zero();
    burn(BLOCKS, rounds);
    one = sum();
    for (int i = 0; i < 2; i++)
        CHECK(EventCreate(&events[i], 2));
    if (forks) {
        child = fork();
        if (child == 0) { /* holds whatever a forked child holds, but for what a test reads, and does nothing */
            close(1);
            close(2);
            for (int i = 0; i < 60; i++)
                sleep(1);
            _exit(0);
        }
    }
    fprintf(stderr, "ready %d\n", (int)child);
    before = sum();
    began = now_us();
    while (!s_stop && now_us() - began < seconds * 1e6) {
        if (n >= 2)
            CHECK(EventSync(events[n % 2]));
        burn(BLOCKS, rounds);
        CHECK(EventRecord(events[n % 2], s_stream));
        n++;
    }
    before = sum() - before;
    printf("{\"side\":\"low\",\"t_ms\":%.1f,\"kernels\":%llu,\"seconds\":%.3f,\"wrong\":%d}\n", t_ms,
           (unsigned long long)n, (now_us() - began) / 1e6, before != n * one);
    return before != n * one;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static int high(int n, double per_ms)
{
    U rounds = (U)(per_ms * 0.12 * 2) + 1, before, one;
    double *job = calloc(n > 0 ? (size_t)n : 1, sizeof(*job)); /* the first is read also where there is none */
    int wrong = 0, done = 0;
    double last, apart = 0; /* the end of the last job, and the longest time from one end to the next */

    zero();
    burn(BLOCKS / 2, rounds);
    one = sum() * JOB;
    fprintf(stderr, "ready 0\n");
    last = now_us();
    for (int i = -10; i < n && !s_stop; i++) {
        double t0, end;

        before = sum();
        usleep(6000 + (useconds_t)(rand() % 5000));
        t0 = now_us();
        for (int k = 0; k < JOB; k++)
            burn(BLOCKS / 2, rounds);
        CHECK(StreamSync(s_stream));
        end = now_us();
        apart = end - last > apart ? end - last : apart;
        last = end;
        if (i >= 0) {
            job[i] = end - t0;
            done = i + 1;
        }
        wrong += sum() - before != one;
    }
    printf("{\"side\":\"high\",\"n\":%d,\"job_us\":[", done);
    for (int i = 0; i < done; i++)
        printf("%s%.1f", i ? "," : "", job[i]);
    qsort(job, (size_t)done, sizeof(*job), compare);
    printf("],\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f,\"apart_us\":%.1f,\"wrong\":%d}\n", job[done / 2], job[(int)(0.99 * done)],
           done ? job[done - 1] : 0, apart, wrong);
    return wrong != 0;
}

static int park(double per_ms)
{
    fprintf(stderr, "ready 0\n");
    while (!s_stop) {
        burn(BLOCKS, (U)per_ms);
        CHECK(StreamSync(s_stream));
    }
    printf("{\"side\":\"park\"}\n");
    return 0;
}

static int contexts(double seconds, double per_ms)
{
    int n = 0, wrong = 0;
    U one = 0;

    bind();
    CHECK(Init(0));
    fprintf(stderr, "ready 0\n");
    for (double began = now_us(); !s_stop && now_us() - began < seconds * 1e6; n++) {
        P context;
        U got;

        CHECK(CtxCreate(&context, 0, 0));
        equip();
        zero();
        burn(BLOCKS, (U)per_ms);
        got = sum();
        one = n == 0 ? got : one;
        wrong += got != one;
        CHECK(CtxDestroy(context));
    }
    printf("{\"side\":\"contexts\",\"contexts\":%d,\"wrong\":%d}\n", n, wrong);
    return wrong != 0;
}

static int devices(void)
{
    int r, n = -1;

    bind();
    r = Init(0);
    if (r == 0)
        r = DeviceCount(&n);
    printf("{\"result\":%d,\"devices\":%d}\n", r, n);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    double a[3] = {0, 0, 0};

    for (int i = 2; i < argc && i < 5; i++)
        a[i - 2] = atof(argv[i]);
    signal(SIGTERM, stop);
    if (!strcmp(what, "devices"))
        return devices();
    if (!strcmp(what, "contexts") && argc > 3)
        return contexts(a[0], a[1]);
    if (!strcmp(what, "calibrate"))
        return open_device(), calibrate();
    if (!strcmp(what, "low") && argc > 4)
        return open_device(), low(a[0], a[1], a[2], argc > 5 && !strcmp(argv[5], "fork"));
    if (!strcmp(what, "high") && argc > 3)
        return open_device(), high((int)a[0], a[1]);
    if (!strcmp(what, "park") && argc > 2)
        return open_device(), park(a[0]);
    fprintf(stderr, "usage: see the first lines of tests/gpu/client.c\n");
    return 2;
}
