/* SPDX-License-Identifier: Apache-2.0 */
/* A policy of one's own, in a shared object: first come, first served. Of the ready entities of a
 * device, the one that has been ready for longest runs until it has nothing left.
 *
 *   cc -shared -fPIC -o fifo.so fifo.c
 *   xsched-sim -p ./fifo.so -q 'a commands=100 think_us=500' -q 'b commands=10 think_us=500'
 *
 * It is asked again whenever something becomes ready or idle, so it needs no timer (next_ns
 * stays UINT64_MAX) and has nothing to remember (a policy that has, uses the memo fields). */
#include <xsched/policy.h>
#include <xsched/types.h>

static bool barred(const struct xs_policy_entity *e)
{
    return e->hints.priority == PRIORITY_NO_EXECUTE;
}

static void decide(struct xs_policy_view *v)
{
    struct xs_policy_entity *first = NULL;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        /* entities stand in order of id, which breaks ties */
        if (e->ready && !barred(e) && (!first || e->ready_since_ns < first->ready_since_ns))
            first = e;
    }
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->run = !barred(v->entities[i]) && (!first || v->entities[i] == first);
    v->next_ns = UINT64_MAX;
}

static const struct xs_policy_ops fifo = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = 0,
    .name = "FIFO",
    .title = "first come, first served",
    .scope = XS_SCOPE_DEVICE,
    .decide = decide,
    .flags = 0,
    .flags_known = XS_POLICY_FLAGS_KNOWN,
};

__attribute__((visibility("default"))) const struct xs_policy_ops *xsched_policy_entry(void);

const struct xs_policy_ops *xsched_policy_entry(void)
{
    return &fifo;
}
