/* SPDX-License-Identifier: Apache-2.0 */
/* Who is expected: a server in this process, whose time is the test's. */
#include "raw.h"

#include "xserver/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HERE  1u
#define THERE 2u
#define KNOWN 12 /* requests after which it is known when one comes */

static char g_dir[32];
static struct xs_server g_server;
static struct raw_client g_high, g_low, g_high_there, g_low_there;

static void serve(void)
{
    xs_client_accept(&g_server);
    XS_LIST_FOR_SAFE(c, &g_server.unjoined, struct xs_client, link)
        xs_client_readable(&g_server, c);
    XS_LIST_FOR_SAFE(c, &g_server.clients, struct xs_client, link)
        xs_client_readable(&g_server, c);
}

/* Time passes; then who rang is heard, and it is decided. */
static void passes(uint64_t us)
{
    g_server.now_ns += us * XS_NS_PER_US;
    XS_LIST_FOR(c, &g_server.clients, struct xs_client, link)
        (void)xs_sched_process_poll(g_server.sched, c->process, g_server.now_ns);
    for (int i = 0; i < 2; i++) {
        if (xs_sched_contended(g_server.sched))
            g_server.contended_ns = g_server.now_ns;
        (void)xs_sched_run(g_server.sched, g_server.now_ns);
    }
}

static void join(struct raw_client *c)
{
    union xs_msg m;
    int fds[2];

    raw_connect(c, g_server.socket_path);
    raw_hello_fill(c, &m);
    fds[0] = c->page_fd;
    fds[1] = c->bell;
    assert_int_equal(xs_socket_send(c->fd, &m, XS_MSG_hello, ++c->serial, fds, 2), 0);
    serve();
    assert_int_equal(raw_hello_answer(c), 0);
}

static void add(struct raw_client *c, uint32_t cell, uint64_t device, int32_t priority)
{
    union xs_msg m;

    raw_add_fill(c, &m, cell, device, priority);
    raw_send(c, &m, XS_MSG_queue_add);
    serve();
}

/* As level 3 does when it gives slices, and takes them back. */
static void set_short(const struct raw_client *of, uint64_t device, bool cut_short)
{
    XS_LIST_FOR(c, &g_server.clients, struct xs_client, link) {
        if (c->record.handle_prefix != of->prefix)
            continue;
        if (!g_server.lv3)
            g_server.lv3 = xs_lv3_new();
        if (!c->lv3) {
            c->lv3 = xs_lv3_join(g_server.lv3, 1);
            g_server.n_lv3++;
        }
        assert_non_null(c->lv3);
        c->lv3_memory[0] = (struct xs_lv3_memory){.device = device, .cut_short = cut_short};
        XS_LIST_FOR(q, &c->queues, struct xs_queue, in_client)
            xs_ahead_queue(&g_server, q, g_server.now_ns);
    }
}

static void request(struct raw_client *c, uint32_t cell)
{
    passes(8000);
    raw_submit(c, cell);
    passes(1000);
    raw_complete(c, cell);
    passes(0);
}

static bool is_expected(const struct raw_client *c)
{
    for (unsigned i = 0; i < g_server.ahead.n; i++)
        if (g_server.ahead.windows[i].client->record.handle_prefix == c->prefix)
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
    struct xs_options o;
    char error[256] = "";

    (void)state;
    strcpy(g_dir, "/tmp/xserver-ahead-XXXXXX");
    assert_non_null(mkdtemp(g_dir));
    xs_options_defaults(&o);
    o.ahead_cpus = 1;
    snprintf(o.socket, sizeof(o.socket), "%s/s", g_dir);
    assert_int_equal(xs_server_start(&g_server, &o, error, sizeof(error)), 0);
    g_server.now_ns = XS_NS_PER_S;
    join(&g_high);
    join(&g_low);
    add(&g_high, 0, HERE, 10);
    return 0;
}

static int teardown(void **state)
{
    char command[64];

    (void)state;
    raw_leave(&g_high);
    raw_leave(&g_low);
    raw_leave(&g_high_there);
    raw_leave(&g_low_there);
    xs_server_leave(&g_server);
    xs_server_stop(&g_server);
    snprintf(command, sizeof(command), "rm -rf %s", g_dir);
    return system(command);
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
    add(&g_low, 0, HERE, 0);
    raw_submit(&g_low, 0);
    learn();
    assert_true(is_expected(&g_high));
    set_short(&g_low, HERE, true);
    expected_after_a_request(false);
    expected_after_a_request(false);
    set_short(&g_low, HERE, false);
    expected_after_a_request(true);
    /* it gets them while it is held */
    passes(8000);
    raw_submit(&g_high, 0);
    passes(500);
    assert_false(raw_permitted(&g_low, 0));
    set_short(&g_low, HERE, true);
    passes(500);
    raw_complete(&g_high, 0);
    passes(0);
    assert_true(is_expected(&g_high));
    expected_after_a_request(false);
}

/* One has short slices, another one has not. */
static void both(void **state)
{
    struct raw_client *third = &g_low_there;

    (void)state;
    add(&g_low, 0, HERE, 0);
    set_short(&g_low, HERE, true);
    raw_submit(&g_low, 0);
    learn();
    assert_false(is_expected(&g_high));
    join(third);
    add(third, 0, HERE, 0);
    expected_after_a_request(false); /* it has no work */
    raw_submit(third, 0);
    expected_after_a_request(true);
    expected_after_a_request(true);
    raw_complete(third, 0);
    passes(0);
    expected_after_a_request(false);
}

/* Another urgent one came first: who is held stays so. */
static void held_already(void **state)
{
    (void)state;
    add(&g_low, 0, HERE, 0);
    raw_submit(&g_low, 0);
    learn();
    join(&g_high_there);
    add(&g_high_there, 0, HERE, 10);
    raw_submit(&g_high_there, 0);
    passes(1000);
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
    serve();
    learn();
    assert_true(is_expected(&g_high));
}

/* It left while it was held, and one with short slices came in its place. */
static void who_left(void **state)
{
    (void)state;
    add(&g_low, 0, HERE, 0);
    raw_submit(&g_low, 0);
    learn();
    passes(8000);
    raw_submit(&g_high, 0);
    passes(100);
    raw_leave(&g_low);
    serve();
    join(&g_low);
    add(&g_low, 0, HERE, 0);
    set_short(&g_low, HERE, true);
    raw_submit(&g_low, 0);
    passes(900);
    raw_complete(&g_high, 0);
    passes(0);
    assert_true(is_expected(&g_high)); /* the one who left was held for it */
    request(&g_high, 0);
    assert_false(is_expected(&g_high));
}

/* Others may be held for others all the time. */
static void another_device(void **state)
{
    (void)state;
    add(&g_low, 0, HERE, 0);
    set_short(&g_low, HERE, true);
    raw_submit(&g_low, 0);
    join(&g_high_there);
    join(&g_low_there);
    add(&g_high_there, 0, THERE, 10);
    add(&g_low_there, 0, THERE, 0);
    raw_submit(&g_low_there, 0);
    raw_submit(&g_high_there, 0);
    passes(100);
    assert_false(raw_permitted(&g_low_there, 0));
    learn();
    assert_false(is_expected(&g_high));
    add(&g_high, 1, THERE, 10); /* it works there, too */
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
