/* SPDX-License-Identifier: Apache-2.0 */
/* Slices and channels by who is ready: a pure function. */
#include "xserver/level3/lv3.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct xs_lv3_rules k_slices = {0};
static const struct xs_lv3_rules k_off = {.may_switch_off = true, .pair_ns = 1000000};

static struct xs_lv3_seat seat(int32_t priority, bool ready, bool recent, bool held, uint64_t left_ns)
{
    return (struct xs_lv3_seat){.priority = priority, .ready = ready, .recent = recent, .held = held,
                                .left_ns = left_ns};
}

static void judged(void **state)
{
    struct xs_lv3_seat s[3];

    (void)state;
    /* one alone: nothing to do */
    s[0] = seat(1, true, true, false, 0);
    xs_lv3_judge(s, 1, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    /* high and low, both ready */
    s[1] = seat(0, true, true, true, 5000000);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_LONG);
    assert_int_equal(s[1].slice, XS_LV3_SHORT);
    assert_false(s[1].off);
    /* high was ready a moment ago: the same */
    s[0] = seat(1, false, true, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_SHORT);
    /* and long ago: low is the top now */
    s[0] = seat(1, false, false, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    /* low not ready: it keeps what it has, high needs no long slice */
    s[0] = seat(1, true, true, false, 0);
    s[1] = seat(0, false, false, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_KEEP);
    /* nobody: everything back */
    s[0] = seat(1, false, false, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    /* two urgent ones do not get long slices against each other, the background stays short */
    s[0] = seat(1, true, true, false, 0);
    s[1] = seat(1, true, true, false, 0);
    s[2] = seat(0, true, true, true, 0);
    xs_lv3_judge(s, 3, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[2].slice, XS_LV3_SHORT);
    /* equals never change anything */
    s[2].priority = 1;
    xs_lv3_judge(s, 3, &k_slices);
    assert_int_equal(s[2].slice, XS_LV3_DEFAULT);
}

/* A gap in the urgent side's burst is another thing than its idleness. */
static void judged_burst(void **state)
{
    struct xs_lv3_seat s[2];

    (void)state;
    s[0] = seat(1, true, true, false, 0);
    s[0].gaps = true;
    s[1] = seat(0, true, true, true, 0);
    s[1].gaps = true;
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_LONG);
    assert_int_equal(s[1].slice, XS_LV3_BUSY);
    s[0].ready = false;
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_BUSY);
    s[0].gaps = false;           /* over: the next one is to start at once */
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_SHORT);
}

static void judged_turns(void **state)
{
    struct xs_lv3_rules turns = {.by_turns = true, .may_switch_off = true, .pair_ns = 1};
    struct xs_lv3_seat s[2];

    (void)state;
    /* neither slices nor channels follow priorities */
    s[0] = seat(1, true, true, false, 0);
    s[1] = seat(0, true, true, true, 50000000);
    xs_lv3_judge(s, 2, &turns);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    assert_false(s[1].off);
}

static void judged_off(void **state)
{
    struct xs_lv3_seat s[2];

    (void)state;
    s[0] = seat(1, true, true, false, 50000000);
    s[1] = seat(0, true, true, true, 5000000);
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[0].off);
    assert_true(s[1].off);
    s[1].left_ns = 1900000;       /* less than twice the cost of a pair */
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[1].off);
    s[1].off_now = true;          /* once off, until it is permitted */
    xs_lv3_judge(s, 2, &k_off);
    assert_true(s[1].off);
    s[1].held = false;
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[1].off);
    s[1] = seat(1, true, true, true, 5000000); /* held among equals: by another policy */
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[1].off);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judged), cmocka_unit_test(judged_off), cmocka_unit_test(judged_burst),
        cmocka_unit_test(judged_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
