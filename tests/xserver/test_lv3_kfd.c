/* SPDX-License-Identifier: Apache-2.0 */
/* xserver's level 3 for AMD's driver, to the nanosecond: when a program that is held is told to take its queues off the
 * device. The clock is a number of the test's, the program a page, its socket a pair; no kernel driver is needed. */
#include "base/xs_base.h"
#include "wire/wire.h"
#include "xserver/level3/lv3_kfd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/socket.h>

#include <cmocka.h>

#include "lv3_scene.h"

#define DEVICE  ((uint64_t)kDeviceTypeGPU << 32 | 0xc300u)
#define MS      XS_NS_PER_MS
#define PAIR_NS (2 * 900 * XS_NS_PER_US) /* what is off for less is not worth it, before a pair was measured */

struct scene {
    struct xs_server s;
    struct xs_client a, b;        /* urgent, background */
    struct xs_server_queue qa, qb;
    int program[2];               /* their ends of the sockets */
};

static void join(struct scene *c, struct xs_client *client, struct xs_server_queue *q, int32_t priority, int *ret_end)
{
    int ends[2];

    lv3_scene_add(&c->s, client, q, DEVICE, priority);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    client->fd = ends[0];
    *ret_end = ends[1];
    client->record.protocol_minor = 4;
    assert_null(xs_lv3_kfd_device(&c->s, client, &(struct xs_msg_kfd_device){.device = DEVICE, .queues = 4}));
}

static int setup(void **state)
{
    struct scene *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    lv3_scene_begin(&c->s);
    join(c, &c->a, &c->qa, 10, &c->program[0]);
    join(c, &c->b, &c->qb, 0, &c->program[1]);
    *state = c;
    return 0;
}

static int teardown(void **state)
{
    struct scene *c = *state;

    xs_lv3_forget(&c->s, &c->a);
    xs_lv3_forget(&c->s, &c->b);
    assert_int_equal(c->s.level3.n_kfd, 0);
    lv3_scene_end(&c->s, &c->a, &c->b);
    for (int i = 0; i < 2; i++)
        close(c->program[i]);
    close(c->a.fd);
    close(c->b.fd);
    free(c->a.page);
    free(c->b.page);
    free(c);
    return 0;
}

/* Somebody became ready or idle. @return when the server wants to look again, from now */
static uint64_t ready(struct scene *c, struct xs_server_queue *q, bool is)
{
    uint64_t next;

    xs_sched_queue_set_ready(c->s.sched, q->sched, is, c->s.now_ns);
    xs_sched_run(c->s.sched, c->s.now_ns);
    c->s.now_ns += MS;            /* whoever ran dry has lingered */
    xs_sched_run(c->s.sched, c->s.now_ns);
    c->s.level3.changed = true;
    next = xs_lv3_update(&c->s);
    return next == UINT64_MAX ? next : next - c->s.now_ns;
}

/* Time passes and nothing happens. */
static uint64_t later(struct scene *c, uint64_t ns)
{
    uint64_t next;

    c->s.now_ns += ns;
    next = xs_lv3_update(&c->s);
    return next == UINT64_MAX ? next : next - c->s.now_ns;
}

/* A kernel of so long an estimate is launched; it ends. */
static void launch(struct xs_client *client, uint64_t est_ns)
{
    atomic_fetch_add(&client->page->cells[0].entered, 1);
    atomic_fetch_add(&client->page->cells[0].est_entered_ns, est_ns);
    atomic_fetch_add(&client->page->cells[0].returned, 1);
}

static void ends(struct xs_client *client, uint64_t est_ns)
{
    atomic_fetch_add(&client->page->cells[0].est_completed_ns, est_ns);
    atomic_fetch_add(&client->page->cells[0].marked, 1); /* the device says so */
}

static bool is_off(struct scene *c)
{
    return xs_lv3_kfd_of(&c->b, DEVICE)->off;
}

/* Its estimate says at once that it is worth it. */
static void known(void **state)
{
    struct scene *c = *state;

    ready(c, &c->qb, true);
    launch(&c->b, 400 * MS);
    ready(c, &c->qa, true);
    assert_true(is_off(c));
    ready(c, &c->qa, false);
    assert_false(is_off(c));
}

