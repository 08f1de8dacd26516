/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: one thread puts 20,000 launches into a stream that a policy in the process holds, while another thread
 * keeps an urgent stream of the same context busy: fill. Part of them goes to the device and stands behind a gate;
 * nobody is ever inside the driver for want of room; afterwards nothing is lost or reordered. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../stream/check.h"
#include "queue.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned), (*Sync)(P);
static int (*GetFunction)(P *, P, const char *), (*Blocked)(void);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static P g_ctx, g_work;

#define MANY 20000u
static uint32_t g_log[MANY + 2];
static volatile uint32_t g_launched, g_urgent;
static volatile bool g_stop;

static int launch(P stream, unsigned blocks, uint64_t ns, uint32_t *log, uint32_t tag)
{
    void *params[] = {&ns, &log, &tag};

    return Launch(g_work, blocks, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static void *fill(void *stream)
{
    TRUE(SetCurrent(g_ctx) == 0);
    for (uint32_t i = 0; i < MANY; i++) {
        TRUE(launch(stream, 1, 0, g_log, i) == 0);
        g_launched = i + 1;
    }
    return NULL;
}

static void *keep_busy(void *stream)
{
    TRUE(SetCurrent(g_ctx) == 0);
    while (!g_stop) { /* never idle: two in flight */
        TRUE(launch(stream, 2, 2000000, NULL, 0) == 0 && launch(stream, 2, 2000000, NULL, 0) == 0);
        g_urgent += 2;
    }
    TRUE(Sync(stream) == 0);
    return NULL;
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *real = dlopen(getenv("FAKE"), RTLD_NOW);
    P low, urgent;
    pthread_t t, u;
    uint32_t taken, urgents;

    TRUE(lib != NULL && real != NULL);
    get(real, &Blocked, "fake_cuda_blocked");
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &Sync, "cuStreamSynchronize");
    TRUE(Init(0) == 0 && Retain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
    TRUE(GetFunction(&g_work, NULL, "work") == 0);
    TRUE(StreamCreate(&low, 1) == 0 && StreamCreate(&urgent, 1) == 0);
    for (int i = 0; i < 20; i++) { /* until both kernels are timed */
        TRUE(launch(low, 1, 0, NULL, 0) == 0 && Sync(low) == 0);
        TRUE(launch(urgent, 2, 2000000, NULL, 0) == 0 && Sync(urgent) == 0);
    }
    queue_with_priority(low, 0);
    queue_with_priority(urgent, 5);
    TRUE(pthread_create(&u, NULL, keep_busy, urgent) == 0);
    usleep(300000);
    TRUE(pthread_create(&t, NULL, fill, low) == 0);
    usleep(500000);
    urgents = g_urgent;
    /* a second; longer where others use this machine */
    for (int i = 0; i < 600 && (i < 20 || g_urgent - urgents <= 50 || g_launched <= 8); i++)
        usleep(50000);
    taken = g_launched;
    urgents = g_urgent - urgents;
    printf("while held: %u of %u launches taken, %u done; urgent ones meanwhile: %u; in the driver for want of room: %d\n",
           taken, MANY, __atomic_load_n(&g_log[0], __ATOMIC_ACQUIRE), urgents, Blocked());
    fflush(stdout);
    TRUE(Blocked() == 0);
    TRUE(urgents > 50);
    TRUE(taken > 8 && taken < 1000);
    g_stop = true;
    TRUE(pthread_join(u, NULL) == 0 && pthread_join(t, NULL) == 0);
    TRUE(Sync(low) == 0 && g_log[0] == MANY);
    for (uint32_t i = 0; i < MANY; i++)
        TRUE(g_log[1 + i] == i);
    TRUE(Blocked() == 0);
    printf("done\n");
    return 0;
}
