/* SPDX-License-Identifier: Apache-2.0 */
/* What the status page draws when somebody opens it: what programs used until then. */
#include "in_process.h"

#include "http/http_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define DEVICE 1

static struct raw_client g_client[XS_LOADS_PROGRAMS + 3];
static struct xs_load_point g_points[XS_LOADS_LENGTH];

static int setup(void **state)
{
    (void)state;
    inside_start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return inside_stop();
}

static void join(unsigned i, unsigned queues)
{
    inside_join(&g_client[i]);
    for (unsigned k = 0; k < queues; k++)
        inside_add(&g_client[i], k, DEVICE, 0);
}

static void work(unsigned i, uint32_t cell, uint64_t ms)
{
    atomic_fetch_add(&g_client[i].page->cells[cell].est_completed_ns, ms * XS_NS_PER_MS);
}

static void pass(uint64_t ms)
{
    g_inside.now_ns += ms * XS_NS_PER_MS;
    xs_loads_look(&g_inside);
}

static size_t points(void)
{
    return xs_loads_copy(&g_inside.loads, g_points);
}

static uint32_t millis_of(const struct xs_load_point *p, unsigned i)
{
    for (uint32_t k = 0; k < p->n; k++)
        if (p->programs[k].session == g_client[i].session)
            return p->programs[k].millis;
    return 0;
}

static void leave(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        raw_leave(&g_client[i]);
    inside_serve();
}

static void shares_of_the_time_that_passed(void **state)
{
    (void)state;
    pass(1000);
    assert_int_equal(points(), 0); /* no program was here */
    join(0, 2);
    join(1, 1);
    pass(1000);
    work(0, 0, 200);
    work(0, 1, 100);
    work(1, 0, 500);
    pass(999);
    assert_int_equal(points(), 1); /* once a second */
    pass(1);
    assert_int_equal(points(), 2);
    assert_int_equal(millis_of(&g_points[1], 0), 300);
    assert_int_equal(millis_of(&g_points[1], 1), 500);
    work(0, 0, 1000); /* xserver sleeps for 4 s: one point for all of that */
    pass(4000);
    assert_int_equal(points(), 3);
    assert_int_equal(millis_of(&g_points[2], 0), 250);
    assert_int_equal(g_points[2].time_ns - g_points[1].time_ns, 4 * XS_NS_PER_S);
    assert_int_equal(g_points[2].n, 1);
    leave(2);
}

static void queues_that_went_count(void **state)
{
    union xs_msg m = {0};

    (void)state;
    join(0, 2);
    pass(1000);
    pass(1000);
    work(0, 0, 100);
    work(0, 1, 300);
    m.queue_remove.handle = raw_handle(&g_client[0], 1);
    raw_send(&g_client[0], &m, XS_MSG_queue_remove);
    inside_serve();
    pass(1000);
    assert_int_equal(points(), 3);
    assert_int_equal(millis_of(&g_points[2], 0), 400);
    leave(1);
}

/* Programs whose own figures come to more than the time are scaled, and those beyond the places are one number. */
static void bounds(void **state)
{
    const unsigned n = XS_ARRAY_LEN(g_client);
    uint64_t sum = 0;

    (void)state;
    for (unsigned i = 0; i < n; i++)
        join(i, 1);
    pass(1000);
    g_inside.now_ns += XS_NS_PER_S; /* no queue has more than the time since it came */
    pass(0);
    for (unsigned i = 0; i < n; i++)
        work(i, 0, 100 + i);
    pass(1000);
    assert_int_equal(points(), 3);
    assert_int_equal(g_points[2].n, XS_LOADS_PROGRAMS);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(millis_of(&g_points[2], i), 0); /* the smallest ones */
    sum = g_points[2].others_millis;
    for (unsigned i = 0; i < n; i++)
        sum += millis_of(&g_points[2], i);
    assert_in_range(sum, 1000 - n, 1000);
    assert_true(millis_of(&g_points[2], n - 1) > millis_of(&g_points[2], 3));
    for (unsigned i = 0; i < 2 * XS_LOADS_LENGTH; i++)
        pass(1000);
    assert_int_equal(points(), XS_LOADS_LENGTH);
    for (unsigned i = 1; i < XS_LOADS_LENGTH; i++)
        assert_int_equal(g_points[i].time_ns - g_points[i - 1].time_ns, XS_NS_PER_S);
    leave(n);
}

static json_t *event(struct xs_asker asker, bool loads)
{
    struct xs_request *r = xs_request_new(XS_REQ_METRICS);
    json_t *o;

    r->asker = asker;
    r->params.loads = loads;
    assert_true(xs_request_make_room(r, 16, 16));
    xs_requests_handle(&g_inside, r);
    for (int i = 0; g_inside.walking && i < 100; i++)
        xs_requests_walk(&g_inside);
    o = xs_json_event(r);
    xs_request_free(r);
    return o;
}

static void others_see_their_own(void **state)
{
    struct xs_asker all = {.all = true, .known = true}, own = {.known = true, .uid = (uint32_t)geteuid()},
                    other = {.known = true, .uid = 4711};
    json_t *o, *last;

    (void)state;
    join(0, 1);
    pass(1000);
    g_inside.counts.decision.count = 0;
    pass(1000);
    work(0, 0, 250);
    xs_latency_count(&g_inside.counts.decision, 3000);
    pass(1000);
    g_inside.now_ns += XS_NS_PER_MS;
    o = event(all, true);
    last = json_array_get(json_object_get(o, "history"), 2);
    assert_int_equal(json_integer_value(json_object_get(last, "ago_us")), 1000);
    assert_int_equal(json_integer_value(json_object_get(last, "mean_ns")), 3000);
    assert_int_equal(json_integer_value(json_object_get(last, "p99_ns")), 4096);
    last = json_array_get(json_object_get(last, "programs"), 0);
    assert_int_equal(json_integer_value(json_array_get(last, 0)), g_client[0].session);
    assert_int_equal(json_integer_value(json_array_get(last, 1)), 250);
    json_decref(o);
    o = event(own, true);
    last = json_array_get(json_object_get(o, "history"), 2);
    assert_int_equal(json_array_size(json_object_get(last, "programs")), 1);
    assert_null(json_object_get(last, "mean_ns"));
    assert_null(json_object_get(last, "others"));
    json_decref(o);
    o = event(other, true);
    last = json_array_get(json_object_get(o, "history"), 2);
    assert_int_equal(json_array_size(json_object_get(last, "programs")), 0);
    json_decref(o);
    o = event(all, false);
    assert_null(json_object_get(o, "history"));
    json_decref(o);
    leave(1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(shares_of_the_time_that_passed), T(queues_that_went_count), T(bounds),
                                       T(others_see_their_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
