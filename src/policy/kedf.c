/* SPDX-License-Identifier: Apache-2.0 */
/* KEDF: the k ready queues with the earliest deadline (ready time plus deadline) run. A queue
 * without a deadline comes after all that have one. Equal deadlines have equal standing, so where
 * the k-th place is shared, all that share it run; so do all without a deadline, once fewer than
 * k have one. */
#include "policy/common.h"

static uint64_t deadline(const struct xs_policy_entity *e, uint64_t now_ns)
{
    return xs_policy_after_us(e->ready ? e->ready_since_ns : now_ns, e->hints.deadline_us);
}

/* The k-th smallest deadline of the ready ones: by counting up from the smallest, k rounds at
 * most, since a policy may neither allocate nor sort here. */
static bool kth_deadline(const struct xs_policy_view *v, uint32_t k, uint64_t *ret)
{
    uint64_t bound = 0;
    size_t places = 0;
    bool first = true;

    for (;;) {
        uint64_t next = UINT64_MAX;
        size_t same = 0;

        for (size_t i = 0; i < v->n; i++) {
            const struct xs_policy_entity *e = v->entities[i];
            uint64_t d;

            if (!e->ready || xs_policy_barred(e))
                continue;
            d = deadline(e, v->now_ns);
            if (!first && d <= bound)
                continue;
            if (d < next || same == 0) {
                next = d;
                same = 1;
            } else if (d == next) {
                same++;
            }
        }
        if (same == 0)
            return false; /* fewer than k are ready */
        places += same;
        bound = next;
        first = false;
        if (places >= k) {
            *ret = bound;
            return true;
        }
    }
}

static void decide(struct xs_policy_view *v)
{
    uint32_t k = v->params->k ? v->params->k : 1;
    uint64_t bound = UINT64_MAX;
    bool full = kth_deadline(v, k, &bound);

    v->next_ns = UINT64_MAX;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];
        uint64_t d = deadline(e, v->now_ns);

        /* An idle one takes no place; it may start at once if it would get one. */
        e->run = !xs_policy_barred(e) && (!full || (e->ready ? d <= bound : d < bound));
    }
    xs_policy_starvation(v);
}

const struct xs_policy_ops xs_policy_kedf = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyKEarliestDeadlineFirst,
    .name = "KEDF",
    .title = "k earliest deadlines first",
    .scope = XS_SCOPE_DEVICE,
    .flags = XS_POLICY_BY_RANK | XS_POLICY_READS_DEADLINE,
    .decide = decide,
};
