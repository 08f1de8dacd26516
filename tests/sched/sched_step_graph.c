/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a step, as somebody sees it who looks now and then (step_graph.h). */
#include "base/xs_base.h"
#include "sched/step_graph.h"
#include "wire/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define US 1000ull

/* vLLM 0.20.2 at batch 8 on an H200: 17 commands before the graph, 12 behind it, and a wait that begins up to five later. */
#define LENGTH 30u
#define BEFORE 17u
#define TAIL   12u

struct engine {
    struct xs_step_graph g;
    uint64_t commands, ns, graph;
    uint16_t graphs;
    unsigned seed;
};

static unsigned some(struct engine *e, unsigned n)
{
    e->seed = e->seed * 1103515245 + 12345;
    return (e->seed >> 16 & 0x7fff) % n;
}

static void launch_graph(struct engine *e)
{
    e->graph = ++e->commands;
    e->graphs++;
}

static void look(struct engine *e)
{
    xs_step_graph_look(&e->g, XS_GRAPHS(e->graph, e->graphs), e->ns);
}

/* @param often  looks at each command, else as the step ends */
static void one_step(struct engine *e, bool often)
{
    for (unsigned i = 0; i < LENGTH; i++) {
        e->ns += 60 * US;
        if (i == BEFORE)
            launch_graph(e);
        else
            e->commands++;
        if (often)
            look(e);
    }
    look(e);
    xs_step_graph_waited(&e->g, e->commands - some(e, 2));
    xs_step_graph_ended(&e->g);
}

static void steps(struct engine *e, unsigned n, bool often)
{
    for (unsigned i = 0; i < n; i++)
        one_step(e, often);
}

static void assert_knows(const struct engine *e)
{
    assert_int_equal(xs_step_graph_next(&e->g), e->graph + LENGTH);
    assert_in_range(xs_step_graph_last(&e->g), e->graph + TAIL - 1, e->graph + TAIL);
}

/* Some steps tell it, also to somebody who looks at their ends alone; who looks often knows how long they take. */
static void one_a_step(void **state)
{
    struct engine e = {.graphs = UINT16_MAX - 5}, seldom = {0};

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        one_step(&e, true);
        one_step(&seldom, false);
        if (i < 4)
            continue;
        assert_knows(&e);
        assert_knows(&seldom);
        assert_int_equal(e.g.took_ns, LENGTH * 60 * US);
        assert_int_equal(e.g.before_ns, LENGTH * 60 * US);
        assert_int_equal(seldom.g.took_ns, 0);
    }
}

/* Nobody looked for some steps: the next graph is known at once, and how long the last one took is not. */
static void nobody_looks(void **state)
{
    struct engine e = {0};

    (void)state;
    steps(&e, 10, true);
    for (unsigned i = 0; i < 20; i++) {
        e.commands += LENGTH - 1;
        launch_graph(&e);
        e.ns += 1800 * US;
    }
    look(&e);
    assert_int_equal(xs_step_graph_next(&e.g), e.graph + LENGTH);
    assert_int_equal(e.g.took_ns, 0);
}

/* A prompt of 298 kernels comes in between. Three steps later it is known again. */
static void a_prompt(void **state)
{
    struct engine e = {0};

    (void)state;
    steps(&e, 10, true);
    e.commands += 298;
    e.ns += 12000 * US;
    look(&e);
    one_step(&e, true);
    assert_false(xs_step_graph_is_known(&e.g));
    steps(&e, 3, true);
    assert_knows(&e);
}

/* A step has a graph for each layer, and further commands: none of them is the step's. */
static void several(void **state)
{
    struct engine e = {0};
    unsigned known = 0;

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        for (unsigned layer = 0; layer < 22; layer++) {
            e.commands += 5;
            launch_graph(&e);
            e.ns += 60 * US;
            look(&e);
            known += i > 0 && xs_step_graph_is_known(&e.g);
        }
        e.commands += 20;
        xs_step_graph_ended(&e.g);
    }
    assert_int_equal(known, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_a_step), cmocka_unit_test(nobody_looks), cmocka_unit_test(a_prompt), cmocka_unit_test(several),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
