/* SPDX-License-Identifier: Apache-2.0 */
/* Questions over xserver's socket: who gets which answer, and that nobody who asks takes more than a share. */
#include "in_process.h"

#include "asks/ask_line.h"
#include "asks/ask_wire.h"
#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define QUEUES   2000 /* with their records more than a socket holds */
#define STRANGER 4242u
#define OPERATOR true
#define ORDINARY false

static struct raw_client g_program;

static int setup(void **state)
{
    (void)state;
    inside_start();
    inside_join(&g_program);
    inside_add(&g_program, 0, 1, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    raw_leave(&g_program);
    return inside_stop();
}

/* Connected, and nothing said. The test's user is the server's own, and may change everything. */
static int connect_as(bool operates)
{
    int fd = xs_socket_connect(g_inside.socket.path, XS_NS_PER_S);
    struct xs_client *c;

    assert_true(fd >= 0);
    xs_client_accept(&g_inside);
    c = XS_CONTAINER_OF(g_inside.unjoined.prev, struct xs_client, link);
    assert_true(c->operates);
    c->operates = c->privileged = operates;
    return fd;
}

static void send_ask(int fd, union xs_msg *m)
{
    assert_int_equal(xs_socket_send(fd, m, XS_MSG_ask, 1, NULL, 0), 0);
}

/* One round of the loop, for those that ask. */
static void round_of_loop(void)
{
    inside_serve();
    XS_LIST_FOR_SAFE(c, &g_inside.askers, struct xs_client, link) {
        uint32_t events = xs_asks_events(c);

        if (events & EPOLLOUT)
            xs_client_writable(&g_inside, c);
        else if (events & EPOLLIN)
            xs_client_readable(&g_inside, c, false);
    }
    if (g_inside.walking)
        xs_requests_walk(&g_inside);
    if (g_inside.changes.first)
        xs_requests_change_step(&g_inside);
    (void)xs_rate_look(&g_inside);
}

/* @return a packet's bytes; 0: hung up */
static size_t next_packet(int fd, void *to, size_t bytes)
{
    for (int i = 0; i < 1000; i++) {
        ssize_t n = recv(fd, to, bytes, MSG_DONTWAIT | MSG_TRUNC);

        assert_true(n <= (ssize_t)bytes);
        if (n >= 0)
            return (size_t)n;
        round_of_loop();
    }
    fail_msg("no answer");
    return 0;
}

static bool take_answer(int fd, struct xs_request *r)
{
    struct xs_answer_part parts[XS_ANSWER_PARTS];
    unsigned char packet[XS_WIRE_MAX_BYTES];
    size_t n = next_packet(fd, packet, sizeof(packet)), at = 0;
    unsigned part = 0;
    union xs_msg m;
    char *to;

    if (n == 0)
        return false;
    assert_int_equal(xs_wire_open(packet, n, &m, NULL), 0);
    assert_int_equal(m.head.id, XS_MSG_answer);
    assert_int_equal(xs_answer_unpack(&m.answer, r), 0);
    xs_answer_parts(r, m.answer.flags, parts);
    while ((n = xs_answer_next(parts, &part, &at, &to)) > 0) {
        assert_int_equal(next_packet(fd, to, n), n);
        at += n;
    }
    return true;
}

static struct xs_request *request(enum xs_request_kind kind)
{
    struct xs_request *r = xs_request_new(kind);

    assert_non_null(r);
    return r;
}

/* @return the status; 0: hung up. *r has the answer */
static int ask(int fd, struct xs_request *r, bool for_other)
{
    union xs_msg m;

    xs_ask_pack(r, for_other, &m);
    send_ask(fd, &m);
    return take_answer(fd, r) ? r->status : 0;
}

static int ask_kind(int fd, enum xs_request_kind kind)
{
    struct xs_request *r = request(kind);
    int status = ask(fd, r, false);

    xs_request_free(r);
    return status;
}

static void everything_is_answered(void **state)
{
    int fd = connect_as(OPERATOR);
    struct xs_request *r;

    (void)state;
    r = request(XS_REQ_METRICS);
    r->params.loads = true;
    assert_int_equal(ask(fd, r, false), 200);
    assert_int_equal(r->n_queues, 1);
    assert_int_equal(r->n_clients, 1);
    assert_int_equal(r->queues[0].status.handle, raw_handle(&g_program, 0));
    assert_int_equal(r->clients[0].session, g_program.session);
    assert_string_equal(r->state.policy_name, "HPF");
    xs_request_free(r);
    r = request(XS_REQ_QUEUE);
    r->params.handle = raw_handle(&g_program, 0);
    assert_int_equal(ask(fd, r, false), 200);
    assert_int_equal(r->n_clients, 1);
    xs_request_free(r);
    r = request(XS_REQ_HINT);
    r->params.handle = raw_handle(&g_program, 0);
    r->params.hint = XS_HINT_PRIORITY;
    r->params.value = 7;
    assert_int_equal(ask(fd, r, false), 200);
    xs_request_free(r);
    r = request(XS_REQ_QUEUES);
    assert_int_equal(ask(fd, r, false), 200);
    assert_int_equal(r->queues[0].hints.priority, 7);
    xs_request_free(r);
    for (int kind = XS_REQ_CLIENTS; kind <= XS_REQ_POLICY; kind++)
        assert_int_equal(ask_kind(fd, (enum xs_request_kind)kind), 200);
    assert_int_equal(g_inside.n_unjoined, 0);
    close(fd);
}

static void nobody_asks_for_others_but_operators(void **state)
{
    struct xs_request *r = request(XS_REQ_QUEUES);
    int ordinary = connect_as(ORDINARY), operator = connect_as(OPERATOR);

    (void)state;
    assert_int_equal(ask(ordinary, r, false), 200); /* a program of its own user */
    assert_int_equal(r->n_queues, 1);
    r->asker = (struct xs_asker){.known = true, .all = true};
    assert_int_equal(ask(ordinary, r, true), 403);
    assert_int_equal(r->n_queues, 0);
    r->asker = (struct xs_asker){.known = true, .uid = STRANGER};
    assert_int_equal(ask(ordinary, r, true), 403);
    assert_int_equal(ask(operator, r, true), 200); /* with the rights of that user, and no more */
    assert_int_equal(r->n_queues, 0);
    xs_request_free(r);
    r = request(XS_REQ_HOLD);
    r->params.hold = true;
    r->params.pid = getpid();
    r->asker = (struct xs_asker){.known = true, .uid = STRANGER};
    assert_int_equal(ask(operator, r, true), 403);
    assert_int_equal(ask(ordinary, r, false), 200);
    xs_request_free(r);
    assert_int_equal(ask_kind(ordinary, XS_REQ_SETTINGS), 403); /* the token is among them */
    assert_int_equal(ask_kind(operator, XS_REQ_SETTINGS), 200);
    r = request(XS_REQ_SET_POLICY);
    r->params.policy = 1;
    assert_int_equal(ask(ordinary, r, false), 403);
    assert_int_equal(ask(operator, r, false), 200);
    xs_request_free(r);
    close(ordinary);
    close(operator);
}

/* A user that does not read its answers uses up its own share of the memory, for some seconds. The server goes on. */
static void unread_answers_are_bounded(void **state)
{
    int fd = connect_as(ORDINARY), other;
    struct xs_request *r = request(XS_REQ_QUEUES);
    union xs_msg m;

    (void)state;
    for (uint32_t cell = 1; cell < QUEUES; cell++)
        inside_add(&g_program, cell, 1, 0);
    xs_ask_pack(r, false, &m);
    send_ask(fd, &m);
    send_ask(fd, &m);
    for (int i = 0; i < 200; i++)
        round_of_loop();
    assert_true(g_inside.quota.used[XS_POOL_ANSWERS] >= QUEUES * sizeof(struct xs_queue_record));
    assert_null(g_inside.walking);
    other = connect_as(OPERATOR);
    assert_int_equal(ask_kind(other, XS_REQ_POLICY), 200);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->status, 200);
    assert_int_equal(r->n_queues, QUEUES);
    for (size_t i = 1; i < r->n_queues; i++)
        assert_int_not_equal(r->queues[i].status.handle, r->queues[i - 1].status.handle);
    for (int i = 0; i < 200; i++) { /* the second question has had to wait */
        g_inside.now_ns += XS_NS_PER_MS;
        round_of_loop();
    }
    assert_int_equal(g_inside.counts.requests, 3);
    g_inside.now_ns += 20 * XS_NS_PER_S;
    (void)xs_asks_housekeeping(&g_inside);
    assert_int_equal(g_inside.quota.used[XS_POOL_ANSWERS], 0);
    assert_int_equal(g_inside.quota.used[XS_POOL_ASKERS], 1);
    xs_request_free(r);
    close(fd);
    close(other);
}

