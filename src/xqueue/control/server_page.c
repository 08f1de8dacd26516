/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/control/server_page.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/futex.h"
#include "xqueue/control/awaited.h"
#include "xqueue/gates/gate.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"

#include <sys/mman.h>

/* ---- the cell that a queue looks at ---- */

void xs_queue_open_cell(struct xs_queue *q, struct xs_server_page *page)
{
    if (page)
        atomic_store(&page->cells[q->cell].permitted, XS_PERMIT_OPEN);
}

/* Commands of before the session rang nobody, so the scheduler may take the queue for idle and suspend it,
 * while a thread with such a command waits for room in flight. That thread would wait for the permit next.
 * seq_cst pairs with the submitter: counts entered, then reads sc. */
static void tell_of_work(struct xs_queue *q, const struct xs_server_cell *sc)
{
    if (atomic_load(&sc->armed) & XS_ARMED_SUBMIT && atomic_load(&q->cc->entered) != atomic_load(&q->cc->completed))
        xs_queue_ring(q);
}

/* sc follows state.server. A caller that lost a race against another change detects that when it reads the
 * page again; the last one to look leaves sc right. */
void xs_queue_repoint(struct xs_queue *q)
{
    for (;;) {
        struct xs_server_cell *old = atomic_load(&q->sc), *want;
        struct xs_server_page *page = atomic_load(&q->state->server);

        want = page ? &page->cells[q->cell] : &xs_open_cell;
        if (old != want && !atomic_compare_exchange_strong(&q->sc, &old, want))
            continue;
        if (atomic_load(&q->state->server) == page) {
            if (old != want)
                tell_of_work(q, want);
            break;
        }
    }
}

void xs_queue_repoint_all(struct xs_state *st)
{
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        xs_queue_repoint(q);
}

/* ---- the page in force, and past ones ---- */

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
    xs_state_decided(st);
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
