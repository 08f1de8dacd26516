/* SPDX-License-Identifier: Apache-2.0 */
/* A program with two copies of the runtime: its own dependency, the system's, and the one that a framework brings:
 * both FRAMEWORK [HAL]. Each launches with what it was linked to, in turn, in one thread and in another. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "library.h"

static uint32_t g_mine[64], g_theirs[64];
static int (*Randn)(uint32_t *, uint32_t), (*On)(void *, uint32_t *, uint32_t), (*Init)(void);
static void *(*Stream)(int);

static void show(const char *title, const uint32_t *log)
{
    printf("%s:", title);
    for (uint32_t i = 0; i < log[0] && i < 60; i++)
        printf(" %u", log[1 + i]);
    printf("\n");
}

static void *turns(void *from)
{
    uint32_t tag = (uint32_t)(uintptr_t)from;
    void *mine, *theirs = Stream(0);

    printf("device %d, stream %d\n", hipSetDevice(0), hipStreamCreateWithPriority(&mine, 1, 0));
    for (uint32_t i = 0; i < 4; i++, tag++) {
        int r[4] = {library_launch(NULL, g_mine, tag), Randn(g_theirs, tag), library_launch(mine, g_mine, 100 + tag),
                    On(theirs, g_theirs, 100 + tag)};

        hipStreamSynchronize(mine);
        hipDeviceSynchronize();
        printf("%u: %d %d %d %d\n", tag, r[0], r[1], r[2], r[3]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int (*queue)(uint64_t *, void *), n = 0;
    uint64_t handle = 0;
    pthread_t t;
    void *lib, *hal, *p;

    printf("mine: %d %d\n", hipGetDeviceCount(&n), library_launch(NULL, g_mine, 1));
    lib = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!lib) {
        printf("no framework: %s\n", dlerror());
        return 1;
    }
#define GET(fn, from, name) p = dlsym(from, name), *(void **)(void *)&fn = p
    GET(Init, lib, "fw_init");
    GET(Randn, lib, "fw_randn");
    GET(On, lib, "fw_on");
    GET(Stream, lib, "fw_stream");
    printf("theirs: %d %d\n", Init(), Randn(g_theirs, 2));
    turns((void *)10);
    pthread_create(&t, NULL, turns, (void *)20);
    pthread_join(t, NULL);
    hal = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (hal) {
        void *mine = NULL;

        GET(queue, hal, "HipQueueCreate");
        hipStreamCreateWithPriority(&mine, 1, 0);
        printf("queues of streams of both: %d", queue(&handle, Stream(0)));
        printf(" %d\n", queue(&handle, mine));
    }
    show("mine", g_mine);
    show("theirs", g_theirs);
    return 0;
}
