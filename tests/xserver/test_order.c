/* SPDX-License-Identifier: Apache-2.0 */
/* From the doorbell to the permit, over real pages and sockets. */
#include "raw.h"

#include "base/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SOON_MS 20000

static struct raw_server g_server;

static int start(void **state)
{
    static const char *const k_args[] = {"HPF", "--stall-ms", "0", NULL};

    return raw_server_setup(state, &g_server, k_args);
}

/* Two processes: the raw clients of one process would be one gang only by name, so two sockets do. */
static void high_holds_low(void **state)
{
    struct raw_client low, high;
    uint64_t before;

    (void)state;
    raw_join(&low, g_server.socket);
    raw_join(&high, g_server.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&high, 5, 1, 10);
    for (int i = 0; i < 20; i++) {
        raw_submit(&low, 0);
        assert_true(raw_wait_permitted(&low, 0, true, SOON_MS));
        before = xs_now_ns();
        raw_submit(&high, 5);
        assert_true(raw_wait_permitted(&low, 0, false, SOON_MS));
        assert_true(raw_permitted(&high, 5));
        assert_true(atomic_load(&low.server->h.lease_until_ns) > before); /* by then this test may have slept longer */
        raw_complete(&high, 5);
        assert_true(raw_wait_permitted(&low, 0, true, SOON_MS));
        raw_complete(&low, 0);
    }
    assert_true(atomic_load(&low.server->cells[0].suspensions) >= 20);
    raw_leave(&low);
    raw_leave(&high);
}

/* Leases are renewed while something is held, and the high side's end frees the low one. */
static void lease_is_renewed_and_death_frees(void **state)
{
    struct raw_client low, high;
    uint64_t first;

    (void)state;
    raw_join(&low, g_server.socket);
    raw_join(&high, g_server.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&high, 0, 1, 10);
    raw_submit(&low, 0);
    raw_submit(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, false, SOON_MS));
    first = atomic_load(&low.server->h.lease_until_ns);
    for (int i = 0; i < SOON_MS / 20 && atomic_load(&low.server->h.lease_until_ns) == first; i++)
        usleep(20000);
    assert_true(atomic_load(&low.server->h.lease_until_ns) > first);
    raw_leave(&high);
    assert_true(raw_wait_permitted(&low, 0, true, SOON_MS));
    raw_leave(&low);
}

static void other_devices_are_not_held(void **state)
{
    struct raw_client low, other, high;

    (void)state;
    raw_join(&low, g_server.socket);
    raw_join(&other, g_server.socket);
    raw_join(&high, g_server.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&other, 1, 2, 0);
    raw_add(&high, 0, 1, 10);
    raw_submit(&low, 0);
    raw_submit(&other, 1);
    raw_submit(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, false, SOON_MS));
    assert_true(raw_permitted(&other, 1));
    raw_leave(&low);
    raw_leave(&other);
    raw_leave(&high);
}

/* Half of a program that works on two devices would wait for the other half. */
static void a_program_on_two_devices_is_held_on_both(void **state)
{
    struct raw_client low, high;

    (void)state;
    raw_join(&low, g_server.socket);
    raw_join(&high, g_server.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&low, 1, 2, 0);
    raw_add(&high, 0, 1, 10);
    raw_submit(&low, 0);
    raw_submit(&low, 1);
    raw_submit(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, false, SOON_MS));
    assert_true(raw_wait_permitted(&low, 1, false, SOON_MS));
    raw_complete(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, true, SOON_MS));
    assert_true(raw_wait_permitted(&low, 1, true, SOON_MS));
    raw_leave(&low);
    raw_leave(&high);
}

/* A hint of the program changes who runs, at once. */
static void hints_act(void **state)
{
    struct raw_client a, b;
    union xs_msg m;

    (void)state;
    raw_join(&a, g_server.socket);
    raw_join(&b, g_server.socket);
    raw_add(&a, 0, 1, 5);
    raw_add(&b, 0, 1, 10);
    raw_submit(&a, 0);
    raw_submit(&b, 0);
    assert_true(raw_wait_permitted(&a, 0, false, SOON_MS));
    memset(&m, 0, sizeof(m));
    m.queue_hints.handle = raw_handle(&a, 0);
    m.queue_hints.priority = 20;
    m.queue_hints.utilization = 100;
    m.queue_hints.deadline_us = m.queue_hints.laxity_us = -1;
    raw_send(&a, &m, XS_MSG_queue_hints);
    assert_true(raw_wait_permitted(&a, 0, true, SOON_MS));
    assert_true(raw_wait_permitted(&b, 0, false, SOON_MS));
    raw_leave(&a);
    raw_leave(&b);
}

/* By the CPU scheduling of the process, as soon as that policy is chosen; a later change of it is
 * seen too. The child is nicer. */
