/* SPDX-License-Identifier: Apache-2.0 */
/* Who is expected: a server in this process, whose time is the test's. */
#include "in_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HERE  1u
#define THERE 2u
#define KNOWN 12 /* requests after which it is known when one comes */

static struct raw_client g_high, g_low, g_high_there, g_low_there;

/* As level 3 does when it gives slices, and takes them back. */
static void set_short(const struct raw_client *of, uint64_t device, bool cut_short)
{
    XS_LIST_FOR(c, &g_inside.clients, struct xs_client, link) {
        if (c->record.handle_prefix != of->prefix)
            continue;
        if (!g_inside.level3.nvidia)
            g_inside.level3.nvidia = xs_lv3_new();
        if (!c->level3.nvidia) {
            c->level3.nvidia = xs_lv3_join(g_inside.level3.nvidia, 1);
            g_inside.level3.n_programs++;
        }
        assert_non_null(c->level3.nvidia);
        c->level3.on[0] = (struct xs_lv3_on_device){.device = device, .in_force.cut_short = cut_short};
        XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client)
            xs_prewake_queue(&g_inside, q, g_inside.now_ns);
    }
}

static void request(struct raw_client *c, uint32_t cell)
{
    inside_passes(8000);
    raw_submit(c, cell);
    inside_passes(1000);
    raw_complete(c, cell);
    inside_passes(0);
}

static bool is_expected(const struct raw_client *c)
{
    for (unsigned i = 0; i < g_inside.prewake.n; i++)
        if (g_inside.prewake.windows[i].client->record.handle_prefix == c->prefix)
            return true;
    return false;
}

static void learn(void)
{
    for (int i = 0; i < KNOWN; i++)
        request(&g_high, 0);
}

static int setup(void **state)
{
    (void)state;
    inside_start();
    inside_join(&g_high);
    inside_join(&g_low);
    inside_add(&g_high, 0, HERE, 10);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    raw_leave(&g_high);
    raw_leave(&g_low);
    raw_leave(&g_high_there);
    raw_leave(&g_low_there);
    return inside_stop();
}

static void expected_after_a_request(bool is)
{
    request(&g_high, 0);
    assert_int_equal(is_expected(&g_high), is);
}

/* What the other one has while it is held is what counts. */
static void slices(void **state)
{
    (void)state;
    inside_add(&g_low, 0, HERE, 0);
    raw_submit(&g_low, 0);
    learn();
    assert_true(is_expected(&g_high));
    set_short(&g_low, HERE, true);
    expected_after_a_request(false);
    expected_after_a_request(false);
    set_short(&g_low, HERE, false);
    expected_after_a_request(true);
    /* it gets them while it is held */
    inside_passes(8000);
    raw_submit(&g_high, 0);
    inside_passes(500);
    assert_false(raw_permitted(&g_low, 0));
    set_short(&g_low, HERE, true);
    inside_passes(500);
    raw_complete(&g_high, 0);
    inside_passes(0);
    assert_true(is_expected(&g_high));
    expected_after_a_request(false);
}

/* One has short slices, another one has not. */
static void both(void **state)
{
    struct raw_client *third = &g_low_there;

    (void)state;
    inside_add(&g_low, 0, HERE, 0);
    set_short(&g_low, HERE, true);
    raw_submit(&g_low, 0);
    learn();
    assert_false(is_expected(&g_high));
    inside_join(third);
    inside_add(third, 0, HERE, 0);
    expected_after_a_request(false); /* it has no work */
    raw_submit(third, 0);
    expected_after_a_request(true);
    expected_after_a_request(true);
    raw_complete(third, 0);
    inside_passes(0);
    expected_after_a_request(false);
}

/* Another urgent one came first: who is held stays so. */
static void held_already(void **state)
{
    (void)state;
    inside_add(&g_low, 0, HERE, 0);
    raw_submit(&g_low, 0);
    learn();
    inside_join(&g_high_there);
    inside_add(&g_high_there, 0, HERE, 10);
    raw_submit(&g_high_there, 0);
    inside_passes(1000);
    assert_false(raw_permitted(&g_low, 0));
    expected_after_a_request(true);
}

/* It joined with work, as when a server was restarted, and is never idle. */
static void who_joins_at_work(void **state)
{
    union xs_msg m;

    (void)state;
    raw_add_fill(&g_low, &m, 0, HERE, 0);
    raw_submit(&g_low, 0);
    raw_send(&g_low, &m, XS_MSG_queue_add);
    inside_serve();
    learn();
    assert_true(is_expected(&g_high));
}

/* It left while it was held, and one with short slices came in its place. */
static void who_left(void **state)
{
    (void)state;
    inside_add(&g_low, 0, HERE, 0);
    raw_submit(&g_low, 0);
    learn();
    inside_passes(8000);
    raw_submit(&g_high, 0);
    inside_passes(100);
    raw_leave(&g_low);
    inside_serve();
    inside_join(&g_low);
    inside_add(&g_low, 0, HERE, 0);
    set_short(&g_low, HERE, true);
    raw_submit(&g_low, 0);
    inside_passes(900);
    raw_complete(&g_high, 0);
    inside_passes(0);
    assert_true(is_expected(&g_high)); /* the one who left was held for it */
    request(&g_high, 0);
    assert_false(is_expected(&g_high));
}

/* Others may be held for others all the time. */
static void another_device(void **state)
{
    (void)state;
    inside_add(&g_low, 0, HERE, 0);
    set_short(&g_low, HERE, true);
    raw_submit(&g_low, 0);
    inside_join(&g_high_there);
    inside_join(&g_low_there);
    inside_add(&g_high_there, 0, THERE, 10);
    inside_add(&g_low_there, 0, THERE, 0);
    raw_submit(&g_low_there, 0);
    raw_submit(&g_high_there, 0);
    inside_passes(100);
    assert_false(raw_permitted(&g_low_there, 0));
    learn();
    assert_false(is_expected(&g_high));
    inside_add(&g_high, 1, THERE, 10); /* it works there, too */
    request(&g_high, 1);
    assert_true(is_expected(&g_high));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(slices),    T(both),         T(held_already), T(who_joins_at_work),
                                       T(who_left), T(another_device)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
