/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/swap_plan.h"

/* It cannot go on without memory that it does not have. */
static bool is_in_need(const struct xs_swap_program *p)
{
    return !p->moving && !p->by_hand && (p->wants || (p->out && p->works));
}

static bool comes_before(const struct xs_swap_program *a, const struct xs_swap_program *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->waits_ns > b->waits_ns;
}

/* How long until `v` may make room for `p`, at the earliest: it may end its work now; 0: at once. UINT64_MAX: it does not. */
static uint64_t until_it_may_go(const struct xs_swap_program *v, const struct xs_swap_program *p)
{
    uint64_t idle_ns, patience_ns, stay_ns = XS_MAX(XS_SWAP_STAY_NS, XS_SWAP_STAY_MOVES * (v->move_ns + p->move_ns));

    if (v == p || v->out || v->moving || v->wants || !v->bytes)
        return UINT64_MAX;
    if (v->priority < p->priority)
        return 0;
    patience_ns = v->patience_ns;
    if (v->priority == p->priority) /* it would lose no more than `p` does, which waits */
        patience_ns = XS_MIN(patience_ns, XS_MAX(XS_SWAP_IDLE_NS, XS_SWAP_IDLE_MOVES * v->move_ns));
    idle_ns = v->works ? XS_MAX(patience_ns, 1ull) : patience_ns - XS_MIN(patience_ns, v->idle_ns);
    if (v->priority > p->priority)
        return idle_ns;
    return XS_MIN(idle_ns, stay_ns - XS_MIN(stay_ns, v->stayed_ns));
}

/* Of two that may go now: idle ones first, then the less important, then the one that has been in for longer. */
static bool goes_before(const struct xs_swap_program *a, const struct xs_swap_program *b)
{
    if (a->works != b->works)
        return !a->works;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->stayed_ns > b->stayed_ns;
}

/* Of those that may go now and have no step yet; NULL: there is none. */
static struct xs_swap_program *first_to_go(struct xs_swap_program *all, size_t n, const struct xs_swap_program *p)
{
    struct xs_swap_program *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (all[i].step == XS_SWAP_STEP_NONE && until_it_may_go(&all[i], p) == 0 && (!best || goes_before(&all[i], best)))
            best = &all[i];
    return best;
}

/* Programs make room for `p`, or none does. @return whether some do; ret_ns: else when enough may */
static bool make_room(struct xs_swap_program *all, size_t n, const struct xs_swap_program *p, uint64_t *ret_ns)
{
    uint64_t found = 0, possible = 0, next_ns = 0;
    struct xs_swap_program *best;

    for (size_t i = 0; i < n; i++) {
        uint64_t ns = until_it_may_go(&all[i], p);

        if (ns == UINT64_MAX)
            continue;
        possible += all[i].bytes;
        if (ns == 0)
            found += all[i].bytes;
        else
            next_ns = next_ns ? XS_MIN(next_ns, ns) : ns;
    }
    *ret_ns = possible >= p->lacks ? next_ns : UINT64_MAX;
    if (found < p->lacks)
        return false;
    found = 0;
    while (found < p->lacks && (best = first_to_go(all, n, p)) != NULL) {
        best->step = XS_SWAP_STEP_OUT;
        found += best->bytes;
    }
    return true;
}

/* @param behind  the one before in this order; NULL: none */
static struct xs_swap_program *next_in_need(struct xs_swap_program *p, size_t n, const struct xs_swap_program *behind)
{
    struct xs_swap_program *best = NULL;

    for (size_t i = 0; i < n; i++) {
        bool later = !behind || comes_before(behind, &p[i]) || (!comes_before(&p[i], behind) && &p[i] > behind);

        if (is_in_need(&p[i]) && later && (!best || comes_before(&p[i], best)))
            best = &p[i];
    }
    return best;
}

uint64_t xs_swap_plan(struct xs_swap_program *p, size_t n)
{
    uint64_t next_ns = UINT64_MAX, ns;
    bool moving = false;

    for (size_t i = 0; i < n; i++) {
        p[i].step = XS_SWAP_STEP_NONE;
        moving = moving || p[i].moving;
    }
    if (moving)                   /* what programs need is known after it */
        return UINT64_MAX;
    for (struct xs_swap_program *need = NULL; (need = next_in_need(p, n, need)) != NULL;) {
        if (!need->lacks) {
            need->step = need->wants ? XS_SWAP_STEP_RETRY : XS_SWAP_STEP_IN;
            return next_ns;
        }
        if (make_room(p, n, need, &ns)) {
            if (!need->wants)
                need->step = XS_SWAP_STEP_FOLLOW;
            return next_ns;
        }
        if (need->wants && (ns == UINT64_MAX || need->waits_ns + ns > XS_SWAP_WANT_NS))
            need->step = XS_SWAP_STEP_REFUSE;
        else
            next_ns = XS_MIN(next_ns, ns);
    }
    return next_ns;
}
