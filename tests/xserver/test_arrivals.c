/* SPDX-License-Identifier: Apache-2.0 */
/* What arrivals teach, without a clock, and for whom it is used. */
#include "xserver/prewake/arrivals.h"
#include "xserver/level3/lv3.h"
#include "xserver/server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define MS XS_NS_PER_MS
#define US XS_NS_PER_US

static uint64_t s_now;

/* One request: comes gap_ns after the end of the last one and takes work_ns. */
static void request(struct xs_arrivals *a, uint64_t gap_ns, uint64_t work_ns)
{
    s_now += gap_ns;
    (void)xs_arrivals_ready(a, s_now);
    s_now += work_ns;
    (void)xs_arrivals_idle(a, s_now);
}

static uint64_t draw(uint64_t *x, uint64_t most)
{
    *x = *x * 6364136223846793005ull + 1442695040888963407ull;
    return (*x >> 33) % most;
}

static void nothing_is_known_at_first(void **state)
{
    struct xs_arrivals a = {0};
    uint64_t from, until;

    (void)state;
    s_now = MS;
    for (int i = 0; i < 8; i++) {
        request(&a, 10 * MS, MS);
        assert_false(xs_arrivals_next(&a, 100, &from, &until));
    }
    request(&a, 10 * MS, MS);
    assert_true(xs_arrivals_next(&a, 100, &from, &until));
}

/* A request each 50 ms, of 2 to 5 ms: from one to the next is better known than the pause. */
static void periods(void **state)
{
    struct xs_arrivals a = {0};
    uint64_t from, until, x = 1, work = 0;

    (void)state;
    s_now = MS;
    for (int i = 0; i < 40; i++) {
        uint64_t last = work;

        work = 2 * MS + draw(&x, 3 * MS);
        request(&a, 50 * MS - last, work);
    }
    assert_true(xs_arrivals_next(&a, 1, &from, &until));
    assert_int_equal(s_now - work + 50 * MS - XS_ARRIVALS_EARLY_NS, from);
    assert_int_equal(s_now - work + 50 * MS + XS_ARRIVALS_EARLY_NS, until);
}

/* Pauses of 6 to 11 ms after the end of each: looked for 3 ms of 9.9, with what comes on top. */
static void gaps(void **state)
{
    struct xs_arrivals a = {0};
    uint64_t from, until, x = 1;
    int before = 0, after = 0;

    (void)state;
    s_now = MS;
    for (int i = 0; i < 1000; i++) {
        uint64_t gap = 6 * MS + draw(&x, 5 * MS);

        if (i >= 40) {
            assert_true(xs_arrivals_next(&a, 40, &from, &until));
            assert_false(xs_arrivals_next(&a, 15, &from, &until));
            before += s_now + gap < from;
            after += s_now + gap > until;
        }
        request(&a, gap, 1400 * US);
    }
    assert_in_range(before + after, 0, 5);
}

/* Some that are far away from the others. */
static void strange_ones(void **state)
{
    struct xs_arrivals a = {0};
    uint64_t from, until, x = 1;

    (void)state;
    s_now = MS;
    for (int i = 0; i < 1000; i++) {
        uint64_t gap = 20 * MS + draw(&x, MS);

        if (i % 32 == 5 || i % 32 == 20)
            gap = 10000 * MS;
        if (i % 32 == 9)
            gap = 1500 * US;
        request(&a, gap, MS);
        if (i < 16)
            continue;
        assert_true(xs_arrivals_next(&a, 10, &from, &until));
        assert_in_range(from, s_now + 19 * MS, s_now + 20 * MS);
        assert_in_range(until, s_now + 20 * MS, s_now + 22 * MS);
    }
}

/* Whoever comes at any time cannot be looked for. */
static void at_random(void **state)
{
    struct xs_arrivals a = {0};
    uint64_t from, until, x = 1;
    int known = 0;

    (void)state;
    s_now = MS;
    for (int i = 0; i < 1000; i++) {
        uint64_t gap = 1100 * US;

        while (draw(&x, 10))
            gap += 2 * MS;
        request(&a, gap, MS);
        known += xs_arrivals_next(&a, 40, &from, &until);
    }
    assert_in_range(known, 0, 20);
}

/* One that launches more slowly than the device computes has pauses within a request. */
static void pauses_within(void **state)
{
    struct xs_arrivals a = {0};
    uint64_t from, until;

    (void)state;
    s_now = MS;
    for (int i = 0; i < 40; i++) {
        request(&a, 20 * MS, 100 * US);
        for (int k = 0; k < 9; k++)
            request(&a, 900 * US, 100 * US);
    }
    assert_true(xs_arrivals_next(&a, 10, &from, &until));
    assert_int_equal(s_now + 20 * MS - XS_ARRIVALS_EARLY_NS, from);
}

