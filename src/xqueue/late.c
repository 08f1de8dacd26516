/* SPDX-License-Identifier: Apache-2.0 */
/* See late.h. The gate is one of level 2's kind, before the first command of a burst, on a word of this process' own, which
 * this process opens: at the time learnt, before any wait, and before any call that might wait. So it never outlasts a
 * call of the program by which it learns that something is not done, and without such a call not the time learnt. */
#include "xqueue/late.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "xqueue/state.h"

#include <inttypes.h>

#define LEAD_NS        (1000 * XS_NS_PER_US) /* what the others may have in flight, and the way to them */
#define COMMANDS_MOST  400u                 /* a driver's channel takes about 1020 entries, marks among them */
#define OVERDUE_NS     (500 * XS_NS_PER_US) /* a submit or a call opens it; the control thread only if there is none */

_Atomic uint32_t xsched_priv_late;

void xsched_priv_late_open(void)
{
    struct xs_state *st = xs_state_get();

    if (st)
        xs_late_open_any(st);
}

static _Atomic uint64_t *word_of(struct xs_queue *q)
{
    _Atomic uint64_t *words = atomic_load(&q->state->app_words);

    return words ? &words[XS_PAGE_QUEUES + q->cell] : NULL;
}

void xs_late_set_level(struct xs_queue *q, int32_t level)
{
    /* where a device goes over from one program to another by slices, from kernel to kernel */
    bool on = level == kPreemptLevelInterrupt && q->hwq_platform == (uint32_t)kPlatformCUDA && q->ctx_entries &&
              q->state->late && xs_gates_make_words(q->state);

    if (on)
        atomic_store(&xsched_priv_late, 1); /* and stays */
    atomic_store_explicit(&q->late.on, on, memory_order_relaxed); /* for later bursts */
}

void xs_late_reset(struct xs_queue *q)
{
    /* the word stays open: a gate of the stream that had this storage may not have been looked at by its device yet */
    xs_late_open(q);
    atomic_store(&q->late.on, 0);
    atomic_store(&q->late.first_ns, 0);
    atomic_store(&q->late.delay_ns, 0);
    q->late.habit = (struct xs_late_habit){0};
}

void xs_late_open(struct xs_queue *q)
{
    struct xs_queue *mine = q;
    _Atomic uint64_t *word = word_of(q);

    if (!word || !atomic_load(&q->late.due_ns) || atomic_exchange(&q->late.due_ns, 0) == 0)
        return;
    atomic_store(&q->late.opened_ns, xs_now_ns());
    if (!atomic_exchange(&q->late.told, 1))
        xs_queue_ring(q);
    atomic_store(word, UINT64_MAX / 2);
    atomic_compare_exchange_strong(&q->state->late_queue, &mine, NULL);
}

void xs_late_open_any(struct xs_state *st)
{
    struct xs_queue *q = atomic_load(&st->late_queue);

    if (q)
        xs_late_open(q);
}

static bool may_begin(struct xs_queue *q, uint64_t n, uint32_t flags)
{
    return !flags && atomic_load(&q->cc->completed) + 1 == n && !atomic_load(&q->state->inside) &&
           !atomic_load(&q->deferred_count) && atomic_load(&q->app_permitted) == XS_PERMIT_OPEN;
}

/* @return whether a gate stands before command n */
static bool put(struct xs_queue *q, uint64_t now_ns, uint64_t n, uint64_t delay_ns)
{
    struct xs_state *st = q->state;
    struct xs_queue *none = NULL;
    _Atomic uint64_t *word = word_of(q);

    if (!atomic_compare_exchange_strong(&st->late_queue, &none, q)) /* one at a time, so that their entries find room */
        return false;
    atomic_store(word, n - 1);
    atomic_store(&q->late.told, 0);
    atomic_store(&q->late.due_ns, now_ns + delay_ns);
    if (xs_queue_append_gate(q, word, 0, n) <= 0) {
        atomic_store(&q->late.due_ns, 0);
        none = q;
        atomic_compare_exchange_strong(&st->late_queue, &none, NULL);
        return false;
    }
    atomic_store_explicit(&q->idled, 1, memory_order_relaxed);
    xs_fd_eventfd_signal(st->kick_fd);
    /* seq_cst pairs with context_blocking.c, which
     * counts itself and then opens what it finds, and with xs_state_fail_open, which takes
     * the page away and then opens: from then on nobody is told of submits, and no submit looks at the time */
    if (atomic_load(&st->inside) || !atomic_load(&st->server) || !atomic_load(&q->late.due_ns)) {
        xs_late_open(q);
        return false;
    }
    return true;
}

