/* SPDX-License-Identifier: Apache-2.0 */
/* Late starts (xqueue/late.c) are off in these models. */
#include "xqueue/late.h"

_Atomic uint32_t xsched_priv_late;
bool xs_late_keeps(struct xs_queue *q, uint64_t n, uint32_t armed, uint32_t flags)
{
    (void)q, (void)n, (void)armed, (void)flags;
    return false;
}
void xs_late_open(struct xs_queue *q) { (void)q; }
void xs_late_open_any(struct xs_state *st) { (void)st; }
void xs_late_wait_begins(struct xs_queue *q) { (void)q; }
void xs_late_wait_ended(struct xs_queue *q) { (void)q; }