static void cpu_priority_orders_processes(void **state)
{
    struct raw_client own;
    int to_child[2], status;
    char x;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(to_child), 0);
    raw_join(&own, g_server.socket);
    raw_add(&own, 0, 1, 0);
    pid = fork();
    if (pid == 0) {
        struct raw_client child;

        if (nice(5) < 0)
            _exit(2);
        raw_join(&child, g_server.socket);
        raw_add(&child, 0, 1, 0);
        raw_submit(&child, 0);
        if (read(to_child[0], &x, 1) != 1)
            _exit(3);
        _exit(raw_wait_permitted(&child, 0, false, 10000) ? 0 : 4);
    }
    raw_submit(&own, 0);
    assert_int_equal(raw_http(&g_server, "POST", "/policy?policy=3", "", NULL), 200);
    assert_int_equal(write(to_child[1], "x", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(raw_http(&g_server, "POST", "/policy?policy=1", "", NULL), 200);
    close(to_child[0]);
    close(to_child[1]);
    raw_leave(&own);
}

/* Whether a nicer program is suspended for this one under the policy of a shared object. */
static bool nicer_is_suspended(const char *policy, char *ret_log, size_t size)
{
    const char *const args[] = {"--policy", policy, "--stall-ms", "0", NULL};
    struct raw_server server;
    struct raw_client own;
    int status;
    char *log;
    pid_t pid;

    raw_server_start(&server, args);
    raw_join(&own, server.socket);
    raw_add(&own, 0, 1, 0);
    raw_submit(&own, 0);
    pid = fork();
    if (pid == 0) {
        struct raw_client child;

        if (nice(5) < 0)
            _exit(2);
        raw_join(&child, server.socket);
        raw_add(&child, 0, 1, 0);
        raw_submit(&child, 0);
        raw_settle(&child);
        _exit(raw_wait_permitted(&child, 0, false, 500) ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    raw_leave(&own);
    log = raw_server_log(&server);
    snprintf(ret_log, size, "%s", log);
    free(log);
    assert_int_equal(raw_server_stop(&server), 0);
    return WEXITSTATUS(status) == 1;
}

/* A policy from a shared object asks for CPU priorities as CHPF does. One that was built against an older header cannot,
 * which the server says in one line. */
static void loaded_policies_get_cpu_priorities(void **state)
{
    char log[4096], *line;

    (void)state;
    assert_true(nicer_is_suspended(CPU_POLICY_1, log, sizeof(log)));
    assert_null(strstr(log, "another xsched/policy.h"));
    assert_false(nicer_is_suspended(CPU_POLICY_0, log, sizeof(log)));
    line = strstr(log, CPU_POLICY_0 " belongs to another xsched/policy.h: it cannot set XS_POLICY_CPU_CLASS");
    assert_non_null(line);
    assert_non_null(line = strchr(line, '\n'));
    assert_null(strstr(line, "another xsched/policy.h"));
}

/* Ends the server while something is held: the word is open before the socket closes. */
static void sigterm_opens_all(void **state)
{
    struct raw_server server;
    struct raw_client low, high;
    union xs_msg m;

    (void)state;
    raw_server_start(&server, NULL);
    raw_join(&low, server.socket);
    raw_join(&high, server.socket);
    raw_add(&low, 0, 1, 0);
    raw_add(&high, 0, 1, 10);
    raw_submit(&low, 0);
    raw_submit(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, false, SOON_MS));
    kill(server.pid, SIGTERM);
    assert_int_equal(raw_receive(&low, &m, 5000), 0);
    assert_true(raw_permitted(&low, 0));
    assert_int_equal(raw_server_stop(&server), 0);
    raw_leave(&low);
    raw_leave(&high);
}

/* Nothing is held, nothing happens: none of the server's threads runs. What was there before (a connection being closed,
 * a last lease) may still be in the first half seconds, however late this machine comes to it. */
static void idle_server_sleeps(void **state)
{
    struct raw_client low, high;
    bool slept = false;

    (void)state;
    raw_join(&low, g_server.socket);
    raw_join(&high, g_server.socket);
    for (uint32_t i = 0; i < 50; i++)
        raw_add(&low, i, 1, 0);
    raw_add(&high, 0, 1, 10);
    raw_submit(&low, 0);
    raw_submit(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, false, SOON_MS));
    raw_complete(&high, 0);
    assert_true(raw_wait_permitted(&low, 0, true, SOON_MS));
    raw_complete(&low, 0);
    for (int i = 0; i < 20 && !slept; i++) {
        int64_t sleeps = raw_status(&g_server, "sleeps");
        struct raw_ran before, after;

        usleep(100000);           /* the end of the question's connection */
        raw_server_ran(&g_server, &before);
        usleep(500000);
        raw_server_ran(&g_server, &after);
        slept = after.switches == before.switches && after.ticks == before.ticks && after.threads == before.threads;
        if (slept)
            assert_true(raw_status(&g_server, "sleeps") - sleeps <= 4); /* the questions themselves */
        else
            print_message("%d: %lu switches, %lu ticks\n", i, after.switches - before.switches,
                          after.ticks - before.ticks);
    }
    assert_true(slept);
    raw_leave(&low);
    raw_leave(&high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(high_holds_low),
        cmocka_unit_test(lease_is_renewed_and_death_frees),
        cmocka_unit_test(other_devices_are_not_held),
        cmocka_unit_test(a_program_on_two_devices_is_held_on_both),
        cmocka_unit_test(hints_act),
        cmocka_unit_test(cpu_priority_orders_processes),
        cmocka_unit_test(loaded_policies_get_cpu_priorities),
        cmocka_unit_test(sigterm_opens_all),
        cmocka_unit_test(idle_server_sleeps),
    };

    return cmocka_run_group_tests(tests, start, raw_server_teardown);
}
