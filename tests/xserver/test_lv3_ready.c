/* SPDX-License-Identifier: Apache-2.0 */
/* Slices that follow which program is ready, as the server sees it. */
#include "steered.h"

#include "hal/cuda/rm/rm.h"
#include "lv3_scene.h"
#include "sched/internal.h"

struct scene {
    struct xs_server s;
    struct xs_client a, b;        /* urgent, background */
    struct xs_server_queue qa, qb;
    struct context ca, cb;
};

static void give_groups(struct scene *c, struct xs_client *client, struct context *ctx, int32_t priority)
{
    struct xs_lv3_program *program = g_program;

    xs_rm_reset();                /* another process */
    new_context(ctx, 4);
    client->level3.nvidia = g_program = xs_lv3_join(g_lv3, 100 + priority);
    c->s.level3.n_programs++;
    tell();
    g_program = program;
}

static void join(struct scene *c, struct xs_client *client, struct xs_server_queue *q, struct context *ctx, int32_t priority)
{
    lv3_scene_add(&c->s, client, q, DEVICE, priority);
    give_groups(c, client, ctx, priority);
}

static struct scene *new_scene(void)
{
    struct scene *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    lv3_scene_begin(&c->s);
    c->s.options.lv3_busy_us = 0; /* but where it is what is tested */
    c->s.level3.nvidia = g_lv3;
    join(c, &c->a, &c->qa, &c->ca, 10);
    join(c, &c->b, &c->qb, &c->cb, 0);
    return c;
}

static void free_scene(struct scene *c)
{
    xs_lv3_forget(&c->s, &c->a);
    xs_lv3_forget(&c->s, &c->b);
    assert_int_equal(c->s.level3.n_programs, 0);
    lv3_scene_end(&c->s, &c->a, &c->b);
    free(c->a.page);
    free(c->b.page);
    free(c);
}

/* Time passes, then somebody became ready or idle; the calls that follow are made.
 * @return when the server wants to look again, from now */
static uint64_t step(struct scene *c, uint64_t ms, struct xs_server_queue *q, bool ready)
{
    uint64_t next;

    c->s.now_ns += ms * XS_NS_PER_MS;
    if (q)
        xs_sched_queue_set_ready(c->s.sched, q->sched, ready, c->s.now_ns);
    xs_sched_run(c->s.sched, c->s.now_ns);
    c->s.now_ns += XS_NS_PER_MS;  /* whoever ran dry has lingered */
    xs_sched_run(c->s.sched, c->s.now_ns);
    c->s.level3.changed = c->s.level3.changed || q;
    next = xs_lv3_update(&c->s);
    xs_lv3_settle(g_lv3);
    return next == UINT64_MAX ? next : next - c->s.now_ns;
}

#define SLICE(ctx) fake_rm_slice(c->ctx.client, c->ctx.group)
#define BOUND(client) c->client.process->inflight_us /* of what is in flight; 0: as for everybody */

static void slices_follow(void **state)
{
    struct scene *c = new_scene();
    const struct fake_rm_call *calls;
    uint64_t next;
    size_t n;

    (void)state;
    assert_true(step(c, 1, &c->qb, true) == UINT64_MAX);
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), 50000);
    assert_int_equal(SLICE(cb), 50);
    n = fake_rm_calls(&calls);
    next = step(c, 2, &c->qa, false); /* a pause of the urgent side: no call */
    assert_true(next <= 500 * XS_NS_PER_MS && next > 400 * XS_NS_PER_MS);
    step(c, 100, &c->qa, true);
    step(c, 2, &c->qa, false);
    assert_int_equal(fake_rm_calls(&calls), n);
    assert_int_equal(SLICE(cb), 50);
    step(c, 501, NULL, false);    /* it stays away */
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(cb), 50);
    c->qb.level = 2;              /* it asks for less: no longer ours to slice, so it keeps nothing */
    xs_lv3_forget(&c->s, &c->b);
    xs_lv3_settle(g_lv3);
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    c->b.level3.nvidia = NULL;
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), FAKE_RM_DEFAULT_SLICE_US);
    free_scene(c);
}