/* The main loop's time for one user is bounded, too: it reads his next questions later. */
static void many_questions_wait(void **state)
{
    int fd = connect_as(ORDINARY), other;
    struct xs_request *r = request(XS_REQ_STATUS);
    unsigned char packet[XS_ASK_PACKET];
    uint64_t answered;
    union xs_msg m;

    (void)state;
    xs_ask_pack(r, false, &m);
    for (int i = 0; i < 20000; i++) {
        if (xs_socket_send(fd, &m, XS_MSG_ask, 1, NULL, 0) < 0) {
            round_of_loop();
            while (recv(fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
                ;
        }
    }
    answered = g_inside.counts.requests;
    assert_true(answered < 5000);
    other = connect_as(OPERATOR);
    assert_int_equal(ask_kind(other, XS_REQ_POLICY), 200);
    g_inside.now_ns += XS_NS_PER_S;
    round_of_loop();
    round_of_loop();
    assert_true(g_inside.counts.requests > answered + 1); /* it may go on */
    xs_request_free(r);
    close(fd);
    close(other);
}

static void who_leaves_is_forgotten(void **state)
{
    struct xs_request *r = request(XS_REQ_METRICS);
    union xs_msg m;

    (void)state;
    for (uint32_t cell = 1; cell < 1000; cell++)
        inside_add(&g_program, cell, 1, 0);
    for (int before = 0; before < 4; before++) { /* in the walk, and while the answer is sent */
        int fd = connect_as(OPERATOR);

        xs_ask_pack(r, false, &m);
        send_ask(fd, &m);
        inside_serve();
        assert_non_null(g_inside.walking);
        for (int i = 0; i < before * 4; i++)
            round_of_loop();
        close(fd);
        XS_LIST_FOR_SAFE(c, &g_inside.askers, struct xs_client, link)
            xs_client_readable(&g_inside, c, true);
        assert_true(xs_list_empty(&g_inside.askers));
        assert_null(g_inside.walking);
        assert_int_equal(g_inside.quota.used[XS_POOL_ANSWERS], 0);
    }
    xs_request_free(r);
}

static void wrong_questions(void **state)
{
    struct xs_request *r = request(XS_REQ_POLICY);
    union xs_msg good, m;
    int fd = connect_as(OPERATOR);

    (void)state;
    xs_ask_pack(r, false, &good);
    m = good;
    m.ask.kind = XS_REQ_FOLLOW; /* the server's own */
    send_ask(fd, &m);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->status, 400);
    m = good;
    m.ask.layout++;
    send_ask(fd, &m);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->status, 503);
    assert_non_null(strstr(r->text, "another build"));
    m.ask.kind = XS_REQ_SET_POLICY; /* a change has no records */
    m.ask.policy = 1;
    send_ask(fd, &m);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->status, 200);
    m = good;
    m.ask.kind = XS_REQ_HINT;
    m.ask.hint = 200;
    send_ask(fd, &m);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->status, 400);
    m.ask.hint = XS_HINT_PRIORITY;
    m.ask.handle = raw_handle(&g_program, 0);
    m.ask.value = 1000;
    send_ask(fd, &m);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->status, 400);
    raw_hello_fill(&g_program, &m); /* from then on it is no program's */
    assert_int_equal(xs_socket_send(fd, &m, XS_MSG_hello, 1, NULL, 0), 0);
    assert_false(take_answer(fd, r));
    xs_request_free(r);
    close(fd);
}

