/* SPDX-License-Identifier: Apache-2.0 */
/* The hints of an entity while nothing of it is ready: those of all its queues, folded. The utilization and the hints of
 * struct xs_hints_later are always those of all queues. Each change folds few queues anew. It counts many queues by value,
 * so that a change among thousands costs as much as one among few. */
#include "sched/internal.h"

#define LINEAR_MOST   64u         /* the most queues that each change folds anew */
#define PRIORITIES    512u        /* -256..255 */
#define UTILIZATIONS  101u
#define OCTAVES       64u         /* of times in us: an idle gang's, to a factor of two */

struct xs_idle_hints_counts {
    uint32_t priority[PRIORITIES], lax[PRIORITIES], critical[PRIORITIES];
    uint32_t utilization[UTILIZATIONS];
    uint32_t deadline[OCTAVES], laxity[OCTAVES];
#define LATER_HINT(since, fold, symbol, number, field, ...) uint32_t later_##field[OCTAVES];
#include "base/settings/hints.def"
};
#define LATER_HINT(since, fold, symbol, number, field, type, ...) \
    _Static_assert(XS_TYPE_LEAST type >= -1, "octaves count " #field ": no value but NONE is below 0");
#include "base/settings/hints.def"

static const struct xs_hints none = { PRIORITY_NO_EXECUTE, UTILIZATION_DEFAULT, -1, -1, PRIORITY_NO_EXECUTE,
                                      PRIORITY_NO_EXECUTE };

/* Utilization belongs to the owner: queues that kept the default follow those that have a value. */
static int32_t fold_utilization(int32_t a, int32_t b)
{
    if (a == UTILIZATION_DEFAULT || b == UTILIZATION_DEFAULT)
        return XS_MIN(a, b);
    return XS_MAX(a, b);
}

static void fold(struct xs_hints *h, const struct xs_sched_queue *q)
{
    const struct xs_hints *o = &q->hints;

    h->utilization = fold_utilization(h->utilization, o->utilization);
    if (q->barred)
        return;
    h->priority = XS_MAX(h->priority, o->priority);
    if (o->deadline_us >= 0 && (h->deadline_us < 0 || o->deadline_us < h->deadline_us))
        h->deadline_us = o->deadline_us;
    if (o->laxity_us >= 0) {
        if (h->laxity_us < 0 || o->laxity_us < h->laxity_us)
            h->laxity_us = o->laxity_us;
        h->lax_priority = XS_MAX(h->lax_priority, o->lax_priority);
        h->critical_priority = XS_MAX(h->critical_priority, o->critical_priority);
    }
}

/* Queues that kept the value without a wish follow those that have one. */
#define MOST(a, b)  XS_MAX(a, b)
#define LEAST(a, b) XS_MIN(a, b)
static void fold_later(struct xs_hints_later *h, const struct xs_sched_queue *q)
{
    (void)h;
    (void)q;
#define LATER_HINT(since, fold, symbol, number, field, type, without, ...) \
    if (q->later.field != (without)) \
        h->field = h->field == (without) ? q->later.field : fold(h->field, q->later.field);
#include "base/settings/hints.def"
}

/* xserver refused values out of range long before; this bounds the index all the same. */
static uint32_t at_priority(int32_t p)
{
    return (uint32_t)XS_MIN(XS_MAX(p, PRIORITY_NO_EXECUTE), PRIORITY_MAX) - (uint32_t)PRIORITY_NO_EXECUTE;
}

static uint32_t at_time(int64_t us)
{
    return us > 0 ? 63u - (uint32_t)__builtin_clzll((uint64_t)us) : 0;
}

static void count(struct xs_idle_hints_counts *c, const struct xs_sched_queue *q, uint32_t by)
{
    const struct xs_hints *o = &q->hints;

    c->utilization[XS_MIN(XS_MAX(o->utilization, 0), UTILIZATION_DEFAULT)] += by;
#define LATER_HINT(since, fold, symbol, number, field, type, without, ...) \
    if (q->later.field != (without)) \
        c->later_##field[at_time(q->later.field)] += by;
#include "base/settings/hints.def"
    if (q->barred)
        return;
    c->priority[at_priority(o->priority)] += by;
    if (o->deadline_us >= 0)
        c->deadline[at_time(o->deadline_us)] += by;
    if (o->laxity_us >= 0) {
        c->laxity[at_time(o->laxity_us)] += by;
        c->lax[at_priority(o->lax_priority)] += by;
        c->critical[at_priority(o->critical_priority)] += by;
    }
}

static int32_t highest(const uint32_t counts[PRIORITIES])
{
    uint32_t i = PRIORITIES - 1;

    while (i > 0 && !counts[i])
        i--;
    return (int32_t)i + PRIORITY_NO_EXECUTE;
}

static int64_t earliest(const uint32_t counts[OCTAVES])
{
    for (uint32_t i = 0; i < OCTAVES; i++)
        if (counts[i])
            return (int64_t)(i ? 1ull << i : 0);
    return -1;
}

static void of_counts(const struct xs_idle_hints_counts *c, struct xs_hints *h)
{
    h->priority = highest(c->priority);
    for (uint32_t i = 0; i < UTILIZATIONS - 1; i++)
        if (c->utilization[i])
            h->utilization = (int32_t)i;
    h->deadline_us = earliest(c->deadline);
    h->laxity_us = earliest(c->laxity);
    h->lax_priority = highest(c->lax);
    h->critical_priority = highest(c->critical);
}

static void later_of_counts(const struct xs_idle_hints_counts *c, struct xs_hints_later *h)
{
    struct xs_hints_later one;

    (void)c;
    (void)h;
    (void)one;
#define LATER_HINT(since, fold, symbol, number, field, type, without, ...) \
    for (uint32_t i = 0; i < OCTAVES; i++) { \
        if (!c->later_##field[i]) \
            continue; \
        one.field = XS_MAX((int64_t)(i ? 1ull << i : 0), (int64_t)(XS_TYPE_LEAST type)); \
        h->field = h->field == (without) ? one.field : fold(h->field, one.field); \
    }
#include "base/settings/hints.def"
}

static void each(struct xs_entity *e, void (*fn)(void *ctx, const struct xs_sched_queue *q), void *ctx)
{
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        fn(ctx, q);
    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link)
        fn(ctx, q);
}

static void fold_one(void *h, const struct xs_sched_queue *q)
{
    fold(h, q);
}

static void fold_one_later(void *h, const struct xs_sched_queue *q)
{
    fold_later(h, q);
}

static void count_one(void *c, const struct xs_sched_queue *q)
{
    count(c, q, 1);
}

void xs_idle_hints_add(struct xs_entity *e, const struct xs_sched_queue *q)
{
    e->rest_stale = true;
    if (e->rest_counts)
        count(e->rest_counts, q, 1);
}

void xs_idle_hints_join(struct xs_entity *e, const struct xs_sched_queue *q)
{
    if (e->rest_counts || e->queues <= LINEAR_MOST) {
        xs_idle_hints_add(e, q);
        return;
    }
    e->rest_stale = true;
    e->rest_counts = xs_pages_alloc(e->sched->pages, sizeof(*e->rest_counts)); /* on failure it stays slow */
    if (e->rest_counts)
        each(e, count_one, e->rest_counts);
    e->sched->c.work += e->queues;
}

void xs_idle_hints_remove(struct xs_entity *e, const struct xs_sched_queue *q)
{
    e->rest_stale = true;
    if (e->rest_counts)
        count(e->rest_counts, q, UINT32_MAX); /* less one */
}

void xs_idle_hints_update(struct xs_entity *e)
{
    struct xs_hints_later later = xs_hints_later_none;

    e->rest_stale = false;
    e->rest = none;
    if (e->rest_counts) {
        of_counts(e->rest_counts, &e->rest);
        later_of_counts(e->rest_counts, &later);
        e->sched->c.work++;
    } else {
        each(e, fold_one, &e->rest);
        if (sizeof(later))
            each(e, fold_one_later, &later);
        e->sched->c.work += e->queues;
    }
#define LATER_HINT(since, fold, symbol, number, field, ...) e->pe.field = (__typeof__(e->pe.field))later.field;
#include "base/settings/hints.def"
}