/* A program's groups may come when its queues have work already: nothing else about them changes after that. */
static void groups_that_come_late(void **state)
{
    struct scene *c = calloc(1, sizeof(*c));

    (void)state;
    assert_non_null(c);
    lv3_scene_begin(&c->s);
    c->s.options.lv3_busy_us = 0;
    c->s.level3.nvidia = g_lv3;
    join(c, &c->b, &c->qb, &c->cb, 0);
    lv3_scene_add(&c->s, &c->a, &c->qa, DEVICE, 10);
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    give_groups(c, &c->a, &c->ca, 10);
    xs_lv3_touch_program(&c->s, &c->a); /* as each message of a program does */
    step(c, 1, NULL, true);
    assert_int_equal(SLICE(ca), 50000);
    assert_int_equal(SLICE(cb), 50);
    free_scene(c);
}

static void longer_beside_a_burst(void **state)
{
    struct scene *c = new_scene();
    uint64_t next;

    (void)state;
    c->s.options.lv3_busy_us = 200;
    c->s.options.lv3_busy_after_us = 0;
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), 50000);
    assert_int_equal(SLICE(cb), 200);
    next = step(c, 2, &c->qa, false); /* may be a gap */
    assert_int_equal(SLICE(cb), 200);
    assert_true(next <= XS_NS_PER_MS);
    step(c, 1, NULL, false);      /* it was the end: the next one is to start at once */
    assert_int_equal(SLICE(cb), 50);
    next = step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(cb), 50); /* not again so soon */
    assert_true(next <= 20 * XS_NS_PER_MS);
    step(c, 20, NULL, false);
    assert_int_equal(SLICE(cb), 200);
    free_scene(c);
}

/* The change to a longer slice may itself cost a slice in the middle of what is under way: not for a job that is launched
 * at once, but where the last burst went on launching, or once one lasts. */
static void longer_beside_gaps_or_length(void **state)
{
    struct scene *c = new_scene();
    _Atomic uint64_t *entered = &c->a.page->cells[c->qa.cell].entered;
    uint64_t next;

    (void)state;
    c->s.options.lv3_busy_us = 200;
    step(c, 1, &c->qb, true);
    for (int job = 0; job < 2; job++) {
        atomic_fetch_add(entered, 10);
        next = step(c, 19, &c->qa, true);
        assert_true(next <= 250 * XS_NS_PER_US);
        next = step(c, 0, NULL, false);
        assert_true(next <= 3 * XS_NS_PER_MS); /* of the 4 one is over */
        assert_int_equal(SLICE(cb), 50);
        atomic_fetch_add(entered, 10); /* the results are fetched */
        step(c, 0, &c->qa, false);
        step(c, 1, NULL, false);
        assert_int_equal(SLICE(cb), 50);
    }
    atomic_fetch_add(entered, 1); /* launches, one after the other */
    step(c, 19, &c->qa, true);
    step(c, 0, NULL, false);
    atomic_fetch_add(entered, 2);
    step(c, 0, NULL, false);
    assert_int_equal(SLICE(cb), 50); /* seen when it is over */
    step(c, 0, &c->qa, false);
    step(c, 1, NULL, false);
    assert_int_equal(SLICE(cb), 50);
    step(c, 19, &c->qa, true);
    assert_int_equal(SLICE(cb), 200); /* at once */
    step(c, 0, &c->qa, false);    /* it was not like the last one */
    step(c, 1, NULL, false);
    assert_int_equal(SLICE(cb), 50);
    step(c, 19, &c->qa, true);
    assert_int_equal(SLICE(cb), 50);
    step(c, 1, NULL, false);
    assert_int_equal(SLICE(cb), 50);
    step(c, 1, NULL, false);      /* launched at once, but long */
    assert_int_equal(SLICE(cb), 200);
    step(c, 0, &c->qa, false);
    step(c, 1, NULL, false);
    assert_int_equal(SLICE(cb), 50);
    step(c, 19, &c->qa, true);
    assert_int_equal(SLICE(cb), 200);
    free_scene(c);
}

