/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2 and calls on which a whole context waits: a submitter puts gates into the stream, another thread begins such a
 * call, and the scheduler or the application holds the queue, all at once. Whatever the order, no gate in the stream stands
 * closed while the call lasts. Nor does one where a queue comes and streams share connections from then on. */
#include "mc.h"

#include "xqueue/gates/gate.c"
#include "xqueue/gates/crowded.c"
#include "xqueue/gates/context_blocking.c"
#include "xqueue/gates/gather_open.c"
#include "xqueue/submit/context_full.c"

#include "sched/permit.c"

_Atomic uint32_t xsched_priv_intra;

static struct xs_state g_state;
static struct xs_queue g_queue, g_dead;
static struct xs_client_page g_client;
static struct xs_server_page g_server;
static struct xs_sched_queue g_held;
static struct xs_ctx_entries g_ctx_entries, g_other_ctx_entries;
static _Atomic uint64_t g_app_words[1]; /* the queue has cell 0 */

/* ghosts: the gates in the stream */
static uint64_t g_gates[2];       /* what each waits for; 0: none */
static _Atomic uint64_t *g_words[2];

struct xs_server_cell xs_open_cell;

struct xs_state *xs_state_get(void)
{
    return &g_state;
}
void xs_fd_eventfd_signal(int fd)
{
    (void)fd;
}

/* ---- what this model leaves out ---- */
void xs_queue_look_slow(struct xs_queue *q, bool late)
{
    (void)q, (void)late;
}
void xs_queue_ring(struct xs_queue *q)
{
    (void)q;
    mc_check(false, __func__); /* no commands gather here */
}
void xs_queue_charge_time(struct xs_sched_queue *q, uint64_t now_ns)
{
    (void)q, (void)now_ns;
}

static int gate(void *hw, _Atomic uint64_t *word, uint64_t serial, uint64_t number)
{
    int i = word != &g_server.cells[0].permitted;

    (void)hw, (void)serial;
    g_gates[i] = number;
    g_words[i] = word;
    return 1;
}

static const struct xs_hal_ops k_ops = {.gate = gate};
static struct xs_hwq g_hwq = {.ops = &k_ops};

static void init(void)
{
    memset(&g_state, 0, sizeof(g_state));
    memset(&g_queue, 0, sizeof(g_queue));
    memset(&g_ctx_entries, 0, sizeof(g_ctx_entries));
    memset(&g_dead, 0, sizeof(g_dead));
    memset(&g_other_ctx_entries, 0, sizeof(g_other_ctx_entries));
    memset(g_client.cells, 0, 2 * sizeof(g_client.cells[0]));
    memset(g_server.cells, 0, sizeof(g_server.cells[0]));
    memset(g_gates, 0, sizeof(g_gates));
    *MC_PLAIN(&g_server.cells[0].permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_app_words[0]) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_queue.app_permitted) = XS_PERMIT_OPEN;
    *MC_PLAIN(&g_queue.sc) = &g_server.cells[0];
    *MC_PLAIN(&g_queue.bounded) = 1;
    g_queue.cc = &g_client.cells[0];
    g_queue.state = &g_state;
    *MC_PLAIN(&g_queue.hwq) = &g_hwq;
    g_queue.ctx_entries = &g_ctx_entries;
    *MC_PLAIN(&g_state.pool) = &g_queue;
    *MC_PLAIN(&g_state.app_words) = g_app_words;
    g_held.client = g_queue.cc;
    g_held.server = &g_server.cells[0];
}

/* The queue has the only connection to itself. */
static void init_connection(void)
{
    init();
    g_ctx_entries.connections = g_ctx_entries.queues = 1;
    g_queue.counted = true;
    g_dead.cc = &g_client.cells[1];
    g_dead.state = &g_state;
    g_dead.ctx_entries = &g_ctx_entries;
    g_queue.pool_next = &g_dead;
}

/* Held already, and one gate a command: else two submitters have too many orders. */
static void init_held(void)
{
    init();
    *MC_PLAIN(&g_server.cells[0].permitted) = XS_PERMIT_CLOSED;
    *MC_PLAIN(&g_queue.bounded) = 0;
}