/* Each user finds a place to ask from, whatever another one takes. */
static void connections_are_bounded(void **state)
{
    int fds[2 * XS_ASKERS], n = 0, other;
    union xs_msg m;
    struct xs_request *r = request(XS_REQ_POLICY);

    (void)state;
    xs_ask_pack(r, false, &m);
    for (unsigned i = 0; i < XS_ARRAY_LEN(fds); i++) {
        fds[n++] = connect_as(ORDINARY);
        send_ask(fds[i], &m);
        round_of_loop();
        g_inside.now_ns += 100 * XS_NS_PER_MS;
    }
    assert_true(g_inside.quota.used[XS_POOL_ASKERS] < XS_ASKERS);
    other = connect_as(OPERATOR);
    assert_int_equal(ask_kind(other, XS_REQ_POLICY), 200);
    g_inside.now_ns += 100 * XS_NS_PER_S; /* and who asks nothing goes */
    (void)xs_asks_housekeeping(&g_inside);
    assert_int_equal(g_inside.quota.used[XS_POOL_ASKERS], 1);
    for (int i = 0; i < n; i++)
        close(fds[i]);
    xs_request_free(r);
    close(other);
}

static void pass(uint64_t ms)
{
    g_inside.now_ns += ms * XS_NS_PER_MS;
    (void)xs_asks_housekeeping(&g_inside);
}