/* Its hardware queues go before its XQueues do, as when a program ends: there is nothing to take off or to give back. */
static void no_queues_left(void **state)
{
    struct scene *c = *state;

    ready(c, &c->qb, true);
    launch(&c->b, 400 * MS);
    ready(c, &c->qa, true);
    assert_true(is_off(c));
    for (uint32_t queues = 0; queues <= 4; queues += 4) {
        assert_null(xs_lv3_kfd_device(&c->s, &c->b, &(struct xs_msg_kfd_device){.device = DEVICE, .queues = queues}));
        assert_true(!queues == !xs_lv3_kfd_of(&c->b, DEVICE));
        c->s.level3.changed = true;
        later(c, MS);
        ready(c, &c->qa, false);
        ready(c, &c->qa, true);
    }
    ready(c, &c->qa, false);
    assert_false(is_off(c));
}

/* With no queue at level 3 it keeps none off. */
static void given_back_below_level_3(void **state)
{
    struct scene *c = *state;

    ready(c, &c->qb, true);
    launch(&c->b, 400 * MS);
    ready(c, &c->qa, true);
    assert_true(is_off(c));
    c->qb.level = 1;
    c->s.level3.changed = true;
    later(c, 0);
    assert_false(is_off(c));
}

/* A kernel that was never timed has a guess of 1 ms for an estimate, and would keep it: it ends while its program is held,
 * and what is found to be over then says nothing about how long it took. So what it takes is looked at. */
static void never_timed(void **state)
{
    struct scene *c = *state;

    for (int i = 0; i < 3; i++) { /* at most 50 a second */
        ready(c, &c->qb, true);
        launch(&c->b, 1 * MS);
        assert_int_equal(ready(c, &c->qa, true), PAIR_NS + 1);
        assert_false(is_off(c));
        later(c, PAIR_NS);
        assert_false(is_off(c));
        later(c, 1);
        assert_true(is_off(c));
        /* once off, until it may run again; what the lease takes only */
        assert_int_equal(later(c, 50 * MS), 50 * MS);
        assert_true(is_off(c));
        later(c, 50 * MS);
        assert_true(is_off(c));
        ready(c, &c->qa, false);
        assert_false(is_off(c));
        later(c, 300 * MS);
        ends(&c->b, 1 * MS);
    }
}

/* Kernels that do end are worth nothing, however many; and nobody looks for ever. */
static void short_ones(void **state)
{
    struct scene *c = *state;

    ready(c, &c->qb, true);
    for (int i = 0; i < 3; i++)
        launch(&c->b, MS / 4);
    assert_int_equal(ready(c, &c->qa, true), PAIR_NS + 1);
    for (int i = 0; i < 2; i++) {
        later(c, MS / 2);
        ends(&c->b, MS / 4);
        c->s.level3.changed = true;
        assert_int_equal(later(c, 0), PAIR_NS + 1);
    }
    ends(&c->b, MS / 4);
    later(c, PAIR_NS + 1);
    assert_false(is_off(c));
    assert_int_equal(later(c, 500 * MS), UINT64_MAX);
    assert_false(is_off(c));
}

/* A program that had nothing in flight for long, and then has, did not run all that time. */
static void after_a_rest(void **state)
{
    struct scene *c = *state;

    ready(c, &c->qb, true);
    launch(&c->b, MS);
    ends(&c->b, MS);
    later(c, 1000 * MS);
    launch(&c->b, MS);
    ready(c, &c->qa, true);
    assert_false(is_off(c));
    later(c, PAIR_NS);
    assert_false(is_off(c));
    later(c, 1);
    assert_true(is_off(c));
}

/* Too soon after the last time: as soon as it may be. */
static void not_too_often(void **state)
{
    struct scene *c = *state;
    uint64_t next;

    ready(c, &c->qb, true);
    launch(&c->b, 400 * MS);
    ready(c, &c->qa, true);
    assert_true(is_off(c));
    ready(c, &c->qa, false);
    next = ready(c, &c->qa, true);
    assert_int_equal(next, 18 * MS);      /* 20 ms after the last time, 2 of which are over */
    assert_false(is_off(c));
    later(c, next);
    assert_true(is_off(c));
}

