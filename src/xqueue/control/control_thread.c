/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/control/control_thread.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "xqueue/control/agent.h"
#include "xqueue/control/local.h"
#include "xqueue/gate.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread may be between the address of a word and the word without counting anywhere (a ring, a look at armed).
 * So long a page stays at least; longer, and a program that changes its scheduler all the time would have many. */
#define RETIRED_NS (100 * XS_NS_PER_MS)

/* A server page of a past session, until no thread can be at one of its words. */
struct xs_retired {
    struct xs_retired *next;
    struct xs_server_page *page;
    uint32_t cells;                         /* queues that existed at its retirement */
    uint64_t until_ns;                      /* it stays until then */
    uint64_t busy[];                        /* bit: since then we have not seen the queue quiet */
};

/* ---- opening ---- */

static void open_all(struct xs_server_page *page, uint32_t cells)
{
    for (uint32_t i = 0; i < cells; i++) {
        if (atomic_load(&page->cells[i].permitted) == XS_PERMIT_OPEN)
            continue;
        atomic_store(&page->cells[i].permitted, XS_PERMIT_OPEN);
        xs_futex_wake(xs_futex_low(&page->cells[i].permitted), INT32_MAX);
    }
}

static uint32_t cells_of(struct xs_state *st)
{
    struct xs_queue *q = atomic_load(&st->pool); /* the newest storage has the highest cell */

    return q ? q->cell + 1 : 0;
}

void xs_state_fail_open(struct xs_state *st, struct xs_server_page *page)
{
    struct xs_server_page *expected = page;

    if (!page)
        return;
    /* The page stays mapped while this thread opens it: the control thread retires a page only after server
     * changed, and looks at this count then. */
    atomic_fetch_add(&st->page_users, 1);
    if (atomic_compare_exchange_strong(&st->server, &expected, NULL)) {
        xs_queue_repoint_all(st);
        open_all(page, cells_of(st));
        xs_fd_eventfd_signal(st->kick_fd);
    }
    atomic_fetch_sub(&st->page_users, 1);
}

void xs_control_open_cells(struct xs_state *st, struct xs_server_page *page)
{
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        xs_queue_open_cell(q, page);
}

void xs_control_decided(struct xs_state *st)
{
    if (!atomic_load(&st->awaited))
        return;
    /* seq_cst pairs with queue_create(): puts the queue into the pool with the bit, then reads awaited */
    atomic_store(&st->awaited, 0);
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        atomic_fetch_and(&q->bounded, ~(uint32_t)XS_BOUNDED_JOINING);
}

bool xs_control_engage(struct xs_state *st, struct xs_server_page *page)
{
    struct xs_server_page *expected = NULL;
    bool mine;

    atomic_fetch_add(&st->page_serial, 1);
    mine = atomic_compare_exchange_strong(&st->server, &expected, page);
    if (mine) {
        /* The maker of such a queue saw no page yet. If the scheduler knows it by now, it is the
         * scheduler's. */
        for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
            if (q->control.announced_in != st->engagement)
                xs_queue_open_cell(q, page);
        xs_queue_repoint_all(st);
    }
    xs_control_decided(st);
    return mine;
}

void xs_control_retire(struct xs_state *st, struct xs_server_page *page)
{
    struct xs_retired *r;
    uint32_t cells;

    xs_state_fail_open(st, page);
    cells = cells_of(st);
    r = xs_pages_alloc(&st->tables, sizeof(*r) + (cells + 63) / 64 * sizeof(r->busy[0]));
    if (!r)
        return; /* it stays mapped */
    r->cells = cells;
    for (uint32_t c = 0; c < r->cells; c++)
        r->busy[c / 64] |= 1ull << (c % 64);
    r->page = page;
    r->until_ns = xs_now_ns() + RETIRED_NS;
    r->next = st->retired;
    st->retired = r;
}

/* No thread is between its read of the queue's sc and its return. */
static bool quiet(struct xs_queue *q)
{
    return xs_queue_unused(q) && xs_gates_passed(q);
}

bool xs_control_retired_tick(struct xs_state *st)
{
    struct xs_retired **at = &st->retired, *r;

    while ((r = *at) != NULL) {
        bool busy = false;

        open_all(r->page, r->cells);
        for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
            if (q->cell < r->cells && quiet(q))
                r->busy[q->cell / 64] &= ~(1ull << (q->cell % 64));
        for (uint32_t w = 0; w < (r->cells + 63) / 64; w++)
            busy |= r->busy[w] != 0;
        if (busy || atomic_load(&st->page_users) || xs_now_ns() < r->until_ns) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        munmap(r->page, sizeof(*r->page));
        xs_pages_free(&st->tables, r);
    }
    return st->retired != NULL;
}

bool xs_control_lease_over(struct xs_state *st, struct xs_server_page *page)
{
    uint32_t cells = cells_of(st);

    if (xs_now_ns() < atomic_load(&page->h.lease_until_ns))
        return false;
    for (uint32_t i = 0; i < cells; i++)
        if (atomic_load(&page->cells[i].permitted) != XS_PERMIT_OPEN)
            /* again: the scheduler renews the lease, then closes the first word */
            return xs_now_ns() >= atomic_load(&page->h.lease_until_ns);
    return false;
}

/* ---- announcing ---- */

