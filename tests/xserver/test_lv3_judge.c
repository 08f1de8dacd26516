/* SPDX-License-Identifier: Apache-2.0 */
/* The level-3 judge: a pure function, so that programs are rows of a table here and the clock is a column. Linked without
 * xserver. */
#include "xserver/level3/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PROGRAMS 3
#define LOOKS    14
#define MS       1000u            /* in microseconds, as everything in the tables */
#define START_US 10000000u
#define NEVER    UINT64_MAX
#define ANY      (UINT64_MAX - 1) /* next: another case has it */

enum { D = 0, L = 50000, S = 50, B = 200 }; /* slices: the driver's, long, short, beside a burst */

/* One call. A letter for each program, in the order of the case's priorities:
 *   r ready and permitted, s ready and suspended, i idle, - not at level 3; a capital: it has something in flight */
struct look {
    uint64_t at_us;
    const char *programs;
    uint64_t slice[PROGRAMS];
    const char *off;              /* the same order: x off, anything else on; NULL: none is */
    uint64_t next_us;             /* when to judge again, from this call on */
    uint64_t left_us;             /* estimate of what the last program has in flight */
    uint64_t entered;             /* the first program submitted so many more before */
    uint64_t ended;               /* so many commands of the last program ended before */
};

struct example {
    const char *name;
    int32_t priority[PROGRAMS];
    struct xs_lv3_rules rules;
    bool own_queues;
    struct look looks[LOOKS];     /* the first that names no programs ends it */
};

#define SLICES .slices = true, .long_us = L, .short_us = S
#define OFF    SLICES, .may_switch_off = true, .pairs_per_s = 50, .pair_ns = 1000000

