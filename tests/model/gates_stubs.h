/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2 (gate.c), which the models leave out: their queues have no room, so nothing of it runs. */
#ifndef XS_MODEL_GATES_STUBS_H
#define XS_MODEL_GATES_STUBS_H

#include "xqueue/gates/gate.h"
#include "xqueue/gates/crowded.h"

#define GATES_STUB(result) { mc_check(false, __func__); return result; }

void xs_crowded_join(struct xs_queue *q) { (void)q; }
void xs_crowded_leave(struct xs_queue *q) { (void)q; }
bool xs_gates_passed(struct xs_queue *q) { (void)q; return true; }
void xs_gates_reset(struct xs_queue *q) { (void)q; }
void xs_gates_forget(struct xs_queue *q) { (void)q; }
void xs_gates_set_level(struct xs_queue *q, int32_t level) { (void)q, (void)level; }
void xs_queue_app_set_locked(struct xs_queue *q, uint64_t permitted) { atomic_store(&q->app_permitted, permitted); }
uint64_t xs_gates_bound_ns(uint64_t told_ns, uint64_t est_ns) { (void)told_ns, (void)est_ns; GATES_STUB(0) }
bool xs_gates_full(struct xs_queue *q, bool shut) { (void)q, (void)shut; GATES_STUB(false) }
bool xs_context_full(struct xs_queue *q, bool shut) { (void)q, (void)shut; GATES_STUB(false) }
bool xs_gates_enter(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool known, uint64_t told_ns, uint32_t flags)
{
    (void)q, (void)n, (void)est_ns, (void)known, (void)told_ns, (void)flags;
    GATES_STUB(false)
}
void xs_gates_take_back(struct xs_queue *q) { (void)q; mc_check(false, __func__); }
void xs_gates_open_locked(struct xs_queue *q) { (void)q; mc_check(false, __func__); }
bool xsched_priv_inside_begin(void) { GATES_STUB(false) }
void xsched_priv_inside_end(void) { mc_check(false, __func__); }
bool xs_gates_mark_due(struct xs_queue *q) { (void)q; GATES_STUB(false) }

#endif
