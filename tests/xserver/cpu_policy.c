/* SPDX-License-Identifier: Apache-2.0 */
/* A policy in a shared object: of the ready entities those run whose process has the highest CPU priority. It asks for that
 * (CPU_CLASS 1), or it was built against a header that has no word for it (0). */
#include <xsched/policy.h>

static void decide(struct xs_policy_view *v)
{
    int32_t top = INT32_MIN;

    for (size_t i = 0; i < v->n; i++)
        if (v->entities[i]->ready && v->entities[i]->process->sched_class_priority > top)
            top = v->entities[i]->process->sched_class_priority;
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->run = v->entities[i]->process->sched_class_priority >= top;
    v->next_ns = UINT64_MAX;
}

static const struct xs_policy_ops ops = {
    .abi = XS_POLICY_ABI,
    .size = CPU_CLASS ? sizeof(struct xs_policy_ops) : offsetof(struct xs_policy_ops, flags_known),
    .name = "NICE",
    .title = "highest CPU priority first",
    .scope = XS_SCOPE_DEVICE,
    .decide = decide,
    .flags = CPU_CLASS ? XS_POLICY_BY_RANK | XS_POLICY_CPU_CLASS : XS_POLICY_BY_RANK,
    .flags_known = XS_POLICY_FLAGS_KNOWN,
};

__attribute__((visibility("default"))) const struct xs_policy_ops *xsched_policy_entry(void);

const struct xs_policy_ops *xsched_policy_entry(void)
{
    return &ops;
}
