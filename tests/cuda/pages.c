/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim whose streams wait on the device for what threads of the program do. None of them
 * may wait for such a stream because of memory that we register, or no longer need.
 *
 * Two threads give the first command to a stream of their own: both register the page in which the words of
 * both queues lie, and who comes second finds it known. By then the stream of the first waits for what the
 * second does next. On HIP besides: a hardware queue is made, the first one of the device, beside such a stream. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../stream/begin.h"
#include "../stream/check.h"
#include "../stream/past.h"
#ifdef HIP
#include "xsched/hip/hal.h"
#endif

static int (*WaitValue)(P, uint64_t, uint32_t, unsigned, uint32_t), (*Sync)(P), (*Registered)(void);
static void (*OnRegister)(void (*fn)(void));
static void *g_lib;
static P g_stream[3];
#ifndef HIP
static P g_ctx;
#endif
static _Alignas(4096) volatile uint32_t g_word[1024];
static _Atomic int g_registering, g_waits, g_ends;
static _Thread_local bool t_second;

/* CUDA's has no mask, and does not look where it would be. GEQ */
static int wait_for(P stream, uint32_t value)
{
    return WaitValue(stream, (uintptr_t)g_word, value, 0, UINT32_MAX);
}

/* The calling thread has registered a page, and does not know it yet. The second one goes on when the first
 * one's wait is on the device. */
static void registered(void)
{
    atomic_fetch_add(&g_registering, 1);
    UNTIL(atomic_load(&g_registering) >= 2);
    if (t_second)
        UNTIL(atomic_load(&g_waits));
}

static void current(void)
{
#ifndef HIP
    int (*set)(P);

    get(g_lib, &set, "cuCtxSetCurrent");
    TRUE(set(g_ctx) == 0);
#endif
}

static void *first(void *unused)
{
    (void)unused;
    current();
    TRUE(wait_for(g_stream[0], 1) == 0);
    atomic_store(&g_waits, 1);
    return NULL;
}

static void *second(void *unused)
{
    (void)unused;
    t_second = true;
    current();
    TRUE(wait_for(g_stream[1], 0) == 0);
    g_word[0] = 1;
    atomic_fetch_add(&g_ends, 1);
    return NULL;
}

static void two_at_once(void)
{
    int before = Registered();
    pthread_t t[2];

    OnRegister(registered);
    TRUE(pthread_create(&t[0], NULL, first, NULL) == 0 && pthread_create(&t[1], NULL, second, NULL) == 0);
    UNTIL(atomic_load(&g_ends));  /* else it waits for a stream that waits for it */
    OnRegister(NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    TRUE(Sync(g_stream[0]) == 0 && Sync(g_stream[1]) == 0);
    TRUE(Registered() == before + 2);
}

#ifdef HIP
static void *make(void *unused)
{
    HwQueueHandle hwq;

    (void)unused;
    TRUE(HipQueueCreate(&hwq, g_stream[2]) == kXSchedSuccess);
    atomic_fetch_add(&g_ends, 1);
    return NULL;
}

/* The stream that waits was not seen by the shim: it is used by a library that found the runtime in another way. */
static void first_of_device(void *fake)
{
    int (*real)(P, uint64_t, uint32_t, unsigned, uint32_t);
    pthread_t t;
    void *p;

    p = past_dlsym(fake, PREFIX "StreamWaitValue32");
    TRUE(p != NULL);
    memcpy(&real, &p, sizeof(p));
    g_word[0] = 0;
    TRUE(real(g_stream[0], (uintptr_t)g_word, 1, 0, UINT32_MAX) == 0);
    TRUE(pthread_create(&t, NULL, make, NULL) == 0);
    UNTIL(atomic_load(&g_ends));
    pthread_join(t, NULL);
    g_word[0] = 1;
    TRUE(Sync(g_stream[0]) == 0);
    g_word[0] = 0;
    atomic_store(&g_ends, 0);
}
#endif

int main(void)
{
    void *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    int (*create)(P *, unsigned);

    g_lib = dlopen(LIBRARY, RTLD_NOW);
    TRUE(g_lib && fake && begin_device(g_lib, 0) == 0);
    get(g_lib, &create, STREAM_CREATE), get(g_lib, &Sync, PREFIX "StreamSynchronize");
    get(fake, &Registered, "fake_cuda_registered"), get(fake, &OnRegister, "fake_cuda_on_register");
#ifdef HIP
    get(g_lib, &WaitValue, "hipStreamWaitValue32");
#else
    int (*now)(P *);

    get(g_lib, &WaitValue, "cuStreamWaitValue32_v2"), get(g_lib, &now, "cuCtxGetCurrent");
    TRUE(now(&g_ctx) == 0);
#endif
    for (int i = 0; i < 3; i++)
        TRUE(create(&g_stream[i], 1) == 0);
#ifdef HIP
    first_of_device(fake);
#endif
    two_at_once();
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
