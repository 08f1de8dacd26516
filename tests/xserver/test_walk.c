/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at all queues goes in steps, and what is looked at may go meanwhile; counters of a program never step back. */
#include "in_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define QUEUES 300 /* more than two steps */

static struct raw_client g_first, g_second;

static int setup(void **state)
{
    (void)state;
    inside_start();
    inside_join(&g_first);
    inside_join(&g_second);
    for (uint32_t cell = 0; cell < QUEUES; cell++) {
        inside_add(&g_first, cell, 1, 0);
        inside_add(&g_second, cell, 1, 0);
        raw_submit(&g_first, cell);
        raw_submit(&g_second, cell);
    }
    inside_passes(1000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    raw_leave(&g_first);
    raw_leave(&g_second);
    return inside_stop();
}

static struct xs_request *ask(enum xs_request_kind kind)
{
    struct xs_request *r = xs_request_new(kind);

    assert_non_null(r);
    assert_true(xs_request_make_room(r, 2 * QUEUES, 2));
    r->asker.all = true;
    xs_requests_handle(&g_inside, r);
    return r;
}

/* What was submitted, as the answer has it. */
static uint64_t entered(struct xs_request *r, const struct raw_client *c)
{
    const struct xs_client_record *record = xs_request_client(r, c->session);

    assert_int_equal(r->status, 200);
    assert_non_null(record);
    return record->entered;
}

static void finish(void)
{
    for (int i = 0; g_inside.walking && i < 100; i++)
        xs_requests_walk(&g_inside);
    assert_null(g_inside.walking);
}

static void looked_at(enum xs_request_kind kind, uint64_t first, uint64_t second)
{
    struct xs_request *r = ask(kind);

    finish();
    assert_int_equal(entered(r, &g_first), first);
    assert_int_equal(entered(r, &g_second), second);
    xs_request_free(r);
}

static void queues_go(void **state)
{
    struct xs_request *of_metrics, *of_clients;

    (void)state;
    looked_at(XS_REQ_METRICS, QUEUES, QUEUES);
    of_metrics = ask(XS_REQ_METRICS);
    xs_requests_walk(&g_inside);
    of_clients = ask(XS_REQ_CLIENTS);
    for (uint32_t cell = 0; cell < QUEUES; cell += 3) {
        union xs_msg m = {.queue_remove = {.handle = raw_handle(&g_first, cell)}};

        raw_send(&g_first, &m, XS_MSG_queue_remove);
        inside_serve();
        if (cell % 60 == 0)
            xs_requests_walk(&g_inside);
    }
    finish();
    assert_int_equal(entered(of_metrics, &g_first), QUEUES);
    assert_int_equal(entered(of_metrics, &g_second), QUEUES);
    assert_int_equal(entered(of_clients, &g_first), QUEUES);
    assert_int_equal(entered(of_clients, &g_second), QUEUES);
    xs_request_free(of_metrics);
    xs_request_free(of_clients);
    looked_at(XS_REQ_CLIENTS, QUEUES, QUEUES);
}

static void a_program_leaves(void **state)
{
    struct xs_request *r = ask(XS_REQ_METRICS), *of_queues = ask(XS_REQ_QUEUES);

    (void)state;
    xs_requests_walk(&g_inside);
    raw_leave(&g_first);
    inside_serve();
    xs_requests_walk(&g_inside);
    xs_client_free_dead(&g_inside, 100);
    finish();
    assert_int_equal(entered(r, &g_first), QUEUES);
    assert_int_equal(entered(r, &g_second), QUEUES);
    assert_int_equal(entered(of_queues, &g_second), 0); /* it has no counts of programs */
    xs_request_free(r);
    xs_request_free(of_queues);
}

/* What was begun is answered, and the place where it was in the list of queues is gone before the queues are. */
static void the_server_ends(void **state)
{
    struct xs_request *r = ask(XS_REQ_QUEUES);

    (void)state;
    xs_requests_walk(&g_inside);
    assert_ptr_equal(g_inside.walking, r);
    assert_true(r->n_queues > 0 && r->n_queues < QUEUES);
    xs_server_leave(&g_inside);
    assert_int_equal(r->status, 503);
    assert_true(xs_list_empty(&g_inside.queues));
    xs_request_free(r);
}

/* The main loop says how much room a snapshot needs, and never takes more than there is. */
static void needs_room(void **state)
{
    struct xs_request *r = xs_request_new(XS_REQ_METRICS);
    size_t queues, clients;

    (void)state;
    r->asker.all = true;
    xs_requests_need(&g_inside, r, &queues, &clients);
    assert_int_equal(queues, 2 * QUEUES);
    assert_int_equal(clients, 2);
    for (size_t less = 0; less < 2; less++) {
        r->n_queues = r->n_clients = 0;
        assert_true(xs_request_make_room(r, queues - less, clients - less));
        xs_requests_handle(&g_inside, r);
        finish();
        assert_int_equal(r->status, 200);
        assert_int_equal(r->n_queues, queues - less);
        assert_int_equal(r->n_clients, clients - less);
    }
    xs_request_free(r);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(queues_go), T(a_program_leaves), T(needs_room), T(the_server_ends)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
