/* SPDX-License-Identifier: Apache-2.0 */
/* Gates at level 3 are where xserver says so, and for as long as it is that xserver; none is where streams share
 * connections (gate.c, crowded.c and context_blocking.c by themselves). */
#include "wire/wire.h"
#include "xqueue/gates/crowded.h"
#include "xqueue/gates/gate.h"
#include "xqueue/mark.h"
#include "xqueue/submit/doorbell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct scene {
    struct xs_state st;
    struct xs_client_cell cells[2];
    struct xs_ctx_entries ctx_entries;
    struct xs_queue a, b;
};

/* ---- what gate.c asks of others, which is not what is tested ---- */

void xs_queue_look_slow(struct xs_queue *q, bool late) { (void)q, (void)late; }
void xs_queue_ring(struct xs_queue *q) { (void)q; }
_Atomic(struct xs_root *) xs_root;
_Atomic bool xs_root_stays;
bool xs_root_is_ours(const struct xs_root *r) { (void)r; return false; }
struct xs_server_cell xs_open_cell;
_Atomic uint32_t xsched_priv_intra;

static void make(struct scene *s, struct xs_queue *q, uint32_t cell)
{
    q->state = &s->st;
    q->cell = cell;
    q->cc = &s->cells[cell];
    q->ctx_entries = &s->ctx_entries;
    q->wish.level = kPreemptLevelInterrupt;
    q->pool_next = atomic_load(&s->st.pool);
    atomic_store(&s->st.pool, q);
}

