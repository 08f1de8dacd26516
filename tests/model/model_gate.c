/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline: the real submit path against suspension and resumption, by the application and
 * by a scheduler, both at once. No wake-up is lost, no command that was begun while the queue
 * was suspended starts before it is resumed, no thread is left behind. */
#include "mc.h"

#include "one_queue.h"

/* ghosts: set in the same step as the store that they describe */
static int g_app_closed, g_sched_closed, g_changes, g_started[MC_THREADS];
static bool g_forget_waiters, g_forget_wake;

void xs_fd_eventfd_signal(int fd)
{
    (void)fd;
}

static void init(void)
{
    one_queue_init();
    g_app_closed = g_sched_closed = g_changes = 0;
    memset(g_started, 0, sizeof(g_started));
}

/* Without a scheduler a queue's cell is the one that is always open, and commands are counted only. */
static void init_unmanaged(void)
{
    init();
    *MC_PLAIN(&g_queue.sc) = &xs_open_cell;
    *MC_PLAIN(&g_state.server) = NULL;
}

static void submit(int count)
{
    for (int i = 0; i < count; i++) {
        bool held = g_app_closed || g_sched_closed;
        int changes = g_changes;
        struct xs_ticket t;

        xsched_priv_submit_begin(&g_queue, 1, XS_SUBMIT_NO_MARK, &t);
        /* here the command starts */
        mc_check(!(held && changes == g_changes), "a command was begun while held and started");
        if ((g_app_closed || g_sched_closed) && changes != g_changes)
            g_started[mc_self()]++;
        xsched_priv_submit_end(&t, true, false);
    }
}

static void submitter(void)
{
    submit(2);
}

/* A managed submit has twice the points of an unmanaged one: two of two are too many to explore. */
static void submitter_once(void)
{
    submit(1);
}

/* As XQueueSuspend and XQueueResume do it. */
static void application(void)
{
    atomic_store(&g_queue.app_permitted, XS_PERMIT_CLOSED);
    g_app_closed = 1;
    g_changes++;
    mc_step();
    memset(g_started, 0, sizeof(g_started));
    g_app_closed = 0;
    g_changes++;
    atomic_store(&g_queue.app_permitted, XS_PERMIT_OPEN);
    if (!g_forget_wake)
        xs_futex_wake(xs_futex_low(&g_queue.app_permitted), INT32_MAX);
}

/* As a scheduler does it. */
static void scheduler(void)
{
    atomic_store(&g_cell->permitted, XS_PERMIT_CLOSED);
    g_sched_closed = 1;
    g_changes++;
    mc_step();
    g_sched_closed = 0;
    g_changes++;
    atomic_store(&g_cell->permitted, XS_PERMIT_OPEN);
    if (!g_forget_waiters && atomic_load(&g_queue.cc->waiters))
        xs_futex_wake(xs_futex_low(&g_cell->permitted), INT32_MAX);
}

/* Opens with a store that may still lie in the store buffer when waiters is read. */
static void hasty_scheduler(void)
{
    atomic_store(&g_cell->permitted, XS_PERMIT_CLOSED);
    mc_step();
    atomic_store_explicit(&g_cell->permitted, XS_PERMIT_OPEN, memory_order_release);
    if (atomic_load(&g_queue.cc->waiters))
        xs_futex_wake(xs_futex_low(&g_cell->permitted), INT32_MAX);
}

/* Waiters of several priorities: whoever still waits in the end is counted with at least his own. */
static void wait_and_end(void)
{
    xs_tls.priority = 3 + 4 * mc_self();
    xsched_priv_wait_end(&g_queue, xsched_priv_wait_begin(&g_queue), false);
}

static void wait_for_ever(void)
{
    xs_tls.priority = 5;
    xsched_priv_wait_begin(&g_queue);
}

static void careless_wait_and_end(void)
{
    xs_tls.priority = 3 + 4 * mc_self();
    xsched_priv_wait_begin(&g_queue);
    if (atomic_fetch_sub(&g_queue.cc->inherit, 1) == 1)
        atomic_store(&g_queue.cc->inherit_priority, INT32_MIN);
}

static void final_inherit(void)
{
    mc_check(*MC_PLAIN(&g_queue.cc->inherit) == 1, "one waiter is left");
    mc_check(*MC_PLAIN(&g_queue.cc->inherit_priority) >= 5, "his priority was forgotten");
}

/* Commands gather: the scheduler closes the word, and who waits opens it. */
static bool g_never_looks;

static void init_gathers(void)
{
    init();
    *MC_PLAIN(&g_state.pool) = &g_queue;
    *MC_PLAIN(&g_queue.cc->entered) = 1; /* one that is not complete */
}

static void init_gathers_returned(void)
{
    init_gathers();
    *MC_PLAIN(&g_queue.cc->returned) = 1;
}

static void gathering_scheduler(void)
{
    atomic_store(&g_cell->gathers_to, 9);
    atomic_store(&g_cell->permitted, XS_PERMIT_CLOSED);
    if (!g_never_looks && atomic_load(&g_queue.cc->inherit))
        atomic_store(&g_cell->permitted, XS_PERMIT_OPEN);
}

