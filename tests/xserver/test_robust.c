/* SPDX-License-Identifier: Apache-2.0 */
/* Bad clients: malformed, truncated and random packets, floods. test_robust [PACKETS [FLOOD]] */
#include "raw.h"

#include "base/clock.h"

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct raw_server g_server;
static long g_packets = 1500, g_flood = 20000;
static uint64_t g_bound_ns = XS_NS_PER_S; /* of a hold beside the flood; 50 ms in the long run, which runs by itself */

static int start(void **state)
{
    return raw_server_setup(state, &g_server, NULL);
}

static int open_descriptors(void)
{
    char path[64];
    int n = 0;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)g_server.pid);
    d = opendir(path);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void wait_clients(int64_t count)
{
    for (int i = 0; i < 2000 && raw_status(&g_server, "clients") != count; i++)
        usleep(5000);
    assert_int_equal(raw_status(&g_server, "clients"), count);
}

/* Each is refused with a message, and then the connection is closed. */
static void malformed_packets_are_refused(void **state)
{
    static const struct {
        const char *what;
        uint16_t id, head_bytes; /* head_bytes 0: as many as are sent */
        unsigned bytes;          /* sent, of a packet filled with `fill` behind the head */
        unsigned char fill;
        bool joined;
    } k_rows[] = {
        {"one byte", 0, 0, 1, 0, true},
        {"half a head", 4, 0, 7, 0, true},
        {"head says more", 5, 400, 16, 1, true},
        {"head says less", 5, 8, 16, 1, true},
        {"queue_add cut", 4, 0, 40, 0, true},
        {"queue_add out of range", 4, 0, 96, 0xff, true},
        {"queue_hints cut to the head", 6, 0, 8, 0, true},
        {"queue_remove of handle 0", 5, 0, 16, 0, true},
        {"a server's message", 2, 0, 32, 1, true},
        {"another of a server's", 3, 0, 152, 0, true},
        {"hello without end of text", 1, 0, 100, 1, false},
        {"hello cut", 1, 0, 20, 1, false},
        {"one byte before hello", 0, 0, 1, 0, false},
        {"the longest packet", 7, 0, 1024, 0xff, true},
        {"longer than any", 7, 0, 1025, 0, true},
        {"much longer", 7, 0, 60000, 0, true},
    };
    static unsigned char packet[65536];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct xs_wire_head head = {.id = k_rows[i].id, .bytes = k_rows[i].head_bytes, .serial = 1};
        struct raw_client c;
        union xs_msg m;
        int id;

        if (k_rows[i].joined)
            raw_join(&c, g_server.socket);
        else
            raw_connect(&c, g_server.socket);
        if (!head.bytes)
            head.bytes = (uint16_t)k_rows[i].bytes;
        memset(packet, k_rows[i].fill, sizeof(packet));
        memcpy(packet, &head, sizeof(head));
        assert_int_equal(send(c.fd, packet, k_rows[i].bytes, MSG_NOSIGNAL), k_rows[i].bytes);
        id = raw_receive(&c, &m, 5000);
        if (id != XS_MSG_refused)
            fail_msg("%s: no refusal but %d", k_rows[i].what, id);
        assert_true(m.refused.reason == XS_REFUSED_MALFORMED || m.refused.reason == XS_REFUSED_VERSION);
        assert_true(m.refused.text[0] != 0);
        if (raw_receive(&c, &m, 5000) != 0)
            fail_msg("%s: not hung up", k_rows[i].what);
        raw_leave(&c);
    }
    wait_clients(0);
}

static uint64_t g_seed = 20240611;

static uint64_t random_u64(void)
{
    g_seed ^= g_seed << 13; /* xorshift64 */
    g_seed ^= g_seed >> 7;
    g_seed ^= g_seed << 17;
    return g_seed;
}

/* A good message with a few bytes changed, or noise. @return bytes */
static unsigned mutate(const struct raw_client *c, unsigned char *packet)
{
    union xs_msg m;
    size_t bytes = 0;

    raw_add_fill(c, &m, (uint32_t)(random_u64() % 64), random_u64() % 3, (int32_t)(random_u64() % 40));
    switch (random_u64() % 6) {
    case 0:
        raw_hello_fill(c, &m);
        bytes = xs_wire_seal(&m, XS_MSG_hello, 1);
        break;
    case 1:
    case 2:
        bytes = xs_wire_seal(&m, XS_MSG_queue_add, 1);
        break;
    case 3:
        memset(&m, 0, sizeof(m));
        m.queue_remove.handle = raw_handle(c, (uint32_t)(random_u64() % 64));
        bytes = xs_wire_seal(&m, XS_MSG_queue_remove, 1);
        break;
    case 4:
        memset(&m, 0, sizeof(m));
        m.queue_hints.handle = raw_handle(c, (uint32_t)(random_u64() % 64));
        bytes = xs_wire_seal(&m, XS_MSG_queue_hints, 1);
        break;
    default:
        for (bytes = 0; bytes < XS_WIRE_MAX_BYTES; bytes++)
            packet[bytes] = (unsigned char)random_u64();
        return (unsigned)(1 + random_u64() % XS_WIRE_MAX_BYTES);
    }
    memcpy(packet, &m, bytes);
    for (uint64_t n = random_u64() % 4; n > 0; n--)
        packet[random_u64() % bytes] = (unsigned char)random_u64();
    return (unsigned)(random_u64() % 8 ? bytes : 1 + random_u64() % bytes);
}

