/* SPDX-License-Identifier: Apache-2.0 */
/* Each policy against a table worked out by hand from its rule, and the wrong variant against the
 * same table. `next` is never (NEVER) unless the rule depends on time. */
#include "table.h"
#include "wrong.h"

#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const struct table *t, int type)
{
    const struct xs_policy_ops *ops = xs_policy_by_type(type);
    char why[200] = "";

    assert_non_null(ops);
    assert_int_equal(ops->type, type);
    if (!table_holds(t, ops, why))
        fail_msg("%s: %s", ops->name, why);
}

/* The table of a policy that its wrong variant must fail. */
static void check_both(const struct table *t, int type)
{
    check(t, type);
    if (table_holds(t, wrong_policy(type), NULL))
        fail_msg("%s accepts the wrong variant", t->name);
}

/* ---- HPF: of the ready queues, those of the highest priority run ---- */

static const struct table_step hpf_steps[] = {
    { 0, "", "abc", NEVER },            /* nothing is ready: all may start, but never d */
    { 10, "a+", "abc", NEVER },         /* b and c are idle, and would run before a */
    { 20, "b+", "bc", NEVER },          /* 5 > 0: a is held */
    { 30, "c+", "bc", NEVER },          /* equal standing runs together */
    { 40, "b-", "bc", NEVER },
    { 50, "c-", "abc", NEVER },
    { 60, "d+", "abc", NEVER },         /* d never runs, ready or not */
    { 70, "a-", "abc", NEVER },         /* also when it is the only one */
    { 80, "a+ b+", "bc", NEVER },
    { 90, "a=7", "a", NEVER },          /* a new hint counts at once: 7 > 5 */
    { 95, "a=-255", "bc", NEVER },      /* PRIORITY_MIN is held by 5 ... */
    { 99, "b-", "abc", NEVER },         /* ... and runs when alone */
};
static const struct table hpf = {
    .name = "HPF", .params = PARAMS(5 * MS), .nentities = 4,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(5) }, { 2, 0, HINTS(5) }, { 3, 0, HINTS(NO_EXECUTE) } },
    STEPS(hpf_steps),
};

/* Starvation after 100 ms: one slice of 5 ms beside the others, then 100 ms of waiting again. */
static const struct table_step starvation_steps[] = {
    { 0, "a+ b+", "b", 100 * MS },
    { 50000, "", "b", 100 * MS },
    { 100000, "", "ab", 105 * MS },
    { 103000, "", "ab", 105 * MS },
    { 105000, "", "b", 205 * MS },
    { 150000, "b-", "ab", NEVER },      /* a runs in its own right */
    { 160000, "b+", "b", 260 * MS },    /* the wait is counted anew */
};
static const struct table starvation = {
    .name = "starvation", .params = { .timeslice_ns = 5 * MS, .starvation_ns = 100 * MS }, .nentities = 3,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(5) }, { 2, 0, HINTS(NO_EXECUTE) } },
    STEPS(starvation_steps),
};

static void test_hpf(void **state)
{
    (void)state;
    check_both(&hpf, 1);
    check(&starvation, 1);
}

/* ---- HHPF: the same over all devices ---- */

static const struct table_step hhpf_steps[] = {
    { 0, "a+", "abc", NEVER },
    { 1, "b+", "bc", NEVER },           /* b is on another device and holds a all the same */
    { 2, "c+", "bc", NEVER },           /* equal standing, whatever the device */
    { 3, "b- c-", "abc", NEVER },
    { 4, "d+", "abc", NEVER },
    { 5, "d=9", "d", NEVER },
};
static const struct table hhpf = {
    .name = "HHPF", .params = PARAMS(5 * MS), .nentities = 4,
    .entities = { { 0, 0, HINTS(0) }, { 1, 1, HINTS(5) }, { 2, 0, HINTS(5) }, { 3, 2, HINTS(NO_EXECUTE) } },
    STEPS(hhpf_steps),
};

static void test_hhpf(void **state)
{
    (void)state;
    assert_int_equal(xs_policy_by_type(2)->scope, XS_SCOPE_HOST);
    check_both(&hhpf, 2);
}

/* ---- CHPF: by the CPU's scheduling: real time first (1000 + priority), then -nice ---- */

