/* SPDX-License-Identifier: Apache-2.0 */
/* A program with many queues leaves in steps of bounded work. Meanwhile it is in nobody's way, and nobody sees it. */
#include "in_process.h"

#include "xserver/shares/rate_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEPS  3
#define QUEUES (STEPS * XS_LEAVES_A_ROUND + XS_LEAVES_A_ROUND / 2)
#define DEVICE 1

static struct raw_client g_many, g_other;

static struct xs_client *client_of(const struct raw_client *c)
{
    XS_LIST_FOR(it, &g_inside.clients, struct xs_client, link)
        if (it->session == c->session)
            return it;
    return NULL;
}

static uint64_t queues(void)
{
    struct xs_sched_counters n;

    xs_sched_counters(g_inside.sched, &n);
    return n.queues;
}

/* g_many has many queues with work, and the other one waits for them. */
static int setup(void **state)
{
    (void)state;
    inside_start();
    inside_join(&g_many);
    inside_join(&g_other);
    inside_add(&g_other, 0, DEVICE, 0);
    for (uint32_t cell = 0; cell < QUEUES; cell++) {
        inside_add(&g_many, cell, DEVICE, 10);
        raw_submit(&g_many, cell);
    }
    raw_submit(&g_other, 0);
    inside_passes(1000);
    assert_false(raw_permitted(&g_other, 0));
    assert_int_equal(queues(), QUEUES + 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    raw_leave(&g_other);
    return inside_stop();
}

static void hang_up(void)
{
    raw_leave(&g_many);
    inside_serve();
}

static void finish(void)
{
    for (int i = 0; i < 10 * STEPS && !xs_list_empty(&g_inside.leaving); i++)
        xs_client_leave_on(&g_inside);
    assert_true(xs_list_empty(&g_inside.leaving));
    assert_int_equal(g_inside.leave_ns, UINT64_MAX);
}

static void in_steps(void **state)
{
    const struct xs_client_record *record;

    (void)state;
    hang_up();
    for (unsigned i = 1; i < STEPS; i++) {
        assert_int_equal(queues(), QUEUES + 1 - i * XS_LEAVES_A_ROUND);
        assert_int_equal(g_inside.n_clients, 2);
        xs_client_leave_on(&g_inside);
    }
    xs_client_leave_on(&g_inside);
    assert_int_equal(queues(), 1);
    assert_int_equal(g_inside.n_clients, 1);
    finish();
    record = xs_history_at(&g_inside.history, 0);
    assert_int_equal(record->entered, QUEUES);
    assert_string_equal(record->left_why, "left");
    assert_int_equal(g_inside.quota.used[XS_POOL_QUEUES], 1);
    assert_int_equal(g_inside.quota.used[XS_POOL_SESSIONS], 1);
}

/* The queues that are still there have work, as far as their page says. */
static void frees_the_device_at_once(void **state)
{
    (void)state;
    hang_up();
    inside_passes(1000);
    assert_true(raw_permitted(&g_other, 0));
    assert_true(queues() > 1);
    for (int i = 0; i < 10; i++) {
        inside_passes(10000);
        assert_true(raw_permitted(&g_other, 0));
    }
    assert_true(queues() > 1);
    finish();
}

/* A program that lives on must not wait for good: nothing renews its lease, and each step opens words. */
static void renews_no_lease(void **state)
{
    struct xs_server_page *server = g_many.server;
    struct xs_client *c = client_of(&g_many);
    uint64_t until;

    (void)state;
    xs_sched_process_set_held(g_inside.sched, c->process, true);
    (void)xs_sched_renew_leases(g_inside.sched, g_inside.now_ns);
    until = atomic_load(&c->server_page->h.lease_until_ns);
    assert_true(until > g_inside.now_ns);
    xs_client_drop(&g_inside, c, "a test");
    g_inside.now_ns += XS_NS_PER_S;
    (void)xs_sched_renew_leases(g_inside.sched, g_inside.now_ns);
    assert_int_equal(atomic_load(&c->server_page->h.lease_until_ns), until);
    finish();
    for (uint32_t cell = 0; cell < QUEUES; cell++)
        assert_int_equal(atomic_load(&server->cells[cell].permitted), XS_PERMIT_OPEN);
    raw_leave(&g_many);
}

static void nobody_sees_it(void **state)
{
    uint64_t handle = raw_handle(&g_many, QUEUES - 1);
    struct xs_request *r;

    (void)state;
    assert_non_null(xs_handles_get(&g_inside, handle));
    hang_up();
    assert_true(queues() > 1);
    assert_null(xs_handles_get(&g_inside, handle));
    r = xs_request_new(XS_REQ_QUEUES);
    assert_true(xs_request_make_room(r, QUEUES + 1, 2));
    r->asker.all = true;
    xs_requests_handle(&g_inside, r);
    for (int i = 0; g_inside.walking && i < 100; i++)
        xs_requests_walk(&g_inside);
    assert_int_equal(r->status, 200);
    assert_int_equal(r->n_queues, 1);
    xs_request_free(r);
    finish();
}

/* A process may join again while its session from before still leaves: with the same handles, and with what an operator wished
 * for it. */
static void joins_again(void **state)
{
    struct raw_client again;
    struct xs_client *c = client_of(&g_many);

    (void)state;
    c->record.priority_set = true;
    c->record.priority = -7;
    hang_up();
    inside_join_again(&again, &g_many);
    assert_false(xs_list_empty(&g_inside.leaving));
    for (uint32_t cell = 0; cell < 4; cell++)
        inside_add(&again, cell, DEVICE, 10);
    c = client_of(&again);
    assert_non_null(c);
    assert_int_equal(c->record.queues, 4);
    assert_int_equal(c->record.priority, -7);
    finish();
    assert_int_equal(queues(), 5);
    for (uint32_t cell = 0; cell < 4; cell++)
        assert_non_null(xs_handles_get(&g_inside, raw_handle(&again, cell)));
    raw_leave(&again);
}

/* A user who has spent what he may tell xserver leaves later, but frees the device at once. */
static void costs_its_user(void **state)
{
    struct xs_client *c = client_of(&g_many);
    struct xs_quota_user *u = c->user;
    uint64_t left, before;

    (void)state;
    c->privileged = false;
    u->messages.spent = 0;
    u->messages.since_ns = g_inside.now_ns;
    hang_up();
    assert_int_equal(u->messages.spent, XS_LEAVES_A_ROUND);
    u->messages.spent = XS_RATE_BURST * XS_RATE_PARTS + XS_RATE_A_SECOND * XS_RATE_PARTS / 100; /* 10 ms */
    before = queues();
    for (int i = 0; i < 10; i++) {
        g_inside.now_ns += XS_NS_PER_MS / 2;
        (void)xs_sched_run(g_inside.sched, g_inside.now_ns);
        xs_client_leave_on(&g_inside);
    }
    assert_true(raw_permitted(&g_other, 0));
    left = queues();
    assert_int_equal(left, before);
    assert_true(g_inside.leave_ns > g_inside.now_ns && g_inside.leave_ns != UINT64_MAX);
    for (int i = 0; i < 40; i++) {
        g_inside.now_ns += XS_NS_PER_MS / 2;
        xs_client_leave_on(&g_inside);
    }
    finish();
    assert_int_equal(queues(), 1);
}

static void the_server_ends(void **state)
{
    (void)state;
    hang_up();
    assert_true(queues() > 1);
    xs_server_leave(&g_inside);
    assert_int_equal(queues(), 0);
    assert_true(xs_list_empty(&g_inside.queues));
    assert_true(xs_list_empty(&g_inside.dead));
}

/* Unmapping the pages of many sessions goes in steps as well. */
static void pages_in_steps(void **state)
{
    static struct raw_client c[16];
    unsigned dead = 0;

    (void)state;
    for (unsigned i = 0; i < XS_ARRAY_LEN(c); i++)
        inside_join(&c[i]);
    for (unsigned i = 0; i < XS_ARRAY_LEN(c); i++)
        raw_leave(&c[i]);
    inside_serve();
    for (unsigned i = 0; i < 6; i++)
        xs_client_free_dead(&g_inside, XS_FREES_A_ROUND);
    for (struct xs_list *at = g_inside.dead.next; at != &g_inside.dead; at = at->next)
        dead++;
    assert_int_equal(dead, XS_ARRAY_LEN(c) - 3); /* each has two pages */
    raw_leave(&g_many);
    inside_serve();
    finish();
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(in_steps), T(frees_the_device_at_once), T(renews_no_lease), T(nobody_sees_it), T(joins_again), T(costs_its_user),
        T(the_server_ends), T(pages_in_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