/* Until the next question, which ends it. */
static void a_subscription_is_answered_again(void **state)
{
    int fd = connect_as(OPERATOR);
    struct xs_request *r = request(XS_REQ_METRICS), *one = request(XS_REQ_POLICY);
    char byte;

    (void)state;
    r->params.repeat = r->params.loads = true;
    r->params.for_ms = 1000;
    assert_int_equal(ask(fd, r, false), 200);
    r->params.loads = false;
    for (unsigned i = 1; i < 4; i++) {
        pass(999);
        assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
        pass(1);
        assert_true(take_answer(fd, r));
        assert_int_equal(r->status, 200);
        assert_int_equal(r->n_queues, 1);
        assert_int_equal(r->events_lost, 0);
        assert_int_equal(g_inside.counts.requests, i + 1);
    }
    assert_int_equal(ask(fd, one, false), 200);
    pass(5000);
    assert_int_equal(g_inside.counts.requests, 5);
    xs_request_free(r);
    xs_request_free(one);
    close(fd);
}

/* A subscriber that reads too slowly loses answers, and learns how many. The server has one of them in memory. */
static void a_slow_subscriber_loses_answers(void **state)
{
    int fd = connect_as(ORDINARY);
    struct xs_request *r = request(XS_REQ_METRICS);
    union xs_msg m;
    uint64_t bytes;

    (void)state;
    for (uint32_t cell = 1; cell < QUEUES; cell++)
        inside_add(&g_program, cell, 1, 0);
    r->params.repeat = true;
    r->params.for_ms = 1000;
    xs_ask_pack(r, false, &m);
    send_ask(fd, &m);
    for (int i = 0; i < 100; i++)
        round_of_loop();
    bytes = g_inside.quota.used[XS_POOL_ANSWERS];
    assert_true(bytes > 0);
    for (int i = 0; i < 3; i++) {
        pass(1000);
        assert_int_equal(g_inside.quota.used[XS_POOL_ANSWERS], bytes);
    }
    assert_true(take_answer(fd, r));
    assert_int_equal(r->n_queues, QUEUES);
    assert_int_equal(r->events_lost, 0); /* until that one */
    pass(1000);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->events_lost, 3);
    for (int i = 0; i < 100; i++)
        round_of_loop();
    for (int i = 0; i < 100 && !g_inside.quota.used[XS_POOL_ANSWERS]; i++) {
        pass(1000); /* a slow machine leaves answers out, where one took too much time */
        round_of_loop();
    }
    assert_true(g_inside.quota.used[XS_POOL_ANSWERS] > 0);
    for (int i = 0; i < 100; i++)
        round_of_loop();
    pass(11000); /* and who reads nothing at all ends */
    assert_int_equal(g_inside.quota.used[XS_POOL_ANSWERS], 0);
    assert_int_equal(g_inside.quota.used[XS_POOL_ASKERS], 0);
    xs_request_free(r);
    close(fd);
}