static const struct example k_examples[] = {
    /* ---- slices ---- */
    {"one alone: nothing to do", {1}, {SLICES}, .looks = {{0, "r", {D}, .next_us = NEVER}}},
    {"high and low, both ready", {1, 0}, {SLICES}, .looks = {
        {0, "rs", {L, S}, .next_us = NEVER, .left_us = 5 * MS},
        /* high was ready a moment ago: the same */
        {1 * MS, "is", {L, S}, .next_us = 500 * MS},
        {2 * MS, "is", {L, S}, .next_us = 499 * MS},
        /* and long ago: low is the top now, and high keeps what it has while it does nothing */
        {501 * MS, "is", {L, D}, .next_us = NEVER},
        {502 * MS, "rs", {L, S}, .next_us = NEVER}}},
    {"a short slice stays in a pause of low's, too", {1, 0}, {SLICES}, .looks = {
        {0, "rs", {L, S}, .next_us = NEVER},
        {1 * MS, "ri", {D, S}, .next_us = 500 * MS},   /* high needs no long slice then */
        {2 * MS, "rs", {L, S}, .next_us = NEVER},
        {3 * MS, "ii", {D, S}, .next_us = 500 * MS},
        {503 * MS, "ii", {D, D}, .next_us = NEVER}}},
    {"low that is not ready keeps what it has", {1, 0}, {SLICES}, .looks = {
        {0, "ri", {D, D}, .next_us = NEVER}}},
    {"no program is ready: everything back", {1, 0}, {SLICES}, .looks = {
        {0, "ii", {D, D}, .next_us = NEVER}}},
    {"two urgent ones do not get long slices against each other", {1, 1, 0}, {SLICES}, .looks = {
        {0, "rrs", {D, D, S}, .next_us = NEVER},
        {1 * MS, "irs", {D, D, S}, .next_us = 20 * MS}, /* several are ready: not for so long */
        {21 * MS, "irs", {D, L, S}, .next_us = NEVER}}},
    {"equals never change anything", {1, 1, 1}, {SLICES}, .looks = {{0, "rrs", {D, D, D}, .next_us = NEVER}}},
    {"one that is idle is judged by all of its queues", {0, 1}, {SLICES}, .looks = {
        {0, "si", {D, D}, .next_us = NEVER}}},
    {"slices are off", {1, 0}, {.long_us = L, .short_us = S, .busy_us = B}, .looks = {{0, "rs", {D, D}, .next_us = NEVER}}},
    {"turns: neither slices nor off follow priorities", {1, 0},
        {SLICES, .by_turns = true, .may_switch_off = true, .pairs_per_s = 50, .pair_ns = 1}, .looks = {
        {0, "rs", {D, D}, .next_us = NEVER, .left_us = 50 * MS}}},
    {"below level 3 everything goes back, and nothing counts", {1, 0}, {OFF}, .looks = {
        {0, "rs", {L, S}, ".x", NEVER, .left_us = 5 * MS},
        {1 * MS, "r-", {D, D}, .next_us = NEVER, .left_us = 5 * MS},
        {30 * MS, "rs", {L, S}, ".x", NEVER, .left_us = 5 * MS},
        {31 * MS, "-s", {D, D}, .next_us = NEVER, .left_us = 5 * MS}}},
    {"a second program below level 3 makes no burst", {1, 0}, {SLICES, .busy_us = B}, .looks = {
        {0, "r-", {D, D}, .next_us = NEVER}}},

    /* ---- bursts ---- */
    {"a gap in the urgent side's burst is another thing than its idleness", {1, 0}, {SLICES, .busy_us = B}, .looks = {
        {0, "rs", {L, B}, .next_us = 250},
        {1 * MS, "rs", {L, B}, .next_us = NEVER},
        {2 * MS, "is", {L, B}, .next_us = 1 * MS},
        {3 * MS, "is", {L, S}, .next_us = 499 * MS},   /* over: the next one is to start at once */
        {4 * MS, "rs", {L, S}, .next_us = 250},        /* not again so soon */
        {5 * MS, "rs", {L, S}, .next_us = 15 * MS},
        {20 * MS, "rs", {L, B}, .next_us = NEVER}}},
    {"low's own burst changes nothing for it", {1, 0}, {SLICES, .busy_us = B, .busy_after_us = 4000}, .looks = {
        {0, "is", {D, D}, .next_us = 250},
        {6 * MS, "rs", {L, S}, .next_us = 250},
        {10 * MS, "rs", {L, B}, .next_us = NEVER}}},
    {"launched at once: short until the burst has lasted", {1, 0}, {SLICES, .busy_us = B, .busy_after_us = 4000}, .looks = {
        {0, "rs", {L, S}, .next_us = 250, .entered = 10},
        {250, "rs", {L, S}, .next_us = 3750},
        {2 * MS, "is", {L, S}, .next_us = 1 * MS, .entered = 10}, /* the results are fetched */
        {3 * MS, "is", {L, S}, .next_us = 1 * MS},     /* low's own burst */
        {30 * MS, "rs", {L, S}, .next_us = 250, .entered = 10},
        {33999, "rs", {L, S}, .next_us = 1},
        {34 * MS, "rs", {L, B}, .next_us = NEVER},
        {35 * MS, "is", {L, B}, .next_us = 1 * MS},
        {36 * MS, "is", {L, S}, .next_us = 499 * MS},
        {60 * MS, "rs", {L, B}, .next_us = 250}}},     /* the last one was long */
    {"launched late: from the next burst's beginning", {1, 0}, {SLICES, .busy_us = B, .busy_after_us = 4000}, .looks = {
        {0, "rs", {L, S}, .next_us = 250, .entered = 1},
        {250, "rs", {L, S}, .next_us = 3750},
        {1 * MS, "rs", {L, S}, .next_us = 3 * MS, .entered = 2},
        {2 * MS, "is", {L, S}, .next_us = 1 * MS},
        {3 * MS, "is", {L, S}, .next_us = 1 * MS},     /* seen when it is over */
        {20 * MS, "rs", {L, B}, .next_us = 250},
        {21 * MS, "is", {L, B}, .next_us = 1 * MS},    /* it was not like the last one */
        {22 * MS, "is", {L, S}, .next_us = 499 * MS},
        {42 * MS, "rs", {L, S}, .next_us = 250, .entered = 1},
        {42250, "rs", {L, S}, .next_us = 3750},
        {43 * MS, "is", {L, S}, .next_us = 1 * MS, .entered = 2}, /* more than early in this burst */
        {44 * MS, "is", {L, S}, .next_us = 499 * MS},
        {64 * MS, "rs", {L, B}, .next_us = 250}}},

    /* ---- off the device ---- */
    {"what is left of it is worth a pair", {1, 0}, {OFF}, .looks = {
        {0, "rs", {L, S}, ".x", NEVER, .left_us = 5 * MS},
        {1 * MS, "rs", {L, S}, ".x", NEVER, .left_us = 1900}, /* once off, until it is permitted */
        {2 * MS, "rr", {L, S}, NULL, NEVER, .left_us = 5 * MS},
        {3 * MS, "rs", {L, S}, NULL, NEVER, .left_us = 5 * MS}, /* too soon after the last time */
        {20 * MS, "rs", {L, S}, ".x", NEVER, .left_us = 5 * MS}}},
    {"less than twice the cost of a pair", {1, 0}, {OFF}, .looks = {
        {0, "rs", {L, S}, NULL, NEVER, .left_us = 1900},
        {1 * MS, "rs", {L, S}, NULL, NEVER, .left_us = 2 * MS},
        {2 * MS, "rs", {L, S}, ".x", NEVER, .left_us = 2 * MS + 1}}},
    {"suspended among equals: by another policy", {1, 1}, {OFF}, .looks = {
        {0, "rs", {D, D}, NULL, NEVER, .left_us = 5 * MS}}},
    {"the most important one stays on", {0, 1}, {OFF}, .looks = {
        {0, "is", {D, D}, NULL, NEVER, .left_us = 5 * MS}}},
    {"no pairs a second", {1, 0}, {SLICES, .may_switch_off = true, .pair_ns = 1000000}, .looks = {
        {0, "rs", {L, S}, NULL, NEVER, .left_us = 5 * MS}}},

    /* ---- own queues off ---- */
    {"an estimate says at once that it is worth it", {1, 0}, {OFF}, .own_queues = true, .looks = {
        {0, "rS", {D, D}, ".x", NEVER, .left_us = 400 * MS},
        {1 * MS, "iR", {D, D}, NULL, 500 * MS, .left_us = 400 * MS},
        {2 * MS, "rS", {D, D}, NULL, 18 * MS, .left_us = 400 * MS}, /* again as soon as it may be */
        {20 * MS, "rS", {D, D}, ".x", NEVER, .left_us = 400 * MS}}},
    {"an estimate may be a guess: so it is seen how long nothing ends", {1, 0}, {OFF}, .own_queues = true, .looks = {
        {0, "iR", {D, D}, .next_us = NEVER},
        {5 * MS, "rS", {D, D}, .next_us = ANY, .ended = 1},
        {6 * MS, "rS", {D, D}, NULL, 1 * MS, .left_us = 1 * MS},
        {7 * MS, "rS", {D, D}, NULL, 0, .left_us = 1 * MS},         /* a nanosecond later */
        {7 * MS + 1, "rS", {D, D}, ".x", NEVER, .left_us = 1 * MS}}},
    {"own queues make no burst", {1, 0}, {OFF, .busy_us = B}, .own_queues = true, .looks = {
        {0, "rs", {D, D}, .next_us = NEVER}}},
    {"commands that do end are worth nothing, and are not looked at for ever", {1, 0}, {OFF}, .own_queues = true, .looks = {
        {0, "rS", {D, D}, .next_us = 2 * MS},
        {1 * MS, "rS", {D, D}, NULL, 2 * MS, .ended = 1},
        {2 * MS, "rS", {D, D}, NULL, 2 * MS, .ended = 1},
        {4 * MS, "rs", {D, D}, NULL, NEVER, .ended = 1},
        {900 * MS, "rs", {D, D}, .next_us = NEVER}}},
    {"own queues come back below level 3", {1, 0}, {OFF}, .own_queues = true, .looks = {
        {0, "rS", {D, D}, ".x", NEVER, .left_us = 400 * MS},
        {1 * MS, "r-", {D, D}, NULL, NEVER, .left_us = 400 * MS}}},
    {"own queues may not go off", {1, 0}, {SLICES, .pairs_per_s = 50, .pair_ns = 1000000}, .own_queues = true, .looks = {
        {0, "rS", {D, D}, NULL, 2 * MS, .left_us = 400 * MS},
        {3 * MS, "rS", {D, D}, NULL, NEVER, .left_us = 400 * MS}}},
};

