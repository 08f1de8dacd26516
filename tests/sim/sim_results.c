/* SPDX-License-Identifier: Apache-2.0 */
/* What each policy gives its queues, measured in the simulator: shares and latencies. Times are
 * virtual and exact; where a tolerance is allowed, the comment says why. */
#include "sim/sim.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define US XS_NS_PER_US
#define MS XS_NS_PER_MS

/* Runs the lines of a scenario; results in the order of its queues. */
static struct xs_sim_result run(const char *text, bool native)
{
    struct xs_scenario sc;
    struct xs_sim_result r;
    char copy[2000], error[XS_ERROR_BYTES] = "", *save = NULL;

    xs_scenario_init(&sc);
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (xs_scenario_line(&sc, line, error) < 0)
            fail_msg("%s: %s", line, error);
    }
    if (xs_scenario_finish(&sc, error) < 0)
        fail_msg("%s", error);
    assert_int_equal(xs_sim_run(&sc, native, &r), 0);
    xs_scenario_fini(&sc);
    return r;
}

static void assert_share(const struct xs_sim_result *r, size_t q, double percent, double tolerance)
{
    double share = r->queues[q].share;

    if (fabs(share - percent) > tolerance)
        fail_msg("queue %zu got %.2f %%, not %.2f +- %.2f", q, share, percent, tolerance);
}

/* Partitions: within 1 point over 10 s and more, also where the commands of one side are longer
 * than its slice, on devices that share themselves, and where lengths vary. */
static void utilization_is_held(void **state)
{
    static const char *const lengths[] = { "100", "1000", "20000" };
    char text[600];

    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        for (int a = 0; a < 3; a++) {
            for (int b = 0; b < 3; b++) {
                for (int shared = 0; shared < 2; shared++) {
                    struct xs_sim_result r;

                    snprintf(text, sizeof(text),
                             "policy %s\nparam duration_ms=60000\ndevice device model=%s\n"
                             "process a utilization=75\nprocess b utilization=25\n"
                             "queue a utilization=75 commands=1000 length_us=%s\n"
                             "queue b utilization=25 commands=1000 length_us=%s\n",
                             policy ? "PUP" : "UP", shared ? "shared" : "exclusive", lengths[a], lengths[b]);
                    r = run(text, false);
                    assert_share(&r, 0, 75, 1);
                    assert_share(&r, 1, 25, 1);
                    xs_sim_result_fini(&r);
                }
            }
        }
    }
}

static void unhinted_queue_is_not_starved(void **state)
{
    /* 60 + 40 + 100 = 200 is scaled: 30, 20, 50 */
    struct xs_sim_result r = run("policy UP\nparam duration_ms=20000\n"
                                 "queue a utilization=60 commands=100\nqueue b utilization=40 commands=100\n"
                                 "queue c commands=100 lengths=exponential\n", false);

    (void)state;
    assert_share(&r, 0, 30, 1);
    assert_share(&r, 1, 20, 1);
    assert_share(&r, 2, 50, 1);
    xs_sim_result_fini(&r);
}

/* Each device by itself: 75/25 on both, though the partners differ. */
static void devices_do_not_take_turns_as_one(void **state)
{
    struct xs_sim_result r = run("policy PUP\nparam duration_ms=20000\nprocess p utilization=75\n"
                                 "process q utilization=25\n"
                                 "queue p0 process=p device=x commands=100\nqueue q0 process=q device=x commands=100\n"
                                 "queue p1 process=p device=y commands=100\nqueue q1 process=q device=y commands=100\n",
                                 false);

    (void)state;
    assert_share(&r, 0, 75, 1);
    assert_share(&r, 1, 25, 1);
    assert_share(&r, 2, 75, 1);
    assert_share(&r, 3, 25, 1);
    xs_sim_result_fini(&r);
}

#define RESERVED                                                                           \
    "param duration_ms=20000\nprocess a utilization=40\nprocess b utilization=60\n"          \
    "queue a commands=64\nqueue b arrival=periodic period_us=1000000 commands=1\n"

static void reservation_is_lent_or_not(void **state)
{
    struct xs_sim_result lent = run("policy PUP\n" RESERVED, false);
    struct xs_sim_result kept = run("policy SPUP\n" RESERVED, false);

    (void)state;
    assert_share(&lent, 0, 99.9, 0.2);
    assert_share(&kept, 0, 40, 0.5);
    /* and who has it reserved never waits longer than a's slice (2 ms) and a command behind it */
    assert_true(kept.queues[1].max_ns <= 4 * MS);
    xs_sim_result_fini(&lent);
    xs_sim_result_fini(&kept);
}

#define URGENT "queue high priority=10 arrival=poisson period_us=20000 commands=4 length_us=500 "
#define BATCH  "queue low commands=64 length_us=2000 inflight_us=4000 "

