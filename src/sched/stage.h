/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of the stages of a decision (stages.def), and what a stage tells the queues. */
#ifndef XS_SCHED_STAGE_H
#define XS_SCHED_STAGE_H

#include "sched/internal.h"

/** A hook. Thread: the scheduler's. */
typedef void xs_stage_fn(struct xs_sched *s, struct xs_view *v, uint64_t now_ns);

static inline void xs_stage_none(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    (void)s, (void)v, (void)now_ns;
}

#define XS_STAGE(name, timer, active, facts, judge, applied) xs_stage_fn facts, judge, applied;
#include "sched/stages.def"
#undef XS_STAGE

/** The verdict on an entity from here on. A later stage of the same decision may change it again. */
static inline void xs_entity_say(struct xs_entity *e, bool run, enum xs_why why)
{
    e->now.run = run;
    e->now.why = (uint8_t)why;
}

#endif
