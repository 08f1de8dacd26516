/* SPDX-License-Identifier: Apache-2.0 */
/* How many commands of a step gather: a program that launches for so long, whose device needs so long for a step. */
#include "base/xs_base.h"
#include "sched/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define US 1000ull
#define MS 1000000ull

/* A program: a launch each launch_ns, and a wait at the end of the step. The device needs work_ns for the whole step, and
 * change_ns for the change of programs. */
struct program {
    uint32_t commands;
    uint64_t launch_ns, work_ns, change_ns, gap_ns;
};

static uint64_t wait_of(const struct program *p, uint32_t to)
{
    uint64_t end_ns = p->commands * p->launch_ns, opens_ns = to * p->launch_ns + p->change_ns;
    uint64_t device_ns = opens_ns + p->work_ns;

    return !to || device_ns <= end_ns ? 10 * US : device_ns - end_ns;
}

/* @return the most commands that gathered in the last half of the steps */
static uint32_t run(struct xs_steps *s, const struct program *p, unsigned steps, unsigned *ret_late)
{
    uint32_t most = 0;

    *ret_late = 0;
    for (unsigned i = 0; i < steps; i++) {
        struct xs_step_plan plan = xs_steps_plan(s);
        struct xs_step step = {.commands = p->commands, .gap_ns = p->gap_ns, .gathered = plan.to != 0,
                               .alone = plan.alone_ns != 0};

        step.waited_ns = wait_of(p, plan.to);
        step.ns = p->commands * p->launch_ns + step.waited_ns;
        if (i >= steps / 2) {
            most = plan.to > most ? plan.to : most;
            *ret_late += step.waited_ns > 10 * US + step.ns / 50;
        }
        xs_steps_ended(s, &step);
    }
    return most;
}

/* A helper thread waits. The program needs the result so long after its last launch. @return the steps of the last half that
 * gather */
static unsigned run_helped(struct xs_steps *s, const struct program *p, unsigned steps, uint64_t needs_ns, uint32_t *ret_to)
{
    unsigned gathered = 0;
    uint64_t late_ns = 0;         /* the step before made this one so much later */

    *ret_to = 0;
    for (unsigned i = 0; i < steps; i++) {
        struct xs_step_plan plan = xs_steps_plan(s);
        struct xs_step step = {.commands = p->commands, .gap_ns = p->gap_ns, .gathered = plan.to != 0,
                               .alone = plan.alone_ns != 0, .helper = true};

        step.waited_ns = wait_of(p, plan.to);
        step.ns = p->commands * p->launch_ns + step.waited_ns;
        step.period_ns = p->commands * p->launch_ns + p->gap_ns + late_ns;
        late_ns = step.waited_ns > needs_ns ? step.waited_ns - needs_ns : 0;
        if (i >= steps / 2) {
            gathered += step.gathered;
            *ret_to = XS_MAX(*ret_to, plan.to);
        }
        xs_steps_ended(s, &step);
    }
    return gathered;
}

/* All its commands gather, where it needs the result later than the device has it; fewer, or none, where it needs it at once. */
static void helped(void **state)
{
    const struct program p = {32, 12 * US, 700 * US, 200 * US, 900 * US}, q = {700, 20 * US, 2 * MS, 200 * US, 100 * US};
    struct xs_steps s = {.helped = true}, t = {.helped = true}, u = {.helped = true}, not = {0};
    uint32_t to;

    (void)state;
    assert_in_range(run_helped(&s, &p, 1000, MS, &to), 450, 500);
    assert_int_equal(to, 32);
    assert_in_range(run_helped(&t, &p, 8000, 500 * US, &to), 0, 300);
    run_helped(&u, &q, 3000, 10 * US, &to);
    assert_in_range(run_helped(&u, &q, 300, 10 * US, &to), 130, 150);
    assert_in_range(to, 300, 600);
    assert_int_equal(run_helped(&not, &p, 1000, MS, &to), 0);
    assert_int_equal(xs_steps_state(&not), XS_SCHED_GATHER_NO_USE);
}

/* A helper thread waits, and the last twelve of 32 commands come at once. The others leave before those. */
static void helped_in_time(void **state)
{
    const struct program p = {32, 12 * US, 700 * US, 200 * US, 900 * US};
    struct xs_steps s = {.helped = true};
    struct xs_step_plan plan = {0};

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct xs_step step = {.commands = p.commands, .gap_ns = p.gap_ns, .helper = true, .waited_ns = MS, .ns = MS + 400 * US,
                               .period_ns = 2 * MS};

        if (xs_steps_plan(&s).to)
            plan = xs_steps_plan(&s);
        step.gathered = xs_steps_plan(&s).to != 0;
        step.alone = xs_steps_plan(&s).alone_ns != 0;
        step.lead_ns = plan.lead < 12 ? 10 * US : (plan.lead - 12) * 20 * US;
        xs_steps_ended(&s, &step);
    }
    assert_int_equal(plan.to, 32);
    assert_in_range(plan.lead, 22, 31);
}

/* Commands of a step gathered for longer than it usually takes: the program may wait where nobody sees it. None gather for
 * a while, and for longer the next time. */
