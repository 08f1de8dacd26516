/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/step_graph.h"

#include "base/clock.h"
#include "base/xs_base.h"
#include "wire/page.h"

#define SAME      3u               /* equal lengths say what comes again */
#define SHORTEST  4u               /* commands between two */
#define LONGEST   1000u
#define LOOKS_NS  (200 * XS_NS_PER_US) /* looks that are no further apart tell when it came */

static bool is_near(uint32_t a, uint32_t b)
{
    return (a > b ? a - b : b - a) <= b / 16 + 1;
}

static void learn_length(struct xs_step_graph *g, uint64_t length)
{
    if (length < SHORTEST || length > LONGEST) {
        g->same = 0;
        return;
    }
    g->same = g->same && is_near((uint32_t)length, g->length) ? XS_MIN(g->same + 1, SAME) : 1;
    if (g->same == 1)
        g->ntails = 0;
    g->length = (uint32_t)length;
}

void xs_step_graph_look(struct xs_step_graph *g, uint64_t graphs, uint64_t now_ns)
{
    uint64_t number = XS_GRAPHS_NUMBER(graphs);
    uint16_t more = (uint16_t)(XS_GRAPHS_COUNT(graphs) - g->count);
    bool timed = now_ns - g->look_ns <= LOOKS_NS;

    if (number < g->at)           /* another queue came to its place */
        *g = (struct xs_step_graph){0};
    g->look_ns = now_ns;
    if (!more || number <= g->at)
        return;
    if (g->at && more == 1)
        learn_length(g, number - g->at);
    g->before_ns = more == 1 ? g->took_ns : 0;
    g->took_ns = more == 1 && timed && g->at_ns ? now_ns - g->at_ns : 0;
    g->at = number;
    g->at_ns = timed ? now_ns : 0;
    g->count = XS_GRAPHS_COUNT(graphs);
}

void xs_step_graph_waited(struct xs_step_graph *g, uint64_t commands)
{
    if (g->at && commands > g->at && commands - g->at < g->length)
        g->tails[g->ntails++ % XS_STEP_TAILS] = (uint32_t)(commands - g->at);
}

void xs_step_graph_ended(struct xs_step_graph *g)
{
    g->several = (uint16_t)(g->count - g->ended) > 2; /* the next one's may have come as well */
    g->ended = g->count;
}

bool xs_step_graph_is_known(const struct xs_step_graph *g)
{
    return g->same >= SAME && !g->several;
}

uint64_t xs_step_graph_next(const struct xs_step_graph *g)
{
    return xs_step_graph_is_known(g) ? g->at + g->length : 0;
}

/* The wait may begin late, but hardly ever too soon: the second smallest tail. */
uint64_t xs_step_graph_last(const struct xs_step_graph *g)
{
    uint32_t n = XS_MIN(g->ntails, XS_STEP_TAILS), least = UINT32_MAX, second = UINT32_MAX;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = g->tails[i];

        second = XS_MIN(second, XS_MAX(t, least));
        least = XS_MIN(least, t);
    }
    return xs_step_graph_is_known(g) && n >= 2 ? g->at + second : 0;
}
