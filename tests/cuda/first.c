/* SPDX-License-Identifier: Apache-2.0 */
/* A program that submits as fast as it can from its first command on:
 *
 *   first COMMANDS STREAMS THREADS LOOK_MS
 *
 * THREADS threads begin at once and submit COMMANDS kernels of 1 ms each, thread i to stream i % STREAMS;
 * when they begin, it prints "begun". Ends when all are submitted, or when nothing was for HELD_MS; then prints
 * "submit_ms S submitted N ran R most M": when the last one came back that did; how many did; how many the
 * device has done; the most that was in flight on one stream in the first LOOK_MS. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef OPENCL
#include <dlfcn.h>
#include <string.h>
typedef void *P;
#define GET(fn, name) p = dlsym(lib, name), memcpy(&fn, &p, sizeof(p))
#define LIBRARY          "libOpenCL.so.1"
#define EXECUTION_STATUS 0x11D3   /* CL_EVENT_COMMAND_EXECUTION_STATUS; 0: complete */
#else
#include "../stream/begin.h"
#endif

#define MOST     64
#define HELD_MS  600
#define KERNEL_NS 1000000ull

struct stream {
    P handle;
    uint64_t done_ns;             /* CUDA, HIP: by the device */
    _Atomic uint32_t submitted;
    _Atomic int most;
#ifdef OPENCL
    P kernel;
    P *events;                    /* of its commands, in order */
    _Atomic uint32_t done;
#endif
} __attribute__((aligned(64)));

static struct stream g_streams[MOST];
static unsigned g_commands, g_n_streams, g_threads;
static uint64_t g_begin_ns, g_look_ns;
static pthread_barrier_t g_start;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

#ifdef OPENCL

static int (*set_arg)(P, unsigned, size_t, const void *);
static int (*enqueue)(P, P, unsigned, const size_t *, const size_t *, const size_t *, unsigned, const P *,
                      P *);
static int (*event_info)(P, unsigned, size_t, void *, size_t *);

static bool open_device(void *lib)
{
    int (*platforms)(unsigned, P *, unsigned *), (*devices)(P, uint64_t, unsigned, P *, unsigned *), err;
    P (*context)(const void *, unsigned, const P *, P, P, int *), (*queue)(P, P, uint64_t, int *);
    P (*buffer)(P, uint64_t, size_t, P, int *), (*kernel)(P, const char *, int *);
    P platform, device, ctx, log, p;
    uint64_t ns = KERNEL_NS;
    uint32_t tag = 0;

    GET(platforms, "clGetPlatformIDs");
    GET(devices, "clGetDeviceIDs");
    GET(context, "clCreateContext");
    GET(queue, "clCreateCommandQueue");
    GET(buffer, "clCreateBuffer");
    GET(kernel, "clCreateKernel");
    GET(set_arg, "clSetKernelArg");
    GET(enqueue, "clEnqueueNDRangeKernel");
    GET(event_info, "clGetEventInfo");
    if (platforms(1, &platform, NULL) || devices(platform, UINT32_MAX, 1, &device, NULL))
        return false;
    ctx = context(NULL, 1, &device, NULL, NULL, &err);
    for (unsigned i = 0; i < g_n_streams; i++) {
        struct stream *s = &g_streams[i];

        log = buffer(ctx, 1, (g_commands * g_threads + 1) * sizeof(uint32_t), NULL, &err);
        s->handle = queue(ctx, device, 0, &err);
        s->kernel = kernel(NULL, "work", &err); /* the fake's, and it needs no program */
        s->events = calloc((size_t)g_commands * g_threads, sizeof(*s->events));
        if (!s->handle || !s->kernel || set_arg(s->kernel, 0, sizeof(log), &log) ||
            set_arg(s->kernel, 1, sizeof(tag), &tag) || set_arg(s->kernel, 2, sizeof(ns), &ns))
            return false;
    }
    return true;
}

static bool enter_device(void)
{
    return true;
}

static bool submit(struct stream *s)
{
    size_t one = 1;
    P event;

    if (enqueue(s->handle, s->kernel, 1, NULL, &one, NULL, 0, NULL, &event))
        return false;
    s->events[s->submitted++] = event;
    return true;
}

