/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/close_worker.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "host/interrupt_timer.h"
#include "host/procinfo.h"
#include "host/subuids.h"
#include "xserver/realtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS   64u
#define BEHIND_MOST   1024u   /* tasks of one user; fewer where this process may have few descriptors */
#define BEHIND_PART   16u     /* ... the same as a part of them */
#define STACK_BYTES   131072u
#define IDLE_S        1       /* a thread without tasks ends after that */
#define FREE_MS       100
#define HERE_US       50u     /* the longest wait inside one close in the main loop */
#define THERE_US      1000u   /* ... and in a user's thread */

struct close_task {
    struct close_task *next;
    int fd;           /* to close; -1: read the command line */
    int32_t pid;
    uint64_t session;
};

/* Of one user; goes with its thread. */
struct close_thread {
    struct close_thread *next;
    struct xs_close_worker *all;
    uint32_t uid;
    unsigned waiting; /* with the one under way */
    bool warned;
    struct close_task *first, **last;
    pthread_cond_t more;
};

struct xs_close_worker {
    /* Lock: tasks that wait, run and ended. */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct close_thread *threads;
    unsigned n_threads;
    bool stop;
    int event_fd;
    unsigned behind; /* so many tasks make a user late */
    struct xs_close_worker_answer *first, **last;
    struct xs_interrupt_timer interrupts; /* of the main loop's thread */
};

static void answer(struct xs_close_worker *e, const struct close_task *x)
{
    struct xs_close_worker_answer *a = calloc(1, sizeof(*a));

    if (!a)
        return;
    a->session = x->session;
    xs_proc_cmdline(x->pid, a->cmdline, sizeof(a->cmdline));
    pthread_mutex_lock(&e->lock);
    *e->last = a;
    e->last = &a->next;
    pthread_mutex_unlock(&e->lock);
    xs_fd_eventfd_signal(e->event_fd);
}

/* The next task, or NULL when there was none for a second. Under the lock. */
static struct close_task *next_task(struct close_thread *r)
{
    struct timespec until;
    struct close_task *x;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_S;
    while (!r->first && !r->all->stop)
        if (pthread_cond_timedwait(&r->more, &r->all->lock, &until) == ETIMEDOUT)
            break;
    x = r->first;
    if (x) {
        r->first = x->next;
        if (!r->first)
            r->last = &r->first;
    }
    return x;
}

/* Under the lock. */
static void forget(struct xs_close_worker *e, struct close_thread *r)
{
    struct close_thread **at = &e->threads;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    e->n_threads--;
    pthread_cond_destroy(&r->more);
    free(r);
    pthread_cond_signal(&e->ended);
}

static void *work(void *arg)
{
    struct close_thread *r = arg;
    struct xs_close_worker *e = r->all;
    struct xs_interrupt_timer interrupts = {0};
    struct close_task *x;

    xs_interrupt_timer_init(&interrupts);
    pthread_mutex_lock(&e->lock);
    while ((x = next_task(r)) != NULL) {
        pthread_mutex_unlock(&e->lock);
        if (x->fd >= 0) {
            xs_interrupt_timer_begin(&interrupts, THERE_US);
            close(x->fd);
            xs_interrupt_timer_end(&interrupts);
        } else {
            answer(e, x);
        }
        free(x);
        pthread_mutex_lock(&e->lock);
        r->waiting--;
    }
    xs_interrupt_timer_fini(&interrupts);
    forget(e, r);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

static unsigned behind(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur > BEHIND_MOST * BEHIND_PART)
        return BEHIND_MOST;
    return XS_MAX((unsigned)l.rlim_cur / BEHIND_PART, 4u);
}

struct xs_close_worker *xs_close_worker_new(int event_fd)
{
    struct xs_close_worker *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    xs_realtime_mutex_init(&e->lock);
    pthread_cond_init(&e->ended, NULL);
    e->event_fd = event_fd;
    e->behind = behind();
    e->last = &e->first;
    xs_interrupt_timer_init(&e->interrupts);
    return e;
}

