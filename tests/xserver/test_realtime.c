/* SPDX-License-Identifier: Apache-2.0 */
/* A main loop of the real-time class that uses too much of a core leaves the class, and comes back. Without the right
 * to have that class there is nothing to test. */
#include "xserver/realtime.h"

#include "base/clock.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define PERCENT 20

static void burn(uint64_t ns)
{
    struct timespec t;
    uint64_t until = 0, now;

    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * XS_NS_PER_S + (uint64_t)t.tv_nsec;
        until = until ? until : now + ns;
    } while (now < until);
}

static int class_now(void)
{
    return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static void take_class(void)
{
    struct sched_param p = {.sched_priority = 1};

    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &p) < 0)
        skip();
}

/* Ten seconds after it left, and not before. @param t  of the look that found it to have left */
static void comes_back(struct xs_realtime *r, uint64_t t)
{
    xs_realtime_look(r, PERCENT, t + 9 * XS_NS_PER_S);
    assert_int_equal(class_now(), SCHED_OTHER);
    xs_realtime_look(r, PERCENT, t + 11 * XS_NS_PER_S);
    assert_int_equal(class_now(), SCHED_RR);
}

static int leave_class(void **state)
{
    struct sched_param p = {0};

    (void)state;
    return sched_setscheduler(0, SCHED_OTHER, &p);
}

static void too_much_of_a_core(void **state)
{
    struct xs_realtime r;
    uint64_t t = 5 * XS_NS_PER_S;

    (void)state;
    take_class();
    xs_realtime_init(&r);
    xs_realtime_look(&r, PERCENT, t);
    burn(PERCENT / 2 * XS_NS_PER_S / 100);
    xs_realtime_look(&r, PERCENT, t += XS_NS_PER_S);
    assert_int_equal(class_now(), SCHED_RR); /* half of what it may */
    burn(2 * PERCENT * XS_NS_PER_S / 100);
    xs_realtime_look(&r, PERCENT, t += XS_NS_PER_S);
    assert_int_equal(class_now(), SCHED_OTHER);
    comes_back(&r, t);
}

static void no_bound_is_kept_where_none_is_set(void **state)
{
    struct xs_realtime r;
    uint64_t t = 5 * XS_NS_PER_S;

    (void)state;
    take_class();
    xs_realtime_init(&r);
    xs_realtime_look(&r, 0, t);
    burn(2 * PERCENT * XS_NS_PER_S / 100);
    xs_realtime_look(&r, 0, t + XS_NS_PER_S);
    assert_int_equal(class_now(), SCHED_RR);
}

/* As the kernel sends it: the server would end otherwise. */
static void the_kernels_limit(void **state)
{
    struct xs_realtime r;
    uint64_t t = 5 * XS_NS_PER_S;

    (void)state;
    take_class();
    xs_realtime_init(&r);
    xs_realtime_look(&r, PERCENT, t);
    raise(SIGXCPU);
    assert_int_equal(class_now(), SCHED_OTHER); /* at once, also where the loop does not come round */
    xs_realtime_look(&r, PERCENT, t += XS_NS_PER_S);
    comes_back(&r, t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(too_much_of_a_core, leave_class),
        cmocka_unit_test_teardown(no_bound_is_kept_where_none_is_set, leave_class),
        cmocka_unit_test_teardown(the_kernels_limit, leave_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
