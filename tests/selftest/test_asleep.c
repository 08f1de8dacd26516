/* SPDX-License-Identifier: Apache-2.0 */
/* Whether all threads sleep (fakes/asleep.h): of a child, whose thread sleeps, wakes, computes, stops and ends. */
#include "asleep.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct asleep g_seen = {.keep_open = true};
static pid_t g_child;
static int g_to[2], g_from[2];

/* Answers each byte; after a 'c' it computes for ever. */
static void child(void)
{
    char c;

    while (read(g_to[0], &c, 1) == 1) {
        if (write(g_from[1], &c, 1) != 1)
            break;
        while (c == 'c')
            __asm__ volatile("" ::: "memory");
    }
    _exit(0);
}

static void say(char c)
{
    char back = 0;

    assert_int_equal(write(g_to[1], &c, 1), 1);
    assert_int_equal(read(g_from[0], &back, 1), 1);
    assert_int_equal(back, c);
}

static enum asleep_answer settled(void)
{
    enum asleep_answer a;

    for (int i = 0; (a = asleep_look(&g_seen, g_child, NULL)) != ASLEEP_ALL && i < 5000; i++)
        usleep(1000);
    return a;
}

static int begin(void **state)
{
    (void)state;
    if (pipe(g_to) != 0 || pipe(g_from) != 0)
        return -1;
    g_child = fork();
    if (g_child == 0)
        child();
    return g_child < 0 ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    kill(g_child, SIGKILL);
    waitpid(g_child, NULL, 0);
    close(g_to[0]), close(g_to[1]), close(g_from[0]), close(g_from[1]);
    asleep_forget(&g_seen);
    return 0;
}

static void sleeps(void **state)
{
    (void)state;
    assert_int_equal(settled(), ASLEEP_ALL);
    assert_int_equal(asleep_look(&g_seen, g_child, NULL), ASLEEP_ALL);
    /* one look is never enough for what it did not see before */
    asleep_forget(&g_seen);
    assert_int_not_equal(asleep_look(&g_seen, g_child, NULL), ASLEEP_ALL);
}

/* It slept before and sleeps now: that it ran in between shows. */
static void ran(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(settled(), ASLEEP_ALL);
        say('a');
        assert_int_not_equal(asleep_look(&g_seen, g_child, NULL), ASLEEP_ALL);
    }
}

static void computes(void **state)
{
    (void)state;
    assert_int_equal(settled(), ASLEEP_ALL);
    say('c');
    for (int i = 0; i < 500; i++)
        assert_int_not_equal(asleep_look(&g_seen, g_child, NULL), ASLEEP_ALL);
    kill(g_child, SIGSTOP);
    assert_int_equal(settled(), ASLEEP_ALL);
    assert_true(g_seen.stopped);
}

static void gone(void **state)
{
    (void)state;
    assert_int_equal(settled(), ASLEEP_ALL);
    kill(g_child, SIGKILL);
    waitpid(g_child, NULL, 0);
    assert_int_equal(asleep_look(&g_seen, g_child, NULL), ASLEEP_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sleeps, begin, end),
        cmocka_unit_test_setup_teardown(ran, begin, end),
        cmocka_unit_test_setup_teardown(computes, begin, end),
        cmocka_unit_test_setup_teardown(gone, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
