/* SPDX-License-Identifier: Apache-2.0 */
/* How the device gets on: what may start, what ends when, and who moves time. */
#include "fake_world.h"
#include "vtime.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static bool word_reached(const struct fake_command *c)
{
    return atomic_load_explicit(c->word, memory_order_acquire) >= c->value;
}

/* True when the first command of the stream takes no device and is complete now. */
static bool instant(const struct fake_stream *s, const struct fake_command *c)
{
    if (s->device->lost)
        return true;
    switch (c->kind) {
    case K_MARK:
    case K_HOST:
    case K_RECORD: return !c->calling;
    case K_WAIT_VALUE: return word_reached(c);
    case K_WAIT_EVENT: return c->event->reached >= c->generation;
    case K_POLLING: return c->started && word_reached(c);
    case K_KERNEL: return c->started && c->left == 0;
    }
    return false;
}

static void start_kernels(struct fake_device *d)
{
    struct fake_command *first = NULL;
    struct fake_stream *of = NULL;

    for (struct fake_stream *s = d->streams; s; s = s->next) {
        struct fake_command *c = s->head;

        if (!c || c->started || (c->kind != K_KERNEL && c->kind != K_POLLING))
            continue;
        if (d->exec == FAKE_SHARED) {
            c->started = true;
            fake_trace_add(FAKE_T_START, s, c->tag, c->number);
        } else if (!first || c->sequence < first->sequence) {
            first = c;
            of = s;
        }
    }
    if (first && !d->running) {
        d->running = first;
        first->started = true;
        fake_trace_add(FAKE_T_START, of, first->tag, first->number);
    }
}

static void take_out(struct fake_stream *s, struct fake_command *c)
{
    s->head = c->next;
    if (!s->head)
        s->tail = &s->head;
    s->pending--;
    free(c);
    pthread_cond_broadcast(&fake_w.changed);
}

/* A host function may block, so it has a thread of its own, and time goes on meanwhile. */
static void *host_main(void *arg)
{
    struct fake_stream *s = arg;
    struct fake_command *c;

    pthread_mutex_lock(&fake_w.lock);
    c = s->head;
    pthread_mutex_unlock(&fake_w.lock);
    c->host(c->data);
    pthread_mutex_lock(&fake_w.lock);
    take_out(s, c);
    if (s->device->has_thread)
        pthread_cond_broadcast(&s->device->kick);
    pthread_mutex_unlock(&fake_w.lock);
    return NULL;
}

/* Takes the complete first command out; the lock is left around a call into the program. */
static void finish(struct fake_stream *s)
{
    struct fake_command *c = s->head;
    bool failed = s->device->lost;

    if (c->kind == K_KERNEL || c->kind == K_POLLING) {
        if (s->device->running == c)
            s->device->running = NULL;
        s->completed += !failed;
        fake_trace_add(failed ? FAKE_T_REFUSED : FAKE_T_END, s, c->tag, c->number);
    } else if (c->kind == K_RECORD && c->generation > c->event->reached) {
        c->event->reached = c->generation;
    } else if (c->kind == K_HOST) {
        pthread_t thread;

        c->calling = true;        /* nobody else takes it; the stream waits */
        pthread_create(&thread, NULL, host_main, s);
        pthread_detach(thread);
        return;
    } else if (c->kind == K_MARK && !c->lost) {
        c->calling = true;
        fake_trace_add(FAKE_T_MARK, s, 0, s->completed);
        pthread_mutex_unlock(&fake_w.lock);
        c->done(c->data, failed);
        pthread_mutex_lock(&fake_w.lock);
    }
    take_out(s, c);
}

bool fake_exec_step_locked(struct fake_device *only, uint64_t now_ns)
{
    bool any = false;

    (void)now_ns;
again:
    for (struct fake_device *d = fake_w.devices; d; d = d->next) {
        if (only && d != only)
            continue;
        for (struct fake_stream *s = d->streams; s; s = s->next) {
            if (s->head && !s->head->calling && instant(s, s->head)) {
                finish(s);
                any = true;
                goto again;       /* the lists may have changed while the lock was away */
            }
        }
        start_kernels(d);
        for (struct fake_stream *s = d->streams; s; s = s->next)
            if (s->head && !s->head->calling && instant(s, s->head))
                goto again;       /* a kernel without duration */
    }
    return any;
}

