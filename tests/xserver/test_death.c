/* SPDX-License-Identifier: Apache-2.0 */
/* A process that holds others dies by kill -9: how soon the others go on. test_death [MIB]: also a
 * process that touched so much memory, with times printed. */
#include "raw.h"

#include "base/clock.h"

#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct raw_server g_server;
static size_t g_large_mib;

static int start(void **state)
{
    static const char *const k_args[] = {"--stall-ms", "0", NULL};

    return raw_server_setup(state, &g_server, k_args);
}

/* What libpreempt's control thread does: its word is a robust futex. */
static void own_word(struct raw_client *c)
{
    static struct robust_list node;
    static struct robust_list_head head;

    node.next = &head.list;
    head.list.next = &node;
    head.futex_offset = (char *)&c->page->h.owner_tid - (char *)&node;
    atomic_store(&c->page->h.owner_tid, (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS);
    assert_int_equal(syscall(SYS_set_robust_list, &head, sizeof(head)), 0);
}

/* In the child: holds the device with a long command until it is killed. */
static void hold(size_t mib, bool robust, int ready)
{
    struct raw_client high;
    char *memory = mmap(NULL, (mib + 1) << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (size_t i = 0; i < mib << 20; i += 4096)
        memory[i] = 1;
    raw_connect(&high, g_server.socket);
    if (robust)
        own_word(&high);
    {
        union xs_msg m;
        int fds[2] = {high.page_fd, high.bell};

        raw_hello_fill(&high, &m);
        assert_int_equal(raw_hello(&high, &m, fds, 2), 0);
    }
    raw_add(&high, 0, 1, 10);
    raw_submit(&high, 0);
    if (write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* @return ns from the kill until the held one may go on; ret_gone_ns: until the process is gone */
static uint64_t death(size_t mib, bool robust, uint64_t *ret_gone_ns)
{
    struct raw_client low;
    uint64_t killed, freed;
    int pipes[2];
    char x;
    pid_t pid;

    raw_join(&low, g_server.socket);
    raw_add(&low, 0, 1, 0);
    raw_submit(&low, 0);
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0)
        hold(mib, robust, pipes[1]);
    assert_int_equal(read(pipes[0], &x, 1), 1);
    assert_true(raw_wait_permitted(&low, 0, false, 10000));
    killed = xs_now_ns();
    kill(pid, SIGKILL);
    while (!raw_permitted(&low, 0)) {
        if (xs_now_ns() - killed > 20 * XS_NS_PER_S)
            fail_msg("its death was not noticed");
        usleep(20);
    }
    freed = xs_now_ns() - killed;
    waitpid(pid, NULL, 0);
    *ret_gone_ns = xs_now_ns() - killed;
    close(pipes[0]);
    close(pipes[1]);
    raw_leave(&low);
    for (int i = 0; i < 1000 && raw_status(&g_server, "clients"); i++)
        usleep(5000);
    return freed;
}

static const char *last_reason(char *ret, size_t size)
{
    json_t *json, *ended;
    size_t n;

    assert_int_equal(raw_http(&g_server, "GET", "/clients", NULL, &json), 200);
    ended = json_object_get(json, "ended");
    n = json_array_size(ended);
    /* the holder left before the held one did */
    snprintf(ret, size, "%s", json_string_value(json_object_get(json_array_get(ended, n - 2), "why")));
    json_decref(json);
    return ret;
}

static void noticed_without_the_word(void **state)
{
    uint64_t gone;
    char why[32];

    (void)state;
    death(0, false, &gone);
    last_reason(why, sizeof(why));
    assert_true(!strcmp(why, "left") || !strcmp(why, "exited"));
}

static void noticed_by_the_word(void **state)
{
    uint64_t gone;
    json_t *json;
    bool can;
    char why[32];

    (void)state;
    assert_int_equal(raw_http(&g_server, "GET", "/status", NULL, &json), 200);
    can = json_is_true(json_object_get(json, "early_death"));
    json_decref(json);
    if (!can)
        skip(); /* a kernel before 5.16 */
    /* the others come close behind for a small process: the word must be first at least once */
    for (int i = 0; i < 50; i++) {
        death(8, true, &gone);
        if (!strcmp(last_reason(why, sizeof(why)), "ended"))
            return;
    }
    fail_msg("the robust word was never the first to tell");
}

static void large_as_soon_as_small(void **state)
{
    uint64_t small = UINT64_MAX, large = UINT64_MAX, plain = UINT64_MAX, gone = 0, gone_large = UINT64_MAX;

    (void)state;
    if (!g_large_mib)
        skip();
    /* the least of each: on a machine with two cores a neighbour may come between at any time */
    for (int i = 0; i < 5 || (i < 15 && large > small + XS_MAX(XS_NS_PER_MS, plain / 10)); i++) {
        small = XS_MIN(small, death(0, true, &gone));
        large = XS_MIN(large, death(g_large_mib, true, &gone));
        gone_large = XS_MIN(gone_large, gone);
        plain = XS_MIN(plain, death(g_large_mib, false, &gone));
    }
    printf("kill -9 until the held process goes on, at the least: small %.2f ms, %zu MiB %.2f ms; without the "
           "robust "
           "word %.2f ms; the large process was gone after %.2f ms\n",
           (double)small / 1e6, g_large_mib, (double)large / 1e6, (double)plain / 1e6,
           (double)gone_large / 1e6);
    /* not as long as its memory takes to be freed: a busy machine adds a millisecond here and there */
    assert_true(large <= small + XS_MAX(XS_NS_PER_MS, plain / 10));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noticed_without_the_word),
        cmocka_unit_test(noticed_by_the_word),
        cmocka_unit_test(large_as_soon_as_small),
    };

    if (argc > 1)
        g_large_mib = (size_t)atol(argv[1]);
    return cmocka_run_group_tests(tests, start, raw_server_teardown);
}