/* The context is full as far as is known, and a queue in it is out of use that had nine entries. */
static void init_full(void)
{
    init();
    *MC_PLAIN(&g_queue.gates.weight_in) = 2 * ENTRIES_MAX;
    *MC_PLAIN(&g_ctx_entries.out) = 2 * ENTRIES_MAX;
    g_dead.cc = &g_client.cells[1];
    g_dead.state = &g_state;
    g_dead.ctx_entries = &g_ctx_entries;
    *MC_PLAIN(&g_dead.cc->entered) = *MC_PLAIN(&g_dead.cc->completed) = 5;
    *MC_PLAIN(&g_dead.gates.weight_in) = *MC_PLAIN(&g_dead.gates.weight_done) = 9;
    g_queue.pool_next = &g_dead;
}

static void init_overtaken(void)
{
    init_held();
    *MC_PLAIN(&g_queue.cc->entered) = 7;
    *MC_PLAIN(&g_queue.cc->returned) = *MC_PLAIN(&g_queue.cc->completed) = 6;
}

/* ---- what happens at once ---- */

/* A kernel never timed: it has a gate of its own. */
static void submitter(void)
{
    uint64_t n = atomic_fetch_add(&g_queue.cc->entered, 1) + 1;

    xs_gates_enter(&g_queue, n, 1000, false, 1000000, 0);
}

static void caller(void)
{
    xsched_priv_inside_begin();
}

/* Another queue comes. */
static void one_too_many(void)
{
    xs_crowded_join(&g_dead);
}

static void scheduler(void)
{
    close_word(&g_held);
}

static void application(void)
{
    xs_queue_app_set(&g_queue, XS_PERMIT_CLOSED);
}

/* Its command is the fifth; two of another thread that entered later were put into the stream before its gate. */
static void fifth(void)
{
    xs_gates_enter(&g_queue, 5, 1000, false, 1000000, 0);
}

/* Another one, before that gate or behind it; in the former case it is done at once. */
static void eighth(void)
{
    atomic_fetch_add(&g_queue.cc->entered, 1);
    if (g_gates[0])
        return;
    atomic_fetch_add(&g_queue.cc->returned, 1);
    atomic_fetch_add(&g_queue.cc->completed, 1);
}

static void looks_for_room(void)
{
    xs_context_full(&g_queue, false);
}

/* In another context; as queue_table.c does, and two commands of it enter. */
static void used_anew(void)
{
    xs_gates_reset(&g_dead);
    atomic_store(&g_dead.cc->entered, 0);
    atomic_store(&g_dead.cc->completed, 0);
    g_dead.ctx_entries = &g_other_ctx_entries;
    atomic_fetch_add(&g_dead.cc->entered, 2);
    weigh(&g_dead, 2);
}

/* ---- wrong ---- */

/* Does not look at who entered while it put the gate. */
static void hasty_fifth(void)
{
    atomic_store(&g_queue.gates.behind, atomic_load(&g_queue.cc->entered));
    atomic_fetch_add(&g_queue.cc->entered, 0); /* a moment later */
    gate(NULL, &g_server.cells[0].permitted, 0, 5);
}

/* Counts from nothing again. */
static void used_from_zero(void)
{
    xs_gates_reset(&g_dead);
    atomic_store(&g_dead.gates.weight_in, 0);
    atomic_store(&g_dead.gates.weight_done, 0);
    atomic_store(&g_dead.cc->entered, 0);
    atomic_store(&g_dead.cc->completed, 0);
    g_dead.ctx_entries = &g_other_ctx_entries;
    atomic_fetch_add(&g_dead.cc->entered, 2);
    weigh(&g_dead, 2);
}

/* Looks for a call under way before the gate is noted. */
static void early_submitter(void)
{
    uint64_t n = atomic_fetch_add(&g_queue.cc->entered, 1) + 1;

    if (atomic_load(&g_state.inside) != 0)
        return;
    atomic_store(&g_queue.gates.last, n);
    gate(NULL, &g_server.cells[0].permitted, 0, n);
}

/* Lets through what stands there, then counts itself. */
static void late_caller(void)
{
    xs_gates_open_locked(&g_queue);
    atomic_fetch_add(&g_state.inside, 1);
}

