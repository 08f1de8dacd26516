/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose constructor waits for a thread of its own, which asks the kernel something: dlopen has its lock meanwhile. */
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>

extern __attribute__((visibility("default"))) int chain_started;
__attribute__((visibility("default"))) int chain_started;

static void *ask(void *arg)
{
    int n;

    chain_started = ioctl(-1, FIONREAD, &n) == -1;
    return arg;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t t;

    if (pthread_create(&t, NULL, ask, NULL) == 0)
        pthread_join(t, NULL);
}
