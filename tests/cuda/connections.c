/* SPDX-License-Identifier: Apache-2.0 */
/* A program at level 2, twelve of whose streams a policy suspends: connections STREAMS. However many connections the device has
 * (CUDA_DEVICE_MAX_CONNECTIONS), nothing of these streams runs, everything of other streams does,
 * and nothing is lost when they go on. STREAMS of the twelve stand at gates: their threads do not wait. */
#include "../stream/begin.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "queue.h"

#define SUSPENDED 12
#define OTHERS    20
#define EACH      3

struct stream {
    P stream;
    P memory;                     /* one word for each launch */
    XQueueHandle queue;
    pthread_t thread;
    _Atomic uint32_t launched;
};

static int (*g_fill)(P, unsigned, size_t, P), (*g_create)(P *, unsigned), (*g_sync)(P), (*g_query)(P), (*g_alloc)(P *, size_t);
static int (*g_read)(void *, P, size_t);

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void launch(struct stream *s, uint32_t i)
{
    TRUE(g_fill((P)((char *)s->memory + 4 * (uintptr_t)i), i + 1, 1, s->stream) == 0);
}

static void open_stream(struct stream *s)
{
    TRUE(g_create(&s->stream, 1) == 0 && g_alloc(&s->memory, 4096) == 0);
    TRUE(g_fill(s->memory, 0, 1, s->stream) == 0); /* the first command makes the XQueue */
    s->queue = queue_of(s->stream);
    TRUE(XQueueSetPreemptLevel(s->queue, kPreemptLevelDeactivate) == kXSchedSuccess);
    for (uint32_t i = 0; i < EACH; i++) /* the first commands of a kind wait before the driver, as at level 1 */
        TRUE(g_fill((P)((char *)s->memory + 4 * (uintptr_t)i), 0, 1, s->stream) == 0);
    TRUE(g_sync(s->stream) == 0);
}

static void *submit(void *arg)
{
    struct stream *s = arg;

    TRUE(begin_device(dlopen(LIBRARY, RTLD_NOW), 0) == 0);
    for (uint32_t i = 0; i < EACH; i++) {
        launch(s, i);
        s->launched++;
    }
    return NULL;
}

static void all_there(struct stream *s)
{
    uint32_t words[EACH];

    TRUE(g_read(words, s->memory, sizeof(words)) == 0);
    for (uint32_t i = 0; i < EACH; i++)
        TRUE(words[i] == i + 1);
}

int main(int argc, char **argv)
{
    static struct stream held[SUSPENDED], others[OTHERS];
    void *lib = dlopen(LIBRARY, RTLD_NOW), *p;
    int at_gates = 0;
    double began;

    TRUE(argc == 2 && lib && begin_device(lib, 0) == 0);
    GET(g_create, "cuStreamCreate");
    GET(g_sync, "cuStreamSynchronize");
    GET(g_query, "cuStreamQuery");
    GET(g_fill, "cuMemsetD32Async");
    GET(g_alloc, "cuMemAlloc_v2");
    GET(g_read, "cuMemcpyDtoH_v2");
    for (int i = 0; i < SUSPENDED; i++)
        open_stream(&held[i]);
    for (int i = 0; i < OTHERS; i++)
        open_stream(&others[i]);
    for (int i = 0; i < SUSPENDED; i++)
        TRUE(XHintPriority(held[i].queue, PRIORITY_NO_EXECUTE) == kXSchedSuccess);
    usleep(100000);
    for (int i = 0; i < SUSPENDED; i++)
        TRUE(pthread_create(&held[i].thread, NULL, submit, &held[i]) == 0);
    usleep(300000);
    began = now_ms();
    for (uint32_t k = 0; k < EACH; k++)
        for (int i = 0; i < OTHERS; i++)
            launch(&others[i], k);
    for (int i = 0; i < OTHERS; i++) {
        while (g_query(others[i].stream) != 0 && now_ms() - began < 5000)
            usleep(1000);
        TRUE(g_query(others[i].stream) == 0);
    }
    printf("the others took %.0f ms\n", now_ms() - began);
    for (int i = 0; i < SUSPENDED; i++) {
        at_gates += held[i].launched == EACH;
        TRUE(g_query(held[i].stream) != 0 || held[i].launched == 0); /* it waits in its stream, or before the driver */
    }
    printf("%d streams at gates\n", at_gates);
    TRUE(at_gates == atoi(argv[1]));
    for (int i = 0; i < SUSPENDED; i++)
        TRUE(XHintPriority(held[i].queue, PRIORITY_DEFAULT) == kXSchedSuccess);
    for (int i = 0; i < SUSPENDED; i++) {
        TRUE(pthread_join(held[i].thread, NULL) == 0);
        TRUE(g_sync(held[i].stream) == 0);
        all_there(&held[i]);
    }
    for (int i = 0; i < OTHERS; i++)
        all_there(&others[i]);
    printf("done\n");
    return 0;
}