static uint64_t sharers(const struct fake_device *d)
{
    uint64_t n = 0;

    for (struct fake_stream *s = d->streams; s; s = s->next)
        n += s->head && s->head->started;
    return n;
}

uint64_t fake_exec_next_locked(struct fake_device *only)
{
    uint64_t next = UINT64_MAX;

    for (struct fake_device *d = fake_w.devices; d; d = d->next) {
        uint64_t n = sharers(d);

        if (only && d != only)
            continue;
        start_kernels(d);
        for (struct fake_stream *s = d->streams; s; s = s->next) {
            struct fake_command *c = s->head;

            if (!c)
                continue;
            if (!c->calling && instant(s, c))
                return fake_now_ns();
            if (c->kind == K_KERNEL && c->started) {
                uint64_t units = c->left * n, ns = (units + FAKE_UNITS - 1) / FAKE_UNITS;

                if (fake_now_ns() + ns < next)
                    next = fake_now_ns() + ns;
            }
        }
    }
    return next;
}

void fake_exec_work_locked(uint64_t ns)
{
    for (struct fake_device *d = fake_w.devices; d; d = d->next) {
        uint64_t n = sharers(d);

        for (struct fake_stream *s = d->streams; s; s = s->next) {
            struct fake_command *c = s->head;

            if (c && c->started && c->kind == K_KERNEL) {
                uint64_t done = ns * FAKE_UNITS / n;

                c->left = c->left > done ? c->left - done : 0;
            }
        }
    }
}

/* ---- virtual time ---- */

void fake_settle(void)
{
    /* twice in a row: a thread that was just made runnable shows itself */
    for (int i = 0; !vtime_others_sleep(); i++) {
        struct timespec ts = {0, 20000};

        /* On a loaded machine a thread that never sleeps uses up its share of the processor, and
         * each step then costs a whole turn of the others. */
        if (i < 1)
            sched_yield();
        else
            vtime_real_sleep(&ts);
    }
}

/* One step: to the next event, at most to `limit`. @return false when there is no event up to there */
static bool step(uint64_t limit_ns, bool timeouts)
{
    uint64_t now = vtime_now_ns(), next, limit_next;

    pthread_mutex_lock(&fake_w.lock);
    next = fake_exec_next_locked(NULL);
    limit_next = timeouts ? vtime_next_ns() : UINT64_MAX;
    if (limit_next < next)
        next = limit_next;
    if (next == UINT64_MAX || next > limit_ns) {
        pthread_mutex_unlock(&fake_w.lock);
        return false;
    }
    if (next > now)
        fake_exec_work_locked(next - now);
    pthread_mutex_unlock(&fake_w.lock);
    vtime_set(next > now ? next : now);
    pthread_mutex_lock(&fake_w.lock);
    fake_exec_step_locked(NULL, next);
    pthread_mutex_unlock(&fake_w.lock);
    return true;
}

void fake_advance(uint64_t ns)
{
    uint64_t until = vtime_now_ns() + ns, now;

    fake_settle();
    while (step(until, true))
        fake_settle();
    now = vtime_now_ns();
    if (until > now) {
        pthread_mutex_lock(&fake_w.lock);
        fake_exec_work_locked(until - now);
        pthread_mutex_unlock(&fake_w.lock);
        vtime_set(until);
    }
    fake_settle();
}