static const struct table_step chpf_steps[] = {
    { 0, "a+ b+ c+ d+", "c", NEVER },   /* rt 50 before rt 10, nice -5, nice 0 */
    { 1, "c-", "bc", NEVER },           /* rt 10 before any nice; c would come first */
    { 2, "b-", "bcd", NEVER },          /* nice -5 before nice 0 */
    { 3, "d-", "abcd", NEVER },
    { 4, "d+ a=99", "bcd", NEVER },     /* the hint says nothing here */
    { 5, "d=-256", "abc", NEVER },      /* unless it bars */
};
static const struct table chpf = {
    .name = "CHPF", .params = PARAMS(5 * MS), .nentities = 4,
    .processes = { { .sched_class_priority = 0 }, { .sched_class_priority = 1010 },
                   { .sched_class_priority = 1050 }, { .sched_class_priority = 5 } },
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) }, { 2, 0, HINTS(0) }, { 3, 0, HINTS(0) } },
    STEPS(chpf_steps),
};

static void test_chpf(void **state)
{
    (void)state;
    check_both(&chpf, 3);
}

/* ---- UP: round robin, slice = timeslice x utilization / 100 ---- */

/* Timeslice 10 ms: 75 % is 7.5 ms, 25 % is 2.5 ms. */
static const struct table_step up_steps[] = {
    { 0, "a+", "ab", NEVER },                   /* alone: no timer, and nothing is held */
    { 1000, "b+ a*1000", "a", 8500 * US },      /* what it got alone is free; one slice from now */
    { 8500, "a*7500", "b", 11000 * US },
    { 11000, "b*2500", "a", 18500 * US },
    /* 1 ms of a is still on the device at the end of its turn: 7.5 - 6.5 = 1.0 is left */
    { 18500, "a*6500", "b", 21000 * US },
    /* it ran in b's turn (1.0 - 1.0 = 0), so b got 1.5 and keeps 1.0 */
    { 21000, "a*1000 b*1500", "a", 28500 * US },
    { 28500, "a*7500", "b", 32000 * US },       /* 1.0 + 2.5 = 3.5 ms */
    { 32000, "b*3500", "a", 39500 * US },
    /* a used 1 ms more than its credit before its turn was over: b's turn at once, and a owes 1 */
    { 39000, "a*8500", "b", 41500 * US },
    { 41500, "b*2500", "a", 48000 * US },       /* 7.5 - 1.0 = 6.5 ms */
    { 42000, "b-", "ab", NEVER },               /* alone again */
};
static const struct table up = {
    .name = "UP", .params = PARAMS(10 * MS), .nentities = 2,
    .entities = { { 0, 0, UTIL(75) }, { 1, 0, UTIL(25) } },
    STEPS(up_steps),
};

/* A queue without a hint has 100: 75 + 100 = 175 is scaled to 100, so a gets 10 x 75 / 175 =
 * 4.285714 ms, b 10 x 100 / 175 = 5.714285 ms. */
static const struct table_step up_unhinted_steps[] = {
    { 0, "a+ b+", "a", 4285714 },
    { 5000, "a*5000", "b", 5000 * US + 5714285 },
    { 11000, "b*5714", "a", 11000 * US + 4285714 - 714286 },  /* a owes 5 - 4.285714 */
};
static const struct table up_unhinted = {
    .name = "UP, unhinted", .params = PARAMS(10 * MS), .nentities = 2,
    .entities = { { 0, 0, UTIL(75) }, { 1, 0, UTIL(100) } },
    STEPS(up_unhinted_steps),
};

/* Zero percent: only what nobody else wants. A switch of 0.5 ms asks for slices of 10 ms: the
 * shorter slice is 10 x 20 / 100 = 2 ms, so both are lengthened 5 times: 10 and 40 ms. */
static const struct table_step up_zero_steps[] = {
    { 0, "a+ b+ c+", "a", 40 * MS },
    { 40000, "a*40000", "b", 50 * MS },
    { 50000, "b*10000", "a", 90 * MS },
    { 60000, "a- b-", "abc", NEVER },           /* c alone */
    { 70000, "a+", "ab", NEVER },               /* a alone has a share: c waits, without a timer */
};
static const struct table up_zero = {
    .name = "UP, zero and costly switches", .params = { .timeslice_ns = 10 * MS, .switch_ns = 500 * US },
    .nentities = 3,
    .entities = { { 0, 0, UTIL(80) }, { 1, 0, UTIL(20) }, { 2, 0, UTIL(0) } },
    STEPS(up_zero_steps),
};

