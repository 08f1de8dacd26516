/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: a server's page comes into force, the server dies with a word closed, its lease runs
 * out, the next one takes over, while threads submit. Real code of the submit path, of opening,
 * engaging and repointing.
 *
 *   - a closed word always has an opener: no submitter is left behind;
 *   - once a session has failed open, no later submit sleeps on its words, whatever it stores;
 *   - in the end the queue looks at the page that is in force. */
#include "mc.h"

#include "submit_path.h"
#include "xqueue/control/awaited.c"
#include "xqueue/queue.c"
#include "xqueue/control/server_page.c"

#include "gates_stubs.h"
#include "mark_stubs.h"

static struct xs_state g_state;
static struct xs_queue g_queue;
static struct xs_client_page g_client;
static struct xs_server_page g_a, g_b;

/* ghosts */
static bool g_a_failed;           /* fail-open of A has returned to somebody */
static bool g_began_after[MC_THREADS];
static int g_submits;
static bool g_opener_gone;        /* the wrong variant: nobody's lease, nobody opens */
#define BELL_FD 1
static _Atomic uint64_t g_bell;   /* counts its signals: the server sleeps on it */

/* ---- what is left out ---- */
struct xs_server_cell xs_open_cell;
_Thread_local struct xs_tls xs_tls;

struct xs_state *xs_state_get(void) { return &g_state; }
void xs_fd_eventfd_signal(int fd)
{
    if (fd != BELL_FD)
        return;
    atomic_fetch_add(&g_bell, 1);
    xs_futex_wake(xs_futex_low(&g_bell), 1);
}

/* B lives and renews its lease all the time. A's ran out long ago; in the wrong variant somebody renews it who opens
 * nothing. One further ahead than a lease is long is not believed. */
static void leases(void)
{
    *MC_PLAIN(&g_b.h.lease_until_ns) = mc_now_ns + XS_LEASE_NS;
    if (g_opener_gone)
        *MC_PLAIN(&g_a.h.lease_until_ns) = mc_now_ns + XS_LEASE_NS;
}

static void init(void)
{
    memset(&g_queue, 0, sizeof(g_queue));
    memset(&g_state, 0, sizeof(g_state));
    memset(g_client.cells, 0, sizeof(g_client.cells[0]));
    memset(&g_client.h, 0, sizeof(g_client.h));
    memset(&g_a.h, 0, sizeof(g_a.h));
    memset(&g_b.h, 0, sizeof(g_b.h));
    memset(g_a.cells, 0, sizeof(g_a.cells[0]));
    memset(g_b.cells, 0, sizeof(g_b.cells[0]));
    *MC_PLAIN(&xs_open_cell.permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_a.cells[0].permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_queue.app_permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_queue.sc) = &g_a.cells[0];
    g_queue.cc = &g_client.cells[0];
    g_queue.state = &g_state;
    g_state.client = &g_client;
    *MC_PLAIN(&g_state.server) = &g_a;
    *MC_PLAIN(&g_state.pool) = &g_queue;
    g_a_failed = false;
    memset(g_began_after, 0, sizeof(g_began_after));
    mc_now_ns = 100 * XS_LEASE_NS;
    *MC_PLAIN(&g_a.h.lease_until_ns) = 1;
    leases();
}

static void submitter(void)
{
    for (int i = 0; i < g_submits; i++) {
        struct xs_ticket t;

        g_began_after[mc_self()] = g_a_failed;
        xsched_priv_submit_begin(&g_queue, 1, XS_SUBMIT_NO_MARK, &t);
        xsched_priv_submit_end(&t, true, false);
        g_began_after[mc_self()] = false;
    }
}

/* Server A holds the queue, then dies; what it had begun to store may come late. */
static void server_a(void)
{
    atomic_store(&g_a.cells[0].permitted, XS_PERMIT_CLOSED);
    atomic_store_explicit(&g_a.cells[0].permitted, XS_PERMIT_CLOSED, memory_order_release);
}

