/* SPDX-License-Identifier: Apache-2.0 */
/* Marks (mark.c) and inheritance on the device (inherit.c), which the models of the submit path leave out. */
#ifndef XS_MODEL_MARK_STUBS_H
#define XS_MODEL_MARK_STUBS_H

#include "xqueue/inherit.h"
#include "xqueue/mark.h"

void xs_queue_complete(struct xs_queue *q, uint64_t n, bool consume) { (void)q, (void)n, (void)consume; }
void xs_queue_look_slow(struct xs_queue *q, bool late) { (void)q, (void)late; }
bool xs_queue_mark_device(struct xs_queue *q, uint64_t key, uint32_t est)
{
    (void)q, (void)key, (void)est;
    mc_check(false, __func__);
    return false;
}
bool xs_queue_mark_now(struct xs_queue *q) { (void)q; return true; }
void xs_queue_push_mark(struct xs_queue *q, uint64_t n, uint64_t key, uint32_t est)
{
    (void)q, (void)n, (void)key, (void)est;
}
void xs_queue_tell_marked(struct xs_queue *q) { (void)q; }
void xs_queues_distrust(struct xs_state *st) { (void)st; }
void xs_queue_distrust(struct xs_queue *q) { (void)q; }
void xsched_priv_mark_lost(struct xs_queue *q, uint64_t n) { (void)q, (void)n; }

uint32_t xs_estimate_get(uint64_t key) { (void)key; return 1000; }
_Atomic uint32_t xs_estimate_code = 1;
bool xs_estimate_is_loaded(uint64_t key) { (void)key; return true; }
void xs_estimate_note_loaded(uint64_t key, uint32_t code) { (void)key, (void)code; }

_Atomic uint32_t xsched_priv_intra, xsched_priv_beside, xsched_priv_follows;
void xs_queue_inherit_on(struct xs_queue *q, int32_t priority) { (void)q, (void)priority; }
void xsched_priv_lend(struct xs_queue *q, uint64_t number, int32_t priority) { (void)q, (void)number, (void)priority; }
uint64_t xsched_priv_milestone(struct xs_queue *q)
{
    xs_queue_mark_now(q);
    return atomic_load(&q->cc->returned);
}

#endif
