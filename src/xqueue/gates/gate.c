/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: gates in the stream. The device itself obeys them, so that also submitted commands stop.
 *
 * A gate is "wait until the permit word >= number of the command behind it". A command gets a gate when the
 * estimated time since the last gate would grow beyond a spacing, when it has no estimate, or when it finds
 * the word closed. A submitter whose word is closed goes on and leaves commands behind the gate, as far as
 * the context takes more entries. */
#include "xqueue/gates/gate.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/tune.h"
#include "wire/wire.h"
#include "xqueue/hwq.h"
#include "xqueue/interface.h"
#include "xqueue/state.h"

#include <sys/mman.h>

/* A gate takes the device 1.6 to 2.3 us: at most one in 300 us is less than 1 %. */
#define SPACING_LEAST_NS (300 * XS_NS_PER_US)
#define SPACING_MOST_NS  (2 * XS_NS_PER_MS)

/* We saw the driver block a context at about 1020 entries. We do not count events and the program's own
 * waits, hence half of that. Suspended queues may use less, so that running ones find place. A queue with
 * next to nothing there always may submit. */
#ifndef ENTRIES_MAX /* tests build one without, and must detect it */
#define ENTRIES_MAX       512
#define ENTRIES_MAX_SHUT  384
#endif
#define OWN_LEAST  32
#define MARK_EACH  96

#define BOUND_TIMES 16

_Atomic uint64_t *xs_gates_app_word(struct xs_queue *q)
{
    _Atomic uint64_t *words = atomic_load(&q->state->app_words);

    return words ? &words[q->cell] : NULL;
}

static void make_words(struct xs_state *st)
{
    size_t bytes = (size_t)XS_PAGE_QUEUES * sizeof(uint64_t);
    void *map;

    if (atomic_load(&st->app_words))
        return;
    /* shared: devices see it through a second mapping of the same memory */
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return;
    madvise(map, bytes, MADV_DONTFORK);
    atomic_store(&st->app_words, map);
}

void xs_gates_set_level(struct xs_queue *q, int32_t level)
{
    bool on = (level == kPreemptLevelDeactivate || (level == kPreemptLevelInterrupt && q->gates.told)) && q->ctx_entries;
    _Atomic uint64_t *word;

    if (on && !atomic_load(&q->gates_on)) {
        make_words(q->state);
        word = xs_gates_app_word(q);
        if (word)
            atomic_store(word, XS_MAX(atomic_load(&q->app_permitted), atomic_load(&q->cc->let_through)));
        atomic_store(&q->gates.since_ns, UINT64_MAX / 2); /* commands in flight have none */
    }
    atomic_store(&q->gates_on, on);
}

void xs_gates_tell(struct xs_queue *q, uint32_t gates)
{
    if (gates == XS_GATES_KEEP || q->gates.told == (gates == XS_GATES_ON))
        return;
    q->gates.told = !q->gates.told;
    atomic_fetch_add(&q->state->gates_told, q->gates.told ? 1 : UINT32_MAX);
    xs_gates_set_level(q, q->wish.level);
}

bool xs_gates_untell(struct xs_state *st)
{
    if (!xs_lock_try(&st->lock))
        return false;
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        xs_gates_tell(q, XS_GATES_OFF);
    xs_lock_release(&st->lock);
    return true;
}

void xs_gates_forget(struct xs_queue *q)
{
    if (q->ctx_entries)
        xs_gates_done(q, atomic_load(&q->gates.weight_in));
}

void xs_gates_reset(struct xs_queue *q)
{
    struct xs_gates *g = &q->gates;

    xs_gates_tell(q, XS_GATES_OFF);
    xs_gates_forget(q);
    atomic_store(&q->gates_on, false);
    atomic_store(&g->shut, 0);
    atomic_store(&g->since_ns, 0);
    atomic_store(&g->last, 0);
    atomic_store(&g->behind, 0);
    /* never back to 0: a thread in xs_context_full() may have read the old weight_in, and stores it as
     * done */
    atomic_store(&g->weight_marked, atomic_load(&g->weight_in));
    q->ctx_entries = NULL;
}

uint64_t xs_gates_bound_ns(uint64_t told_ns, uint64_t est_ns)
{
    return XS_MAX(told_ns * BOUND_TIMES, est_ns * 4);
}

static void open_to(_Atomic uint64_t *word, uint64_t n)
{
    uint64_t seen = atomic_load(word);

    /* another thread may open the word entirely meanwhile: the larger number stays */
    while (n > seen && !atomic_compare_exchange_weak(word, &seen, n))
        ;
}