/* The control thread hears of A's end and joins B. */
static void control(void)
{
    xs_state_fail_open(&g_state, &g_a);
    g_a_failed = *MC_PLAIN(&g_queue.sc) != &g_a.cells[0];
    xs_control_open_cells(&g_state, &g_b);
    xs_control_engage(&g_state, &g_b);
}

/* The same while the application changes the scheduler at run time. */
static void application(void)
{
    struct xs_server_page *page = atomic_load(&g_state.server);

    xs_state_fail_open(&g_state, page);
}

static void let_go(void)
{
    atomic_store(&g_b.cells[0].permitted, XS_PERMIT_OPEN);
    if (atomic_load(&g_queue.cc->waiters))
        xs_futex_wake(xs_futex_low(&g_b.cells[0].permitted), INT32_MAX);
}

/* A server that lives: holds and lets go. */
static void server_b(void)
{
    if (atomic_load(&g_state.server) != &g_b)
        return;
    atomic_store(&g_b.cells[0].permitted, XS_PERMIT_CLOSED);
    let_go();
}

static void always(void)
{
    leases();
    for (int i = 0; i < MC_THREADS; i++)
        mc_check(!(g_began_after[i] && mc_asleep_on(i) == xs_futex_low(&g_a.cells[0].permitted)),
                 "a submit of after the fail-open sleeps on the old session's word");
}

static void final(void)
{
    struct xs_server_page *page = *MC_PLAIN(&g_state.server);

    mc_check(*MC_PLAIN(&g_queue.sc) == (page ? &page->cells[0] : &xs_open_cell),
             "the queue looks at a page that is not in force");
    mc_check(*MC_PLAIN(&g_queue.cc->waiters) == 0, "waiters left behind");
}

/* ---- a queue that is made while a session begins ---- */

static void init_begin(void)
{
    init();
    *MC_PLAIN(&g_state.server) = NULL;
    *MC_PLAIN(&g_state.pool) = NULL;
    *MC_PLAIN(&g_queue.sc) = &xs_open_cell;
    g_state.engagement = 1;
}

/* As queue_create. */
static void maker(void)
{
    atomic_store(&g_state.pool, &g_queue);
    xs_queue_open_cell(&g_queue, atomic_load(&g_state.server));
    xs_queue_repoint(&g_queue);
}

static void beginner(void)
{
    xs_control_open_cells(&g_state, &g_b);
    xs_control_engage(&g_state, &g_b);
}

static void hasty_beginner(void)
{
    struct xs_server_page *none = NULL;

    xs_control_open_cells(&g_state, &g_b);
    if (atomic_compare_exchange_strong(&g_state.server, &none, &g_b))
        xs_queue_repoint_all(&g_state);
}

static void final_begin(void)
{
    mc_check(*MC_PLAIN(&(*MC_PLAIN(&g_queue.sc))->permitted) == XS_PERMIT_OPEN, "a queue that nobody was told of is shut");
}

/* ---- a thread submits while a session begins: the server knows the queue already, and holds it while idle ---- */

static void init_join(void)
{
    init_begin();
    *MC_PLAIN(&g_state.pool) = &g_queue;
    g_queue.control.announced_in = g_state.engagement;
    *MC_PLAIN(&g_b.h.asleep) = 1;
    *MC_PLAIN(&g_b.cells[0].permitted) = XS_PERMIT_OPEN;
    g_state.bell_fd = BELL_FD;
    *MC_PLAIN(&g_bell) = 0;
}

static void holder(void)
{
    atomic_store(&g_b.cells[0].armed, XS_ARMED_SUBMIT);
    if (atomic_load(&g_queue.cc->entered))
        return;
    atomic_store(&g_b.cells[0].permitted, XS_PERMIT_CLOSED);
    while (atomic_load(&g_bell) == 0)
        xs_futex_wait(xs_futex_low(&g_bell), 0, UINT64_MAX);
    let_go();
}

