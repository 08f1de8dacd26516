/* SPDX-License-Identifier: Apache-2.0 */
#include "wrong.h"

#include "xsched/types.h"

#include <string.h>

#define MAX 64

/* Most variants lie about the facts to the real policy, or change its answer. */
static void real(int type, struct xs_policy_view *v)
{
    xs_policy_by_type(type)->decide(v);
}

/* HPF: PRIORITY_NO_EXECUTE is only a low priority. */
static void hpf(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->hints.priority += v->entities[i]->hints.priority == PRIORITY_NO_EXECUTE;
    real(kPolicyHighestPriorityFirst, v);
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->hints.priority -= v->entities[i]->hints.priority == PRIORITY_MIN;
}

/* HHPF: each device by itself. */
static void hhpf(struct xs_policy_view *v)
{
    for (uint32_t d = 0; d < 4; d++) {
        struct xs_policy_entity *of[MAX];
        struct xs_policy_view part = *v;

        part.entities = of;
        part.n = 0;
        for (size_t i = 0; i < v->n; i++) {
            if (v->entities[i]->device == d)
                of[part.n++] = v->entities[i];
        }
        real(kPolicyHighestPriorityFirst, &part);
    }
    v->next_ns = UINT64_MAX;
}

/* CHPF: real-time priorities in the order in which the kernel shows them, small first. */
static void chpf(struct xs_policy_view *v)
{
    int32_t kept[MAX];

    for (size_t i = 0; i < v->n; i++)
        kept[i] = v->entities[i]->process->sched_class_priority;
    for (size_t i = 0; i < v->n; i++) {
        if (kept[i] > 1000)
            v->entities[i]->process->sched_class_priority = 2100 - kept[i];
    }
    real(kPolicyCPUHighestPriorityFirst, v);
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->process->sched_class_priority = kept[i];
}

/* UP: a queue that was given no utilization has none. */
static void up(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        if (v->entities[i]->hints.utilization == UTILIZATION_DEFAULT)
            v->entities[i]->hints.utilization = 0;
    }
    real(kPolicyUtilizationPartition, v);
    for (size_t i = 0; i < v->n; i++) {
        if (v->entities[i]->hints.utilization == 0)
            v->entities[i]->hints.utilization = UTILIZATION_DEFAULT;
    }
}

/* PUP: what is not used is not lent. */
static void pup(struct xs_policy_view *v)
{
    real(kPolicyStrictProcessUtilizationPartition, v);
}

/* SPUP: what is not used is lent. */
static void spup(struct xs_policy_view *v)
{
    real(kPolicyProcessUtilizationPartition, v);
}

/* KEDF: idle queues take places. */
static void kedf(struct xs_policy_view *v)
{
    bool kept[MAX];

    for (size_t i = 0; i < v->n; i++) {
        kept[i] = v->entities[i]->ready;
        v->entities[i]->ready = true;
    }
    real(kPolicyKEarliestDeadlineFirst, v);
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->ready = kept[i];
}

/* LAX: no laxity means that it has passed. */
static void lax(struct xs_policy_view *v)
{
    bool none[MAX];

    for (size_t i = 0; i < v->n; i++) {
        none[i] = v->entities[i]->hints.laxity_us < 0;
        if (none[i])
            v->entities[i]->hints.laxity_us = 0;
    }
    real(kPolicyLaxity, v);
    for (size_t i = 0; i < v->n; i++) {
        if (none[i])
            v->entities[i]->hints.laxity_us = -1;
    }
}

/* AWF: who was active once stays so. */
static void awf(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        e->memo[0] |= e->process->window_active;
        e->process->window_active = e->memo[0];
    }
    real(kPolicyActiveWindowFirst, v);
}

/* CFS: a late comer starts at nothing, so it has all until it has caught up. */
static void cfs(struct xs_policy_view *v)
{
    struct xs_policy_entity *best = NULL;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        if (e->ready && (!best || e->service_ns < best->service_ns))
            best = e;
    }
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->run = !best || v->entities[i] == best;
    v->next_ns = v->now_ns + v->params->timeslice_ns;
}

/* MLFQ: two run at once. */
static void mlfq(struct xs_policy_view *v)
{
    unsigned more = 1;

    real(kPolicyMultiLevelFeedbackQueue, v);
    for (size_t i = 0; i < v->n && more; i++) {
        if (v->entities[i]->ready && !v->entities[i]->run) {
            v->entities[i]->run = true;
            more--;
        }
    }
}

#define WRONG(type_, fn, scope_)                                                                  \
    { .abi = XS_POLICY_ABI, .size = sizeof(struct xs_policy_ops), .type = type_, .name = "wrong " #fn, \
      .title = "wrong", .scope = scope_, .decide = fn, .flags = XS_POLICY_USES_SERVICE }

static const struct xs_policy_ops variants[] = {
    WRONG(1, hpf, XS_SCOPE_DEVICE),  WRONG(2, hhpf, XS_SCOPE_HOST),   WRONG(3, chpf, XS_SCOPE_DEVICE),
    WRONG(4, up, XS_SCOPE_DEVICE),   WRONG(5, pup, XS_SCOPE_DEVICE),  WRONG(6, spup, XS_SCOPE_DEVICE),
    WRONG(7, kedf, XS_SCOPE_DEVICE), WRONG(8, lax, XS_SCOPE_DEVICE),  WRONG(9, awf, XS_SCOPE_DEVICE),
    WRONG(10, cfs, XS_SCOPE_DEVICE), WRONG(11, mlfq, XS_SCOPE_DEVICE),
};

const struct xs_policy_ops *wrong_policy(int type)
{
    return type >= 1 && type <= (int)XS_ARRAY_LEN(variants) ? &variants[type - 1] : NULL;
}