/* A program that asks for less, or whose last queue goes, keeps nothing of what level 3 gave it. */
/* The program's only queue goes. */
static void drop_queue(struct scene *c)
{
    xs_list_remove(&c->qb.in_client);
    xs_user_quota_queue_gone(&c->s, &c->b, &c->qb);
}

static void given_back_below_level_3(void **state)
{
    struct scene *c = new_scene();

    (void)state;
    step(c, 1, &c->qb, true);
    for (int way = 0; way < 2; way++) {
        atomic_store(&c->b.page->cells[0].est_entered_ns, 50 * XS_NS_PER_MS);
        step(c, 100, &c->qa, true);
        assert_int_equal(SLICE(cb), 50);
        assert_int_equal(BOUND(b), c->s.options.lv3_inflight_us);
        if (way == 0)
            c->qb.level = 1;
        else
            drop_queue(c);
        c->s.level3.changed = true;
        step(c, 1, NULL, false);
        assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
        assert_int_equal(BOUND(b), 0);
        step(c, 1, &c->qa, false);
        c->qb.level = 3;
        step(c, 600, &c->qb, true);
    }
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    assert_int_equal(BOUND(b), 0);
    free_scene(c);
}

/* What is in flight is bounded for a process: a second device, where it has its own slices, takes nothing away. */
static void one_bound_for_all_devices(void **state)
{
    struct scene *c = new_scene();
    struct xs_server_queue more = {.client = &c->b, .level = 3, .cell = 1};
    struct xs_hints hints = {.utilization = 100, .deadline_us = -1, .laxity_us = -1};
    struct xs_lv3_program *program = g_program;
    struct context second;

    (void)state;
    tell_others_as = DEVICE + 0x100;
    assert_null(xs_user_quota_queue(&c->s, &c->b, &more, tell_others_as));
    more.sched = xs_sched_queue_add(c->s.sched, c->b.process, 77, tell_others_as, 1, &hints, c->s.now_ns, &more);
    xs_list_add(&c->b.queues, &more.in_client);
    g_program = c->b.level3.nvidia;
    new_context(&second, 4);
    assert_int_equal(tell(), 3);
    g_program = program;
    tell_others_as = 0;
    step(c, 1, &more, true);
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(cb), 50);
    assert_int_equal(fake_rm_slice(second.client, second.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_int_equal(BOUND(b), c->s.options.lv3_inflight_us);
    step(c, 1, &c->qa, false);
    step(c, 600, &c->qb, false);
    assert_int_equal(BOUND(b), 0);
    free_scene(c);
}

/* An operator who bounds what is in flight is not overruled by what is usual beside short slices; but by what was said of
 * those. */
static void an_operators_bound_holds(void **state)
{
    static const struct {
        uint64_t of_all, of_these, bound; /* 0: as it is */
    } k_rows[] = {{0, 0, 1000}, {300, 0, 0}, {300, 700, 700}, {0, 700, 700}};
    struct scene *c = new_scene();
    const struct xs_options usual = c->s.options;

    (void)state;
    step(c, 1, &c->qb, true);
    for (unsigned i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        c->s.options = usual;
        if (k_rows[i].of_all)
            c->s.options.inflight_us = k_rows[i].of_all;
        if (k_rows[i].of_these)
            c->s.options.lv3_inflight_us = k_rows[i].of_these;
        step(c, 1, &c->qa, true);
        assert_int_equal(SLICE(cb), 50);
        assert_int_equal(BOUND(b), k_rows[i].bound);
    }
    free_scene(c);
}

/* What its queues were told of gates since the last look. */
static uint32_t told_of_gates(struct xs_client *client, struct xs_server_queue *q)
{
    uint32_t gates = q->send_config ? q->config.gates : XS_GATES_KEEP;

    q->send_config = false;
    q->config.gates = XS_GATES_KEEP;
    client->waiting_to_send = true; /* so that what it would be sent can be seen */
    return gates;
}

/* Who is cut short has gates where that is asked for, for as long as it is; so have queues that it makes meanwhile. */
static void gates_beside_slices(void **state)
{
    struct scene *c = new_scene();

    (void)state;
    told_of_gates(&c->a, &c->qa);
    told_of_gates(&c->b, &c->qb);
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);
    assert_int_equal(told_of_gates(&c->b, &c->qb), XS_GATES_ON);
    assert_int_equal(told_of_gates(&c->a, &c->qa), XS_GATES_KEEP);
    step(c, 1, &c->qa, true);
    assert_int_equal(told_of_gates(&c->b, &c->qb), XS_GATES_KEEP); /* once */
    c->qb.order = ++c->s.queues_ever; /* as one that came meanwhile */
    step(c, 1, &c->qa, true);
    assert_int_equal(told_of_gates(&c->b, &c->qb), XS_GATES_ON);
    step(c, 1, &c->qa, false);
    assert_int_equal(told_of_gates(&c->b, &c->qb), XS_GATES_KEEP); /* it may come again at once */
    step(c, 501, &c->qb, true);
    assert_int_equal(told_of_gates(&c->b, &c->qb), XS_GATES_OFF);
    step(c, 1, &c->qa, true);
    assert_int_equal(told_of_gates(&c->b, &c->qb), XS_GATES_ON);
    assert_int_equal(told_of_gates(&c->a, &c->qa), XS_GATES_KEEP);
    free_scene(c);
}