/* Three in turn; unlimited slices change hands only when one runs dry. */
static const struct table_step up_unlimited_steps[] = {
    { 0, "a+ b+ c+", "a", NEVER },
    { 9000000, "a*9000000", "a", NEVER },
    { 9000001, "a-", "b", NEVER },
    { 9000002, "a+", "b", NEVER },
    { 9000003, "b-", "c", NEVER },
    { 9000004, "c-", "abc", NEVER },
};
static const struct table up_unlimited = {
    .name = "UP, unlimited", .params = PARAMS(UINT64_MAX), .nentities = 3,
    .entities = { { 0, 0, UTIL(50) }, { 1, 0, UTIL(50) }, { 2, 0, UTIL(50) } },
    STEPS(up_unlimited_steps),
};

static void test_up(void **state)
{
    (void)state;
    check(&up, 4);
    check_both(&up_unhinted, 4);
    check(&up_zero, 4);
    check(&up_unlimited, 4);
}

/* ---- PUP: over processes; lends; what is saved decays by half a round ---- */

/* Timeslice 10 ms, 50 + 30 + 20: slices of 5, 3 and 2 ms. Entities a and b are one process. */
static const struct table_step pup_steps[] = {
    { 0, "a+ c+ d+", "ab", 5 * MS },
    { 5000, "a*5000", "c", 8 * MS },
    { 6000, "c*1000 c-", "d", 8 * MS },         /* c keeps 2 ms; its turn is over, d's lasts 2 */
    { 8000, "d*2000", "ab", 13 * MS },
    { 13000, "a*3000 b*2000", "d", 15 * MS },   /* c is passed over: 2 becomes 1; a and b share one budget */
    { 15000, "d*2000", "ab", 20 * MS },
    { 16000, "c+", "ab", 20 * MS },
    { 20000, "b*5000", "c", 24 * MS },          /* 1 + 3 = 4 ms */
    { 24000, "c*4000", "d", 26 * MS },
    { 25000, "a- c-", "abcd", NEVER },          /* d alone */
};
static const struct table pup = {
    .name = "PUP", .params = PARAMS(10 * MS), .nentities = 4,
    .processes = { { .utilization = 50 }, { .utilization = 30 }, { .utilization = 20 } },
    .entities = { { 0, 0, HINTS(0) }, { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) }, { 2, 0, HINTS(0) } },
    STEPS(pup_steps),
};

static void test_pup(void **state)
{
    (void)state;
    check_both(&pup, 5);
}

/* ---- SPUP: the slices of 5, 3 and 2 ms come round whoever is ready ---- */

static const struct table_step spup_steps[] = {
    { 0, "a+", "a", 5 * MS },
    { 5000, "a*5000", "b", 8 * MS },            /* b is idle: its slice passes, a is held */
    { 8000, "", "c", 10 * MS },
    { 10000, "", "a", 15 * MS },
    { 15000, "a*6000", "b", 18 * MS },          /* 1 ms too much */
    { 18000, "", "c", 20 * MS },
    { 20000, "", "a", 24 * MS },                /* so it stops after 4 of its 5 ms, ... */
    { 24000, "a*4000", "", 25 * MS },           /* ... and the rest is nobody's */
    { 25000, "", "b", 28 * MS },
    { 26000, "b+", "b", 28 * MS },              /* in its own slice it starts at once */
    { 28000, "b*2000", "c", 30 * MS },
    { 29000, "a- b-", "abc", NEVER },           /* nobody is ready: nobody waits */
};
static const struct table spup = {
    .name = "SPUP", .params = PARAMS(10 * MS), .nentities = 3,
    .processes = { { .utilization = 50 }, { .utilization = 30 }, { .utilization = 20 } },
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) }, { 2, 0, HINTS(0) } },
    STEPS(spup_steps),
};

/* Alone on the device there is no reservation but its own: no timer. */
static const struct table_step spup_alone_steps[] = {
    { 0, "a+", "a", NEVER },
    { 100000, "a*100000", "a", NEVER },
};
static const struct table spup_alone = {
    .name = "SPUP, alone", .params = PARAMS(10 * MS), .nentities = 1,
    .processes = { { .utilization = 30 } }, .entities = { { 0, 0, HINTS(0) } },
    STEPS(spup_alone_steps),
};

