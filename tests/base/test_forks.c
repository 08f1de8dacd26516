/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child is told from its parent, and takes the locks that its parent's threads held. */
#include "base/lock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct xs_lock g_held, g_tried, g_own;

static int status_of(pid_t pid)
{
    int status = -1;

    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* @return 0, or the line that failed */
static int child(uint32_t parents, int deeper)
{
    uint32_t mine = xs_forks();

    alarm(20);
    if (mine == parents || mine == 0 || mine % 4)
        return __LINE__;
    if (xs_forks() != mine)
        return __LINE__;
    if (!xs_lock_try(&g_tried) || xs_lock_try(&g_tried))
        return __LINE__;          /* whoever had it is not there; then it is the child's */
    xs_lock_acquire(&g_held);     /* would sleep for ever */
    if (xs_lock_try(&g_held))
        return __LINE__;
    xs_lock_acquire(&g_own);
    if (deeper) {                 /* with all of them taken, by the child now */
        pid_t pid = fork();
        int status = -1;

        if (pid == 0)
            _exit(child(mine, deeper - 1));
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return __LINE__;
    }
    xs_lock_release(&g_own);
    xs_lock_release(&g_held);
    xs_lock_release(&g_tried);
    return xs_lock_try(&g_held) ? 0 : __LINE__;
}

static void children_take_what_was_held(void **state)
{
    uint32_t mine = xs_forks();

    (void)state;
    assert_true(mine != 0 && mine % 4 == 0);
    for (int i = 0; i < 3; i++) {
        pid_t pid;

        xs_lock_acquire(&g_held);
        assert_true(xs_lock_try(&g_tried));
        pid = fork();
        if (pid == 0)
            _exit(child(mine, 2));
        assert_int_equal(status_of(pid), 0);
        assert_int_equal(xs_forks(), mine);
        assert_false(xs_lock_try(&g_held)); /* the parent's is as it was */
        xs_lock_release(&g_held);
        xs_lock_release(&g_tried);
    }
}

/* One that sleeps in the parent is woken by the parent's release. */
static void *sleeper(void *unused)
{
    (void)unused;
    xs_lock_acquire(&g_held);
    xs_lock_release(&g_held);
    return NULL;
}

static void with_a_sleeper(void **state)
{
    pthread_t t;
    pid_t pid;

    (void)state;
    xs_lock_acquire(&g_held);
    assert_int_equal(pthread_create(&t, NULL, sleeper, NULL), 0);
    while (!(atomic_load(&g_held.word) & XS_LOCK_SLEEPERS))
        usleep(100);
    pid = fork();
    if (pid == 0)
        _exit(child(0, 1));
    assert_int_equal(status_of(pid), 0);
    xs_lock_release(&g_held);
    assert_int_equal(pthread_join(t, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_take_what_was_held),
        cmocka_unit_test(with_a_sleeper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