void xs_gates_open_locked(struct xs_queue *q)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    /* Not all that entered: a thread that waits before the driver would go on. If its command is a context-blocking
     * call, too, that call would open the next queue, and so on. */
    uint64_t n = atomic_load(&q->gates.last);
    _Atomic uint64_t *word = xs_gates_app_word(q);

    /* all seq_cst: let_through first, then the words; a closing thread stores a word, then reads let_through */
    open_to(&q->cc->let_through, n);
    if (sc != &xs_open_cell)
        open_to(&sc->permitted, n);
    if (word)
        open_to(word, n);
    atomic_store(&q->gates.shut, 0); /* the next command has a closed gate before it no more */
    if (atomic_load(&q->gates.host_waiters)) { /* a device sees it by itself */
        xs_futex_wake(xs_futex_low(&sc->permitted), INT32_MAX);
        xs_futex_wake(xs_futex_low(&q->app_permitted), INT32_MAX);
    }
}

static int64_t own(struct xs_queue *q)
{
    return (int64_t)(atomic_load_explicit(&q->gates.weight_in, memory_order_relaxed) -
                     atomic_load_explicit(&q->gates.weight_done, memory_order_relaxed));
}

bool xs_gates_full(struct xs_queue *q, bool shut)
{
    /* relaxed: a count that is off by as many as there are threads does no harm */
    return XS_UNLIKELY(atomic_load_explicit(&q->ctx_entries->out, memory_order_relaxed) >=
                       (shut ? ENTRIES_MAX_SHUT : ENTRIES_MAX)) &&
           own(q) >= OWN_LEAST;
}

static void weigh(struct xs_queue *q, int64_t entries)
{
    atomic_fetch_add(&q->gates.weight_in, (uint64_t)entries);
    atomic_fetch_add(&q->ctx_entries->out, entries);
}

/* seq_cst pairs with xs_gates_watch: takes the note away, then looks at the gates again */
static void watch(struct xs_state *st)
{
    if (!atomic_load(&st->gates_watched) && !atomic_exchange(&st->gates_watched, 1) && atomic_load(&st->control_runs))
        xs_fd_eventfd_signal(st->kick_fd);
}

/* @return as ops.gate */
static int put(struct xs_queue *q, _Atomic uint64_t *word, uint64_t serial, uint64_t n)
{
    uint64_t last = atomic_load(&q->gates.last), behind, entered;
    int r;

    /* before the gate: a thread that looks meanwhile takes it for in flight */
    while (n > last && !atomic_compare_exchange_weak(&q->gates.last, &last, n))
        ;
    /* seq_cst pairs with context_blocking.c: this thread stores last, then reads inside; that one counts
     * inside, then reads last. So either that thread opens the gate at once, or this one puts none. The same with
     * crowded.c, which stores crowded. */
    if (XS_UNLIKELY(atomic_load(&q->state->inside) != 0) || (XS_UNLIKELY(atomic_load(&q->crowded)) && xs_gates_crowded(q)))
        return 0;
    r = xs_queue_append_gate(q, word, serial, n);
    /* The commands that other threads put before the gate have entered by now; the command behind it has not
     * returned. */
    entered = atomic_load(&q->cc->entered);
    behind = atomic_load(&q->gates.behind);
    while (entered > behind && !atomic_compare_exchange_weak(&q->gates.behind, &behind, entered))
        ;
    if (r > 0)
        weigh(q, 1);
    else if (r < 0)
        atomic_store(&q->gates_on, false);
    return r;
}

static uint64_t spacing_ns(uint64_t told_ns)
{
    static _Atomic int64_t from_env = -2; /* -1: unset */
    int64_t us = atomic_load_explicit(&from_env, memory_order_relaxed);

    if (XS_UNLIKELY(us == -2))
        us = xs_tune_keep(XS_TUNE_GATE_US, -1, &from_env);
    if (us >= 0)
        return (uint64_t)us * XS_NS_PER_US;
    return XS_MIN(XS_MAX(told_ns / 10 * 3, SPACING_LEAST_NS), SPACING_MOST_NS);
}