static void test_spup(void **state)
{
    (void)state;
    check_both(&spup, 6);
    check(&spup_alone, 6);
}

/* ---- KEDF: the k ready ones with the earliest ready time + deadline ---- */

static const struct table_step kedf_steps[] = {
    { 0, "a+", "abcd", NEVER },             /* one of two places: nobody is held */
    { 1000, "b+ c+ d+", "ab", NEVER },      /* at 10, 6, 21 ms, never: b and a */
    { 2000, "b-", "abc", NEVER },           /* a and c; b is idle and would be due at 7 < 21 */
    { 3000, "a-", "abcd", NEVER },          /* c and d have the places; a and b would come first */
    { 15000, "b+", "bc", NEVER },           /* b at 20, c at 21; a would be due at 25 */
    { 16000, "a+", "bc", NEVER },           /* a at 26 */
    { 17000, "b- c-", "abcd", NEVER },      /* a and d */
};
static const struct table kedf = {
    .name = "KEDF", .params = { .timeslice_ns = 5 * MS, .k = 2 }, .nentities = 4,
    .entities = { { 0, 0, DEADLINE(10000) }, { 1, 0, DEADLINE(5000) }, { 2, 0, DEADLINE(20000) },
                  { 3, 0, DEADLINE(-1) } },
    STEPS(kedf_steps),
};

/* Without a deadline, after all that have one, and then all together; k 0 means 1. */
static const struct table_step kedf_none_steps[] = {
    { 0, "b+ c+", "abc", NEVER },           /* of equal standing; a would come first */
    { 1000, "a+", "a", NEVER },
    { 2000, "a-", "abc", NEVER },
    { 3000, "b=-256", "ac", NEVER },
};
static const struct table kedf_none = {
    .name = "KEDF, no deadline", .params = { .timeslice_ns = 5 * MS, .k = 0 }, .nentities = 3,
    .entities = { { 0, 0, DEADLINE(1000000) }, { 1, 0, DEADLINE(-1) }, { 2, 0, DEADLINE(-1) } },
    STEPS(kedf_none_steps),
};

static void test_kedf(void **state)
{
    (void)state;
    check_both(&kedf, 7);
    check(&kedf_none, 7);
}

/* ---- LAX ---- */

#define LAXITY(us, lax_, critical_) \
    { .utilization = 100, .deadline_us = -1, .laxity_us = (us), .lax_priority = (lax_), .critical_priority = (critical_) }

static const struct table_step lax_steps[] = {
    { 0, "a+ b+", "b", 5 * MS },            /* 0 against b's plain 5, until 5 ms have passed */
    { 4999, "", "b", 5 * MS },
    { 5000, "", "a", NEVER },               /* critical: 10 > 5 */
    { 6000, "a-", "b", NEVER },
    { 9000, "a+", "b", 14 * MS },           /* counted from when it became ready again */
    { 10000, "b-", "ab", NEVER },           /* alone: no timer; b is idle and would come first */
    { 20000, "b+", "a", NEVER },            /* critical since 14 ms */
};
static const struct table lax = {
    .name = "LAX", .params = PARAMS(5 * MS), .nentities = 2,
    .entities = { { 0, 0, LAXITY(5000, 0, 10) },
                  /* no laxity: never critical, though a critical priority is there */
                  { 1, 0, { .priority = 5, .utilization = 100, .deadline_us = -1, .laxity_us = -1,
                            .critical_priority = 100 } } },
    STEPS(lax_steps),
};

/* A laxity of nothing is critical from the start. */
static const struct table_step lax_zero_steps[] = {
    { 0, "a+ b+", "a", NEVER },
    { 1, "a-", "ab", NEVER },
};
static const struct table lax_zero = {
    .name = "LAX, zero", .params = PARAMS(5 * MS), .nentities = 2,
    .entities = { { 0, 0, LAXITY(0, 0, 10) }, { 1, 0, HINTS(5) } },
    STEPS(lax_zero_steps),
};

static void test_lax(void **state)
{
    (void)state;
    check_both(&lax, 8);
    check(&lax_zero, 8);
}

/* ---- AWF ---- */

