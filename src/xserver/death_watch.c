/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/death_watch.h"

#include "base/fd.h"
#include "base/futex.h"
#include "xserver/realtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define MAX_WORDS    128 /* of one futex_waitv */
#define GROUP_WORDS  (MAX_WORDS - 1)
#define MAX_GROUPS   16
#define MAX_SPURIOUS 64 /* watches a word no more that wakes us so often without a death */
#define WAITV_U32    2u /* FUTEX_32, shared */

struct waitv {
    uint64_t val, uaddr;
    uint32_t flags, reserved;
};

/* A thread and the words on which it sleeps. `lock` guards the words. The owner (the main thread)
 * changes them, then moves `control`, so that a sleeping thread builds its list anew. When remove()
 * has returned, no thread reads that word again. The kernel may still have its address for a moment,
 * which is harmless. */
struct waiter_group {
    struct xs_death_watch *death_watch;
    pthread_t thread;
    /* Lock: the words that a death watcher sleeps on. */
    pthread_mutex_t lock;
    _Atomic uint32_t control; /* the main thread writes it */
    bool stop;
    unsigned used;
    _Atomic uint32_t *words[GROUP_WORDS];
    unsigned spurious[GROUP_WORDS];
    uint32_t seen[GROUP_WORDS];
    bool reported[GROUP_WORDS];
};

struct xs_death_watch {
    int event_fd;
    struct waiter_group *groups[MAX_GROUPS];
};

static long waitv(struct waitv *v, unsigned n)
{
    return syscall(SYS_futex_waitv, v, n, 0, NULL, 0);
}

/* Builds the list; under the lock. @return its length, 0 to end */
static unsigned collect(struct waiter_group *g, struct waitv *v, int *slots)
{
    unsigned n = 1;

    if (g->stop)
        return 0;
    v[0] =
        (struct waitv){.val = atomic_load(&g->control), .uaddr = (uintptr_t)&g->control, .flags = WAITV_U32};
    for (unsigned i = 0; i < GROUP_WORDS; i++) {
        uint32_t now;

        if (!g->words[i] || g->reported[i] || g->spurious[i] >= MAX_SPURIOUS)
            continue;
        now = atomic_load(g->words[i]);
        if (now & XS_OWNER_DIED) {
            g->reported[i] = true;
            xs_fd_eventfd_signal(g->death_watch->event_fd);
            continue;
        }
        g->seen[i] = now;
        slots[n] = (int)i;
        v[n++] = (struct waitv){.val = now, .uaddr = (uintptr_t)g->words[i], .flags = WAITV_U32};
    }
    return n;
}

static void *watch(void *arg)
{
    struct waiter_group *g = arg;
    struct waitv v[MAX_WORDS];
    int slots[MAX_WORDS];

    for (;;) {
        unsigned n;
        long woken;

        pthread_mutex_lock(&g->lock);
        n = collect(g, v, slots);
        pthread_mutex_unlock(&g->lock);
        if (n == 0)
            return NULL;
        woken = waitv(v, n);
        if (woken > 0 && woken < (long)n) {
            unsigned slot = (unsigned)slots[woken];

            /* count against a program that keeps waking us; collect() sees a death */
            pthread_mutex_lock(&g->lock);
            g->spurious[slot]++;
            pthread_mutex_unlock(&g->lock);
        } else if (woken < 0 && errno == EAGAIN) {
            /* some word changed since collect() read it: count against those, or a program could keep
             * us awake by changing its word all the time */
            pthread_mutex_lock(&g->lock);
            for (unsigned k = 1; k < n; k++) {
                unsigned i = (unsigned)slots[k];

                if (g->words[i] && atomic_load(g->words[i]) != g->seen[i])
                    g->spurious[i]++;
            }
            pthread_mutex_unlock(&g->lock);
        } else if (woken < 0 && errno != EINTR && errno != EFAULT) {
            return NULL; /* nothing that we know to handle; sockets and pidfds remain */
        }
    }
}

static struct waiter_group *group_new(struct xs_death_watch *d)
{
    struct waiter_group *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->death_watch = d;
    xs_realtime_mutex_init(&g->lock);
    if (pthread_create(&g->thread, NULL, watch, g) != 0) {
        free(g);
        return NULL;
    }
    return g;
}

static void nudge(struct waiter_group *g)
{
    atomic_fetch_add(&g->control, 1);
    xs_futex_wake(&g->control, 1);
}

struct xs_death_watch *xs_death_watch_new(int event_fd)
{
    struct xs_death_watch *d;

    if (waitv(NULL, 0) < 0 && errno == ENOSYS)
        return NULL;
    d = calloc(1, sizeof(*d));
    if (d)
        d->event_fd = event_fd;
    return d;
}

void xs_death_watch_free(struct xs_death_watch *d)
{
    for (unsigned i = 0; d && i < MAX_GROUPS && d->groups[i]; i++) {
        struct waiter_group *g = d->groups[i];

        pthread_mutex_lock(&g->lock);
        g->stop = true;
        pthread_mutex_unlock(&g->lock);
        nudge(g);
        pthread_join(g->thread, NULL);
        pthread_mutex_destroy(&g->lock);
        free(g);
    }
    free(d);
}

int xs_death_watch_add(struct xs_death_watch *d, _Atomic uint32_t *word)
{
    for (unsigned gi = 0; gi < MAX_GROUPS; gi++) {
        struct waiter_group *g = d->groups[gi];

        if (!g)
            g = d->groups[gi] = group_new(d);
        if (!g)
            return -ENOMEM;
        if (g->used == GROUP_WORDS)
            continue;
        pthread_mutex_lock(&g->lock);
        for (unsigned i = 0; i < GROUP_WORDS; i++) {
            if (g->words[i])
                continue;
            g->words[i] = word;
            g->spurious[i] = 0;
            g->reported[i] = false;
            g->used++;
            pthread_mutex_unlock(&g->lock);
            nudge(g);
            return (int)(gi * GROUP_WORDS + i);
        }
        pthread_mutex_unlock(&g->lock);
    }
    return -ENOSPC;
}

void xs_death_watch_remove(struct xs_death_watch *d, int slot)
{
    struct waiter_group *g;

    if (slot < 0)
        return;
    g = d->groups[(unsigned)slot / GROUP_WORDS];
    pthread_mutex_lock(&g->lock);
    g->words[(unsigned)slot % GROUP_WORDS] = NULL;
    g->used--;
    pthread_mutex_unlock(&g->lock);
    nudge(g);
}
