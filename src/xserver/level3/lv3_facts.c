/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3_facts.h"

#include "xserver/server.h"

#define PAIR_FIRST_NS (900 * XS_NS_PER_US) /* until a pair was measured */

/* NULL: level 3 keeps something of this program for as many other devices as it can. */
static struct xs_lv3_on_device *kept_of(struct xs_client *c, XDevice device)
{
    struct xs_lv3_on_device *free_one = NULL;

    for (size_t i = 0; i < XS_ARRAY_LEN(c->lv3_on); i++) {
        if (c->lv3_on[i].device == device)
            return &c->lv3_on[i];
        if (!c->lv3_on[i].device && !free_one)
            free_one = &c->lv3_on[i];
    }
    if (free_one)
        free_one->device = device;
    return free_one;
}

static void add_flight(struct xs_client_cell *cell, struct xs_lv3_seat *seat)
{
    uint64_t done = XS_MAX(atomic_load(&cell->completed), atomic_load(&cell->marked));

    seat->completed += done;
    seat->in_flight = seat->in_flight || done < atomic_load(&cell->returned);
}

static uint64_t left_ns(struct xs_client_cell *cell)
{
    /* a guess, bounded below */
    uint64_t entered = atomic_load_explicit(&cell->est_entered_ns, memory_order_relaxed);
    uint64_t completed = atomic_load_explicit(&cell->est_completed_ns, memory_order_relaxed);

    return entered > completed ? XS_MIN(entered - completed, XS_NS_PER_S) : 0;
}

static void take_queues(struct xs_server *s, struct xs_client *c, XDevice device, struct xs_lv3_seat *seat)
{
    int32_t any = INT32_MIN, ready = INT32_MIN;

    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client) {
        struct xs_client_cell *cell = &c->page->cells[q->cell];
        struct xs_sched_queue_status st;
        int32_t priority;

        xs_sched_queue_status(q->sched, s->now_ns, &st);
        if (st.device != device)
            continue;
        seat->level3 = seat->level3 || q->level >= 3;
        seat->entered += atomic_load_explicit(&cell->entered, memory_order_relaxed); /* a count by itself */
        priority = xs_sched_queue_hints(q->sched)->priority;
        any = XS_MAX(any, priority);
        if (seat->own_queues)     /* else these words are left to the program */
            add_flight(cell, seat);
        if (!st.ready)
            continue;
        seat->ready = true;
        ready = XS_MAX(ready, priority);
        seat->permitted = seat->permitted || st.permitted;
        seat->left_ns += left_ns(cell);
    }
    seat->priority = seat->ready ? ready : any;
}

size_t xs_lv3_take_facts(struct xs_server *s, XDevice device, struct xs_lv3_seat *seats, struct xs_lv3_place *places,
                         size_t most)
{
    size_t n = 0;

    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        bool own_queues = xs_lv3_kfd_of(c, device) != NULL;
        struct xs_lv3_on_device *kept;

        if ((!c->lv3 && !own_queues) || n == most)
            continue;
        kept = kept_of(c, device);
        if (!kept)
            continue;
        seats[n] = (struct xs_lv3_seat){.own_queues = own_queues, .in_force = kept->in_force, .memory = kept->memory};
        take_queues(s, c, device, &seats[n]);
        places[n++] = (struct xs_lv3_place){c, kept};
    }
    return n;
}

struct xs_lv3_rules xs_lv3_take_rules(struct xs_server *s, bool own_queues)
{
    const struct xs_options *o = &s->options;
    const struct xs_lv3_counts *counts = &s->kfd_counts;

    return (struct xs_lv3_rules){
        .now_ns = s->now_ns,
        .by_turns = xs_sched_gives_turns(s->sched),
        .slices = o->lv3_slices,
        .long_us = o->lv3_long_us,
        .short_us = o->lv3_short_us,
        .busy_us = o->lv3_busy_us,
        .busy_after_us = o->lv3_busy_after_us,
        .may_switch_off = own_queues && o->lv3_queues,
        .pairs_per_s = o->lv3_pairs_per_s,
        .pair_ns = counts->offs && counts->ons ? counts->off_ns + counts->on_ns : PAIR_FIRST_NS,
    };
}