/* What may not be switched off is not looked at. */
static void not_asked_for(void **state)
{
    struct scene *c = *state;

    c->s.options.lv3_queues = false;
    ready(c, &c->qb, true);
    launch(&c->b, 400 * MS);
    ready(c, &c->qa, true);
    later(c, 50 * MS);
    assert_false(is_off(c));
    assert_int_equal(later(c, 50 * MS), UINT64_MAX);
}

#define HOSTILE 8
#define THEIRS  2048u
#define LOOKS   300u /* XS_LV3_LOOKS, and two for each program */

/* As many claims and queues as quotas allow, on the very device: what a decision looks at stays below a fixed count. */
static void claims_cost_little(void **state)
{
    struct scene *c = *state;
    struct xs_client *them = calloc(HOSTILE, sizeof(*them));
    struct xs_server_queue *queues = calloc(HOSTILE * THEIRS, sizeof(*queues));
    struct xs_hints hints = {.utilization = 100, .deadline_us = -1, .laxity_us = -1};
    uint64_t before, most = 0;

    assert_true(them && queues);
    for (unsigned i = 0; i < HOSTILE; i++) {
        them[i].fd = -1;
        lv3_scene_add(&c->s, &them[i], &queues[i * THEIRS], DEVICE, -1 - (int32_t)i);
        for (unsigned k = 1; k < THEIRS; k++) {
            struct xs_server_queue *q = &queues[i * THEIRS + k];

            assert_null(xs_user_quota_queue(&c->s, &them[i], q, DEVICE + (k < XS_LV3_KFD_DEVICES ? k : 0)));
            xs_list_init(&q->in_unsent);
            q->client = &them[i];
            q->level = 3;
            q->sched = xs_sched_queue_add(c->s.sched, them[i].process, 0, q->device, k, &hints, c->s.now_ns, q);
            assert_non_null(q->sched);
        }
        for (unsigned k = 0; k < XS_LV3_KFD_DEVICES; k++)
            assert_null(xs_lv3_kfd_device(&c->s, &them[i], &(struct xs_msg_kfd_device){.device = DEVICE + k, .queues = 4}));
        assert_non_null(xs_lv3_kfd_device(&c->s, &them[i], &(struct xs_msg_kfd_device){.device = 1, .queues = 4}));
    }
    later(c, 0);
    for (int i = 0; i < 10; i++) {
        before = c->s.counts.level3_looks;
        c->s.now_ns += MS;
        xs_lv3_touch(&c->s, DEVICE);
        later(c, 0);
        most = XS_MAX(most, c->s.counts.level3_looks - before);
    }
    assert_in_range(most, 1, LOOKS);
    for (unsigned i = 0; i < HOSTILE; i++) {
        xs_lv3_forget(&c->s, &them[i]);
        xs_list_remove(&them[i].link);
        xs_sched_process_remove(c->s.sched, them[i].process, c->s.now_ns);
        xs_user_quota_free_devices(&them[i]);
        free(them[i].page);
    }
    free(them);
    free(queues);
}

/* A device that it has no queue on: nobody looks, whatever it says. */
static void claims_without_queues_are_not_believed(void **state)
{
    struct scene *c = *state;
    uint64_t before;

    assert_null(xs_lv3_kfd_device(&c->s, &c->b, &(struct xs_msg_kfd_device){.device = DEVICE + 5, .queues = 4}));
    later(c, 0);
    assert_int_equal(c->s.level3.n_devices, 1);
    assert_null(xs_lv3_kfd_of(&c->b, DEVICE + 5));
    before = c->s.counts.level3_looks;
    xs_lv3_touch(&c->s, DEVICE + 5);
    later(c, 0);
    assert_int_equal(c->s.counts.level3_looks, before);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(known), T(no_queues_left), T(given_back_below_level_3), T(never_timed), T(short_ones), T(after_a_rest),
        T(not_too_often), T(not_asked_for), T(claims_cost_little), T(claims_without_queues_are_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