/* Opens what stands there, then says that no more may. */
static void late_crowd(void)
{
    xs_gates_open_locked(&g_queue);
    atomic_store(&g_queue.crowded, true);
}

/* Does not look again at what is let through. */
static void hasty_scheduler(void)
{
    uint64_t let = atomic_load(&g_queue.cc->let_through);

    atomic_store(&g_server.cells[0].permitted, let);
}

static void final(void)
{
    for (int i = 0; i < 2; i++)
        mc_check(!g_gates[i] || *MC_PLAIN(g_words[i]) >= g_gates[i], "a gate stands closed during the call, or in a crowd");
}

static void final_room(void)
{
    mc_check(*MC_PLAIN(&g_other_ctx_entries.out) == 2, "what is in flight counts");
}

static void final_stands(void)
{
    mc_check(*MC_PLAIN(&g_queue.gates.behind) > *MC_PLAIN(&g_queue.cc->completed), "a gate in the stream is told of");
}

int main(void)
{
    static const struct mc_model overtaken = {"inside: commands that overtake a gate", init_overtaken,
        {fifth, eighth}, 0, final_stands, NULL, .expect_violation = false};
    static const struct mc_model unseen = {"inside: one that overtakes a gate unseen", init_overtaken,
        {hasty_fifth, eighth}, 0, final_stands, NULL, .expect_violation = true};
    static const struct mc_model anew = {"inside: a look for room, storage that is used anew", init_full,
        {looks_for_room, used_anew}, 0, final_room, NULL, .expect_violation = false};
    static const struct mc_model from_zero = {"inside: storage that counts from nothing again", init_full,
        {looks_for_room, used_from_zero}, 0, final_room, NULL, .expect_violation = true};
    static const struct mc_model held = {"inside: a gate, a call that frees memory, a hold", init,
        {submitter, caller, scheduler}, 0, final, NULL, .expect_violation = false};
    static const struct mc_model two = {"inside: two submitters, held", init_held,
        {submitter, submitter, caller}, 0, final, NULL, .expect_violation = false};
    static const struct mc_model suspended = {"inside: a gate, such a call, a suspension by the application", init,
        {submitter, caller, application}, 0, final, NULL, .expect_violation = false};
    static const struct mc_model crowd = {"inside: a gate, a queue too many, a hold", init_connection,
        {submitter, one_too_many, scheduler}, 0, final, NULL, .expect_violation = false};
    static const struct mc_model crowded_late = {"inside: a crowd that is told of too late", init_connection,
        {submitter, late_crowd, scheduler}, 0, final, NULL, .expect_violation = true};
    static const struct mc_model early = {"inside: a gate that is noted too late", init,
        {early_submitter, caller, scheduler}, 0, final, NULL, .expect_violation = true};
    static const struct mc_model late = {"inside: a call that is counted too late", init,
        {submitter, late_caller, scheduler}, 0, final, NULL, .expect_violation = true};
    static const struct mc_model hasty = {"inside: a hold that does not look again", init,
        {submitter, caller, hasty_scheduler}, 0, final, NULL, .expect_violation = true};
    int failed = 0;

    mc_region(&g_state, sizeof(g_state));
    mc_region(&g_queue, sizeof(g_queue));
    mc_region(&g_ctx_entries, sizeof(g_ctx_entries));
    mc_region(&g_dead, sizeof(g_dead));
    mc_region(&g_other_ctx_entries, sizeof(g_other_ctx_entries));
    mc_region(g_client.cells, 2 * sizeof(g_client.cells[0]));
    mc_region(g_server.cells, sizeof(g_server.cells[0]));
    mc_region(g_app_words, sizeof(g_app_words));
    mc_region(g_gates, sizeof(g_gates));
    failed |= mc_run(&held);
    failed |= mc_run(&two);
    failed |= mc_run(&suspended);
    failed |= mc_run(&crowd);
    failed |= mc_run(&crowded_late);
    failed |= mc_run(&early);
    failed |= mc_run(&late);
    failed |= mc_run(&hasty);
    failed |= mc_run(&overtaken);
    failed |= mc_run(&unseen);
    failed |= mc_run(&anew);
    failed |= mc_run(&from_zero);
    return failed;
}
