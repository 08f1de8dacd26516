/* SPDX-License-Identifier: Apache-2.0 */
/* The doorbell: a scheduler that wants to hear of the next submit hears of it, whatever the
 * order. The process's side is the real xs_page_ring behind the real rule (count entered, then
 * look at armed); the scheduler's side is the rule that page.h states for it. */
#include "mc.h"

#include "wire/page.h"


static struct xs_client_page g_client;
static struct xs_server_page g_server;
static _Atomic uint32_t g_eventfd;
static uint64_t g_handled[2];
static int g_order_armed, g_order_asleep;       /* memory orders under test */
static bool g_skip_slots, g_check_again;
static uint64_t g_submits[2];                   /* how many each submitter makes */

static void init(void)
{
    memset(&g_client.h, 0, 3 * XS_CACHE_LINE + 16 * 8);
    memset(g_client.cells, 0, 2 * sizeof(g_client.cells[0]));
    memset(&g_server.h, 0, sizeof(g_server.h));
    memset(g_server.cells, 0, 2 * sizeof(g_server.cells[0]));
    memset((void *)&g_eventfd, 0, sizeof(g_eventfd));
    memset(g_handled, 0, sizeof(g_handled));
}

static void submit(uint32_t cell)
{
    /* as xsched_priv_submit_begin */
    atomic_fetch_add(&g_client.cells[cell].entered, 1);
    if (atomic_load(&g_server.cells[cell].armed) & XS_ARMED_SUBMIT) {
        if (xs_page_ring(&g_client, &g_server, cell)) {
            atomic_fetch_add(&g_eventfd, 1);
            xs_futex_wake(xs_futex_low((_Atomic uint64_t *)(void *)&g_eventfd), 1);
        }
    }
}

static void submitter0(void)
{
    for (uint64_t i = 0; i < g_submits[0]; i++)
        submit(0);
}

static void submitter1(void)
{
    for (uint64_t i = 0; i < g_submits[1]; i++)
        submit(1);
}

static bool all_handled(void)
{
    return g_handled[0] == g_submits[0] && g_handled[1] == g_submits[1];
}

/* A queue that is idle as far as the scheduler knows: arm, then look again. */
static void arm_and_look(uint32_t cell)
{
    atomic_store_explicit(&g_server.cells[cell].armed, XS_ARMED_SUBMIT, g_order_armed);
    g_handled[cell] = atomic_load(&g_client.cells[cell].entered);
}

static void look(uint32_t cell)
{
    g_handled[cell] = atomic_load(&g_client.cells[cell].entered);
}

static void scheduler(void)
{
    uint64_t seen_bells = 0;

    arm_and_look(0);
    arm_and_look(1);
    while (!all_handled()) {
        uint64_t bells = atomic_load(&g_client.h.bell_count);
        uint32_t event;

        if (bells != seen_bells) {
            for (uint64_t k = seen_bells; k < bells; k++) {
                uint64_t slot = atomic_load_explicit(&g_client.h.bell[k % XS_BELL_SLOTS], memory_order_acquire);

                if (slot >> 16 == k + 1) {
                    look((uint32_t)(slot & 0xffff));
                } else if (!g_skip_slots) { /* not written yet: look at all */
                    look(0);
                    look(1);
                }
            }
            seen_bells = bells;
            continue;
        }
        /* nothing rang: sleep */
        event = atomic_load(&g_eventfd);
        atomic_store_explicit(&g_server.h.asleep, 1, g_order_asleep);
        if (!g_check_again || atomic_load(&g_client.h.bell_count) == seen_bells)
            xs_futex_wait(&g_eventfd, event, UINT64_MAX);
        atomic_store(&g_server.h.asleep, 0);
    }
}

static void final(void)
{
    mc_check(all_handled(), "the scheduler missed a submit");
}

static int variant(const char *name, int armed, int asleep, bool check_again, bool skip_slots, bool wrong)
{
    struct mc_model m = {name, init, {scheduler, submitter0, submitter1}, 0, final, NULL, .expect_violation = wrong};

    g_order_armed = armed;
    g_order_asleep = asleep;
    g_check_again = check_again;
    g_skip_slots = skip_slots;
    return mc_run(&m);
}

int main(void)
{
    int sc = memory_order_seq_cst, rel = memory_order_release, failed = 0;

    mc_region(&g_client.h, 3 * XS_CACHE_LINE + 16 * 8);
    mc_region(g_client.cells, 2 * sizeof(g_client.cells[0]));
    mc_region(&g_server.h, sizeof(g_server.h));
    mc_region(g_server.cells, 2 * sizeof(g_server.cells[0]));
    mc_region((void *)&g_eventfd, sizeof(g_eventfd));
    mc_region(g_handled, sizeof(g_handled));
    g_submits[0] = 3;
    g_submits[1] = 0;
    failed |= variant("doorbell: arm, look again, sleep; three submits of one thread", sc, sc, true, false, false);
    g_submits[0] = g_submits[1] = 1;
    failed |= variant("doorbell: arm, look again, sleep; two threads", sc, sc, true, false, false);
    failed |= variant("doorbell: armed stored with release only", rel, sc, true, false, true);
    failed |= variant("doorbell: asleep stored with release only", sc, rel, true, false, true);
    failed |= variant("doorbell: no second look before sleeping", sc, sc, false, false, true);
    failed |= variant("doorbell: a slot that is not written yet is skipped", sc, sc, true, true, true);
    return failed;
}
