/* SPDX-License-Identifier: Apache-2.0 */
/* A server in this process, whose rounds are the test's: it ends while somebody looks. */
#include "raw.h"

#include "xserver/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define QUEUES 400u /* more than a look takes in one round */

static char g_dir[32];
static struct xs_server g_server;

static int setup(void **state)
{
    struct xs_options o;
    char error[256] = "";

    (void)state;
    strcpy(g_dir, "/tmp/xserver-leave-XXXXXX");
    assert_non_null(mkdtemp(g_dir));
    xs_options_defaults(&o);
    snprintf(o.socket, sizeof(o.socket), "%s/s", g_dir);
    assert_int_equal(xs_server_start(&g_server, &o, error, sizeof(error)), 0);
    return 0;
}

static int teardown(void **state)
{
    char command[64];

    (void)state;
    xs_server_stop(&g_server);
    snprintf(command, sizeof(command), "rm -rf %s", g_dir);
    return system(command);
}

static void serve(void)
{
    xs_client_accept(&g_server);
    XS_LIST_FOR_SAFE(c, &g_server.unjoined, struct xs_client, link)
        xs_client_readable(&g_server, c);
    XS_LIST_FOR_SAFE(c, &g_server.clients, struct xs_client, link)
        xs_client_readable(&g_server, c);
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
    assert_int_equal(g_server.n_clients, 1);
}

/* What it had begun is answered, and the place where it was in the list of queues is gone before the queues are. */
static void in_the_middle_of_a_look(void **state)
{
    struct xs_request *r = xs_request_new(XS_REQ_QUEUES);
    struct raw_client c;
    union xs_msg m;

    (void)state;
    assert_non_null(r);
    join(&c);
    for (uint32_t i = 0; i < QUEUES; i++) {
        raw_add_fill(&c, &m, i, 1, 0);
        raw_send(&c, &m, XS_MSG_queue_add);
        serve();
    }
    r->asker.all = true;
    xs_control_handle(&g_server, r);
    xs_control_walk(&g_server);
    assert_ptr_equal(g_server.walking, r);
    assert_true(r->n_queues > 0 && r->n_queues < QUEUES);
    xs_server_leave(&g_server);
    assert_int_equal(r->status, 503);
    assert_true(xs_list_empty(&g_server.queues));
    xs_request_free(r);
    raw_leave(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_the_middle_of_a_look, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