static bool begins(struct xs_queue *q, uint64_t n, uint32_t flags)
{
    struct xs_late *l = &q->late;
    uint64_t delay_ns = atomic_load_explicit(&l->delay_ns, memory_order_relaxed), now_ns;

    if (!may_begin(q, n, flags)) /* the burst has begun, and the scheduler has not looked yet */
        return false;
    now_ns = xs_now_ns();
    atomic_store(&l->first, n);
    atomic_store(&l->waits_ns, 0);
    atomic_store(&l->opened_ns, now_ns);
    atomic_store(&l->first_ns, now_ns);
    return delay_ns && put(q, now_ns, n, delay_ns);
}

bool xs_late_keeps(struct xs_queue *q, uint64_t n, uint32_t armed, uint32_t flags)
{
    struct xs_late *l = &q->late;
    uint64_t due_ns = atomic_load(&l->due_ns), now_ns;

    if (!due_ns) {
        if (!(armed & XS_ARMED_SUBMIT) || !atomic_load_explicit(&l->on, memory_order_relaxed) || !begins(q, n, flags))
            return false;
        due_ns = atomic_load(&l->due_ns);
    }
    now_ns = xs_now_ns();
    if (flags || now_ns >= due_ns || n - atomic_load(&l->first) >= COMMANDS_MOST)
        xs_late_open(q);
    /* until then the others end what they have on the device, and begin nothing more */
    else if (now_ns + LEAD_NS >= due_ns && !atomic_exchange(&l->told, 1))
        xs_queue_ring(q);
    return true;
}

void xs_late_wait_begins(struct xs_queue *q)
{
    uint64_t zero = 0;

    if (atomic_load(&q->late.first_ns))
        atomic_compare_exchange_strong(&q->late.waits_ns, &zero, xs_now_ns());
    xs_late_open_any(q->state);
}

static uint64_t us(uint64_t ns)
{
    return ns / XS_NS_PER_US;
}

void xs_late_wait_ended(struct xs_queue *q)
{
    struct xs_late *l = &q->late;
    uint64_t first_ns = atomic_load_explicit(&l->first_ns, memory_order_relaxed), waits_ns, opened_ns, now_ns;
    struct xs_late_burst b;

    if (XS_LIKELY(!first_ns) || !atomic_exchange(&l->first_ns, 0))
        return;
    now_ns = xs_now_ns();
    waits_ns = atomic_load(&l->waits_ns);
    opened_ns = atomic_load(&l->opened_ns);
    if (waits_ns < first_ns || opened_ns < first_ns || now_ns < waits_ns || !xs_lock_try(&q->mark_lock))
        return;
    b = (struct xs_late_burst){.commands = atomic_load(&q->cc->entered) - atomic_load(&l->first) + 1,
        .launch_ns = waits_ns - first_ns, .end_ns = now_ns - first_ns};
    xs_late_learn(&l->habit, &b);
    atomic_store_explicit(&l->delay_ns, xs_late_delay_ns(&l->habit), memory_order_relaxed);
    XS_DEBG("burst of %" PRIu64 " commands: launched in %" PRIu64 " us, delayed %" PRIu64 ", ended after %" PRIu64
            "; the next one is delayed %" PRIu64 " us", b.commands, us(b.launch_ns), us(opened_ns - first_ns), us(b.end_ns),
            us(xs_late_delay_ns(&l->habit)));
    xs_lock_release(&q->mark_lock);
    xs_queue_account_rest(q);
}

uint64_t xs_late_due(struct xs_state *st)
{
    struct xs_queue *q = atomic_load(&st->late_queue);
    uint64_t due_ns = q ? atomic_load(&q->late.due_ns) : 0;

    if (!due_ns)
        return UINT64_MAX;
    if (xs_now_ns() < due_ns + OVERDUE_NS)
        return due_ns + OVERDUE_NS;
    xs_late_open(q);
    return UINT64_MAX;
}
