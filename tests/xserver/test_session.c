/* SPDX-License-Identifier: Apache-2.0 */
/* Joining, leaving, refusals. Built twice: once as this version, once as one that knows only the
 * first fields of each message (the older peer). */
#include "raw.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct raw_server g_server;

static int start(void **state)
{
    static const char *const k_args[] = {"--max-queues-per-client", "6", "--max-clients-per-user", "5", NULL};

    return raw_server_setup(state, &g_server, k_args);
}

/* The server still serves others. */
static void assert_alive(void)
{
    struct raw_client c;

    raw_join(&c, g_server.socket);
    raw_add(&c, 0, 1, 0);
    raw_leave(&c);
}

static void wait_clients(int64_t count)
{
    for (int i = 0; i < 1000 && raw_status(&g_server, "clients") != count; i++)
        usleep(5000);
    assert_int_equal(raw_status(&g_server, "clients"), count);
}

static void joins_and_leaves_in_any_order(void **state)
{
    struct raw_client a, b, c;

    (void)state;
    raw_join(&a, g_server.socket);
    raw_join(&b, g_server.socket);
    assert_int_not_equal(a.session, b.session);
    assert_true(a.server_minor >= 1); /* the server's, whatever the client's is */
    raw_add(&a, 0, 7, 1);
    raw_add(&b, 3, 7, 1);
    assert_int_equal(raw_status(&g_server, "queues"), 2);
    raw_leave(&a);
    wait_clients(1);
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, 7, 1);
    raw_leave(&b);
    wait_clients(1);
    raw_remove(&c, 0);
    assert_int_equal(raw_status(&g_server, "queues"), 0);
    raw_add(&c, 0, 7, 1); /* handle and cell are free again */
    assert_int_equal(raw_status(&g_server, "queues"), 1);
    raw_leave(&c);
    wait_clients(0);
    assert_int_equal(raw_status(&g_server, "queues"), 0);
}

static void hello_comes_first_and_once(void **state)
{
    struct raw_client c;
    union xs_msg m;

    (void)state;
    raw_connect(&c, g_server.socket);
    raw_add_fill(&c, &m, 0, 1, 0);
    raw_send(&c, &m, XS_MSG_queue_add);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_refused);
    assert_int_equal(m.refused.reason, XS_REFUSED_ORDER);
    assert_int_equal(raw_receive(&c, &m, 5000), 0);
    raw_leave(&c);

    raw_join(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    raw_send(&c, &m, XS_MSG_hello);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_refused);
    assert_int_equal(m.refused.reason, XS_REFUSED_ORDER);
    assert_int_equal(raw_receive(&c, &m, 5000), 0);
    raw_leave(&c);
    assert_alive();
}