bool xs_gates_enter(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool known, uint64_t told_ns, uint32_t flags)
{
    struct xs_gates *g = &q->gates;
    struct xs_server_cell *sc = atomic_load(&q->sc);
    uint64_t serial = atomic_load(&q->state->page_serial); /* after sc: see docs/decisions/0012 */
    uint64_t since_ns = atomic_fetch_add_explicit(&g->since_ns, est_ns, memory_order_relaxed) + est_ns;
    bool shut = n > atomic_load(&sc->permitted);
    bool was_shut = atomic_load_explicit(&g->shut, memory_order_relaxed) != 0;
    _Atomic uint64_t *word;
    int r = 1;

    weigh(q, 1);
    if (flags & (XS_SUBMIT_PASS | XS_SUBMIT_NO_MARK))
        return !shut || (flags & XS_SUBMIT_PASS);
    if (was_shut && !shut)
        atomic_store_explicit(&g->shut, 0, memory_order_relaxed);
    if (XS_UNLIKELY(atomic_load(&q->state->inside) != 0))
        return !shut;
    if (known && since_ns <= spacing_ns(told_ns) && (!shut || was_shut))
        return true;
    if (sc != &xs_open_cell)
        r = put(q, &sc->permitted, serial, n);
    if (r > 0 && atomic_load_explicit(&q->bounded, memory_order_relaxed) && (word = xs_gates_app_word(q)))
        r = put(q, word, 0, n);
    if (r <= 0)
        return !shut;
    atomic_store_explicit(&g->since_ns, est_ns, memory_order_relaxed);
    if (shut)
        atomic_store_explicit(&g->shut, 1, memory_order_relaxed);
    watch(q->state);
    return true;
}

void xsched_priv_submit_weighs(struct xs_ticket *t, uint32_t entries)
{
    if (t->queue && t->weighed)
        weigh(t->queue, entries);
}

void xs_gates_take_back(struct xs_queue *q)
{
    weigh(q, -1);
}

void xs_gates_mark(struct xs_queue *q)
{
    weigh(q, 1);
    atomic_store_explicit(&q->gates.weight_marked, atomic_load(&q->gates.weight_in), memory_order_relaxed);
}

bool xs_gates_mark_due(struct xs_queue *q)
{
    return atomic_load_explicit(&q->gates.weight_in, memory_order_relaxed) -
               atomic_load_explicit(&q->gates.weight_marked, memory_order_relaxed) >= MARK_EACH;
}

void xs_gates_done(struct xs_queue *q, uint64_t weight)
{
    uint64_t seen = atomic_load(&q->gates.weight_done);
    struct xs_ctx_entries *ctx_entries = q->ctx_entries;

    if (!ctx_entries) /* the queue is unused by now: its entries do not count */
        return;
    while ((int64_t)(weight - seen) > 0)
        if (atomic_compare_exchange_weak(&q->gates.weight_done, &seen, weight)) {
            atomic_fetch_sub(&ctx_entries->out, (int64_t)(weight - seen));
            break;
        }
}

bool xs_gates_held_since(struct xs_queue *q)
{
    struct xs_gates *g = &q->gates;
    struct xs_server_cell *sc = atomic_load(&q->sc);
    /* relaxed: if a suspension shows one span late, it spoils one estimate a little */
    uint64_t suspensions = atomic_load_explicit(&sc->suspensions, memory_order_relaxed);
    uint32_t app_changes = atomic_load_explicit(&g->app_changes, memory_order_relaxed);
    bool shut = atomic_load(&sc->permitted) != XS_PERMIT_OPEN || atomic_load(&q->app_permitted) != XS_PERMIT_OPEN;
    bool held = shut || g->was_shut || suspensions != g->suspensions || app_changes != g->seen_app_changes;

    g->was_shut = shut;
    g->suspensions = suspensions;
    g->seen_app_changes = app_changes;
    return held;
}

void xs_queue_app_set_locked(struct xs_queue *q, uint64_t permitted)
{
    _Atomic uint64_t *word = xs_gates_app_word(q);

    atomic_store(&q->app_permitted, permitted);
    if (word)
        atomic_store(word, XS_MAX(permitted, atomic_load(&q->cc->let_through)));
    atomic_fetch_add_explicit(&q->gates.app_changes, 1, memory_order_relaxed);
}

void xs_queue_app_set(struct xs_queue *q, uint64_t permitted)
{
    xs_lock_acquire(&q->state->lock);
    xs_queue_app_set_locked(q, permitted);
    xs_lock_release(&q->state->lock);
}

bool xs_gates_passed(struct xs_queue *q)
{
    uint64_t behind = atomic_load(&q->gates.behind);

    return behind <= atomic_load(&q->cc->completed) || behind <= atomic_load(&q->cc->marked);
}

bool xs_gates_watch(struct xs_state *st)
{
    if (!atomic_load(&st->gates_watched))
        return false;
    atomic_store(&st->gates_watched, 0);
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        if (!xs_gates_passed(q)) {
            atomic_store(&st->gates_watched, 1);
            return true;
        }
    return false;
}