/* By one thread for each stream, or where another is ahead. */
static unsigned done(struct stream *s)
{
    unsigned n = s->done, submitted = s->submitted;
    int status = 0;

    for (; n < submitted && s->events[n]; n++)
        if (event_info(s->events[n], EXECUTION_STATUS, sizeof(status), &status, NULL) || status)
            break;
    s->done = n;
    return n;
}

#else

static int (*launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static void *g_lib;
static P g_kernel;

static bool open_device(void *lib)
{
    int (*create)(P *, unsigned), (*function)(P *, P, const char *);
    void *p;

    g_lib = lib;
    GET(create, STREAM_CREATE);
    GET(launch, LAUNCH);
    GET(function, PREFIX "ModuleGetFunction");
    if (begin_device(lib, 0) || function(&g_kernel, NULL, "burn"))
        return false;
    for (unsigned i = 0; i < g_n_streams; i++)
        if (create(&g_streams[i].handle, 1))
            return false;
    return true;
}

static bool enter_device(void)
{
    return begin_device(g_lib, 0) == 0;
}

static bool submit(struct stream *s)
{
    static uint32_t started, stamp;
    uint32_t *at = &started;
    uint64_t ns = KERNEL_NS, *sum = &s->done_ns;
    void *params[] = {&ns, &at, &stamp, &sum};

    if (launch(g_kernel, 1, 1, 1, 1, 1, 1, 0, s->handle, params, NULL))
        return false;
    s->submitted++;
    return true;
}

static unsigned done(struct stream *s)
{
    return (unsigned)(__atomic_load_n(&s->done_ns, __ATOMIC_RELAXED) / KERNEL_NS);
}

#endif

static void *work(void *number)
{
    struct stream *s = &g_streams[(uintptr_t)number % g_n_streams];
    bool entered = enter_device();

    pthread_barrier_wait(&g_start);
    for (unsigned i = 0; entered && i < g_commands; i++) {
        int flying;

        if (!submit(s)) {
            printf("FAILED\n");
            exit(1);
        }
        flying = (int)s->submitted;
        flying -= (int)done(s);   /* afterwards: what other threads submit meanwhile may be done */
        if (now_ns() - g_begin_ns < g_look_ns && flying > s->most)
            s->most = flying;
    }
    return NULL;
}

static unsigned sum(bool of_done)
{
    unsigned n = 0;

    for (unsigned i = 0; i < g_n_streams; i++)
        n += of_done ? done(&g_streams[i]) : g_streams[i].submitted;
    return n;
}

int main(int argc, char **argv)
{
    void *lib = dlopen(LIBRARY, RTLD_NOW);
    unsigned n = 0;
    int most = 0;
    uint64_t last_ns;
    pthread_t t;

    if (!lib || argc < 5)
        return 1;
    g_commands = (unsigned)atoi(argv[1]);
    g_n_streams = (unsigned)atoi(argv[2]);
    g_threads = (unsigned)atoi(argv[3]);
    g_look_ns = (uint64_t)atoi(argv[4]) * 1000000;
    if (g_n_streams > MOST || !open_device(lib) || pthread_barrier_init(&g_start, NULL, g_threads + 1))
        return 1;
    for (uintptr_t i = 0; i < g_threads; i++)
        if (pthread_create(&t, NULL, work, (void *)i))
            return 1;
    printf("begun\n");
    fflush(stdout);
    last_ns = g_begin_ns = now_ns();
    pthread_barrier_wait(&g_start);
    while (n < g_commands * g_threads && now_ns() - last_ns < HELD_MS * 1000000ull) {
        unsigned seen = n;

        usleep(2000);
        n = sum(false);
        last_ns = n > seen ? now_ns() : last_ns;
    }
    for (unsigned i = 0; i < g_n_streams; i++)
        most = g_streams[i].most > most ? g_streams[i].most : most;
    printf("submit_ms %llu submitted %u ran %u most %d\n",
           (unsigned long long)(last_ns - g_begin_ns) / 1000000, n, sum(true), most);
    fflush(stdout);
    _exit(0);
}