/* Level 3 with a device that stops at once: the urgent side's latencies are those that it has
 * alone, to the time that the decision takes. */
static void highest_priority_is_as_if_alone(void **state)
{
    struct xs_sim_result alone = run("policy HPF\n" URGENT, false);
    struct xs_sim_result both = run("policy HPF\n" URGENT "\n" BATCH "level=3\n", false);
    struct xs_sim_result native = run(URGENT "\n" BATCH "\n", true);
    struct xs_sim_result block = run("policy HPF\n" URGENT "\n" BATCH "level=1\n", false);
    struct xs_sim_result deactivate = run("policy HPF\n" URGENT "\n" BATCH "level=2\n", false);

    (void)state;
    assert_int_equal(alone.queues[0].jobs, both.queues[0].jobs);
    assert_in_range(both.queues[0].p50_ns, alone.queues[0].p50_ns, alone.queues[0].p50_ns + 20 * US);
    assert_in_range(both.queues[0].p99_ns, alone.queues[0].p99_ns, alone.queues[0].p99_ns + 20 * US);
    assert_in_range(both.queues[0].max_ns, alone.queues[0].max_ns, alone.queues[0].max_ns + 20 * US);
    /* level 2 waits for the running command (2 ms) at most, level 1 for what is in flight (4 ms) */
    assert_true(deactivate.queues[0].max_ns <= alone.queues[0].max_ns + 2 * MS + 20 * US);
    assert_true(block.queues[0].max_ns <= alone.queues[0].max_ns + 4 * MS + 20 * US);
    assert_true(native.queues[0].p50_ns > block.queues[0].p50_ns + MS);
    /* the low side has the rest, but for the lingers: 500 of 100 us, 0.5 %, and less than as much again for the decisions */
    assert_true(both.queues[1].share + both.queues[0].share > 98.5);
    assert_true(block.queues[1].share + block.queues[0].share > 98.5);
    xs_sim_result_fini(&alone);
    xs_sim_result_fini(&both);
    xs_sim_result_fini(&native);
    xs_sim_result_fini(&block);
    xs_sim_result_fini(&deactivate);
}

static void nothing_happens_for_one_that_is_alone(void **state)
{
    struct xs_sim_result r;
    char text[200];

    (void)state;
    for (size_t i = 0; i < xs_policies_count; i++) {
        snprintf(text, sizeof(text), "policy %s\nqueue q utilization=30 commands=64\n", xs_policies[i]->name);
        r = run(text, false);
        assert_share(&r, 0, 100, 0.1);
        assert_true(r.wakes <= 3);      /* no timer */
        assert_int_equal(r.queues[0].suspensions, 0);
        xs_sim_result_fini(&r);
    }
}

static void one_urgent_queue_holds_all_devices(void **state)
{
    const char *rest = "queue high device=x priority=10 commands=1000\nqueue low device=y commands=10\n";
    char text[200];
    struct xs_sim_result each, host;

    (void)state;
    snprintf(text, sizeof(text), "policy HPF\n%s", rest);
    each = run(text, false);
    snprintf(text, sizeof(text), "policy HHPF\n%s", rest);
    host = run(text, false);
    assert_share(&each, 1, 100, 0.1);
    assert_true(host.queues[1].share < 0.1);
    assert_int_equal(host.counters.stalls, 0);      /* it goes on all the time */
    xs_sim_result_fini(&each);
    xs_sim_result_fini(&host);
}

static void cpu_class_orders(void **state)
{
    struct xs_sim_result r = run("policy CHPF\nprocess rt cpu=1001\nprocess nice cpu=20\n"
                                 "queue r process=rt level=3 arrival=periodic period_us=10000 commands=2\n"
                                 "queue n process=nice level=3 commands=10 priority=200\n", false);

    (void)state;
    assert_true(r.queues[0].max_ns <= 2 * MS + 20 * US);
    assert_true(r.queues[1].share > 77);    /* the other 80 %, less lingers of 1 % and decisions */
    xs_sim_result_fini(&r);
}

/* 5 of each 20 ms due after 10, 9 of each 30 ms due after 30, and a hog. In order of arrival the
 * first would wait for the hog's 20 ms. */
#define DEADLINES                                                                        \
    "queue a level=3 deadline_us=10000 arrival=periodic period_us=20000 commands=5\n"      \
    "queue b level=3 deadline_us=30000 arrival=periodic period_us=30000 commands=9\n"      \
    "queue c level=3 commands=20 inflight_us=20000\n"