static void other_major_is_told_so(void **state)
{
    struct raw_client c;
    union xs_msg m;
    size_t bytes;
    int fds[2];

    (void)state;
    raw_connect(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    m.hello.protocol_major = 2;
    fds[0] = c.page_fd;
    fds[1] = c.bell;
    assert_int_equal(raw_hello(&c, &m, fds, 2), XS_REFUSED_VERSION);
    raw_leave(&c);

    /* also a major whose hello is shorter than ours */
    raw_connect(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    xs_wire_seal(&m, XS_MSG_hello, 1);
    m.hello.protocol_major = 7;
    bytes = sizeof(struct xs_wire_head) + 4;
    m.head.bytes = (uint16_t)bytes;
    assert_int_equal(send(c.fd, &m, bytes, 0), (ssize_t)bytes);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_refused);
    assert_int_equal(m.refused.reason, XS_REFUSED_VERSION);
    assert_non_null(strstr(m.refused.text, "7"));
    raw_leave(&c);
}

/* A newer minor: longer messages, and messages that this server does not know. */
static void newer_minor_is_fine(void **state)
{
    struct raw_client c;
    union xs_msg m;
    unsigned char longer[sizeof(m) + 32];
    size_t bytes;
    uint16_t total;

    (void)state;
    raw_join(&c, g_server.socket);
    raw_add_fill(&c, &m, 2, 9, 3);
    bytes = sizeof(struct xs_msg_queue_add);
    m.head.id = XS_MSG_queue_add;
    memset(longer, 0xee, sizeof(longer));
    memcpy(longer, &m, bytes);
    total = (uint16_t)(bytes + 24);
    memcpy(longer + 2, &total, 2);
    assert_int_equal(send(c.fd, longer, total, 0), total);
    m.head.id = 4711;
    m.head.bytes = 16;
    assert_int_equal(send(c.fd, &m, 16, 0), 16);
    raw_settle(&c);
    assert_int_equal(raw_status(&g_server, "queues"), 1);
    raw_leave(&c);
    wait_clients(0);
}

static void bad_pages_are_refused(void **state)
{
    struct raw_client c, other;
    union xs_msg m;
    int fds[3];

    (void)state;
    for (int i = 0; i < 9; i++) {
        int bad = -1;

        raw_connect(&c, g_server.socket);
        raw_connect(&other, g_server.socket);
        fds[0] = c.page_fd;
        fds[1] = c.bell;
        switch (i) {
        case 0: /* not sealed */
            bad = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            assert_int_equal(ftruncate(bad, sizeof(struct xs_client_page)), 0);
            assert_int_equal(pwrite(bad, c.page, sizeof(c.page->h), 0), sizeof(c.page->h));
            fds[0] = bad;
            break;
        case 1: /* too small */
            fds[0] = bad = xs_fd_memfd("small", 4096);
            break;
        case 2: /* too large */
            fds[0] = bad = xs_fd_memfd("large", sizeof(struct xs_client_page) + 4096);
            break;
        case 3:
            c.page->h.magic++;
            break;
        case 4:
            c.page->h.version = 99;
            break;
        case 5:
            c.page->h.cell_bytes = 64;
            break;
        case 6:
            c.page->h.queues = 1;
            break;
        case 7: /* a doorbell that is none */
            fds[1] = other.fd;
            break;
        case 8: /* the two exchanged */
            fds[0] = c.bell;
            fds[1] = c.page_fd;
            break;
        }
        raw_hello_fill(&c, &m);
        assert_int_equal(raw_hello(&c, &m, fds, 2), XS_REFUSED_PAGE);
        assert_int_equal(raw_receive(&c, &m, 5000), 0);
        if (bad >= 0)
            close(bad);
        raw_leave(&c);
        raw_leave(&other);
    }
    raw_connect(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    fds[0] = c.page_fd;
    assert_int_equal(raw_hello(&c, &m, fds, 1), XS_REFUSED_PAGE);
    raw_leave(&c);
    /* too many descriptors: the first two count */
    raw_connect(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    fds[0] = c.page_fd;
    fds[1] = c.bell;
    fds[2] = c.bell;
    assert_int_equal(raw_hello(&c, &m, fds, 3), 0);
    raw_leave(&c);
    wait_clients(0);
}

static int expect_refusal(struct raw_client *c, union xs_msg *m, enum xs_msg_id id)
{
    union xs_msg answer;

    raw_send(c, m, id);
    assert_int_equal(raw_receive(c, &answer, 5000), XS_MSG_refused);
    assert_int_equal(answer.refused.of, id);
    return (int)answer.refused.reason;
}

/* Channel groups of level 3 are judged, and a program that lies about them stays joined. */
static void bad_groups_are_refused(void **state)
{
    struct raw_client c;
    union xs_msg m, good = {.nv_group = {
        .group_id = 1, .default_slice_us = 2048, .client = 1, .group = 2, .subdevice_client = 1,
        .subdevice = 3, .count = 8, .driver = "580.159.04"}};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[2] = {null, null};

    (void)state;
    assert_true(null >= 0);
    raw_join(&c, g_server.socket);
    m = good;
    assert_int_equal(expect_refusal(&c, &m, XS_MSG_nv_group), XS_REFUSED_MALFORMED); /* no descriptors */
    m = good;
    assert_int_equal(xs_socket_send(c.fd, &m, XS_MSG_nv_group, ++c.serial, fds, 2), 0);
    assert_int_equal(raw_receive(&c, &m, 5000), XS_MSG_refused); /* not the driver's */
    assert_int_equal(m.refused.of, XS_MSG_nv_group);
    m = good;
    memcpy(m.nv_group.driver, "700.01.1", 9);
    assert_int_equal(expect_refusal(&c, &m, XS_MSG_nv_group), XS_REFUSED_MALFORMED);
    memset(&m, 0, sizeof(m));
    assert_int_equal(xs_socket_send(c.fd, &m, XS_MSG_nv_groups_end, ++c.serial, NULL, 0), 0);
    raw_add(&c, 0, 1, 1);
    assert_int_equal(raw_status(&g_server, "queues"), 1);
    /* out of range: the decoder's answer is the end */
    m = good;
    m.nv_group.count = 65;
    assert_int_equal(xs_socket_send(c.fd, &m, XS_MSG_nv_group, ++c.serial, fds, 2), 0);
    wait_clients(0);
    raw_leave(&c);
    close(null);
}

static void duplicates_and_strangers_are_refused(void **state)
{
    struct raw_client a, b;
    union xs_msg m;

    (void)state;
    raw_join(&a, g_server.socket);
    raw_join(&b, g_server.socket);
    raw_add(&a, 0, 1, 5);
    raw_add_fill(&a, &m, 1, 1, 5);
    m.queue_add.handle = raw_handle(&a, 0); /* its own */
    assert_int_equal(expect_refusal(&a, &m, XS_MSG_queue_add), XS_REFUSED_DUPLICATE);
    assert_int_equal(expect_refusal(&b, &m, XS_MSG_queue_add), XS_REFUSED_DUPLICATE); /* another's */
    raw_add_fill(&a, &m, 0, 1, 5);
    m.queue_add.handle++;
    assert_int_equal(expect_refusal(&a, &m, XS_MSG_queue_add), XS_REFUSED_DUPLICATE); /* the cell */
    m.queue_add.handle = 1ull << 63;
    m.queue_add.cell = 1;
    assert_int_equal(expect_refusal(&a, &m, XS_MSG_queue_add), XS_REFUSED_MALFORMED);

    /* another's queue is none of one's own */
    memset(&m, 0, sizeof(m));
    m.queue_remove.handle = raw_handle(&a, 0);
    assert_int_equal(expect_refusal(&b, &m, XS_MSG_queue_remove), XS_REFUSED_UNKNOWN);
    memset(&m, 0, sizeof(m));
    m.queue_hints.handle = raw_handle(&a, 0);
    assert_int_equal(expect_refusal(&b, &m, XS_MSG_queue_hints), XS_REFUSED_UNKNOWN);
    memset(&m, 0, sizeof(m));
    m.queue_config.handle = raw_handle(&a, 0);
    assert_int_equal(expect_refusal(&b, &m, XS_MSG_queue_config), XS_REFUSED_UNKNOWN);
    assert_int_equal(raw_status(&g_server, "queues"), 1);
    raw_leave(&a);
    raw_leave(&b);
    wait_clients(0);
}

/* A program is asked for a mark when others wait for the end of a queue that tells nothing; one of an
 * older protocol is not. */
static void a_mark_is_asked_for(void **state)
{
    struct raw_client low, high;
    union xs_msg m;

    (void)state;
    raw_join(&low, g_server.socket);
    raw_join(&high, g_server.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&high, 3, 1, 10);
    raw_submit(&low, 0);
    raw_submit(&high, 3);
    if (XS_WIRE_MINOR < 3) {
        assert_int_equal(raw_receive(&high, &m, 300), -1);
    } else {
        assert_int_equal(raw_receive(&high, &m, 5000), 12);
        assert_int_equal(m.queue_hints.handle, raw_handle(&high, 3)); /* the same place in both */
    }
    assert_int_equal(raw_receive(&low, &m, 0), -1);
    raw_leave(&low);
    raw_leave(&high);
}

static void limits_hold(void **state)
{
    struct raw_client c[6];
    union xs_msg m;
    int fds[2];

    (void)state;
    raw_join(&c[0], g_server.socket);
    for (uint32_t i = 0; i < 6; i++)
        raw_add(&c[0], i, 1, 0);
    raw_add_fill(&c[0], &m, 6, 1, 0);
    assert_int_equal(expect_refusal(&c[0], &m, XS_MSG_queue_add), XS_REFUSED_QUOTA);
    raw_remove(&c[0], 2);
    raw_add(&c[0], 6, 1, 0);
    assert_int_equal(raw_status(&g_server, "queues"), 6);
    for (int i = 1; i < 5; i++)
        raw_join(&c[i], g_server.socket);
    raw_connect(&c[5], g_server.socket);
    raw_hello_fill(&c[5], &m);
    fds[0] = c[5].page_fd;
    fds[1] = c[5].bell;
    assert_int_equal(raw_hello(&c[5], &m, fds, 2), XS_REFUSED_QUOTA);
    for (int i = 0; i < 6; i++)
        raw_leave(&c[i]);
    wait_clients(0);
    assert_alive();
    wait_clients(0);
}

static void wait_until_read(const struct raw_client *c)
{
    int unread = 1;

    for (int i = 0; i < 2000 && unread; i++) {
        assert_int_equal(ioctl(c->fd, SIOCOUTQ, &unread), 0);
        if (unread)
            usleep(5000);
    }
    assert_int_equal(unread, 0);
}

/* Without room for the descriptors of a hello: not the program's fault, and it may try again. */
static void without_descriptors_it_says_so(void **state)
{
    struct rlimit usual, tight;
    struct raw_client c;
    union xs_msg m = {0};
    int fds[2], r;

    (void)state;
    raw_connect(&c, g_server.socket);
    raw_send(&c, &m, XS_MSG_expect);
    wait_until_read(&c);          /* so it was accepted */
    assert_int_equal(prlimit(g_server.pid, RLIMIT_NOFILE, NULL, &usual), 0);
    tight = (struct rlimit){3, usual.rlim_max};
    assert_int_equal(prlimit(g_server.pid, RLIMIT_NOFILE, &tight, NULL), 0);
    raw_hello_fill(&c, &m);
    fds[0] = c.page_fd;
    fds[1] = c.bell;
    r = raw_hello(&c, &m, fds, 2);
    assert_int_equal(prlimit(g_server.pid, RLIMIT_NOFILE, &usual, NULL), 0);
    assert_int_equal(r, XS_REFUSED_QUOTA);
    raw_leave(&c);
    raw_join(&c, g_server.socket);
    raw_leave(&c);
    wait_clients(0);
}

/* Joining again while the old connection is still open, as the same process; and with the prefix
 * of another. */
static void joining_anew_supersedes(void **state)
{
    struct raw_client a, b;
    union xs_msg m;
    int fds[2], status;
    pid_t pid;

    (void)state;
    raw_join(&a, g_server.socket);
    raw_add(&a, 0, 1, 0);
    raw_connect(&b, g_server.socket);
    b.prefix = a.prefix;
    raw_hello_fill(&b, &m);
    fds[0] = b.page_fd;
    fds[1] = b.bell;
    assert_int_equal(raw_hello(&b, &m, fds, 2), 0);
    assert_int_equal(raw_receive(&a, &m, 5000), 0);
    raw_add(&b, 0, 1, 0);
    assert_int_equal(raw_status(&g_server, "queues"), 1);
    pid = fork();
    if (pid == 0) {
        struct raw_client c;

        raw_connect(&c, g_server.socket);
        c.prefix = b.prefix;
        raw_hello_fill(&c, &m);
        fds[0] = c.page_fd;
        fds[1] = c.bell;
        _exit(raw_hello(&c, &m, fds, 2) == XS_REFUSED_DUPLICATE ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    raw_settle(&b);
    raw_leave(&a);
    raw_leave(&b);
    wait_clients(0);
}

/* Joins as the process that has this prefix. */
static void join_anew(struct raw_client *c, uint64_t prefix)
{
    union xs_msg m;
    int fds[2];

    raw_connect(c, g_server.socket);
    c->prefix = prefix;
    raw_hello_fill(c, &m);
    fds[0] = c->page_fd;
    fds[1] = c->bell;
    assert_int_equal(raw_hello(c, &m, fds, 2), 0);
}

/* Of the newest session, and of the queue in its first cell. */
static int64_t fact_of(const char *path, const char *list, const char *name)
{
    json_t *json, *array, *fact;
    int64_t value;

    assert_int_equal(raw_http(&g_server, "GET", path, NULL, &json), 200);
    array = json_object_get(json, list);
    assert_non_null(array);
    fact = json_object_get(json_array_get(array, json_array_size(array) - 1), name);
    assert_non_null(fact);
    value = json_is_boolean(fact) ? json_is_true(fact) : json_integer_value(fact);
    json_decref(json);
    return value;
}

/* What an operator said of a process holds for it, however often it joins: while the old connection is open, and after it
 * left; not for another process, and not when it was taken back. */
static void an_operators_word_outlives_the_session(void **state)
{
    struct raw_client a, b, c, other;
    char path[64], body[128];

    (void)state;
    raw_join(&a, g_server.socket);
    raw_add(&a, 0, 1, 0);
    snprintf(path, sizeof(path), "/suspend?pid=%d", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", path, "", NULL), 200);
    snprintf(body, sizeof(body), "{\"hint_type\":1,\"pid\":%d,\"priority\":7}", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    snprintf(body, sizeof(body), "{\"hint_type\":2,\"pid\":%d,\"utilization\":30}", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", "/hint", body, NULL), 200);
    assert_true(raw_wait_permitted(&a, 0, false, 5000));
    for (int way = 0; way < 2; way++) {
        if (way)
            raw_leave(&b);
        if (way)
            wait_clients(0);
        join_anew(way ? &c : &b, a.prefix);
        raw_add(way ? &c : &b, 0, 1, 0);
        assert_true(raw_wait_permitted(way ? &c : &b, 0, false, 5000));
        assert_int_equal(fact_of("/clients", "clients", "held"), 1);
        assert_int_equal(fact_of("/clients", "clients", "utilization"), 30);
        assert_int_equal(fact_of("/xqueues", "xqueues", "priority"), 7);
        if (!way)
            raw_leave(&a);
    }
    raw_join(&other, g_server.socket);
    raw_add(&other, 0, 1, 0);
    assert_true(raw_permitted(&other, 0));
    assert_int_equal(fact_of("/clients", "clients", "held"), 0);
    raw_leave(&other);
    wait_clients(1);
    snprintf(path, sizeof(path), "/resume?pid=%d", (int)getpid());
    assert_int_equal(raw_http(&g_server, "POST", path, "", NULL), 200);
    assert_true(raw_wait_permitted(&c, 0, true, 5000));
    raw_leave(&c);
    wait_clients(0);
    join_anew(&b, a.prefix);
    raw_add(&b, 0, 1, 0);
    assert_true(raw_permitted(&b, 0));
    raw_leave(&b);
    wait_clients(0);
}

static json_t *client_of(const char *list, size_t index)
{
    json_t *json, *item;

    assert_int_equal(raw_http(&g_server, "GET", "/clients", NULL, &json), 200);
    item = json_incref(json_array_get(json_object_get(json, list), index));
    json_decref(json);
    assert_non_null(item);
    return item;
}

/* What the process says of its pid is shown beside what the kernel says, and nothing more. */
static void lying_pid_changes_nothing(void **state)
{
    struct raw_client c;
    union xs_msg m;
    int fds[2];
    json_t *client;

    (void)state;
    raw_connect(&c, g_server.socket);
    raw_hello_fill(&c, &m);
    m.hello.pid_in_namespace = 1;
    fds[0] = c.page_fd;
    fds[1] = c.bell;
    assert_int_equal(raw_hello(&c, &m, fds, 2), 0);
    client = client_of("clients", 0);
    assert_int_equal(json_integer_value(json_object_get(client, "pid")), getpid());
    assert_int_equal(json_integer_value(json_object_get(client, "pid_in_namespace")), 1);
    json_decref(client);
    raw_leave(&c);
    wait_clients(0);
}

static void ended_clients_are_remembered(void **state)
{
    struct raw_client c;
    json_t *json, *ended, *last;

    (void)state;
    raw_join(&c, g_server.socket);
    raw_add(&c, 0, 1, 0);
    raw_add(&c, 1, 1, 0);
    for (int i = 0; i < 5; i++)
        raw_submit(&c, 0);
    raw_submit(&c, 1);
    raw_complete(&c, 0);
    raw_complete(&c, 1);
    atomic_store(&c.page->cells[1].held_ns, 7000);
    raw_remove(&c, 1); /* its commands count still */
    raw_leave(&c);
    wait_clients(0);
    assert_int_equal(raw_http(&g_server, "GET", "/clients", NULL, &json), 200);
    ended = json_object_get(json, "ended");
    last = json_array_get(ended, json_array_size(ended) - 1);
    assert_int_equal(json_integer_value(json_object_get(last, "pid")), getpid());
    assert_int_equal(json_integer_value(json_object_get(last, "commands")), 6);
    assert_int_equal(json_integer_value(json_object_get(last, "held_us")), 7);
    assert_int_equal(json_integer_value(json_object_get(last, "queues_ever")), 2);
    assert_int_equal(json_integer_value(json_object_get(last, "queues")), 1);
    assert_true(json_integer_value(json_object_get(last, "left")) >=
                json_integer_value(json_object_get(last, "joined")));
    assert_string_equal(json_string_value(json_object_get(last, "why")), "left");
    assert_non_null(strstr(json_string_value(json_object_get(last, "cmdline")), "test_session"));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_and_leaves_in_any_order),
        cmocka_unit_test(hello_comes_first_and_once),
        cmocka_unit_test(other_major_is_told_so),
        cmocka_unit_test(newer_minor_is_fine),
        cmocka_unit_test(bad_groups_are_refused),
        cmocka_unit_test(bad_pages_are_refused),
        cmocka_unit_test(duplicates_and_strangers_are_refused),
        cmocka_unit_test(a_mark_is_asked_for),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(without_descriptors_it_says_so),
        cmocka_unit_test(joining_anew_supersedes),
        cmocka_unit_test(an_operators_word_outlives_the_session),
        cmocka_unit_test(lying_pid_changes_nothing),
        cmocka_unit_test(ended_clients_are_remembered),
    };

    return cmocka_run_group_tests(tests, start, raw_server_teardown);
}
