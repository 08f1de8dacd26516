/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/thread.h"

#include <pthread.h>
#include <signal.h>

int xs_thread_start(void *(*main)(void *), void *arg, size_t stack_bytes)
{
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;
    int r;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack_bytes)
        pthread_attr_setstacksize(&attr, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&thread, &attr, main, arg);
    if (r && stack_bytes) { /* a very large static TLS: the default stack then */
        pthread_attr_destroy(&attr);
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        r = pthread_create(&thread, &attr, main, arg);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return -r;
}
