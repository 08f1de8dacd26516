/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread does not use the C library's heap: a program may have its own in its place, and
 * hold its locks for long. This one has, and looks who calls. */
#include "xqueue_test.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void __libc_free(void *p);

static _Atomic bool g_watch;
static _Atomic uint64_t g_calls, g_ours;

/* libpreempt's threads take no signals. */
static void look(void)
{
    sigset_t set;

    if (!atomic_load(&g_watch))
        return;
    atomic_fetch_add(&g_calls, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if (sigismember(&set, SIGUSR1) == 1)
        atomic_fetch_add(&g_ours, 1);
}

EXPORT void *malloc(size_t bytes)
{
    look();
    return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes)
{
    look();
    return __libc_calloc(n, bytes);
}

EXPORT void *realloc(void *p, size_t bytes)
{
    look();
    return __libc_realloc(p, bytes);
}

EXPORT void free(void *p)
{
    if (p)
        look();
    __libc_free(p);
}

static void come_and_go(struct fake_device *d, int n)
{
    struct lane lanes[300];

    fake_auto(true);
    for (int i = 0; i < n; i++) {
        fake_hal_set_device((uint32_t)i % 3);
        lanes[i] = lane_open(d);
        ok(XHintPriority(lanes[i].xq, i % 20));
        fake_api_launch(lanes[i].stream, 10 * US, 1);
    }
    fake_auto(false);
    fake_settle();
    for (int i = 0; i < n; i++)
        lane_close(&lanes[i]);
    fake_settle();
}

static void the_control_thread_stays_away(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_SHARED);

    (void)state;
    fake_hal_no_outside(); /* markers may: they are no part of it */
    ok(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst));
    come_and_go(d, 2);                                  /* the threads are there */
    atomic_store(&g_watch, true);
    come_and_go(d, 300);
    ok(XHintSetScheduler(kSchedulerLocal, kPolicyCompletelyFairScheduler)); /* all of it anew */
    come_and_go(d, 300);
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    fake_settle();
    atomic_store(&g_watch, false);
    print_message("%llu calls of the heap, %llu by threads of ours\n", (unsigned long long)g_calls,
                  (unsigned long long)g_ours);
    assert_true(g_calls > 600);
    assert_int_equal(g_ours, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(the_control_thread_stays_away)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