static void waiter(void)
{
    xsched_priv_wait_begin(&g_queue);
}

static void final_awaited(void)
{
    mc_check(*MC_PLAIN(&g_cell->permitted) == XS_PERMIT_OPEN, "a thread waits behind a closed gate of its own");
}

static void gathering_submitter(void)
{
    struct xs_ticket t;

    xsched_priv_submit_begin(&g_queue, 1, XS_SUBMIT_NO_MARK, &t); /* the queue has no gates: it opens the word */
    xsched_priv_submit_end(&t, true, false);
}

/* Closes the word, and takes back that the program may open it: it opens it then itself. */
static void changing_scheduler(void)
{
    atomic_store(&g_cell->gathers_to, 9);
    atomic_store(&g_cell->permitted, XS_PERMIT_CLOSED);
    atomic_store(&g_cell->gathers_to, 0);
    atomic_store(&g_cell->permitted, XS_PERMIT_OPEN);
    if (atomic_load(&g_queue.cc->waiters))
        xs_futex_wake(xs_futex_low(&g_cell->permitted), INT32_MAX);
}

static void final_submitted(void)
{
    mc_check(*MC_PLAIN(&g_queue.cc->returned) == 2, "a thread was left behind");
    mc_check(*MC_PLAIN(&g_queue.cc->waiters) == 0, "waiters left behind");
}

static void always(void)
{
    /* at most one command a thread that had passed the look before */
    for (int i = 0; i < MC_THREADS; i++)
        mc_check(g_started[i] <= 1, "a thread started two commands in one suspension");
}

static void final(void)
{
    mc_check(*MC_PLAIN(&g_queue.cc->entered) == *MC_PLAIN(&g_queue.cc->returned), "entered and returned differ");
    mc_check(*MC_PLAIN(&g_queue.cc->waiters) == 0, "waiters left behind");
}

int main(void)
{
    static const struct mc_model app = {"gate: two submitters, application suspends and resumes", init_unmanaged,
        {submitter, submitter, application}, 0, final, always, .expect_violation = false};
    static const struct mc_model sched = {"gate: two submitters, scheduler holds and permits", init,
        {submitter_once, submitter_once, scheduler}, 0, final, always, .expect_violation = false};
    static const struct mc_model sched_two = {"gate: one submitter with two commands, scheduler holds and permits", init,
        {submitter, scheduler}, 0, final, always, .expect_violation = false};
    static const struct mc_model both = {"gate: one submitter, application and scheduler at once", init,
        {submitter, application, scheduler}, 0, final, NULL, .expect_violation = false};
    static const struct mc_model no_wake = {"gate: resume without a wake-up", init,
        {submitter, application}, 0, final, NULL, .expect_violation = true};
    static const struct mc_model no_waiters = {"gate: permit without a wake-up", init,
        {submitter, scheduler}, 0, final, NULL, .expect_violation = true};
    static const struct mc_model hasty = {"gate: permit stored with release only", init,
        {submitter, hasty_scheduler}, 0, final, NULL, .expect_violation = true};
    static const struct mc_model inherit = {"gate: priorities of waiters that come and go", init,
        {wait_and_end, wait_for_ever, wait_and_end}, 0, final_inherit, NULL, .expect_violation = false};
    static const struct mc_model careless = {"gate: the last waiter wipes the priority", init,
        {careless_wait_and_end, wait_for_ever}, 0, final_inherit, NULL, .expect_violation = true};
    static const struct mc_model gathers = {"gate: a thread waits for commands that gather", init_gathers,
        {waiter, gathering_scheduler}, 0, final_awaited, NULL, .expect_violation = false};
    static const struct mc_model blind = {"gate: the scheduler does not look for waiters once it has closed", init_gathers,
        {waiter, gathering_scheduler}, 0, final_awaited, NULL, .expect_violation = true};
    static const struct mc_model no_room = {"gate: commands that gather where there is no room", init_gathers_returned,
        {gathering_submitter, changing_scheduler}, 0, final_submitted, NULL, .expect_violation = false};
    int failed = 0;

    one_queue_regions();
    mc_region(&g_changes, sizeof(g_changes));
    mc_region(&g_app_closed, sizeof(g_app_closed));
    mc_region(&g_sched_closed, sizeof(g_sched_closed));
    mc_region(g_started, sizeof(g_started));
    failed |= mc_run(&app);
    failed |= mc_run(&sched);
    failed |= mc_run(&sched_two);
    failed |= mc_run(&both);
    g_forget_wake = true;
    failed |= mc_run(&no_wake);
    g_forget_wake = false;
    g_forget_waiters = true;
    failed |= mc_run(&no_waiters);
    g_forget_waiters = false;
    failed |= mc_run(&hasty);
    failed |= mc_run(&gathers);
    g_never_looks = true;
    failed |= mc_run(&blind);
    g_never_looks = false;
    failed |= mc_run(&no_room);
    failed |= mc_run(&inherit);
    failed |= mc_run(&careless);
    return failed;
}
