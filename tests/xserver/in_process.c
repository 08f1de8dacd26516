/* SPDX-License-Identifier: Apache-2.0 */
#include "in_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct xs_server g_inside;
static char g_dir[32];

void inside_start(void)
{
    struct xs_options o;
    char error[256] = "";

    strcpy(g_dir, "/tmp/xserver-inside-XXXXXX");
    assert_non_null(mkdtemp(g_dir));
    xs_options_defaults(&o);
    o.ahead_cpus = 1;
    snprintf(o.socket, sizeof(o.socket), "%s/s", g_dir);
    assert_int_equal(xs_server_start(&g_inside, &o, error, sizeof(error)), 0);
    g_inside.now_ns = XS_NS_PER_S;
}

int inside_stop(void)
{
    char command[64];

    xs_server_stop(&g_inside);
    snprintf(command, sizeof(command), "rm -rf %s", g_dir);
    return system(command);
}

void inside_serve(void)
{
    xs_client_accept(&g_inside);
    XS_LIST_FOR_SAFE(c, &g_inside.unjoined, struct xs_client, link)
        xs_client_readable(&g_inside, c, false);
    XS_LIST_FOR_SAFE(c, &g_inside.clients, struct xs_client, link)
        xs_client_readable(&g_inside, c, false);
}

void inside_passes(uint64_t us)
{
    g_inside.now_ns += us * XS_NS_PER_US;
    XS_LIST_FOR(c, &g_inside.clients, struct xs_client, link)
        (void)xs_sched_process_poll(g_inside.sched, c->process, g_inside.now_ns);
    for (int i = 0; i < 2; i++) {
        if (xs_sched_contended(g_inside.sched))
            g_inside.spin.contended_ns = g_inside.now_ns;
        (void)xs_sched_run(g_inside.sched, g_inside.now_ns);
    }
}

static void hello(struct raw_client *c, const char *group, const char *job)
{
    union xs_msg m;
    int fds[2];

    raw_hello_fill(c, &m);
    strcpy(m.hello.group, group);
    strcpy(m.hello.job, job);
    fds[0] = c->page_fd;
    fds[1] = c->bell;
    assert_int_equal(xs_socket_send(c->fd, &m, XS_MSG_hello, ++c->serial, fds, 2), 0);
    inside_serve();
    assert_int_equal(raw_hello_answer(c), 0);
}

void inside_join_as(struct raw_client *c, const char *group, const char *job)
{
    raw_connect(c, g_inside.socket.path);
    hello(c, group, job);
}

void inside_join_again(struct raw_client *c, const struct raw_client *before)
{
    raw_connect(c, g_inside.socket.path);
    c->prefix = before->prefix;
    hello(c, "", "");
}

void inside_join(struct raw_client *c)
{
    inside_join_as(c, "", "");
}

void inside_add(struct raw_client *c, uint32_t cell, uint64_t device, int32_t priority)
{
    union xs_msg m;

    raw_add_fill(c, &m, cell, device, priority);
    raw_send(c, &m, XS_MSG_queue_add);
    inside_serve();
}