/* Waits until the server has handled what was sent. @return false when it hung up */
static bool answers(struct raw_client *c)
{
    union xs_msg m;
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    memset(&m, 0, sizeof(m));
    m.queue_remove.handle = INT64_MAX;
    if (xs_socket_send(c->fd, &m, XS_MSG_queue_remove, 1, NULL, 0) < 0)
        return false;
    for (;;) {
        assert_int_equal(poll(&p, 1, 10000), 1);
        if (recv(c->fd, &m, sizeof(m), 0) <= 0)
            return false;
        if (m.head.id == XS_MSG_refused && m.refused.handle == INT64_MAX)
            return m.refused.reason == XS_REFUSED_UNKNOWN;
    }
}

static void random_packets_do_no_harm(void **state)
{
    struct raw_client pages, c;
    bool connected = false;
    int before;

    (void)state;
    wait_clients(0);
    before = open_descriptors();
    raw_connect(&pages, g_server.socket);
    memset(&c, 0, sizeof(c));
    for (long i = 0; i < g_packets; i++) {
        unsigned char packet[XS_WIRE_MAX_BYTES];
        union xs_msg m;
        int fds[2] = {pages.page_fd, pages.bell};

        if (!connected) {
            c = pages;
            c.fd = xs_socket_connect(g_server.socket, 5 * XS_NS_PER_S);
            assert_true(c.fd >= 0);
            c.server = NULL;
            c.prefix = 1 + (random_u64() & 0x3fffffff);
            connected = true;
            if (random_u64() % 8) {
                raw_hello_fill(&c, &m);
                assert_int_equal(xs_socket_send(c.fd, &m, XS_MSG_hello, 1, fds, 2), 0);
            }
        }
        send(c.fd, packet, mutate(&c, packet), MSG_NOSIGNAL);
        connected = answers(&c);
        if (!connected)
            close(c.fd);
    }
    if (connected)
        close(c.fd);
    raw_leave(&pages);
    wait_clients(0);
    assert_int_equal(raw_status(&g_server, "queues"), 0);
    printf("%ld packets, %ld of them malformed, %ld refusals\n", g_packets,
           (long)raw_status(&g_server, "malformed"), (long)raw_status(&g_server, "refused"));
    assert_true(raw_status(&g_server, "malformed") > g_packets / 20);
    for (int i = 0; i < 400 && open_descriptors() > before + 2; i++)
        usleep(5000);
    assert_true(open_descriptors() <= before + 2); /* an HTTP connection may be there */
}

/* One client sends queues without end; the others' decisions go on. */
static void flood_does_not_hurt_others(void **state)
{
    struct raw_client low, high;
    uint64_t worst = 0;
    int status, rounds = 0;
    pid_t pid;

    (void)state;
    raw_join(&low, g_server.socket);
    raw_join(&high, g_server.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&high, 0, 1, 10);
    pid = fork();
    if (pid == 0) {
        struct raw_client flood;
        union xs_msg m;

        raw_join(&flood, g_server.socket);
        for (long i = 0; i < g_flood; i++) {
            raw_add_fill(&flood, &m, (uint32_t)(i % XS_PAGE_QUEUES), 1, 0);
            m.queue_add.handle += (uint64_t)(i / XS_PAGE_QUEUES) << 16;
            raw_send(&flood, &m, XS_MSG_queue_add);
            while (recv(flood.fd, &m, sizeof(m), 0) > 0)
                ; /* the refusals */
        }
        raw_settle(&flood);
        _exit(0);
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        uint64_t began;

        raw_submit(&low, 0);
        assert_true(raw_wait_permitted(&low, 0, true, 20000));
        began = xs_now_ns();
        raw_submit(&high, 0);
        assert_true(raw_wait_permitted(&low, 0, false, 20000));
        worst = XS_MAX(worst, xs_now_ns() - began);
        raw_complete(&high, 0);
        assert_true(raw_wait_permitted(&low, 0, true, 20000));
        raw_complete(&low, 0);
        rounds++;
    }
    assert_int_equal(status, 0);
    assert_true(rounds > 0);
    assert_true(worst < g_bound_ns);
    printf("%ld queue_add: %d rounds of hold and permit meanwhile, the slowest hold after %.3f ms\n", g_flood,
           rounds, (double)worst / 1e6);
    if (g_flood > XS_PAGE_QUEUES)
        assert_true(raw_status(&g_server, "refused") >= g_flood - (long)XS_PAGE_QUEUES);
    raw_leave(&low);
    raw_leave(&high);
    wait_clients(0);
    assert_int_equal(raw_status(&g_server, "queues"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_packets_are_refused),
        cmocka_unit_test(random_packets_do_no_harm),
        cmocka_unit_test(flood_does_not_hurt_others),
    };

    if (argc > 1)
        g_packets = atol(argv[1]);
    if (argc > 2) {
        g_flood = atol(argv[2]);
        g_bound_ns = 50 * XS_NS_PER_MS;
    }
    return cmocka_run_group_tests(tests, start, raw_server_teardown);
}