static void sit(struct xs_lv3_seat *s, char how, const struct example *e)
{
    char small = (char)(how | 0x20);

    s->level3 = how != '-';
    s->own_queues = e->own_queues;
    s->ready = small == 'r' || small == 's' || how == '-';
    s->permitted = small == 'r';
    s->in_flight = how >= 'A' && how <= 'Z';
    s->in_force = s->wish;
}

static void one_look(const struct example *e, const struct look *look, struct xs_lv3_seat *seats)
{
    struct xs_lv3_rules rules = e->rules;
    size_t n = strlen(look->programs);
    uint64_t next;

    rules.now_ns = (START_US + look->at_us) * XS_NS_PER_US;
    seats[0].entered += look->entered;
    seats[n - 1].completed += look->ended;
    for (size_t i = 0; i < n; i++) {
        sit(&seats[i], look->programs[i], e);
        seats[i].priority = e->priority[i];
        seats[i].left_ns = i == n - 1 ? look->left_us * XS_NS_PER_US : 0;
    }
    next = xs_lv3_judge(seats, n, &rules);
    if (next != NEVER)
        next = (next - rules.now_ns) / XS_NS_PER_US;
    for (size_t i = 0; i < n; i++) {
        const struct xs_lv3_wish *w = &seats[i].wish;
        bool off = look->off && look->off[i] == 'x';

        if (w->slice_us != look->slice[i] || w->off != off)
            fail_msg("%s, after %llu us: program %zu has %llu us, %s", e->name, (unsigned long long)look->at_us, i,
                     (unsigned long long)w->slice_us, w->off ? "off" : "on");
        if (w->cut_short != (w->slice_us == S || w->slice_us == B))
            fail_msg("%s, after %llu us: program %zu, bound in flight", e->name, (unsigned long long)look->at_us, i);
    }
    if (look->next_us != ANY && next != look->next_us)
        fail_msg("%s, after %llu us: again in %llu us", e->name, (unsigned long long)look->at_us, (unsigned long long)next);
}

