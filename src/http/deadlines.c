/* SPDX-License-Identifier: Apache-2.0 */
#include "http/deadlines.h"

#include "base/clock.h"
#include "base/list.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

struct xs_deadline {
    struct xs_list link;
    int fd;
    uint64_t at_ns; /* UINT64_MAX: none */
};

struct xs_deadlines {
    pthread_t thread;
    /* Lock: the deadlines of connections, and the thread that waits for the next one. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct xs_list all;
    uint64_t wakes_ns; /* when the thread looks next; UINT64_MAX: at the next signal */
    bool ended;
};

/* The caller has the lock. Shuts sockets down; the thread that reads such a socket sees its end and
 * closes it.
 * @return the next deadline */
static uint64_t shut_down_what_is_due(struct xs_deadlines *d)
{
    uint64_t now = xs_now_ns(), next = UINT64_MAX;

    XS_LIST_FOR(one, &d->all, struct xs_deadline, link)
    {
        if (one->at_ns <= now) {
            shutdown(one->fd, SHUT_RDWR);
            one->at_ns = UINT64_MAX;
        }
        next = XS_MIN(next, one->at_ns);
    }
    return next;
}

static void *run(void *arg)
{
    struct xs_deadlines *d = arg;

    pthread_mutex_lock(&d->lock);
    while (!d->ended) {
        struct timespec at;

        d->wakes_ns = shut_down_what_is_due(d);
        at = (struct timespec){.tv_sec = (time_t)(d->wakes_ns / XS_NS_PER_S), .tv_nsec = (long)(d->wakes_ns % XS_NS_PER_S)};
        if (d->wakes_ns == UINT64_MAX)
            pthread_cond_wait(&d->changed, &d->lock);
        else
            pthread_cond_timedwait(&d->changed, &d->lock, &at);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* The caller has the lock. A deadline after the one for which the thread waits wakes no thread. */
static void set(struct xs_deadlines *d, struct xs_deadline *one, uint64_t ns)
{
    one->at_ns = ns ? xs_now_ns() + ns : UINT64_MAX;
    if (one->at_ns < d->wakes_ns)
        pthread_cond_signal(&d->changed);
}

struct xs_deadline *xs_deadline_add(struct xs_deadlines *d, int fd, uint64_t ns)
{
    struct xs_deadline *one = calloc(1, sizeof(*one));

    if (!one)
        return NULL;
    one->fd = fd;
    pthread_mutex_lock(&d->lock);
    xs_list_add(&d->all, &one->link);
    set(d, one, ns);
    pthread_mutex_unlock(&d->lock);
    return one;
}

void xs_deadline_set(struct xs_deadlines *d, struct xs_deadline *one, uint64_t ns)
{
    if (!one)
        return;
    pthread_mutex_lock(&d->lock);
    set(d, one, ns);
    pthread_mutex_unlock(&d->lock);
}

void xs_deadline_remove(struct xs_deadlines *d, struct xs_deadline *one)
{
    if (!one)
        return;
    pthread_mutex_lock(&d->lock);
    xs_list_remove(&one->link);
    pthread_mutex_unlock(&d->lock);
    free(one);
}

struct xs_deadlines *xs_deadlines_new(void)
{
    struct xs_deadlines *d = calloc(1, sizeof(*d));
    pthread_condattr_t attr;

    if (!d)
        return NULL;
    xs_list_init(&d->all);
    d->wakes_ns = UINT64_MAX;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&d->thread, NULL, run, d) != 0) {
        pthread_cond_destroy(&d->changed);
        pthread_mutex_destroy(&d->lock);
        free(d);
        return NULL;
    }
    return d;
}

void xs_deadlines_free(struct xs_deadlines *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->ended = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