bool fake_drain(void)
{
    for (int idle = 0; idle < 2000;) {
        bool pending = false;

        fake_settle();
        pthread_mutex_lock(&fake_w.lock);
        for (struct fake_device *d = fake_w.devices; d; d = d->next)
            for (struct fake_stream *s = d->streams; s; s = s->next)
                pending |= s->pending > 0;
        pthread_mutex_unlock(&fake_w.lock);
        if (!pending)
            return true;
        if (!step(UINT64_MAX, true))
            return false;
        pthread_mutex_lock(&fake_w.lock);
        idle = fake_exec_next_locked(NULL) == UINT64_MAX ? idle + 1 : 0;
        pthread_mutex_unlock(&fake_w.lock);
    }
    return false;
}

static void *auto_main(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&fake_w.lock);
    while (!fake_w.auto_stop) {
        pthread_mutex_unlock(&fake_w.lock);
        fake_settle();
        if (!step(UINT64_MAX, true)) {
            struct timespec ts = {0, 50000};

            /* nothing to wait for: look again soon (real time: this thread makes the virtual one) */
            vtime_real_sleep(&ts);
        }
        pthread_mutex_lock(&fake_w.lock);
    }
    pthread_mutex_unlock(&fake_w.lock);
    return NULL;
}

void fake_auto(bool on)
{
    if (on == fake_w.automatic || fake_w.real)
        return;
    if (!on) {
        fake_auto_stop();
        return;
    }
    fake_w.auto_stop = false;
    fake_w.automatic = pthread_create(&fake_w.auto_thread, NULL, auto_main, NULL) == 0;
}

void fake_auto_stop(void)
{
    if (!fake_w.automatic)
        return;
    pthread_mutex_lock(&fake_w.lock);
    fake_w.auto_stop = true;
    pthread_mutex_unlock(&fake_w.lock);
    pthread_join(fake_w.auto_thread, NULL);
    fake_w.automatic = false;
}

/* ---- real time: one thread a device ---- */

static void wait_until_ns(struct fake_device *d, uint64_t t_ns)
{
    struct timespec ts = {(time_t)(t_ns / 1000000000ull), (long)(t_ns % 1000000000ull)};

    pthread_cond_timedwait(&d->kick, &fake_w.lock, &ts);
}

static void *device_main(void *arg)
{
    struct fake_device *d = arg;
    uint64_t end_ns = 0;
    struct fake_command *timed = NULL;

    pthread_mutex_lock(&fake_w.lock);
    while (!d->stop) {
        fake_exec_step_locked(d, fake_now_ns());
        if (d->running && d->running->kind == K_KERNEL) {
            if (timed != d->running) {
                timed = d->running;
                if (d->shared) {
                    pthread_mutex_unlock(&fake_w.lock);
                    if (pthread_mutex_lock(d->shared) == EOWNERDEAD)
                        pthread_mutex_consistent(d->shared);
                    pthread_mutex_lock(&fake_w.lock);
                }
                end_ns = fake_now_ns() + timed->left / FAKE_UNITS;
            }
            if (fake_now_ns() < end_ns) {
                wait_until_ns(d, end_ns);
                continue;
            }
            if (d->shared)
                pthread_mutex_unlock(d->shared);
            timed->left = 0;
            timed = NULL;
        } else if (d->running) {
            wait_until_ns(d, fake_now_ns() + 20000); /* it polls memory: so do we */
        } else {
            bool polls = false;

            for (struct fake_stream *s = d->streams; s; s = s->next)
                polls |= s->head && s->head->kind == K_WAIT_VALUE;
            if (polls)
                wait_until_ns(d, fake_now_ns() + 20000);
            else
                pthread_cond_wait(&d->kick, &fake_w.lock);
        }
    }
    pthread_mutex_unlock(&fake_w.lock);
    return NULL;
}

void fake_exec_start_thread(struct fake_device *d)
{
    d->has_thread = pthread_create(&d->thread, NULL, device_main, d) == 0;
}

void fake_exec_stop_thread(struct fake_device *d)
{
    if (!d->has_thread)
        return;
    pthread_mutex_lock(&fake_w.lock);
    d->stop = true;
    pthread_cond_broadcast(&d->kick);
    pthread_mutex_unlock(&fake_w.lock);
    pthread_join(d->thread, NULL);
    d->has_thread = false;
}
