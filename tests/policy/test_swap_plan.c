/* SPDX-License-Identifier: Apache-2.0 */
/* Whose memory goes out and comes back: cases by hand, and rules over random programs. */
#include "policy/swap_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define GIB (1ull << 30)
#define MS  1000000ull
#define S   1000000000ull

/* In, working, with 60 GiB. */
static struct xs_swap_program in(int32_t priority)
{
    return (struct xs_swap_program){
        .priority = priority, .bytes = 60 * GIB, .works = true, .stayed_ns = 3600 * S, .move_ns = S, .patience_ns = 500 * MS};
}

static struct xs_swap_program idle(int32_t priority, uint64_t idle_ns)
{
    struct xs_swap_program p = in(priority);

    p.works = false;
    p.idle_ns = idle_ns;
    return p;
}

/* Out, with work, and it tried to come in. */
static struct xs_swap_program out(int32_t priority)
{
    struct xs_swap_program p = in(priority);

    p.out = true;
    p.stayed_ns = p.waits_ns = S;
    p.lacks = 20 * GIB;
    return p;
}

static void nobody_moves_without_need(void **state)
{
    struct xs_swap_program p[] = {in(1), idle(2, 100 * S), out(0)};

    (void)state;
    p[2].works = false;
    assert_true(xs_swap_plan(p, 3) == UINT64_MAX);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(p[i].step, XS_SWAP_STEP_NONE);
}

static void it_tries_before_others_go(void **state)
{
    struct xs_swap_program p[] = {in(1), out(5)};

    (void)state;
    p[1].lacks = 0;
    xs_swap_plan(p, 2);
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
    assert_int_equal(p[1].step, XS_SWAP_STEP_IN);
}

static void less_important_ones_go_at_once(void **state)
{
    struct xs_swap_program p[] = {in(1), out(5)};

    (void)state;
    p[0].stayed_ns = 0;
    xs_swap_plan(p, 2);
    assert_int_equal(p[0].step, XS_SWAP_STEP_OUT);
    assert_int_equal(p[1].step, XS_SWAP_STEP_FOLLOW); /* as the room comes */
}

static void more_important_ones_go_once_they_are_idle(void **state)
{
    struct xs_swap_program p[] = {idle(9, 100 * MS), out(1)};

    (void)state;
    assert_int_equal(xs_swap_plan(p, 2), 400 * MS);
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
    p[0].idle_ns = 500 * MS;
    xs_swap_plan(p, 2);
    assert_int_equal(p[0].step, XS_SWAP_STEP_OUT);
    p[0] = in(9);                 /* it may be idle from now on */
    assert_int_equal(xs_swap_plan(p, 2), 500 * MS);
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
}

static void equals_take_turns(void **state)
{
    struct xs_swap_program p[] = {in(1), out(1)};

    (void)state;
    p[0].stayed_ns = 5 * S;
    assert_int_equal(xs_swap_plan(p, 2), 500 * MS); /* it may be idle from then on */
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
    p[0].stayed_ns = 20 * S;
    xs_swap_plan(p, 2);
    assert_int_equal(p[0].step, XS_SWAP_STEP_OUT);
}

/* Four models take requests by turns: each has learnt patience, since its stays outside are short. */
static void an_idle_equal_does_not_keep_others_waiting(void **state)
{
    struct xs_swap_program p[] = {idle(1, 100 * MS), out(1)};

    (void)state;
    p[0].patience_ns = 60 * S;
    p[0].move_ns = 400 * MS;
    p[0].stayed_ns = 1 * S;
    assert_int_equal(xs_swap_plan(p, 2), 700 * MS);
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
    p[0].idle_ns = 800 * MS;
    xs_swap_plan(p, 2);
    assert_int_equal(p[0].step, XS_SWAP_STEP_OUT);
    p[0].priority = 2;            /* a more important one keeps its patience */
    assert_int_equal(xs_swap_plan(p, 2), 60 * S - 800 * MS);
}

static void no_more_go_than_needed(void **state)
{
    struct xs_swap_program p[] = {in(1), in(0), idle(2, S), out(9)};

    (void)state;
    xs_swap_plan(p, 4);
    assert_int_equal(p[2].step, XS_SWAP_STEP_OUT); /* the idle one first */
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
    assert_int_equal(p[1].step, XS_SWAP_STEP_NONE);
    p[3].lacks = 100 * GIB;
    xs_swap_plan(p, 4);
    assert_int_equal(p[2].step, XS_SWAP_STEP_OUT);
    assert_int_equal(p[1].step, XS_SWAP_STEP_OUT); /* then the least important */
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
}

static void nobody_goes_in_vain(void **state)
{
    struct xs_swap_program p[] = {in(1), out(5)};

    (void)state;
    p[1].lacks = 61 * GIB;
    assert_true(xs_swap_plan(p, 2) == UINT64_MAX);
    assert_int_equal(p[0].step, XS_SWAP_STEP_NONE);
}

static void one_that_never_fits_stops_nobody(void **state)
{
    struct xs_swap_program p[] = {out(9), out(1)};

    (void)state;
    p[0].lacks = 500 * GIB;
    p[1].lacks = 0;
    xs_swap_plan(p, 2);
    assert_int_equal(p[1].step, XS_SWAP_STEP_IN);
}