static bool read_wish(struct xs_queue *q, struct xs_queue_wish *ret)
{
    uint64_t words[XS_WISH_WORDS];

    for (int tries = 0; tries < 100; tries++) {
        uint32_t seq = atomic_load(&q->announced.seq);

        for (size_t i = 0; i < XS_WISH_WORDS; i++)
            words[i] = atomic_load(&q->announced.words[i]);
        if (!(seq & 1) && atomic_load(&q->announced.seq) == seq) {
            __builtin_memcpy(ret, words, sizeof(*ret));
            return true;
        }
    }
    return false;                 /* a writer stopped half way: later */
}

static void push_dirty(struct xs_state *st, struct xs_queue *q)
{
    struct xs_queue *head = atomic_load(&st->dirty);

    if (atomic_exchange(&q->announced.dirty, 1))
        return;
    atomic_fetch_add(&q->refs, 1);
    do
        atomic_store(&q->announced.dirty_next, head);
    while (!atomic_compare_exchange_weak(&st->dirty, &head, q));
}

void xs_control_announce_all(struct xs_state *st)
{
    st->engagement++;
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        if (atomic_load(&q->announced.wanted))
            push_dirty(st, q);
}

static bool announce(struct xs_state *st, struct xs_queue *q, const struct xs_listener *l, void *ctx)
{
    bool known = l && q->control.announced_in == st->engagement;
    struct xs_queue_wish w;

    if (!l)
        return true;              /* announce_all() comes with the next engagement */
    if (!atomic_load(&q->announced.wanted)) {
        if (known) {
            l->remove(ctx, q);
            q->control.announced_in = 0;
        }
        return true;
    }
    if (!read_wish(q, &w))
        return false;
    if (!known) {
        if (!l->add(ctx, q, &w))
            return false;
        q->control.announced_in = st->engagement;
        q->control.announced_config = w.config_changes;
        return true;
    }
    if (!l->change(ctx, q, &w, w.config_changes != q->control.announced_config))
        return false;
    q->control.announced_config = w.config_changes;
    return true;
}

bool xs_control_announce(struct xs_state *st, const struct xs_listener *listener, void *ctx)
{
    struct xs_queue *q = atomic_exchange(&st->dirty, NULL), *next;
    bool all = true;

    for (; q; q = next) {
        next = atomic_load(&q->announced.dirty_next);
        atomic_store(&q->announced.dirty, 0); /* before it reads the wish: a later change comes again */
        if (!announce(st, q, listener, ctx)) {
            push_dirty(st, q);
            all = false;
        }
        xs_queue_unref(q);
    }
    return all;
}

/* ---- the thread ---- */

#define CONTROL_STACK_BYTES (256u * 1024u) /* memory only as used; static TLS lies on it, too */

/* The kernel walks this list when the thread dies, before it tears the process's memory down,
 * and marks owner_tid. So xserver learns of the death of a large process at once. */
static void register_death_notice(struct xs_state *st)
{
    static struct robust_list_head head; /* owner: the control thread of this process */
    static struct robust_list entry;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);

    head.list.next = &entry;
    entry.next = &head.list;
    head.futex_offset = (long)((char *)&st->client->h.owner_tid - (char *)&entry);
    head.list_op_pending = NULL;
    atomic_store(&st->client->h.owner_tid, tid | FUTEX_WAITERS);
    syscall(SYS_set_robust_list, &head, sizeof(head));
}

static void *control_main(void *arg)
{
    struct xs_state *st = arg;

    register_death_notice(st);
    for (;;) {
        /* changes first: the application stores mode, then counts. In the other order a change between the two
         * reads would be taken for one that the mode has. */
        uint32_t changes = atomic_load(&st->mode_changes);
        int mode = atomic_load(&st->mode);

        if (mode == XS_MODE_GLOBAL && st->client_fd >= 0) {
            xs_agent_run(st, changes);
        } else if (mode == XS_MODE_LOCAL) {
            xs_local_run(st, changes);
        } else {
            struct pollfd p = {.fd = st->kick_fd, .events = POLLIN};

            if (mode == XS_MODE_GLOBAL)
                XS_WARN_ONCE("no sealed memory file of %zu bytes (error %d%s): the program runs unscheduled",
                             sizeof(struct xs_client_page), -st->client_fd,
                             st->client_fd == -EFBIG ? ", beyond ulimit -f" : "");
            xs_control_decided(st);
            xs_control_announce(st, NULL, NULL);
            xs_sys_poll(&p, 1, xs_control_retired_tick(st) ? 100 : -1);
            xs_fd_eventfd_drain(st->kick_fd);
        }
    }
    return NULL;
}

void xs_control_kick(struct xs_state *st)
{
    if (atomic_load(&st->control_runs)) {
        xs_fd_eventfd_signal(st->kick_fd);
        return;
    }
    if (atomic_load(&st->mode) == XS_MODE_APP) {
        xs_control_announce(st, NULL, NULL); /* no scheduler: only gives the references back */
        return;
    }
    if (!atomic_load(&st->pool) || atomic_exchange(&st->control_runs, true))
        return;
    if (xs_thread_start(control_main, st, CONTROL_STACK_BYTES) < 0) {
        atomic_store(&st->control_runs, false);
        xs_control_decided(st);
        XS_WARN_ONCE("cannot start a thread; programs run unscheduled");
    }
}
