/* SPDX-License-Identifier: Apache-2.0 */
/* The doorbells of processes: which queues rang, or all of them where a process rang more often than its doorbell holds. */
#include "sched/internal.h"

bool xs_process_takes_part(const struct xs_sched_process *p)
{
    return atomic_load(&p->client->h.collectives) || atomic_load(&p->client->h.peer_memory);
}

/* Looks at some queues of a program that rang more than its doorbell holds. Begins with those whose
 * last look is the oldest. The next runs look at the rest, so that one program with many queues does
 * not delay others for long. */
bool xs_process_rescan(struct xs_sched_process *p, uint64_t now_ns)
{
    bool changed = false;

    for (size_t n = XS_RESCAN_STEP; n > 0 && p->rescan_left > 0 && !xs_list_empty(&p->queues); n--) {
        struct xs_sched_queue *q = XS_CONTAINER_OF(p->queues.next, struct xs_sched_queue, process_link);

        xs_list_remove(&q->process_link);
        xs_list_add(&p->queues, &q->process_link);
        p->rescan_left--;
        changed |= xs_queue_settle(q, now_ns);
        if (p->collective)
            xs_collective_update_busy(q);
    }
    if (p->rescan_left == 0 || xs_list_empty(&p->queues)) {
        p->rescan_left = 0;
        xs_list_remove(&p->rescan_link);
    }
    return changed;
}

bool xs_process_read_all(struct xs_sched_process *p, uint64_t now_ns)
{
    struct xs_sched *s = p->sched;

    p->rescan_left = p->nqueues;
    if (!xs_list_empty(&p->rescan_link)) /* each run reads some of its queues already */
        return false;
    s->rescan_ns = xs_list_empty(&s->rescans) ? now_ns + XS_RESCAN_NS : s->rescan_ns;
    xs_list_add(&s->rescans, &p->rescan_link);
    return xs_process_rescan(p, now_ns);
}

bool xs_sched_process_poll(struct xs_sched *s, struct xs_sched_process *p, uint64_t now_ns)
{
    uint64_t count, k;
    bool changed = false, rescan = false;

    if (!p->client)
        return false;
    count = atomic_load(&p->client->h.bell_count);
    if (count == p->bell_seen)
        return false;
    now_ns = xs_sched_clock(s, now_ns);
    s->c.bells++;
    rescan = count - p->bell_seen > XS_BELL_SLOTS;
    for (k = p->bell_seen; k != count && !rescan; k++) {
        uint64_t v = atomic_load(&p->client->h.bell[k % XS_BELL_SLOTS]);
        uint64_t cell = v & 0xffff;

        if (v >> 16 != ((k + 1) & (UINT64_MAX >> 16)))
            rescan = true;
        else if (cell < p->ncells && p->cells[cell])
            changed |= xs_queue_settle(p->cells[cell], now_ns);
    }
    p->bell_seen = count;
    if (XS_UNLIKELY(xs_process_takes_part(p)))
        xs_collective_met(p);
    if (rescan) {
        s->c.rescans++;
        changed |= xs_process_read_all(p, now_ns);
    }
    return changed;
}

bool xs_sched_process_rang(const struct xs_sched_process *p)
{
    return p->client && atomic_load(&p->client->h.bell_count) != p->bell_seen;
}
