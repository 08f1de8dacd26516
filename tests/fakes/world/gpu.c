/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

void gpu_start(struct gpu *g, uint64_t now_ns, uint64_t switch_ns)
{
    *g = (struct gpu){.now_ns = now_ns, .switch_ns = switch_ns, .loaded = -1};
}

void gpu_restart(struct gpu *g)
{
    g->restart = true;
}

static bool runnable(const struct gpu_group *group)
{
    return group->left_ns;
}

/* The next in turn behind the loaded one; the loaded one itself only when it is alone. -1: none */
static int next_in_turn(const struct gpu *g, const struct gpu_group *groups, int n)
{
    for (int i = 1; i <= n; i++) {
        int at = ((g->restart ? -1 : g->loaded) + i) % n;

        if (runnable(&groups[at]))
            return at;
    }
    return -1;
}

static bool others(const struct gpu *g, const struct gpu_group *groups, int n)
{
    int next = next_in_turn(g, groups, n);

    return next >= 0 && next != g->loaded;
}

static void load(struct gpu *g, const struct gpu_group *groups, int which)
{
    g->loaded = which;
    g->switching = g->idle = false;
    g->slice_end_ns = g->now_ns + groups[which].slice_ns;
    g->restart = false;
}

void gpu_decide(struct gpu *g, const struct gpu_group *groups, int n)
{
    bool has_work;
    int next;

    if (g->switching) {
        if (g->now_ns < g->switch_end_ns)
            return;               /* not to be broken off */
        load(g, groups, g->to);
    }
    has_work = g->loaded >= 0 && runnable(&groups[g->loaded]);
    if (has_work && g->idle) {
        load(g, groups, g->loaded); /* it is on the device still */
        return;
    }
    if (has_work && g->now_ns < g->slice_end_ns && !g->restart)
        return;
    g->idle = g->loaded >= 0 && !has_work;
    next = next_in_turn(g, groups, n);
    if (next < 0)
        return;
    g->restart = false;
    if (next == g->loaded || g->loaded < 0) { /* the first time there is nothing to be saved */
        load(g, groups, next);
        return;
    }
    g->switches++;
    if (!g->switch_ns) {
        load(g, groups, next);
        return;
    }
    g->switching = true;
    g->to = next;
    g->switch_end_ns = g->now_ns + g->switch_ns;
}

uint64_t gpu_next(const struct gpu *g, const struct gpu_group *groups, int n)
{
    uint64_t end;

    if (g->switching)
        return g->switch_end_ns;
    if (g->loaded < 0 || !runnable(&groups[g->loaded]))
        return UINT64_MAX;
    end = g->now_ns + groups[g->loaded].left_ns;
    return others(g, groups, n) && g->slice_end_ns < end ? g->slice_end_ns : end;
}

void gpu_advance(struct gpu *g, struct gpu_group *groups, int n, uint64_t to_ns)
{
    struct gpu_group *on = g->loaded < 0 ? NULL : &groups[g->loaded];
    uint64_t ns = to_ns - g->now_ns;
    bool alone = !others(g, groups, n);

    g->now_ns = to_ns;
    if (g->switching) {
        g->switching_ns += ns;
    } else if (on && runnable(on)) {
        on->left_ns -= ns;
        on->ran_ns += ns;
        /* alone: one slice after the other, without anybody having to look */
        if (alone && on->slice_ns && g->slice_end_ns <= to_ns)
            g->slice_end_ns += ((to_ns - g->slice_end_ns) / on->slice_ns + 1) * on->slice_ns;
    } else {
        g->idle_ns += ns;
    }
}