static void allocations_wait_or_end(void **state)
{
    struct xs_swap_program p[] = {in(1), in(5)};

    (void)state;
    p[1].wants = p[1].lacks = 10 * GIB;
    xs_swap_plan(p, 2);
    assert_int_equal(p[0].step, XS_SWAP_STEP_OUT);
    p[0].out = true;
    p[1].lacks = 0;
    xs_swap_plan(p, 2);
    assert_int_equal(p[1].step, XS_SWAP_STEP_RETRY);
    p[0] = in(9);                 /* works, and is more important */
    p[1].lacks = 10 * GIB;
    p[1].waits_ns = 7 * S;
    assert_int_equal(xs_swap_plan(p, 2), 500 * MS);
    assert_int_equal(p[1].step, XS_SWAP_STEP_NONE);
    p[1].waits_ns = 8 * S;
    xs_swap_plan(p, 2);
    assert_int_equal(p[1].step, XS_SWAP_STEP_REFUSE);
    p[0] = idle(9, 0);
    p[1].waits_ns = 0;
    assert_int_equal(xs_swap_plan(p, 2), 500 * MS);
    assert_int_equal(p[1].step, XS_SWAP_STEP_NONE);
    p[0].patience_ns = 60 * S;    /* too long for an allocation */
    xs_swap_plan(p, 2);
    assert_int_equal(p[1].step, XS_SWAP_STEP_REFUSE);
}

static void hands_and_moves_come_first(void **state)
{
    struct xs_swap_program p[] = {in(1), out(5), out(3)};

    (void)state;
    p[1].by_hand = true;
    p[2].lacks = 0;
    xs_swap_plan(p, 3);
    assert_int_equal(p[1].step, XS_SWAP_STEP_NONE);
    assert_int_equal(p[2].step, XS_SWAP_STEP_IN);
    p[0].moving = true;
    assert_true(xs_swap_plan(p, 3) == UINT64_MAX);
    assert_int_equal(p[2].step, XS_SWAP_STEP_NONE);
}

/* Whatever the programs are: nobody goes out for a less important program while it works, nobody goes twice, and who goes
 * makes room for somebody. */
static void rules_hold(void **state)
{
    unsigned steps[XS_SWAP_STEP_REFUSE + 1] = {0};

    (void)state;
    srandom(7);
    for (unsigned round = 0; round < 200000; round++) {
        struct xs_swap_program p[6];
        size_t n = 1 + (size_t)random() % 6;
        const struct xs_swap_program *need = NULL;
        uint64_t ns, gone = 0;
        unsigned follow = 0;

        for (size_t i = 0; i < n; i++) {
            p[i] = random() % 2 ? in((int32_t)(random() % 3)) : out((int32_t)(random() % 3));
            p[i].works = random() % 2;
            p[i].idle_ns = p[i].works ? 0 : (uint64_t)(random() % 1000) * MS;
            p[i].stayed_ns = (uint64_t)(random() % 30) * S;
            p[i].moving = random() % 16 == 0;
            p[i].by_hand = p[i].out && random() % 8 == 0;
            p[i].lacks = random() % 3 ? (uint64_t)(random() % 90) * GIB : 0;
            p[i].wants = !p[i].out && random() % 8 == 0 ? 1 + (uint64_t)(random() % 10) * GIB : 0;
        }
        ns = xs_swap_plan(p, n);
        assert_true(ns > 0);
        for (size_t i = 0; i < n; i++) {
            steps[p[i].step]++;
            follow += p[i].step == XS_SWAP_STEP_FOLLOW;
            if (p[i].step == XS_SWAP_STEP_OUT) {
                assert_false(p[i].out || p[i].moving || p[i].wants);
                gone += p[i].bytes;
            } else if (p[i].step == XS_SWAP_STEP_IN || p[i].step == XS_SWAP_STEP_FOLLOW) {
                assert_true(p[i].out && p[i].works && !p[i].by_hand);
            } else if (p[i].step != XS_SWAP_STEP_NONE) {
                assert_true(p[i].wants != 0);
            }
        }
        for (size_t i = 0; gone && i < n; i++) {
            bool needs = !p[i].by_hand && (p[i].wants || (p[i].out && p[i].works)) &&
                         p[i].step == (p[i].out ? XS_SWAP_STEP_FOLLOW : XS_SWAP_STEP_NONE) && p[i].lacks;
            bool served = needs && gone >= p[i].lacks;

            for (size_t k = 0; served && k < n; k++)
                if (p[k].step == XS_SWAP_STEP_OUT && p[k].works && p[k].priority > p[i].priority)
                    served = false;
            need = served ? &p[i] : need;
        }
        assert_true(!gone || need);
        assert_true(follow <= (gone > 0)); /* one follows those that go */
    }
    for (unsigned i = 0; i <= XS_SWAP_STEP_REFUSE; i++)
        assert_true(steps[i] > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_moves_without_need),
        cmocka_unit_test(it_tries_before_others_go),
        cmocka_unit_test(less_important_ones_go_at_once),
        cmocka_unit_test(more_important_ones_go_once_they_are_idle),
        cmocka_unit_test(equals_take_turns),
        cmocka_unit_test(an_idle_equal_does_not_keep_others_waiting),
        cmocka_unit_test(no_more_go_than_needed),
        cmocka_unit_test(nobody_goes_in_vain),
        cmocka_unit_test(one_that_never_fits_stops_nobody),
        cmocka_unit_test(allocations_wait_or_end),
        cmocka_unit_test(hands_and_moves_come_first),
        cmocka_unit_test(rules_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
