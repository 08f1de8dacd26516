/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting, on the real code of the submit path: the worker of deferred commands at a closed gate
 * (xs_permit_wait), and a thread that waits for completions (xs_progress_sleep, xs_progress_make).
 *
 *   - a command that waits at a gate makes its queue known to the scheduler, which opens it in the
 *     end: no time limit has to run out for that;
 *   - a completion wakes whoever waits for it: nobody sleeps for ever. */
#include "mc.h"

#include "one_queue.h"

static _Atomic uint32_t g_eventfd;

/* ghosts, and the wrong variants */
static bool g_started, g_seen;
static bool g_blind;      /* the scheduler goes by what has entered alone */
static bool g_armed_late; /* it looks, and asks to be told afterwards */
static bool g_silent;     /* completions wake nobody */
static int g_completions;

void xs_fd_eventfd_signal(int fd)
{
    (void)fd;
    atomic_fetch_add(&g_eventfd, 1);
    xs_futex_wake(&g_eventfd, 1);
}

static void init(void)
{
    one_queue_init();
    memset((void *)&g_eventfd, 0, sizeof(g_eventfd));
    g_started = g_seen = false;
}

/* One deferred command, as the worker launches it. */
static void worker(void)
{
    struct xs_permit_wait w = {.reasons = XS_PERMIT_REASON_SUSPENDED, .place = XS_PERMIT_NEXT, .timeout_ns = UINT64_MAX};

    while (!xs_permit_wait(&g_queue, &w))
        ;
    g_started = true;
}

static bool wants(void)
{
    bool entered = atomic_load(&g_client.cells[0].entered) != 0;

    return entered || (!g_blind && atomic_load(&g_client.cells[0].waiters) != 0);
}

/* As sched does it: closes an idle queue because another one runs, asks to be told, looks; opens it
 * when it is ready, as soon as the other one ended (here: at once). */
static void scheduler(void)
{
    uint64_t seen = 0;
    bool ready;

    atomic_store(&g_cell->permitted, XS_PERMIT_CLOSED);
    if (g_armed_late) {
        ready = wants();
        atomic_store(&g_cell->armed, XS_ARMED_SUBMIT);
    } else {
        atomic_store(&g_cell->armed, XS_ARMED_SUBMIT);
        ready = wants();
    }
    while (!ready && !g_started) {
        uint64_t bells = atomic_load(&g_client.h.bell_count);
        uint32_t event;

        if (bells != seen) {
            seen = bells;
            ready = wants();
            continue;
        }
        event = atomic_load(&g_eventfd);
        atomic_store(&g_server.h.asleep, 1);
        if (atomic_load(&g_client.h.bell_count) == seen)
            xs_futex_wait(&g_eventfd, event, UINT64_MAX);
        atomic_store(&g_server.h.asleep, 0);
    }
    g_seen = true;
    atomic_store(&g_cell->permitted, XS_PERMIT_OPEN);
    if (atomic_load(&g_client.cells[0].waiters))
        xs_futex_wake(xs_futex_low(&g_cell->permitted), INT32_MAX);
}

static void all_started(void)
{
    mc_check(g_started, "a command never started");
    mc_check(*MC_PLAIN(&g_client.cells[0].waiters) == 0, "waiters left behind");
}

/* Completions, one by one, as xs_queue_complete tells them. */
static void device(void)
{
    for (int i = 0; i < g_completions; i++) {
        atomic_store_explicit(&g_client.cells[0].completed, (uint64_t)i + 1, memory_order_release);
        if (!g_silent)
            xs_progress_make(&g_queue.progress);
    }
}

/* As XQueueWaitAll: until everything is complete, by no time limit. */
static void waiter(void)
{
    for (;;) {
        uint32_t seen = xs_progress_seen(&g_queue.progress);

        if (atomic_load(&g_client.cells[0].completed) >= (uint64_t)g_completions)
            return;
        xs_progress_sleep(&g_queue.progress, seen, UINT64_MAX);
    }
}

static int run(const char *name, void (*a)(void), void (*b)(void), void (*c)(void), void (*final)(void),
               bool wrong)
{
    struct mc_model m = {
        .name = name, .init = init, .threads = {a, b, c}, .final = final, .expect_violation = wrong};

    /* the scheduler may sleep for ever once nobody wants anything */
    m.daemons = a == scheduler ? 1 : 0;
    return mc_run(&m);
}

int main(void)
{
    int failed = 0;

    one_queue_regions();
    mc_region(&g_state.server, sizeof(g_state.server));
    mc_region(&g_client.h, 3 * XS_CACHE_LINE + 16 * 8);
    mc_region((void *)&g_eventfd, sizeof(g_eventfd));
    mc_region(&g_started, sizeof(g_started));
    mc_region(&g_seen, sizeof(g_seen));
    failed |= run("wait: a deferred command at a closed gate", scheduler, worker, NULL, all_started, false);
    g_blind = true;
    failed |= run("wait: ... and the scheduler goes by what has entered", scheduler, worker, NULL,
                  all_started, true);
    g_blind = false;
    g_armed_late = true;
    failed |= run("wait: ... and asks to be told after its look", scheduler, worker, NULL, all_started, true);
    g_armed_late = false;
    g_completions = 2;
    failed |= run("wait: one thread waits for two completions", device, waiter, NULL, NULL, false);
    g_completions = 1;
    failed |= run("wait: two threads wait for a completion", device, waiter, waiter, NULL, false);
    g_silent = true;
    failed |= run("wait: completions that wake nobody", device, waiter, NULL, NULL, true);
    return failed;
}