static const struct table_step awf_steps[] = {
    { 0, "b+ c+", "abc", NEVER },           /* no window is active: all */
    { 1, "w0", "abc", NEVER },              /* a's is, but a is not ready */
    { 2, "a+", "a", NEVER },
    { 3, "a-", "abc", NEVER },
    { 4, "a+ w0- w1", "b", NEVER },         /* another window */
    { 5, "w2", "bc", NEVER },               /* one a display: two may be active */
    { 6, "w1- w2-", "abc", NEVER },
};
static const struct table awf = {
    .name = "AWF", .params = PARAMS(5 * MS), .nentities = 3,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) }, { 2, 0, HINTS(50) } },
    STEPS(awf_steps),
};

static void test_awf(void **state)
{
    (void)state;
    check_both(&awf, 9);
}

/* ---- CFS: least virtual runtime; slices of 5 ms ---- */

/* a runs alone for a second; b comes late and gets every other slice from then on. */
static const struct table_step cfs_late_steps[] = {
    { 0, "a+", "ab", NEVER },                       /* alone: no timer */
    { 1000000, "b+ a*1000000", "a", 1005 * MS },    /* b joins at a's 1000; a's slice begins */
    { 1005000, "a*5000", "b", 1010 * MS },          /* a 1005, b 1000 */
    { 1010000, "b*5000", "a", 1015 * MS },          /* 1005 each: the lower id */
    { 1015000, "a*5000", "b", 1020 * MS },
    /* b's last 2 ms are still on the device: it counts 3, and its own time for the rest */
    { 1020000, "b*3000", "a", 1025 * MS },          /* 1010 each */
    { 1025000, "a*5000 b*2000", "b", 1030 * MS },
    { 1026000, "b-", "ab", NEVER },
};
static const struct table cfs_late = {
    .name = "CFS, late comer", .params = PARAMS(5 * MS), .nentities = 2,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) } },
    STEPS(cfs_late_steps),
};

/* Priority 5 weighs 1024 x 1.2^5 = 2548: a slice of 5 ms costs b 5 x 1024 / 2548 = 2.009 ms.
 * a: 5, 10; b: 2.009, 4.019, 6.028, 8.038, 10.047. */
static const struct table_step cfs_weight_steps[] = {
    { 0, "a+ b+", "a", 5 * MS },
    { 5000, "a*5000", "b", 10 * MS },
    { 10000, "b*5000", "b", 15 * MS },
    { 15000, "b*5000", "b", 20 * MS },
    { 20000, "b*5000", "a", 25 * MS },              /* 6.028 > 5 */
    { 25000, "a*5000", "b", 30 * MS },
    { 30000, "b*5000", "b", 35 * MS },
    { 35000, "b*5000", "a", 40 * MS },              /* 10.047 > 10 */
};
static const struct table cfs_weight = {
    .name = "CFS, weights", .params = PARAMS(5 * MS), .nentities = 2,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(5) } },
    STEPS(cfs_weight_steps),
};

/* Priorities beyond 20 count as 20: 255 and 20 take turns. */
static const struct table_step cfs_clamp_steps[] = {
    { 0, "a+ b+", "a", 5 * MS },
    { 5000, "a*5000", "b", 10 * MS },
    { 10000, "b*5000", "a", 15 * MS },
    { 15000, "a*5000", "b", 20 * MS },
    { 20000, "b*5000 d+", "a", 25 * MS },           /* never d */
};
static const struct table cfs_clamp = {
    .name = "CFS, clamped", .params = PARAMS(5 * MS), .nentities = 4,
    .entities = { { 0, 0, HINTS(255) }, { 1, 0, HINTS(20) }, { 2, 0, HINTS(0) }, { 3, 0, HINTS(NO_EXECUTE) } },
    STEPS(cfs_clamp_steps),
};

/* Nothing is ever measured: time on the device stands for it, and nobody keeps it for ever. */
static const struct table_step cfs_unmeasured_steps[] = {
    { 0, "a+ b+", "a", 5 * MS },
    { 5000, "", "b", 10 * MS },
    { 10000, "", "a", 15 * MS },
    { 15000, "", "b", 20 * MS },
    { 20000, "", "a", 25 * MS },
};
static const struct table cfs_unmeasured = {
    .name = "CFS, unmeasured", .params = PARAMS(5 * MS), .nentities = 2,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) } },
    STEPS(cfs_unmeasured_steps),
};

