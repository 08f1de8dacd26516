/* SPDX-License-Identifier: Apache-2.0 */
/* Late starts: what bursts teach, on a device and a program that are made of numbers. */
#include "xqueue/late_habit.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define US XS_NS_PER_US

static uint64_t g_disturbed_us;  /* each third burst ends so much later */

/* A burst launched in so long, of which the device has so much to do, after this delay. What is launched last runs last.
 * @return how much later it ended than launching it */
static uint64_t burst(struct xs_late_habit *h, uint64_t commands, uint64_t launch_us, uint64_t device_us, uint64_t *ret_delay_us)
{
    static uint32_t n;
    uint64_t delay_ns = xs_late_delay_ns(h), launch_ns = launch_us * US;
    struct xs_late_burst b = {.commands = commands, .launch_ns = launch_ns};

    b.end_ns = XS_MAX(launch_ns + 20 * US, XS_MIN(delay_ns, launch_ns) + device_us * US) + (n++ % 3 ? 0 : g_disturbed_us * US);
    xs_late_learn(h, &b);
    if (ret_delay_us)
        *ret_delay_us = delay_ns / US;
    return b.end_ns - launch_ns;
}

static uint64_t launch_of(uint32_t i) /* a framework's, which differs */
{
    static const uint64_t us[] = {2600, 3100, 2500, 2900, 4200, 2550, 2700, 3300};

    return us[i % 8];
}

/* Nothing is delayed before eight bursts were alike. Then longer delays are tried, and at last bursts end about when their
 * launches end, and the others have most of the time for which the device would have waited for launches. */
static void launching_is_slower(void **state)
{
    struct xs_late_habit h = {0};
    uint64_t delay_us = 0, late_ns = 0;

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        burst(&h, 100 + i % 3, launch_of(i), 900, &delay_us);
        assert_int_equal(delay_us, 0);
    }
    for (uint32_t i = 0; i < 100; i++)
        assert_in_range(burst(&h, 100, launch_of(i), 900, &delay_us), 0, 500 * US);
    for (uint32_t i = 0; i < 400; i++)
        late_ns += burst(&h, 100, launch_of(i), 900, &delay_us);
    assert_in_range(delay_us, 1500, 1900);
    assert_in_range(late_ns / 400, 0, 120 * US);
}

/* What the others have on the device is in the way of a third of the bursts, whatever the delay: that changes little. */
static void some_bursts_are_disturbed(void **state)
{
    struct xs_late_habit h = {0};
    uint64_t delay_us = 0, sum_us = 0;

    (void)state;
    g_disturbed_us = 500;
    for (uint32_t i = 0; i < 800; i++) {
        burst(&h, 100, launch_of(i), 900, &delay_us);
        sum_us += i < 400 ? 0 : delay_us;
    }
    g_disturbed_us = 0;
    assert_in_range(sum_us / 400, 1000, 1900);
}

/* The device is the slower one: a delay would be felt, so there is none, but for a try now and then. */
static void the_device_is_slower(void **state)
{
    struct xs_late_habit h = {0};
    uint64_t delay_us = 0, delayed = 0;

    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        burst(&h, 100, launch_of(i), 5000, &delay_us);
        delayed += delay_us > 0;
    }
    assert_in_range(delayed, 1, 12);
}

/* It becomes so: some windows later what is delayed ends in time again. */
static void the_device_gets_slower(void **state)
{
    struct xs_late_habit h = {0};
    uint64_t delay_us = 0, late_ns = 0;

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        burst(&h, 100, launch_of(i), 800, &delay_us);
    assert_in_range(delay_us, 1400, 2200);
    for (uint32_t i = 0; i < 30; i++)
        burst(&h, 100, launch_of(i), 1600, NULL);
    for (uint32_t i = 0; i < 100; i++)
        late_ns += burst(&h, 100, launch_of(i), 1600, &delay_us);
    assert_in_range(delay_us, 400, 1300);
    assert_in_range(late_ns / 100, 0, 150 * US);
}

/* Bursts of other sizes: one now and then changes nothing, many end it. */
static void other_bursts(void **state)
{
    struct xs_late_habit h = {0};
    uint64_t delay_us = 0;

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        burst(&h, i % 10 == 9 ? 10 : 100, launch_of(i), 800, &delay_us);
    assert_in_range(delay_us, 1000, 2200);
    for (uint32_t i = 0; i < 100; i++) {
        burst(&h, i % 2 ? 10 : 100, launch_of(i), 800, &delay_us);
        if (i > 8)
            assert_int_equal(delay_us, 0);
    }
}

/* A burst of few commands, or one that is long: no delay, and at most 12 ms. */
static void within_bounds(void **state)
{
    struct xs_late_habit few = {0}, slow = {0};
    uint64_t delay_us = 0;

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        burst(&few, 4, 3000, 500, &delay_us);
        assert_int_equal(delay_us, 0);
    }
    for (uint32_t i = 0; i < 100; i++) {
        burst(&slow, 300, 50000, 5000, &delay_us);
        assert_in_range(delay_us, 0, 12000);
    }
    assert_int_equal(delay_us, 12000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launching_is_slower), cmocka_unit_test(some_bursts_are_disturbed),
        cmocka_unit_test(the_device_is_slower),
        cmocka_unit_test(the_device_gets_slower), cmocka_unit_test(other_bursts), cmocka_unit_test(within_bounds),
    };

    return cmocka_run_group_tests_name("xqueue.late", tests, NULL, NULL);
}