void xs_close_worker_free(struct xs_close_worker *e)
{
    struct xs_close_worker_answer *a;
    struct timespec until;
    bool all_ended;

    if (!e)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += FREE_MS * (long)XS_NS_PER_MS;
    until.tv_sec += until.tv_nsec / (long)XS_NS_PER_S;
    until.tv_nsec %= (long)XS_NS_PER_S;
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    for (struct close_thread *r = e->threads; r; r = r->next)
        pthread_cond_signal(&r->more);
    while (e->threads && pthread_cond_timedwait(&e->ended, &e->lock, &until) != ETIMEDOUT)
        ;
    all_ended = !e->threads;
    pthread_mutex_unlock(&e->lock);
    xs_interrupt_timer_fini(&e->interrupts);
    while ((a = xs_close_worker_take(e)) != NULL)
        free(a);
    if (!all_ended)
        return; /* a stuck thread still looks at it */
    pthread_cond_destroy(&e->ended);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* The user's thread; makes one if need be. Under the lock. @return NULL: there can be none */
static struct close_thread *thread_of(struct xs_close_worker *e, uint32_t uid, bool make)
{
    struct close_thread *r;
    pthread_condattr_t by_clock;
    pthread_attr_t attr;
    pthread_t thread;
    int error;

    for (r = e->threads; r; r = r->next)
        if (r->uid == uid)
            return r;
    if (!make || e->n_threads == MAX_THREADS)
        return NULL;
    r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->all = e;
    r->uid = uid;
    r->last = &r->first;
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&r->more, &by_clock);
    pthread_condattr_destroy(&by_clock);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = pthread_create(&thread, &attr, work, r);
    pthread_attr_destroy(&attr);
    if (error) {
        pthread_cond_destroy(&r->more);
        free(r);
        return NULL;
    }
    r->next = e->threads;
    e->threads = r;
    e->n_threads++;
    return r;
}

static bool add(struct xs_close_worker *e, uint32_t uid, struct close_task wish, bool even_behind)
{
    struct close_task *x = malloc(sizeof(*x));
    struct close_thread *r;
    bool taken = false;

    if (!x)
        return false;
    uid = xs_subuids_owner(uid);
    *x = wish;
    pthread_mutex_lock(&e->lock);
    r = thread_of(e, uid, true);
    if (r && (even_behind || r->waiting < e->behind)) {
        x->next = NULL;
        *r->last = x;
        r->last = &x->next;
        r->waiting++;
        pthread_cond_signal(&r->more);
        taken = true;
    }
    pthread_mutex_unlock(&e->lock);
    if (!taken)
        free(x);
    return taken;
}

void xs_close_worker_interrupt(struct xs_close_worker *e, bool on)
{
    if (e && on)
        xs_interrupt_timer_begin(&e->interrupts, HERE_US);
    else if (e)
        xs_interrupt_timer_end(&e->interrupts);
}

static void close_here(struct xs_close_worker *e, int *fd)
{
    xs_interrupt_timer_begin(&e->interrupts, HERE_US);
    xs_fd_close(fd);
    xs_interrupt_timer_end(&e->interrupts);
}

static void close_or_hand_on(struct xs_close_worker *e, uint32_t uid, int *fd, bool even_behind)
{
    if (*fd < 0)
        return;
    if (!e)
        xs_fd_close(fd);
    else if (add(e, uid, (struct close_task){.fd = *fd}, even_behind))
        *fd = -1;
    else
        close_here(e, fd);
}

void xs_close_worker_close(struct xs_close_worker *e, uint32_t uid, int *fd)
{
    if (*fd >= 0)
        shutdown(*fd, SHUT_RDWR); /* the program sees its end at once */
    close_or_hand_on(e, uid, fd, false);
}

void xs_close_worker_close_passed(struct xs_close_worker *e, uint32_t uid, int *fd)
{
    close_or_hand_on(e, uid, fd, true);
}

bool xs_close_worker_behind(struct xs_close_worker *e, uint32_t uid)
{
    struct close_thread *r;
    bool late, say;

    if (!e)
        return false;
    uid = xs_subuids_owner(uid);
    pthread_mutex_lock(&e->lock);
    r = thread_of(e, uid, false);
    late = r && r->waiting >= e->behind;
    say = late && !r->warned;
    if (say)
        r->warned = true;
    pthread_mutex_unlock(&e->lock);
    if (say)
        XS_WARN("user %u: closing its programs' descriptors takes too long; xserver takes nothing more from it meanwhile",
                uid);
    return late;
}

bool xs_close_worker_read_cmdline(struct xs_close_worker *e, uint32_t uid, int32_t pid, uint64_t session)
{
    return e && add(e, uid, (struct close_task){.fd = -1, .pid = pid, .session = session}, false);
}

struct xs_close_worker_answer *xs_close_worker_take(struct xs_close_worker *e)
{
    struct xs_close_worker_answer *a;

    pthread_mutex_lock(&e->lock);
    a = e->first;
    if (a) {
        e->first = a->next;
        if (!e->first)
            e->last = &e->first;
    }
    pthread_mutex_unlock(&e->lock);
    return a;
}
