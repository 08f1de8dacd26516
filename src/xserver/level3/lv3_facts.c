/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3_facts.h"

#include "xserver/server.h"

#define PAIR_FIRST_NS (900 * XS_NS_PER_US) /* until xserver has measured a pair */

/* NULL: level 3 keeps something of this program for as many other devices as it can. */
static struct xs_lv3_on_device *kept_of(struct xs_client *c, XDevice device)
{
    struct xs_lv3_on_device *free_one = NULL;

    for (size_t i = 0; i < XS_ARRAY_LEN(c->level3.on); i++) {
        if (c->level3.on[i].device == device)
            return &c->level3.on[i];
        if (!c->level3.on[i].device && !free_one)
            free_one = &c->level3.on[i];
    }
    if (free_one)
        free_one->device = device;
    return free_one;
}

/* Its last queue there went: the settings of level 3 go back. */
static bool has_kept(const struct xs_client *c, XDevice device)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(c->level3.on); i++)
        if (c->level3.on[i].device == device)
            return true;
    return false;
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

/* If a program has more queues here, so many count: the ready ones stand in front. */
static void take_queues(struct xs_server *s, struct xs_client *c, struct xs_client_device *on, size_t most,
                        struct xs_lv3_seat *seat)
{
    int32_t any = INT32_MIN, ready = INT32_MIN;

    XS_LIST_FOR(q, &on->queues, struct xs_server_queue, in_device) {
        struct xs_client_cell *cell = &c->page->cells[q->cell];
        struct xs_sched_queue_status st;
        int32_t priority;

        if (most-- == 0)
            break;
        s->counts.level3_looks++;
        xs_sched_queue_status(q->sched, s->now_ns, &st);
        seat->level3 = seat->level3 || q->level >= 3;
        seat->entered += atomic_load_explicit(&cell->entered, memory_order_relaxed); /* a count by itself */
        /* its user's turn, which others' slices must not shorten */
        priority = xs_sched_queue_granted(q->sched) ? PRIORITY_MAX + 1 : xs_sched_queue_hints(q->sched)->priority;
        any = XS_MAX(any, priority);
        if (seat->own_queues)     /* else level 3 does not read these words */
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

    XS_LIST_FOR(c, &s->level3.steered, struct xs_client, level3.steered_link) {
        const struct xs_lv3_kfd *k = xs_lv3_kfd_of(c, device);
        struct xs_client_device *on = k ? k->on : c->level3.nvidia ? xs_client_device_find(c, device) : NULL;
        struct xs_lv3_on_device *kept;

        s->counts.level3_looks++;
        if ((!on && !k && !has_kept(c, device)) || n == most)
            continue;
        kept = kept_of(c, device);
        if (!kept)
            continue;
        seats[n] = (struct xs_lv3_seat){.own_queues = k != NULL, .gathers = c->level3.gathers,
                                        .in_force = kept->in_force, .memory = kept->memory};
        places[n++] = (struct xs_lv3_place){c, on, kept};
    }
    for (size_t i = 0; i < n; i++)
        if (places[i].on)
            take_queues(s, places[i].client, places[i].on, XS_MAX(XS_LV3_LOOKS / n, (size_t)1), &seats[i]);
    return n;
}

struct xs_lv3_rules xs_lv3_take_rules(struct xs_server *s, bool own_queues)
{
    const struct xs_options *o = &s->options;
    const struct xs_lv3_counts *counts = &s->level3.kfd_counts;

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