static void test_cfs(void **state)
{
    (void)state;
    check_both(&cfs_late, 10);
    check(&cfs_weight, 10);
    check(&cfs_clamp, 10);
    check(&cfs_unmeasured, 10);
}

/* ---- MLFQ: slices 10, 20, 40, 80 ms ---- */

static const struct table_step mlfq_steps[] = {
    { 0, "a+ b+", "a", 10 * MS },
    { 10000, "", "b", 20 * MS },            /* a fell to level 1 */
    { 20000, "", "a", 40 * MS },            /* both at level 1, a came first: 20 ms */
    { 25000, "a-", "abc", NEVER },          /* b alone: no timer, not charged */
    { 30000, "a+", "b", 50 * MS },          /* so all of b's 20 ms are left */
    { 35000, "c+", "c", 45 * MS },          /* c starts at level 0 and takes the device */
    { 38000, "c-", "b", 53 * MS },          /* b used 5 of 20 */
    { 53000, "", "a", 73 * MS },            /* b is at level 2; a starts its level's slice anew */
    { 60000, "a-", "abc", NEVER },
};
static const struct table mlfq = {
    .name = "MLFQ", .params = PARAMS(5 * MS), .nentities = 3,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) }, { 2, 0, HINTS(0) } },
    STEPS(mlfq_steps),
};

/* a falls to level 1 at 10 ms. b comes back fresh every 9 ms at level 0, so that a waits from 10
 * ms on: after 100 ms of it, at 110, a rises, and is next when b's present turn (from 109, 10 ms)
 * is over. */
static const struct table_step mlfq_promote_steps[] = {
    { 0, "a+ b+", "a", 10 * MS },
    { 10000, "", "b", 20 * MS },
    { 19000, "b-", "ab", NEVER }, { 19000, "b+", "b", 29 * MS },
    { 28000, "b-", "ab", NEVER }, { 28000, "b+", "b", 38 * MS },
    { 37000, "b-", "ab", NEVER }, { 37000, "b+", "b", 47 * MS },
    { 46000, "b-", "ab", NEVER }, { 46000, "b+", "b", 56 * MS },
    { 55000, "b-", "ab", NEVER }, { 55000, "b+", "b", 65 * MS },
    { 64000, "b-", "ab", NEVER }, { 64000, "b+", "b", 74 * MS },
    { 73000, "b-", "ab", NEVER }, { 73000, "b+", "b", 83 * MS },
    { 82000, "b-", "ab", NEVER }, { 82000, "b+", "b", 92 * MS },
    { 91000, "b-", "ab", NEVER }, { 91000, "b+", "b", 101 * MS },
    { 100000, "b-", "ab", NEVER }, { 100000, "b+", "b", 110 * MS },
    { 109000, "b-", "ab", NEVER }, { 109000, "b+", "b", 110 * MS },
    { 110000, "", "b", 119 * MS },          /* a rose, behind b */
    { 119000, "", "a", 129 * MS },          /* with a slice of level 0 */
};
static const struct table mlfq_promote = {
    .name = "MLFQ, promotion", .params = PARAMS(5 * MS), .nentities = 2,
    .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) } },
    STEPS(mlfq_promote_steps),
};

/* a is preempted with 30 of the 40 ms used that a switch of 2 ms makes of its 20; then a switch costs nothing, and a's
 * slice is used up when it comes back. */
