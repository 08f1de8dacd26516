/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a platform in another's process: detached, every signal blocked. */
#ifndef XS_HAL_WORKER_H
#define XS_HAL_WORKER_H

#include <pthread.h>
#include <signal.h>

/** @return 0, or an error number: a limit of processes */
static inline int xs_worker_start(void *(*main)(void *), void *arg)
{
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;
    int r;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&thread, &attr, main, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return r;
}

#endif
