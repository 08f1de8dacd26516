/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/common/event_map.h"

#include "base/map.h"

#define SLOTS 4096u               /* only slots in use take memory */
#define PROBES 4u

/* Read by a sequence lock: seq is odd while a thread writes. A writer that finds it odd gives up. */
static struct slot {
    _Atomic uint64_t seq;
    _Atomic uint64_t event;       /* 0: none */
    _Atomic(struct xs_queue *) queue;
    _Atomic uint64_t queue_id, number;
} g_slots[SLOTS];                 /* written by any thread of the program, under seq */

static struct slot *slot_at(const void *event, uint32_t probe)
{
    return &g_slots[(xs_hash_u64((uint64_t)(uintptr_t)event) + probe) % SLOTS];
}

static struct slot *slot_of(const void *event)
{
    for (uint32_t i = 0; i < PROBES; i++)
        if (atomic_load(&slot_at(event, i)->event) == (uint64_t)(uintptr_t)event)
            return slot_at(event, i);
    return NULL;
}

static void write_slot(struct slot *s, const void *event, struct xs_queue *q, uint64_t id, uint64_t number)
{
    uint64_t seq = atomic_load(&s->seq);

    if ((seq & 1) || !atomic_compare_exchange_strong(&s->seq, &seq, seq + 1))
        return;
    atomic_store(&s->event, (uint64_t)(uintptr_t)event);
    atomic_store(&s->queue, q);
    atomic_store(&s->queue_id, id);
    atomic_store(&s->number, number);
    atomic_store(&s->seq, seq + 2);
}

static void note(const void *event, struct xs_queue *q, uint64_t id, uint64_t number)
{
    struct slot *s = slot_of(event);

    for (uint32_t i = 0; i < PROBES && !s; i++)
        if (atomic_load(&slot_at(event, i)->event) == 0)
            s = slot_at(event, i);
    write_slot(s ? s : slot_at(event, 0), event, q, id, number);
}

void xs_event_recorded(const void *event, struct xs_queue *q, uint64_t number)
{
    note(event, q, xsched_priv_queue_id(q), number);
}

void xs_event_foreign(const void *event)
{
    note(event, NULL, 0, 0);
}

bool xs_event_is_foreign(const void *event)
{
    struct slot *s = event ? slot_of(event) : NULL;

    return s && !atomic_load(&s->queue); /* a new use at this moment may give either answer */
}

void xs_event_forget(const void *event)
{
    struct slot *s = slot_of(event);

    if (s)
        write_slot(s, NULL, NULL, 0, 0);
}

bool xs_event_find(const void *event, struct xs_event_mark *ret)
{
    struct slot *s = event ? slot_of(event) : NULL;
    struct xs_event_mark m;
    uint64_t seq, id;

    if (!s)
        return false;
    seq = atomic_load(&s->seq);
    if ((seq & 1) || atomic_load(&s->event) != (uint64_t)(uintptr_t)event)
        return false;
    m.queue = atomic_load(&s->queue);
    id = atomic_load(&s->queue_id);
    m.number = atomic_load(&s->number);
    if (atomic_load(&s->seq) != seq || !m.queue || !id || xsched_priv_queue_id(m.queue) != id)
        return false;
    *ret = m;
    return true;
}