static void several_queues(void **state)
{
    struct xs_arrivals a = {0};
    uint64_t from, until;

    (void)state;
    s_now = MS;
    for (int i = 0; i < 20; i++) {
        s_now += 10 * MS;
        assert_true(xs_arrivals_ready(&a, s_now));
        assert_false(xs_arrivals_ready(&a, s_now));
        s_now += 5 * MS;
        assert_false(xs_arrivals_idle(&a, s_now));
        assert_false(xs_arrivals_next(&a, 100, &from, &until));
        assert_true(xs_arrivals_idle(&a, s_now));
        assert_false(xs_arrivals_idle(&a, s_now)); /* one too many is none */
    }
    assert_true(xs_arrivals_next(&a, 100, &from, &until));
}

static struct xs_server_queue s_high, s_low; /* one queue each */

/* A queue of the program that is held, or no longer. */
static void hold(struct xs_server *s, struct xs_server_queue *q, bool held)
{
    q->ready = true;
    q->closed = held;
    xs_prewake_queue(s, q, s_now);
    s->spin.contended_ns = s_now;
}

static void is_of(struct xs_server_queue *q, struct xs_client *c, XDevice device)
{
    static struct xs_client_device devices[2];
    struct xs_client_device *of_device = &devices[q == &s_low];

    *q = (struct xs_server_queue){.client = c, .device = device};
    xs_list_init(&c->queues);
    xs_list_add(&c->queues, &q->in_client);
    xs_list_init(&c->devices);
    of_device->device = device;
    xs_list_add(&c->devices, &of_device->in_client);
}

/* Who is looked for after so many visits, during each of which `low` is held on the device. */
static unsigned expected(struct xs_server *s, struct xs_client *low, struct xs_client *high, XDevice device)
{
    *high = (struct xs_client){0};
    is_of(&s_high, high, device);
    if (low)
        is_of(&s_low, low, device);
    s->prewake = (struct xs_prewake){.on = true};
    for (int i = 0; i < 30; i++) {
        s_now += 10 * MS;
        xs_prewake_changed(s, high, true, s_now);
        s->spin.contended_ns = s_now;
        if (low)
            hold(s, &s_low, true);
        s_now += MS;
        xs_prewake_changed(s, high, false, s_now);
        if (low)
            hold(s, &s_low, false);
    }
    return s->prewake.n;
}

static void not_where_slices_are_short(void **state)
{
    struct xs_server *s = calloc(1, sizeof(*s));
    struct xs_client *low = calloc(1, sizeof(*low)), *high = calloc(1, sizeof(*high));

    (void)state;
    assert_true(s && low && high);
    s_now = MS;
    s->options.spin_cpu = 100;
    s->level3.nvidia = xs_lv3_new();
    assert_non_null(s->level3.nvidia);
    assert_int_equal(expected(s, NULL, high, 7), 0); /* nobody was held */
    assert_int_equal(expected(s, low, high, 7), 1);
    low->level3.nvidia = xs_lv3_join(s->level3.nvidia, getpid());
    low->level3.on[1].device = 7;
    assert_int_equal(expected(s, low, high, 7), 1);
    low->level3.on[1].in_force.cut_short = true;
    assert_int_equal(expected(s, low, high, 7), 0);
    assert_int_equal(expected(s, low, high, 8), 1); /* there it has none */
    high->held_ns = 0;
    is_of(&s_high, high, 8);
    is_of(&s_low, low, 8);
    for (int i = 0; i < 2; i++) { /* held itself when it came last: not served */
        xs_prewake_changed(s, high, true, s_now += 10 * MS);
        hold(s, &s_low, true);
        high->held_ns = i ? s_now : 0;
        xs_prewake_changed(s, high, false, s_now += MS);
        assert_int_equal(s->prewake.n, i ? 0 : 1);
    }
    xs_lv3_leave(s->level3.nvidia, low->level3.nvidia, true);
    xs_lv3_free(s->level3.nvidia);
    free(high), free(low), free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first), cmocka_unit_test(periods), cmocka_unit_test(gaps),
        cmocka_unit_test(strange_ones),
        cmocka_unit_test(at_random), cmocka_unit_test(pauses_within), cmocka_unit_test(several_queues),
        cmocka_unit_test(not_where_slices_are_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