static int setup(void **state)
{
    struct scene *s = aligned_alloc(XS_CACHE_LINE, (sizeof(*s) + XS_CACHE_LINE - 1) / XS_CACHE_LINE * XS_CACHE_LINE);

    assert_non_null(s);
    memset(s, 0, sizeof(*s));
    make(s, &s->a, 0);
    make(s, &s->b, 1);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void tell(struct xs_queue *q, uint32_t gates)
{
    xs_lock_acquire(&q->state->lock);
    xs_gates_tell(q, gates);
    xs_lock_release(&q->state->lock);
}

static void set_level(struct xs_queue *q, int32_t level)
{
    xs_lock_acquire(&q->state->lock);
    q->wish.level = level;
    xs_gates_set_level(q, level);
    xs_lock_release(&q->state->lock);
}

static void as_told(void **state)
{
    struct scene *s = *state;

    set_level(&s->a, kPreemptLevelInterrupt);
    assert_false(xs_queue_gated(&s->a));
    tell(&s->a, XS_GATES_KEEP);
    assert_false(xs_queue_gated(&s->a));
    tell(&s->a, XS_GATES_ON);
    assert_true(xs_queue_gated(&s->a));
    assert_false(xs_queue_gated(&s->b));
    tell(&s->a, XS_GATES_KEEP);
    assert_true(xs_queue_gated(&s->a));
    set_level(&s->a, kPreemptLevelBlock);
    assert_false(xs_queue_gated(&s->a));
    set_level(&s->a, kPreemptLevelInterrupt);
    assert_true(xs_queue_gated(&s->a)); /* it was not taken back */
    tell(&s->a, XS_GATES_OFF);
    assert_false(xs_queue_gated(&s->a));
    set_level(&s->a, kPreemptLevelDeactivate);
    assert_true(xs_queue_gated(&s->a)); /* level 2 needs no telling */
    tell(&s->a, XS_GATES_ON);
    tell(&s->a, XS_GATES_OFF);
    assert_true(xs_queue_gated(&s->a));
    s->b.ctx_entries = NULL;             /* a platform that cannot */
    tell(&s->b, XS_GATES_ON);
    assert_false(xs_queue_gated(&s->b));
}

static void by_this_xserver(void **state)
{
    struct scene *s = *state;

    tell(&s->a, XS_GATES_ON);
    tell(&s->b, XS_GATES_ON);
    tell(&s->b, XS_GATES_ON);
    assert_int_equal(atomic_load(&s->st.gates_told), 2);
    xs_lock_acquire(&s->st.lock);
    assert_false(xs_gates_untell(&s->st)); /* who asks waits for nobody */
    xs_lock_release(&s->st.lock);
    assert_true(xs_queue_gated(&s->a));
    assert_true(xs_gates_untell(&s->st));
    assert_false(xs_queue_gated(&s->a));
    assert_false(xs_queue_gated(&s->b));
    assert_int_equal(atomic_load(&s->st.gates_told), 0);
    assert_true(xs_gates_untell(&s->st));
}

/* Storage that another stream gets knows nothing of what was told of the one before. */
static void not_of_another_stream(void **state)
{
    struct scene *s = *state;

    tell(&s->a, XS_GATES_ON);
    xs_lock_acquire(&s->st.lock);
    xs_gates_reset(&s->a);
    xs_lock_release(&s->st.lock);
    assert_int_equal(atomic_load(&s->st.gates_told), 0);
    s->a.ctx_entries = &s->ctx_entries;
    set_level(&s->a, kPreemptLevelInterrupt);
    assert_false(xs_queue_gated(&s->a));
}

static void join(struct xs_queue *q)
{
    xs_lock_acquire(&q->state->lock);
    xs_crowded_join(q);
    xs_lock_release(&q->state->lock);
}

static void leave(struct xs_queue *q)
{
    xs_lock_acquire(&q->state->lock);
    xs_gates_forget(q);
    xs_crowded_leave(q);
    xs_lock_release(&q->state->lock);
}

/* One command behind a gate, in a queue that may be suspended by itself or not. */
static struct xs_server_cell g_sc;
static void stand_at_gate(struct xs_queue *q, bool single)
{
    atomic_store(&q->sc, &g_sc);
    atomic_store(&g_sc.permitted, 0);
    atomic_store(&q->bounded, single ? XS_BOUNDED_APP : 0);
    set_level(q, kPreemptLevelDeactivate);
    atomic_store(&q->cc->entered, 1);
    atomic_store(&q->gates.last, 1);
    atomic_store(&q->gates.shut, 1);
}

static void with_a_connection_each(void **state)
{
    struct scene *s = *state;

    s->ctx_entries.connections = 2;
    stand_at_gate(&s->a, true);
    join(&s->a);
    join(&s->b);
    assert_true(xs_queue_gated(&s->a));
    assert_int_equal(atomic_load(&g_sc.permitted), 0);
    leave(&s->b);
    join(&s->b);
    leave(&s->a);
    leave(&s->a);                        /* once is enough */
    assert_int_equal(s->ctx_entries.queues, 1);
    assert_true(xs_queue_gated(&s->a));
}

static void one_too_many(void **state)
{
    struct scene *s = *state;

    s->ctx_entries.connections = 1;
    stand_at_gate(&s->a, true);
    join(&s->a);
    assert_true(xs_queue_gated(&s->a));
    join(&s->b);
    assert_false(xs_queue_gated(&s->a));
    assert_int_equal(atomic_load(&g_sc.permitted), 1); /* what stood there goes on, nothing later */
    assert_int_equal(atomic_load(&s->cells[0].let_through), 1);
    assert_int_equal(atomic_load(&s->a.gates.shut), 0);
    leave(&s->b);
    assert_false(xs_queue_gated(&s->a)); /* a program that makes and ends streams would open gates each time */
    leave(&s->a);
    assert_true(xs_queue_gated(&s->a));
}

/* All of the process stop together: it does not matter who stands behind whom. */
static void all_together(void **state)
{
    struct scene *s = *state;

    s->ctx_entries.connections = 1;
    stand_at_gate(&s->a, false);
    join(&s->a);
    join(&s->b);
    assert_true(xs_queue_gated(&s->a));
    assert_int_equal(atomic_load(&g_sc.permitted), 0);
    atomic_store(&xsched_priv_intra, 1);
    assert_false(xs_queue_gated(&s->a));
    atomic_store(&xsched_priv_intra, 0);
}

/* The storage of a crowded context's queue serves one of a context without a limit. */
static void in_another_context(void **state)
{
    struct scene *s = *state;
    static struct xs_ctx_entries other;

    s->ctx_entries.connections = 1;
    join(&s->a);
    join(&s->b);
    leave(&s->b);
    s->b.ctx_entries = &other;
    stand_at_gate(&s->b, true);
    join(&s->b);
    assert_true(xs_queue_gated(&s->b));
}

/* A platform of which nobody knows. */
static void no_limit(void **state)
{
    struct scene *s = *state;

    stand_at_gate(&s->a, true);
    join(&s->a);
    join(&s->b);
    assert_true(xs_queue_gated(&s->a));
}

int main(void)
{
#define G(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {G(as_told), G(by_this_xserver), G(not_of_another_stream),
                                       G(with_a_connection_each), G(one_too_many), G(all_together),
                                       G(in_another_context), G(no_limit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