static void test_mlfq_shorter_slices(void **state)
{
    const struct xs_policy_ops *ops = xs_policy_by_name("MLFQ");
    struct xs_policy_params params = PARAMS(5 * MS);
    struct xs_policy_entity a = {.id = 1, .hints = HINTS(0)}, b = {.id = 2, .hints = HINTS(0)}, c = {.id = 3, .hints = HINTS(0)};
    struct xs_policy_entity *all[] = {&a, &b, &c};
    uint64_t memo[8] = {0};
    struct xs_policy_view v = {.params = &params, .entities = all, .n = 3, .memo = memo};
    static const struct {
        uint64_t at_ms;
        bool b, c, run_a;
        uint64_t switch_ns, next_ns;
    } k_steps[] = {
        {0, true, false, true, 2 * MS, 40 * MS},
        {40, true, false, false, 2 * MS, 80 * MS}, /* at level 1, as b is at 80 */
        {80, true, false, true, 2 * MS, 120 * MS},
        {110, true, true, false, 2 * MS, 150 * MS}, /* c, new, takes its turn */
        {112, true, false, true, 0, 112 * MS},      /* a again: at once the next one's turn */
        {112, true, false, false, 0, 132 * MS},
    };

    (void)state;
    a.ready = true;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_steps); i++) {
        v.now_ns = k_steps[i].at_ms * MS;
        v.next_ns = NEVER;
        b.ready = k_steps[i].b;
        c.ready = k_steps[i].c;
        params.switch_ns = k_steps[i].switch_ns;
        a.run = b.run = c.run = false;
        ops->decide(&v);
        assert_int_equal(a.run, k_steps[i].run_a);
        assert_int_equal(v.next_ns, k_steps[i].next_ns);
    }
}

static void test_mlfq(void **state)
{
    (void)state;
    check_both(&mlfq, 11);
    check(&mlfq_promote, 11);
}

/* ---- all ---- */

static void test_registry(void **state)
{
    static const char *const names[] = { "HPF", "HHPF", "CHPF", "UP", "PUP", "SPUP", "KEDF", "LAX", "AWF", "CFS", "MLFQ" };

    static const char *const symbols[] = {
#define XS_POLICY(type, symbol) #symbol,
#include "policy/policies.def"
#undef XS_POLICY
    };
    char all[XS_POLICY_NAMES_BYTES], some[8];

    (void)state;
    assert_int_equal(xs_policies_count, XS_ARRAY_LEN(names));
    assert_int_equal(kPolicyMax, XS_ARRAY_LEN(names) + 1);
    for (size_t i = 0; i < XS_ARRAY_LEN(names); i++) {
        const struct xs_policy_ops *ops = xs_policies[i];

        assert_string_equal(ops->name, names[i]);
        assert_true(xs_str_equal_nocase(symbols[i], names[i])); /* by which pages and completions name it */
        assert_int_equal(ops->type, i + 1);
        assert_int_equal(ops->abi, XS_POLICY_ABI);
        assert_int_equal(ops->size, sizeof(*ops));
        assert_ptr_equal(xs_policy_by_type((int)i + 1), ops);
        assert_ptr_equal(xs_policy_by_name(names[i]), ops);
    }
    assert_ptr_equal(xs_policy_by_name("mlfq"), xs_policies[10]);
    assert_true(strlen(xs_policy_names(all, sizeof(all), ", ")) < sizeof(all) - 1);
    assert_memory_equal(all, "HPF, HHPF, CHPF, UP, ", 21);
    assert_null(strstr(all, ", , "));
    assert_string_equal(all + strlen(all) - strlen(names[XS_ARRAY_LEN(names) - 1]), names[XS_ARRAY_LEN(names) - 1]);
    assert_string_equal(xs_policy_names(some, sizeof(some), "|"), "HPF|HHP");
    assert_null(xs_policy_by_type(0));
    assert_null(xs_policy_by_type(kPolicyMax));
    assert_null(xs_policy_by_type(-1));
    assert_null(xs_policy_by_name("HP"));
    assert_null(xs_policy_by_name(NULL));
}

/* Nothing that is there, and one that is alone: no policy wants a timer or holds it; a barred one
 * stays barred. */
static void test_alone(void **state)
{
    static const struct table_step steps[] = {
        { 0, "", "a", NEVER }, { 10, "a+", "a", NEVER }, { 5000000, "a*5000000", "a", NEVER },
        { 5000001, "a=-256", "", NEVER }, { 5000002, "a=0 a-", "a", NEVER },
    };
    static const struct table alone = {
        .name = "alone", .params = PARAMS(5 * MS), .nentities = 1, .entities = { { 0, 0, UTIL(10) } },
        STEPS(steps),
    };
    static const struct table_step none[] = { { 0, "", "", NEVER }, { 1, "", "", NEVER } };
    static const struct table empty = { .name = "empty", .params = PARAMS(5 * MS), STEPS(none) };

    (void)state;
    for (int type = 1; type < kPolicyMax; type++) {
        check(&alone, type);
        check(&empty, type);
    }
}

/* ---- what a policy says that it reads ---- */

