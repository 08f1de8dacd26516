/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/hints.h"

void xs_hints_pack(struct xs_msg_queue_hints *m, const struct xs_dated_hints *h, int64_t ahead_ns)
{
    m->priority = h->hints.priority;
    m->utilization = h->hints.utilization;
    m->deadline_us = h->hints.deadline_us;
    m->laxity_us = h->hints.laxity_us;
    m->lax_priority = h->hints.lax_priority;
    m->critical_priority = h->hints.critical_priority;
    for (unsigned i = 0; i < XS_PARTS; i++)
        m->changed_ns[i] = h->changed_ns[i] ? h->changed_ns[i] - (uint64_t)ahead_ns : 0;
}

static void take(struct xs_hints *h, const struct xs_msg_queue_hints *m, enum xs_hint_part part)
{
    switch (part) {
    case XS_PART_PRIORITY:
        h->priority = m->priority;
        break;
    case XS_PART_UTILIZATION:
        h->utilization = m->utilization;
        break;
    case XS_PART_DEADLINE:
        h->deadline_us = m->deadline_us == 0 ? -1 : m->deadline_us;
        break;
    case XS_PART_LAXITY:
        h->laxity_us = m->laxity_us;
        h->lax_priority = m->lax_priority;
        h->critical_priority = m->critical_priority;
        break;
    case XS_PARTS:
        break;
    }
}

void xs_hints_merge(struct xs_dated_hints *h, const struct xs_msg_queue_hints *m, uint32_t peer_minor, int64_t ahead_ns,
                    uint64_t now_ns)
{
    for (unsigned i = 0; i < XS_PARTS; i++) {
        uint64_t at = m->changed_ns[i] ? m->changed_ns[i] + (uint64_t)ahead_ns : 0;

        if (peer_minor < 5) {
            take(&h->hints, m, i);
        } else if (XS_MIN(at, now_ns) >= h->changed_ns[i]) {
            take(&h->hints, m, i);
            h->changed_ns[i] = XS_MIN(at, now_ns);
        }
    }
}
