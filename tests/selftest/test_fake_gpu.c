/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU that groups share: exact times, worked out by hand. In us unless named otherwise. */
#include "gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define US 1000ull

static struct gpu g;
static struct gpu_group group[3];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        group[i] = (struct gpu_group){.slice_ns = 2000 * US};
    return 0;
}

static void start(uint64_t switch_us)
{
    gpu_start(&g, 0, switch_us * US);
}

/* To the next kernel's end, switches in between. @return which group's; -1: nothing goes on */
static int next_end(void)
{
    for (;;) {
        uint64_t left[3], next;

        gpu_decide(&g, group, 3);
        next = gpu_next(&g, group, 3);
        if (next == UINT64_MAX)
            return -1;
        for (int i = 0; i < 3; i++)
            left[i] = group[i].left_ns;
        gpu_advance(&g, group, 3, next);
        for (int i = 0; i < 3; i++)
            if (left[i] && !group[i].left_ns)
                return i;
    }
}

static void until(uint64_t us)
{
    while (g.now_ns < us * US) {
        uint64_t next;

        gpu_decide(&g, group, 3);
        next = gpu_next(&g, group, 3);
        gpu_advance(&g, group, 3, next < us * US ? next : us * US);
    }
}

#define ENDS(which, us)                                                                            \
    do {                                                                                           \
        assert_int_equal(next_end(), which);                                                       \
        assert_int_equal(g.now_ns, (us) * US);                                                     \
    } while (0)

static void one_after_the_other(void **state)
{
    (void)state;
    start(0);
    group[0].left_ns = 100 * US;
    group[1].left_ns = 50 * US;
    ENDS(0, 100);
    ENDS(1, 150);
    assert_int_equal(next_end(), -1);
    assert_int_equal(g.switches, 1);
}

static void slices_in_turn(void **state)
{
    (void)state;
    start(100);
    group[0].left_ns = 5000 * US;
    group[1].left_ns = 3000 * US;
    /* 0: 0-2000, 1: 2100-4100, 0: 4200-6200, 1: 6300-7300, 0: 7400-8400 */
    ENDS(1, 7300);
    ENDS(0, 8400);
    assert_int_equal(g.switches, 4);
    assert_int_equal(g.switching_ns, 400 * US);
}

static void a_late_comer_waits_for_the_end_of_a_slice(void **state)
{
    (void)state;
    start(100);
    group[0].left_ns = 100000 * US;
    until(5000);                  /* alone, in its third slice */
    group[1].left_ns = 10 * US;
    ENDS(1, 6110);                /* the slice ends at 6000, then the change */
}

static void a_short_slice_bounds_the_wait(void **state)
{
    (void)state;
    start(100);
    group[0].slice_ns = 50 * US;
    group[1].slice_ns = 50000 * US;
    group[0].left_ns = 100000 * US;
    until(5010);
    group[1].left_ns = 10 * US;
    ENDS(1, 5160);                /* 40 of the slice, 100 of the change, 10 */
}

/* The urgent side launches one kernel after the other, with gaps; the other side always has work. */
static void to_and_fro_in_each_gap(void **state)
{
    static const struct {
        uint64_t gap, slice, latency;
    } cases[] = {
        {10, 50, 90 + 50 + 100},  /* it comes when 90 us of the change away are left; a slice; the change back */
        {120, 50, 30 + 100},
        {10, 200, 90 + 200 + 100},
        {10, 2000, 90 + 2000 + 100},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t low = 1000000000ull * US, began;

        start(100);
        group[0] = (struct gpu_group){.slice_ns = cases[i].slice * US, .left_ns = low};
        group[1] = (struct gpu_group){.slice_ns = 50000 * US, .left_ns = 20 * US};
        assert_int_equal(next_end(), 1);
        for (int k = 0; k < 3; k++) {
            until(g.now_ns / US + cases[i].gap);
            began = g.now_ns;
            group[1].left_ns = 20 * US;
            assert_int_equal(next_end(), 1);
            assert_int_equal((g.now_ns - began) / US, cases[i].latency + 20);
        }
        /* what the other side got of three gaps and the start: a slice each */
        assert_int_equal((low - group[0].left_ns) / US, 4 * cases[i].slice);
    }
}

/* Another slice for any group has the first one begin: in the middle of another one's work, if it is that one's turn. */
static void another_slice_begins_anew(void **state)
{
    (void)state;
    start(100);
    group[0].left_ns = 100000 * US;
    group[1].slice_ns = 50000 * US;
    until(5000);
    group[1].left_ns = 1000 * US;
    until(6600);                  /* the slice of the first ended at 6000 */
    group[0].slice_ns = 400 * US;
    gpu_restart(&g);
    ENDS(1, 6100 + 1000 + 100 + 400 + 100);
    group[0].left_ns = 1000 * US;
    until(8000);
    gpu_restart(&g);              /* of the one that is loaded: it goes on, with a new slice */
    group[1].left_ns = 10 * US;
    ENDS(1, 8000 + 400 + 100 + 10);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        T(one_after_the_other),
        T(slices_in_turn),
        T(a_late_comer_waits_for_the_end_of_a_slice),
        T(a_short_slice_bounds_the_wait),
        T(to_and_fro_in_each_gap),
        T(another_slice_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