static void joiner(void)
{
    xs_control_engage(&g_state, &g_b);
}

static void silent_joiner(void)
{
    atomic_store(&g_state.server, &g_b);
    atomic_store(&g_queue.sc, &g_b.cells[0]);
}

/* ---- a server that lives closes the first word for long; the control thread looks at the lease ---- */

static void renewer(void)
{
    atomic_store(&g_a.h.lease_until_ns, mc_now_ns + XS_LEASE_NS);
    atomic_store(&g_a.cells[0].permitted, XS_PERMIT_CLOSED);
}

static void late_renewer(void)
{
    atomic_store(&g_a.cells[0].permitted, XS_PERMIT_CLOSED);
    atomic_store(&g_a.h.lease_until_ns, mc_now_ns + XS_LEASE_NS);
}

static void looker(void)
{
    mc_check(!xs_control_lease_over(&g_state, &g_a), "a session that lives is taken for dead");
}

static int run(const char *name, int submits, void (*c)(void), void (*d)(void), uint32_t timeouts, bool wrong)
{
    struct mc_model m = {name, init, {submitter, server_a, c, d}, 0, final, always, timeouts, 6, 2 * XS_LEASE_NS, wrong};

    g_submits = submits;
    return mc_run(&m);
}

int main(void)
{
    static const struct mc_model begin = {"session: a queue is made while a session begins", init_begin, {maker, beginner}, 0,
        final_begin, NULL, .expect_violation = false};
    static const struct mc_model hasty = {"session: ... and nobody looks for it again", init_begin, {maker, hasty_beginner}, 0,
        final_begin, NULL, .expect_violation = true};
    /* the holder sleeps at the end where it was not needed */
    static const struct mc_model join = {"session: a thread submits while a session begins", init_join,
        {submitter, holder, joiner}, 1 << 1, NULL, always, .expect_violation = false};
    static const struct mc_model silent = {"session: ... and nobody tells the server", init_join,
        {submitter, holder, silent_joiner}, 1 << 1, NULL, always, .expect_violation = true};
    static const struct mc_model renew = {"session: a lease is renewed, and a word closed", init, {renewer, looker}, 0,
        NULL, NULL, .expect_violation = false};
    static const struct mc_model late = {"session: ... in the other order", init, {late_renewer, looker}, 0, NULL, NULL,
        .expect_violation = true};
    int failed = 0;

    mc_region(&g_queue, sizeof(g_queue));
    mc_region(&g_state.server, sizeof(g_state.server));
    mc_region(&g_state.pool, sizeof(g_state.pool));
    mc_region(g_client.cells, sizeof(g_client.cells[0]));
    mc_region(&g_a.h, sizeof(g_a.h));
    mc_region(&g_b.h, sizeof(g_b.h));
    mc_region(g_a.cells, sizeof(g_a.cells[0]));
    mc_region(g_b.cells, sizeof(g_b.cells[0]));
    mc_region(&g_a_failed, sizeof(g_a_failed));
    mc_region(g_began_after, sizeof(g_began_after));
    mc_region(&g_bell, sizeof(g_bell));
    mc_thread_local(&xs_tls, sizeof(xs_tls));
    failed |= run("session: a server dies with a word closed; the submitter's lease alone opens", 2, NULL, NULL, 2, false);
    failed |= run("session: the control thread opens and joins the next server", 2, control, NULL, 1, false);
    failed |= run("session: ... while the application changes the scheduler", 1, control, application, 0, false);
    failed |= run("session: ... while the next server holds and lets go", 1, control, server_b, 0, false);
    failed |= mc_run(&begin);
    failed |= mc_run(&hasty);
    g_submits = 1;
    failed |= mc_run(&join);
    failed |= mc_run(&silent);
    failed |= mc_run(&renew);
    failed |= mc_run(&late);
    g_opener_gone = true;
    failed |= run("session: neither lease nor control thread", 1, NULL, NULL, 2, true);
    return failed;
}