enum { READS_TRIALS = 300, READS_STEPS = 40, READS_ENTITIES = 3 };

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Makes one hint of the first entity another. */
static void change_hint(uint32_t reads, struct xs_policy_entity *e, uint32_t *seed)
{
    switch (reads) {
    case XS_POLICY_READS_PRIORITY:
        e->hints.priority = (int32_t)draw(seed, 401) - 200;
        break;
    case XS_POLICY_READS_UTILIZATION:
        e->hints.utilization = (int32_t)draw(seed, 100) + 1;
        break;
    case XS_POLICY_READS_PROCESS_UTILIZATION:
        e->process->utilization = (int32_t)draw(seed, 100) + 1;
        break;
    case XS_POLICY_READS_DEADLINE:
        e->hints.deadline_us = draw(seed, 5000);
        break;
    default:
        e->hints.laxity_us = draw(seed, 5000);
        e->hints.critical_priority = (int32_t)draw(seed, 401) - 200;
    }
}

/* A few decisions, as one number; `reads` is the hint that was changed before, 0: none. */
static uint64_t decisions(const struct xs_policy_ops *ops, uint32_t seed, uint32_t reads)
{
    struct xs_policy_process processes[READS_ENTITIES] = {0};
    struct xs_policy_entity e[READS_ENTITIES] = {0}, *all[READS_ENTITIES];
    struct xs_policy_params params = {.timeslice_ns = 2 * MS, .k = 1};
    uint32_t other = seed ^ 0x5bd1e995u;
    uint64_t memo[8] = {0}, sum = 0;

    for (unsigned i = 0; i < READS_ENTITIES; i++) {
        processes[i].id = i + 1;
        processes[i].utilization = (int32_t)draw(&seed, 60) + 1;
        e[i] = (struct xs_policy_entity){
            .id = i + 1, .process = &processes[i], .ready = true, .ready_since_ns = 1 + draw(&seed, 1000) * US,
            .hints = {.priority = (int32_t)draw(&seed, 401) - 200, .utilization = (int32_t)draw(&seed, 60) + 1,
                      .deadline_us = draw(&seed, 5000), .laxity_us = draw(&seed, 2) ? -1 : (int64_t)draw(&seed, 5000),
                      .critical_priority = 10}};
        all[i] = &e[i];
    }
    if (reads)
        change_hint(reads, &e[0], &other);
    for (unsigned step = 0; step < READS_STEPS; step++) {
        struct xs_policy_view v = {.now_ns = (1 + step) * MS, .params = &params, .entities = all, .n = READS_ENTITIES,
                                   .memo = memo};

        ops->decide(&v);
        sum = sum * 31 + v.next_ns;
        for (unsigned i = 0; i < READS_ENTITIES; i++) {
            sum = sum * 31 + e[i].run;
            e[i].running = e[i].run;
            e[i].service_ns += e[i].run ? MS : 0;
            e[i].run = false;
        }
    }
    return sum;
}

/* A hint changes what a policy decides just where it says that it reads it. */
static void test_reads(void **state)
{
    (void)state;
    for (size_t p = 0; p < xs_policies_count; p++) {
        const char *name;
        uint32_t reads, known;

        for (size_t h = 0; xs_policy_hint(h, &name, &reads); h++) {
            bool differs = false;

            for (uint32_t seed = 0; seed < READS_TRIALS && !differs; seed++)
                differs = decisions(xs_policies[p], seed, 0) != decisions(xs_policies[p], seed, reads);
            assert_true(xs_policy_reads(xs_policies[p], &known));
            if (differs != ((known & reads) != 0))
                fail_msg("%s: %s %s its decisions", xs_policies[p]->name, name,
                         differs ? "changes" : "does not change");
            assert_non_null(xs_policy_that_reads(reads));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_registry), cmocka_unit_test(test_alone), cmocka_unit_test(test_hpf),
        cmocka_unit_test(test_hhpf),     cmocka_unit_test(test_chpf),  cmocka_unit_test(test_up),
        cmocka_unit_test(test_pup),      cmocka_unit_test(test_spup),  cmocka_unit_test(test_kedf),
        cmocka_unit_test(test_lax),      cmocka_unit_test(test_awf),   cmocka_unit_test(test_cfs),
        cmocka_unit_test(test_mlfq),
        cmocka_unit_test(test_mlfq_shorter_slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