static void overdue(void **state)
{
    const struct program p = {700, 20 * US, 2 * MS, 200 * US, 100 * US};
    struct xs_steps s = {0};
    unsigned late, rests[2] = {0};

    (void)state;
    run(&s, &p, 100, &late);
    for (unsigned i = 0; i < 2; i++) {
        struct xs_step step = {.commands = p.commands, .gap_ns = p.gap_ns, .ns = 40 * MS, .waited_ns = 10 * US, .gathered = true,
                               .overdue = true};

        xs_steps_ended(&s, &step);
        while (!xs_steps_plan(&s).to && rests[i]++ < 1000)
            run(&s, &p, 1, &late);
    }
    assert_in_range(rests[0], 60, 75);
    assert_in_range(rests[1], 120, 140);
}

/* The plan of the next step that gathers. */
static struct xs_step_plan next_plan(struct xs_steps *s, const struct program *p)
{
    struct xs_step_plan plan = xs_steps_plan(s);
    unsigned late;

    for (unsigned i = 0; i < 20 && !plan.to; i++) {
        run(s, p, 1, &late);
        plan = xs_steps_plan(s);
    }
    assert_true(plan.to > 0);
    return plan;
}

/* 700 launches in 14 ms, 2 ms of the device: 580 can gather. */
static void launch_bound(void **state)
{
    const struct program p = {700, 20 * US, 2 * MS, 200 * US, 100 * US};
    struct xs_steps s = {0};
    unsigned late;

    (void)state;
    assert_in_range(run(&s, &p, 400, &late), 560, 620);
    assert_in_range(late, 0, 40); /* of 200, by more than a fiftieth */
    assert_true(xs_steps_any(&s));
}

/* The device needs as long as the launches: nothing can gather, and after some tries nothing does. */
static void device_bound(void **state)
{
    const struct program p = {700, 20 * US, 14 * MS, 200 * US, 100 * US};
    struct xs_steps s = {0};
    unsigned late;

    (void)state;
    run(&s, &p, 1000, &late);
    assert_in_range(late, 0, 10);
}

/* Steps that are too short, and take no pause worth a change. */
static void too_short(void **state)
{
    const struct program p = {10, 20 * US, 50 * US, 200 * US, 50 * US};
    struct xs_steps s = {0};
    unsigned late;

    (void)state;
    assert_int_equal(run(&s, &p, 400, &late), 0);
    assert_int_equal(late, 0);
    assert_false(xs_steps_any(&s));
}

/* Numbers that never come again. */
static void irregular(void **state)
{
    struct xs_steps s = {0};
    uint32_t seed = 1;

    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        struct xs_step_plan plan = xs_steps_plan(&s);
        struct xs_step step = {.gap_ns = 100 * US, .ns = 10 * MS, .alone = plan.alone_ns != 0};

        assert_int_equal(plan.to, 0);
        seed = seed * 1103515245u + 12345u;
        step.commands = 100 + (seed >> 16) % 5000;
        xs_steps_ended(&s, &step);
    }
}

/* Two lengths by turns, of which only the long one is worth it: each is known by the one before it. */
static void two_kinds(void **state)
{
    struct xs_steps s = {0};
    uint32_t most[2] = {0};

    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        struct xs_step_plan plan = xs_steps_plan(&s);
        const struct program p = {i % 2 ? 8 : 700, 20 * US, i % 2 ? 20 * US : 2 * MS, 200 * US, 50 * US};
        struct xs_step step = {.commands = p.commands, .gap_ns = p.gap_ns, .gathered = plan.to != 0,
                               .alone = plan.alone_ns != 0};

        step.waited_ns = wait_of(&p, plan.to);
        step.ns = p.commands * p.launch_ns + step.waited_ns;
        if (plan.to > most[i % 2])
            most[i % 2] = plan.to;
        xs_steps_ended(&s, &step);
    }
    assert_in_range(most[0], 500, 640);
    assert_int_equal(most[1], 0);
}

/* The others leave a moment before the gate opens: at a command, or in the pause before the first one. */
static void others_leave_in_time(void **state)
{
    const struct program p = {700, 20 * US, 2 * MS, 200 * US, 100 * US}, q = {20, 12 * US, 100 * US, 50 * US, 800 * US};
    struct xs_steps s = {0}, t = {0};
    struct xs_step_plan plan;
    unsigned late;

    (void)state;
    run(&s, &p, 100, &late);
    plan = next_plan(&s, &p);
    assert_true(plan.to > XS_STEP_LEAD_NS / (20 * US));
    assert_in_range(plan.lead, XS_STEP_LEAD_NS / (20 * US), XS_STEP_LEAD_NS / (20 * US) + 3);
    run(&t, &q, 100, &late);
    plan = next_plan(&t, &q);
    assert_int_equal(plan.lead, 0);
    assert_in_range(plan.off_ns, 500 * US, 900 * US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_bound), cmocka_unit_test(device_bound), cmocka_unit_test(too_short),
        cmocka_unit_test(irregular),    cmocka_unit_test(two_kinds),    cmocka_unit_test(others_leave_in_time),
        cmocka_unit_test(helped),       cmocka_unit_test(helped_in_time),
        cmocka_unit_test(overdue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