static void events_come_once(void **state)
{
    int fd = connect_as(OPERATOR);
    struct xs_request *r = request(XS_REQ_TIMELINE);
    uint64_t next;

    (void)state;
    r->params.repeat = true;
    r->params.for_ms = 100;
    r->params.since = UINT64_MAX;
    assert_int_equal(ask(fd, r, false), 200);
    assert_int_equal(r->n_events, 0);
    inside_add(&g_program, 7, 1, 0);
    next = r->events_next;
    pass(100);
    assert_true(take_answer(fd, r));
    assert_true(r->n_events >= 1);
    assert_true(r->events_next > next);
    pass(100);
    assert_true(take_answer(fd, r));
    assert_int_equal(r->n_events, 0);
    xs_request_free(r);
    close(fd);
}

static void wrong_subscriptions(void **state)
{
    static const struct {
        enum xs_request_kind kind;
        uint64_t period_ms;
    } k_rows[] = {{XS_REQ_METRICS, 0}, {XS_REQ_METRICS, 99}, {XS_REQ_TIMELINE, 60001}, {XS_REQ_STATUS, 1000},
                  {XS_REQ_POLICY, 1000}};
    int fd = connect_as(OPERATOR);

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct xs_request *r = request(k_rows[i].kind);

        r->params.repeat = true;
        r->params.for_ms = k_rows[i].period_ms;
        assert_int_equal(ask(fd, r, false), 400);
        xs_request_free(r);
    }
    pass(60000);
    assert_int_equal(g_inside.counts.requests, XS_ARRAY_LEN(k_rows));
    close(fd);
}

static unsigned g_looks;

static bool at_the_second_look(const char *server_socket)
{
    assert_string_equal(server_socket, g_inside.socket.path);
    return ++g_looks == 2;
}

/* An xserver that is stopped while a question waits for its answer: who asks looks once a second. */
static void a_wait_ends_where_xserver_is_stopped(void **state)
{
    struct xs_line *line = xs_line_new(g_inside.socket.path, false);
    uint64_t began = xs_now_ns();

    (void)state;
    assert_non_null(line);
    xs_line_watch(line, at_the_second_look);
    assert_int_equal(xs_line_ask(line, xs_request_new(XS_REQ_STATUS), 60 * XS_NS_PER_S), -EHOSTDOWN);
    assert_int_equal(g_looks, 2);
    assert_true(xs_now_ns() - began >= 2 * XS_NS_PER_S);
    xs_line_free(line);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(everything_is_answered),     T(nobody_asks_for_others_but_operators),
        T(unread_answers_are_bounded), T(many_questions_wait),
        T(who_leaves_is_forgotten),    T(wrong_questions),
        T(connections_are_bounded),    T(a_subscription_is_answered_again),
        T(events_come_once),           T(a_slow_subscriber_loses_answers),
        T(wrong_subscriptions),        T(a_wait_ends_where_xserver_is_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
