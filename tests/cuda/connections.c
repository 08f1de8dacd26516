/* SPDX-License-Identifier: Apache-2.0 */
/* A program at level 2, some of whose streams a policy suspends: connections HELD OTHERS STREAMS [LATER]. However many
 * connections the device has (CUDA_DEVICE_MAX_CONNECTIONS), nothing of the held streams runs, everything of the others
 * does: kernels, fills and copies. Nothing is lost when the held ones go on. STREAMS of them stand at gates: their threads
 * do not wait. LATER more streams come then. Where each has a connection to itself no more, what stands at gates runs, what
 * comes later does not. Runs on a real driver too. */
#include "../stream/begin.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ptx.h"
#include "queue.h"

#define MOST 40
#define EACH 3
#define KINDS 3                       /* of commands: a kernel, a fill, a copy */

struct stream {
    P stream;
    P memory;                     /* two words for each launch: filled, copied */
    uint32_t *source;             /* what is copied: pinned */
    XQueueHandle queue;
    pthread_t thread;
    uint32_t from;                /* its thread submits from this launch on */
    _Atomic uint32_t launched;
};

static int (*g_fill)(P, unsigned, size_t, P), (*g_create)(P *, unsigned), (*g_sync)(P), (*g_query)(P), (*g_alloc)(P *, size_t);
static int (*g_read)(void *, P, size_t), (*g_copy)(P, const void *, size_t, P), (*g_pin)(void *, size_t, unsigned);
static int (*g_load)(P *, const void *), (*g_function)(P *, P, const char *);
static int (*g_launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static P g_nop;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void command(struct stream *s, int kind, uint32_t i, uint32_t value)
{
    P at = (P)((char *)s->memory + 8 * (uintptr_t)i);

    if (kind == 0)
        TRUE(g_launch(g_nop, 1, 1, 1, 1, 1, 1, 0, s->stream, NULL, NULL) == 0);
    else if (kind == 1)
        TRUE(g_fill(at, value, 1, s->stream) == 0);
    else
        TRUE(g_copy((P)((char *)at + 4), &s->source[i], 4, s->stream) == 0);
}

static void launch(struct stream *s, uint32_t i, uint32_t value)
{
    s->source[i] = value;
    for (int kind = 0; kind < KINDS; kind++)
        command(s, kind, i, value);
}

static void open_stream(struct stream *s)
{
    s->source = aligned_alloc(4096, 4096);
    TRUE(g_create(&s->stream, 1) == 0 && g_alloc(&s->memory, 4096) == 0 && g_pin(s->source, 4096, 0) == 0);
    TRUE(g_fill(s->memory, 0, 1, s->stream) == 0); /* the first command makes the XQueue */
    s->queue = queue_of(s->stream);
    TRUE(XQueueSetPreemptLevel(s->queue, kPreemptLevelDeactivate) == kXSchedSuccess);
    /* A kind of command waits before the driver, as at level 1, until its time is known. A thread that is late sees the
     * ends of several commands at once and learns none of their times, so each of these runs by itself. */
    for (uint32_t i = 0; i < 2 * EACH; i++) {
        s->source[i] = 0;
        for (int kind = 0; kind < KINDS; kind++) {
            command(s, kind, i, 0);
            TRUE(g_sync(s->stream) == 0);
        }
    }
}

static void *submit(void *arg)
{
    struct stream *s = arg;

    TRUE(begin_device(dlopen(LIBRARY, RTLD_NOW), 0) == 0);
    for (uint32_t i = s->from; i < s->from + EACH; i++) {
        launch(s, i, i + 1);
        s->launched++;
    }
    return NULL;
}

static void start(struct stream *held, int count, uint32_t from)
{
    for (int i = 0; i < count; i++) {
        held[i].from = from;
        TRUE(pthread_create(&held[i].thread, NULL, submit, &held[i]) == 0);
    }
    usleep(300000);
}

/* @return how many stand at gates, at least `expected` unless some do not get there within 10 s */
static int standing(const struct stream *held, int count, int expected)
{
    double began = now_ms();
    int n = 0;

    do {
        usleep(1000);
        n = 0;
        for (int i = 0; i < count; i++)
            n += held[i].launched == EACH;
    } while (n < expected && now_ms() - began < 10000);
    return n;
}

/* All of them end, whoever waits. */
static void run(struct stream *others, int count, uint32_t from)
{
    double began = now_ms();

    for (uint32_t k = from; k < from + EACH; k++)
        for (int i = 0; i < count; i++)
            launch(&others[i], k, k + 1);
    for (int i = 0; i < count; i++) {
        while (g_query(others[i].stream) != 0 && now_ms() - began < 5000)
            usleep(1000);
        TRUE(g_query(others[i].stream) == 0);
    }
    printf("the others took %.0f ms\n", now_ms() - began);
}

static void there(struct stream *s, uint32_t from, uint32_t upto, bool done)
{
    uint32_t words[4 * EACH];

    TRUE(g_read(words, s->memory, sizeof(words)) == 0);
    for (uint32_t i = from; i < upto; i++)
        TRUE(words[2 * i] == (done ? i + 1 : 0) && words[2 * i + 1] == (done ? i + 1 : 0));
}

static void functions(void *lib)
{
    void *p;
    P module;

    GET(g_create, "cuStreamCreate");
    GET(g_sync, "cuStreamSynchronize");
    GET(g_query, "cuStreamQuery");
    GET(g_fill, "cuMemsetD32Async");
    GET(g_alloc, "cuMemAlloc_v2");
    GET(g_read, "cuMemcpyDtoH_v2");
    GET(g_copy, "cuMemcpyHtoDAsync_v2");
    GET(g_pin, "cuMemHostRegister_v2");
    GET(g_load, "cuModuleLoadData");
    GET(g_function, "cuModuleGetFunction");
    GET(g_launch, "cuLaunchKernel");
    TRUE(g_load(&module, k_ptx) == 0 && g_function(&g_nop, module, "nop") == 0);
}

int main(int argc, char **argv)
{
    static struct stream held[MOST], others[MOST];
    void *lib = dlopen(LIBRARY, RTLD_NOW);
    int n, m, later, at_gates;

    TRUE(argc >= 4 && lib && begin_device(lib, 0) == 0);
    n = atoi(argv[1]);
    m = atoi(argv[2]);
    later = argc > 4 ? atoi(argv[4]) : 0;
    functions(lib);
    for (int i = 0; i < n; i++)
        open_stream(&held[i]);
    for (int i = 0; i < m; i++)
        open_stream(&others[i]);
    for (int i = 0; i < n; i++)
        TRUE(XHintPriority(held[i].queue, PRIORITY_NO_EXECUTE) == kXSchedSuccess);
    usleep(500000);               /* the process's own scheduler hears of it, on a busy machine, too */
    start(held, n, 0);
    run(others, m, 0);
    at_gates = standing(held, n, atoi(argv[3]));
    for (int i = 0; i < n; i++) {
        TRUE(g_query(held[i].stream) != 0 || held[i].launched == 0); /* it waits in its stream, or before the driver */
    }
    printf("%d streams at gates\n", at_gates);
    TRUE(at_gates == atoi(argv[3]));
    if (later) {
        for (int i = m; i < m + later; i++)
            open_stream(&others[i]);
        run(others, m + later, EACH);
        for (int i = 0; i < n; i++) {
            TRUE(pthread_join(held[i].thread, NULL) == 0 && g_sync(held[i].stream) == 0);
            there(&held[i], 0, EACH, true);
        }
        start(held, n, EACH);
        for (int i = 0; i < n; i++) {
            TRUE(held[i].launched == EACH && g_query(held[i].stream) == 0);
            there(&held[i], EACH, 2 * EACH, false);
        }
    }
    for (int i = 0; i < n; i++)
        TRUE(XHintPriority(held[i].queue, PRIORITY_DEFAULT) == kXSchedSuccess);
    for (int i = 0; i < n; i++) {
        TRUE(pthread_join(held[i].thread, NULL) == 0);
        TRUE(g_sync(held[i].stream) == 0);
        there(&held[i], 0, later ? 2 * EACH : EACH, true);
    }
    for (int i = 0; i < m + later; i++)
        there(&others[i], 0, i < m && !later ? EACH : i < m ? 2 * EACH : 0, true);
    for (int i = m; i < m + later; i++)
        there(&others[i], EACH, 2 * EACH, true);
    printf("done\n");
    return 0;
}