static void deadlines_are_met(void **state)
{
    struct xs_sim_result r = run("policy KEDF\n" DEADLINES, false), native = run(DEADLINES, true);

    (void)state;
    assert_true(r.queues[0].max_ns <= 10 * MS);
    assert_true(r.queues[1].max_ns <= 30 * MS);
    assert_true(r.queues[2].share > 40);
    assert_true(native.queues[0].max_ns > 10 * MS);
    xs_sim_result_fini(&r);
    xs_sim_result_fini(&native);
}

/* Lax for 30 ms beside a queue that is always ready, then critical: 30 ms, its own 2 ms, and a
 * decision. The other one has 5 of each 100 ms less. */
static void laxity_bounds_the_wait(void **state)
{
    struct xs_sim_result r = run("policy LAX\nqueue a level=3 laxity_us=30000 lax_priority=0 critical_priority=10 "
                                 "arrival=periodic period_us=100000 commands=2\n"
                                 "queue b level=3 priority=5 commands=1000\n", false);

    (void)state;
    assert_in_range(r.queues[0].p50_ns, 32 * MS, 32 * MS + 50 * US);
    assert_in_range(r.queues[0].max_ns, 32 * MS, 32 * MS + 50 * US);
    assert_share(&r, 1, 98, 0.3);
    xs_sim_result_fini(&r);
}

static void active_window_first(void **state)
{
    struct xs_sim_result r = run("policy AWF\nprocess game window=on\n"
                                 "queue f process=game level=3 arrival=periodic period_us=16000 commands=4\n"
                                 "queue b level=3 commands=100\n", false);

    (void)state;
    assert_true(r.queues[0].max_ns <= 4 * MS + 20 * US);
    assert_share(&r, 1, 75, 2);             /* 12 of 16 ms, less a linger and the decisions */
    xs_sim_result_fini(&r);
}

/* 1.2^5 = 2.488: 71.33 and 28.67 %. Late comers get their share from then on: half of the second
 * half. */
static void weights_and_late_comers(void **state)
{
    struct xs_sim_result r = run("policy CFS\nparam duration_ms=20000\nqueue a priority=5 commands=100\n"
                                 "queue b commands=64 length_us=3000\n", false);
    struct xs_sim_result late = run("policy CFS\nparam duration_ms=20000\nqueue a commands=100\n"
                                    "queue b commands=100 start_ms=10000\n", false);
    struct xs_sim_result shared = run("policy CFS\nparam duration_ms=20000\ndevice device model=shared\n"
                                      "queue a priority=5 commands=100\nqueue b commands=64 length_us=3000\n", false);

    (void)state;
    assert_share(&r, 0, 71.33, 1);
    assert_share(&r, 1, 28.67, 1);
    assert_share(&late, 0, 75, 0.5);
    assert_share(&late, 1, 25, 0.5);
    assert_share(&shared, 0, 71.33, 1);
    assert_share(&shared, 1, 28.67, 1);
    xs_sim_result_fini(&r);
    xs_sim_result_fini(&late);
    xs_sim_result_fini(&shared);
}

/* Short jobs stay at the top level and never wait for more than the 1 ms in flight; the two that
 * always work sink and share the rest evenly. */
static void short_jobs_pass_long_ones(void **state)
{
    struct xs_sim_result r = run("policy MLFQ\nparam duration_ms=20000\nqueue a commands=100\nqueue b commands=100\n"
                                 "queue s start_ms=1000 arrival=periodic period_us=50000 commands=3\n", false);

    (void)state;
    assert_true(r.queues[2].max_ns <= 3 * MS + 2 * MS);
    assert_share(&r, 0, r.queues[1].share, 2);
    assert_true(r.queues[0].share + r.queues[1].share > 93);
    xs_sim_result_fini(&r);
}

static void starvation_is_bounded_if_asked(void **state)
{
    const char *rest = "queue high priority=10 commands=1000\nqueue low commands=10\n";
    char text[200];
    struct xs_sim_result r;

    (void)state;
    snprintf(text, sizeof(text), "policy HPF\n%s", rest);
    r = run(text, false);
    assert_true(r.queues[1].share < 0.1);
    xs_sim_result_fini(&r);
    snprintf(text, sizeof(text), "policy HPF\nparam starvation_ms=95\n%s", rest);
    r = run(text, false);
    /* 5 ms beside the other one, of each 100 ms: half of that is 2.5 % */
    assert_share(&r, 1, 2.5, 1);
    xs_sim_result_fini(&r);
}