static void examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_examples); i++) {
        struct xs_lv3_seat seats[PROGRAMS] = {0};

        for (size_t k = 0; k < LOOKS && k_examples[i].looks[k].programs; k++)
            one_look(&k_examples[i], &k_examples[i].looks[k], seats);
    }
}

/* The same facts give the same wishes: nothing is kept but in the seats, and their order says nothing. */
static void pure(void **state)
{
    static const struct xs_lv3_rules k_rules = {SLICES, .now_ns = XS_NS_PER_S, .busy_us = B, .may_switch_off = true,
                                                .pairs_per_s = 50, .pair_ns = 1000000};
    struct xs_lv3_seat a[2] = {
        {.level3 = true, .ready = true, .permitted = true, .priority = 1},
        {.level3 = true, .ready = true, .left_ns = 5000000},
    };
    struct xs_lv3_seat b[2] = {a[1], a[0]}, again[2] = {a[0], a[1]};
    uint64_t next = xs_lv3_judge(a, 2, &k_rules);

    (void)state;
    assert_int_equal(xs_lv3_judge(again, 2, &k_rules), next);
    assert_int_equal(xs_lv3_judge(b, 2, &k_rules), next);
    assert_memory_equal(a, again, sizeof(a));
    assert_memory_equal(&a[0], &b[1], sizeof(a[0]));
    assert_memory_equal(&a[1], &b[0], sizeof(a[0]));
    assert_true(a[1].wish.off);
    assert_int_equal(xs_lv3_judge(NULL, 0, &k_rules), UINT64_MAX);
}

/* A call at the time that the judge gave finds something to do; one a nanosecond before that does not. */
static void the_next_look_is_in_time(void **state)
{
    struct xs_lv3_rules rules = {OFF, .now_ns = XS_NS_PER_S};
    struct xs_lv3_seat s[2] = {
        {.level3 = true, .own_queues = true, .ready = true, .permitted = true, .priority = 1},
        {.level3 = true, .own_queues = true, .ready = true, .in_flight = true},
    };

    (void)state;
    rules.now_ns = xs_lv3_judge(s, 2, &rules) - 1;
    xs_lv3_judge(s, 2, &rules);
    assert_false(s[1].wish.off);
    rules.now_ns++;
    xs_lv3_judge(s, 2, &rules);
    assert_true(s[1].wish.off);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(pure),
        cmocka_unit_test(the_next_look_is_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