/* A program that the driver denies its slices has no bound of theirs, also when no other has groups on the device. */
static void no_bound_where_denied(void **state)
{
    struct scene *c = new_scene();

    (void)state;
    fake_rm_deny(XS_NVRM_CMD_SET_TIMESLICE, XS_NVRM_ERR_PERMISSIONS, 1, 1); /* the second: the background's */
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);
    assert_true(xs_lv3_denied(c->b.level3.nvidia)); /* by another thread: before the bound was given, or after */
    step(c, 1, &c->qa, true);
    assert_int_equal(BOUND(b), 0);
    c->b.process->inflight_us = c->s.options.lv3_inflight_us;
    xs_lv3_forget(&c->s, &c->a);
    step(c, 1, NULL, false);
    assert_int_equal(BOUND(b), 0);
    free_scene(c);
}

/* Held ones that the device cuts short wait for nobody to be awake; that follows what they have. */
static void who_waits_for_a_word(void **state)
{
    struct scene *c = new_scene();

    (void)state;
    step(c, 1, &c->qb, true);
    c->qb.ready = c->qb.closed = true; /* as its server has it */
    xs_prewake_queue(&c->s, &c->qb, c->s.now_ns);
    assert_true(c->qb.waits);     /* nobody came yet: its slices are long */
    step(c, 1, &c->qa, true);
    assert_false(c->qb.waits);
    step(c, 2, &c->qa, false);
    assert_false(c->qb.waits);    /* kept for a while */
    step(c, 501, NULL, false);
    assert_true(c->qb.waits);
    step(c, 1, &c->qa, true);
    assert_false(c->qb.waits);
    c->qb.level = 1;
    step(c, 1, &c->qa, true);
    assert_true(c->qb.waits);
    c->qb.level = 3;
    step(c, 1, &c->qa, true);
    assert_false(c->qb.waits);
    step(c, 1, &c->qa, false);
    step(c, 501, NULL, false);
    fake_rm_deny(XS_NVRM_CMD_SET_TIMESLICE, XS_NVRM_ERR_PERMISSIONS, 0, 2); /* of both */
    step(c, 1, &c->qa, true);
    assert_true(xs_lv3_denied(c->b.level3.nvidia));
    xs_prewake_queue(&c->s, &c->qb, c->s.now_ns);
    assert_true(c->qb.waits);
    free_scene(c);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(slices_follow), T(groups_that_come_late), T(longer_beside_a_burst), T(longer_beside_gaps_or_length),
        T(given_back_below_level_3), T(one_bound_for_all_devices), T(an_operators_bound_holds),
        T(gates_beside_slices), T(no_bound_where_denied), T(who_waits_for_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
