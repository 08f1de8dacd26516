/* SPDX-License-Identifier: Apache-2.0 */
/* A trial program that hangs: the MPS server that serves it ends its work while it lives, and a signal ends it then. NVIDIA's
 * control program is a fake (FAKE_MPS_FOLDER), which says of each order whether the program lived. */
#include "launcher/space/space.h"
#include "launcher/trial.h"

#include "base/clock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char g_folder[64], g_events[128];
static bool g_served;              /* the trial program is in the server's list */
static pid_t g_killed;

static void write_clients(pid_t pid)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/clients", g_folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%d\n%d\n", (int)getpid(), (int)pid);
    fclose(f);
}

static void end(pid_t pid)
{
    g_killed = pid;
    if (g_served)
        write_clients(pid);
    xs_mps_end_own(pid);
}

/* A server of which the daemon tells first, and which serves nobody. */
static void write_first_server(void)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/server", g_folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("4194305", f);
    fclose(f);
}

static int run(const char *seconds)
{
    const struct xs_trial t = {.program = "/bin/sleep", .argument = seconds, .limit_ns = 300 * XS_NS_PER_MS, .before_kill = end};
    char text[64];

    g_killed = 0;
    return xs_trial_run(&t, text, sizeof(text));
}

/* Orders to end a program, as the fake noted them. */
static const char *orders(void)
{
    static char text[512];
    FILE *f = fopen(g_events, "r");
    char line[256];

    text[0] = 0;
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, "terminate_client", 16))
            strcat(text, line);
    if (f)
        fclose(f);
    return text;
}

static void test_hangs(void **state)
{
    const struct xs_mps m = {.pipe = g_folder};
    char why[256], expected[128];

    (void)state;
    g_served = true;
    write_first_server();
    assert_int_equal(xs_mps_start(&m, why, sizeof(why)), 0);
    assert_int_equal(run("100"), -1);
    assert_true(g_killed > 0);
    assert_int_equal(kill(g_killed, 0), -1);
    assert_int_equal(xs_mps_programs(&m, NULL), 1); /* of the second server: this process, since the other is gone */
    snprintf(expected, sizeof(expected), "terminate_client %d %d alive\n", (int)xs_mps_pid(&m), (int)g_killed);
    assert_string_equal(orders(), expected);
}

static void test_ends_by_itself(void **state)
{
    (void)state;
    unlink(g_events);
    assert_int_equal(run("0"), 0);
    assert_int_equal(g_killed, 0);
    assert_string_equal(orders(), "");
}

/* No order for a program that no server serves, and none for this test's own process, which one does. */
static void test_not_served(void **state)
{
    (void)state;
    g_served = false;
    write_clients(getpid());
    assert_int_equal(run("100"), -1);
    assert_true(g_killed > 0);
    assert_string_equal(orders(), "");
}

static void test_no_daemon(void **state)
{
    const struct xs_mps m = {.pipe = g_folder};
    uint64_t began;
    char text[64];

    (void)state;
    assert_int_equal(xs_mps_ask(&m, "quit", text, sizeof(text)), 0);
    for (int i = 0; i < 500 && xs_mps_ask(&m, "get_server_list", text, sizeof(text)) == 0; i++)
        usleep(10000);
    began = xs_now_ns();
    assert_int_equal(run("100"), -1);
    assert_true(g_killed > 0 && xs_now_ns() - began < 20 * XS_NS_PER_S);
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    assert_int_equal(run("100"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hangs), cmocka_unit_test(test_ends_by_itself),
                                       cmocka_unit_test(test_not_served), cmocka_unit_test(test_no_daemon)};
    char path[4096], command[512];
    int failed;

    strcpy(g_folder, "/tmp/xsched-trial-XXXXXX");
    if (!mkdtemp(g_folder))
        return 1;
    snprintf(g_events, sizeof(g_events), "%s/events", g_folder);
    snprintf(path, sizeof(path), "%s:%s", getenv("FAKE_MPS_FOLDER"), getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("FAKE_MPS_EVENTS", g_events, 1);
    setenv("CUDA_MPS_PIPE_DIRECTORY", g_folder, 1);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof(command), "CUDA_MPS_PIPE_DIRECTORY=%s; export CUDA_MPS_PIPE_DIRECTORY; echo quit | "
             "nvidia-cuda-mps-control >/dev/null; rm -rf %s", g_folder, g_folder);
    return system(command) != 0 || failed;
}