/* Another user's priority takes half of an equal share at most from who waits; within one user it takes all. */
static void users_have_a_share_of_each_other(void **state)
{
    static const char *const policies[] = {"HPF", "HHPF", "CHPF", "KEDF", "LAX", "AWF"};
    static const double shares[] = {25, 0.1};
    char text[400];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(policies); i++)
        for (int same = 0; same < 2; same++) {
            struct xs_sim_result r;

            snprintf(text, sizeof(text),
                     "policy %s\nprocess a user=2001 cpu=1099 window=yes\nprocess b user=%d\n"
                     "queue high process=a priority=255 deadline_us=1 laxity_us=0 critical_priority=255 commands=1000\n"
                     "queue low process=b commands=10\n",
                     policies[i], same ? 2001 : 2000);
            r = run(text, false);
            /* what is in flight of one is over before the other one begins: up to 1 ms of 5 and of 15 */
            assert_share(&r, 1, shares[same], same ? 0.1 : 5);
            assert_share(&r, 0, 100 - r.queues[1].share, 0.5);
            xs_sim_result_fini(&r);
        }
}

/* With weights of 70 and 30 and the whole of the parts, the one without priority has 30 percent. */
static void users_have_weights(void **state)
{
    struct xs_sim_result r = run("policy HPF\nparam user_share=100\n"
                                 "process a user=2001 weight=70\nprocess b user=2000 weight=30\n"
                                 "queue high process=a priority=255 commands=1000\n"
                                 "queue low process=b commands=10\n",
                                 false);
    struct xs_scenario sc;
    char error[XS_ERROR_BYTES], bad[] = "process a weight=0";

    (void)state;
    assert_share(&r, 1, 30, 5);
    assert_share(&r, 0, 100 - r.queues[1].share, 0.5);
    xs_sim_result_fini(&r);
    xs_scenario_init(&sc);
    assert_true(xs_scenario_line(&sc, bad, error) < 0);
    xs_scenario_fini(&sc);
}

static void same_seed_same_result(void **state)
{
    struct xs_sim_result a = run("policy CFS\nparam seed=7\n" URGENT "\n" BATCH, false);
    struct xs_sim_result b = run("policy CFS\nparam seed=7\n" URGENT "\n" BATCH, false);
    struct xs_sim_result c = run("policy CFS\nparam seed=8\n" URGENT "\n" BATCH, false);

    (void)state;
    assert_memory_equal(a.queues, b.queues, 2 * sizeof(*a.queues));
    assert_memory_equal(&a.counters, &b.counters, sizeof(a.counters));
    assert_int_not_equal(a.queues[0].p99_ns, c.queues[0].p99_ns);
    xs_sim_result_fini(&a);
    xs_sim_result_fini(&b);
    xs_sim_result_fini(&c);
}

static void bad_scenarios_are_refused(void **state)
{
    static const char *const lines[] = {
        "colour red", "policy FIFO", "policy", "param", "param seed=x", "param duration_ms=0", "param timeslice_us=1",
        "queue", "queue a=b", "queue q length_us=0", "queue q commands=0", "queue q arrival=sometimes",
        "queue q arrival=poisson", "queue q level=4", "queue q priority=-257", "queue q nonsense", "queue q x=1",
        "process p window=perhaps", "process p utilization=101", "device d model=round",
        "queue a-name-that-is-longer-than-a-name-may-be", "param react_us=-1", "param react_us=1e3",
        "param duration_ms=99999999999999999999",
    };
    struct xs_scenario sc;
    char error[XS_ERROR_BYTES];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(lines); i++) {
        char copy[200];

        xs_scenario_init(&sc);
        error[0] = 0;
        snprintf(copy, sizeof(copy), "%s", lines[i]);
        if (xs_scenario_line(&sc, copy, error) != -EINVAL || !error[0])
            fail_msg("'%s' was taken", lines[i]);
        xs_scenario_fini(&sc);
    }
    xs_scenario_init(&sc);
    assert_int_equal(xs_scenario_finish(&sc, error), -EINVAL);   /* nothing in it */
    assert_int_equal(xs_scenario_file(&sc, "/nonexistent/file", error), -EINVAL);
    xs_scenario_fini(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utilization_is_held),
        cmocka_unit_test(unhinted_queue_is_not_starved),
        cmocka_unit_test(devices_do_not_take_turns_as_one),
        cmocka_unit_test(reservation_is_lent_or_not),
        cmocka_unit_test(highest_priority_is_as_if_alone),
        cmocka_unit_test(nothing_happens_for_one_that_is_alone),
        cmocka_unit_test(one_urgent_queue_holds_all_devices),
        cmocka_unit_test(cpu_class_orders),
        cmocka_unit_test(deadlines_are_met),
        cmocka_unit_test(laxity_bounds_the_wait),
        cmocka_unit_test(active_window_first),
        cmocka_unit_test(weights_and_late_comers),
        cmocka_unit_test(short_jobs_pass_long_ones),
        cmocka_unit_test(starvation_is_bounded_if_asked),
        cmocka_unit_test(users_have_a_share_of_each_other),
        cmocka_unit_test(users_have_weights),
        cmocka_unit_test(same_seed_same_result),
        cmocka_unit_test(bad_scenarios_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
