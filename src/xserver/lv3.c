/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/lv3.h"

#include "xserver/server.h"

#include <stdlib.h>

/* A change of slice costs the host 0.3 ms of the driver's locks, and the urgent side the first
 * slice: so a short slice stays for a while after the urgent side went idle. It costs one lone
 * background program nothing; two of them would switch too often, so they are let go sooner. */
#define RECENT_ONE_NS  (500 * XS_NS_PER_MS)
#define RECENT_MANY_NS (20 * XS_NS_PER_MS)
#define MAX_SEATS      1024u
#define PAIR_FIRST_NS  (900 * XS_NS_PER_US)   /* until a pair was measured */

void xs_lv3_judge(struct xs_lv3_seat *seats, size_t n, const struct xs_lv3_rules *rules)
{
    int32_t top = INT32_MIN;
    size_t tops = 0, lower = 0;

    for (size_t i = 0; i < n; i++)
        if (seats[i].recent && seats[i].priority > top)
            top = seats[i].priority;
    for (size_t i = 0; i < n; i++) {
        tops += seats[i].recent && seats[i].priority == top;
        lower += seats[i].ready && seats[i].priority < top;
    }
    for (size_t i = 0; i < n; i++) {
        struct xs_lv3_seat *s = &seats[i];
        bool is_top = s->recent && s->priority == top;

        s->off = false;
        if (is_top)
            s->slice = lower && tops == 1 ? XS_LV3_LONG : XS_LV3_DEFAULT;
        else if (s->ready)
            s->slice = XS_LV3_SHORT;
        else
            s->slice = tops ? XS_LV3_KEEP : XS_LV3_DEFAULT;
        if (rules->may_switch_off && !is_top && s->held)
            s->off = s->off_now || s->left_ns > 2 * rules->pair_ns;
    }
}

/* ---- facts ---- */

struct place {                    /* a seat's program, beside it */
    struct xs_client *client;
    struct xs_lv3_memory *memory;
};

static struct xs_lv3_memory *memory_of(struct xs_client *c, XDevice device)
{
    struct xs_lv3_memory *free_one = NULL;

    for (size_t i = 0; i < XS_ARRAY_LEN(c->lv3_memory); i++) {
        if (c->lv3_memory[i].device == device)
            return &c->lv3_memory[i];
        if (!c->lv3_memory[i].device && !free_one)
            free_one = &c->lv3_memory[i];
    }
    if (free_one)
        free_one->device = device;
    return free_one;
}

/* @return false when no queue of it on the device is at level 3 */
static bool take_facts(struct xs_server *s, struct xs_client *c, XDevice device, struct xs_lv3_seat *ret)
{
    int32_t any = INT32_MIN, ready = INT32_MIN;
    bool level3 = false, permitted = false;

    *ret = (struct xs_lv3_seat){0};
    XS_LIST_FOR(q, &c->queues, struct xs_queue, in_client) {
        struct xs_sched_queue_status st;
        struct xs_client_cell *cell = &c->page->cells[q->cell];
        uint64_t entered, completed;
        int32_t priority;

        xs_sched_queue_status(q->sched, s->now_ns, &st);
        if (st.device != device)
            continue;
        level3 = level3 || q->level >= 3;
        priority = xs_sched_queue_hints(q->sched)->priority;
        any = XS_MAX(any, priority);
        if (!st.ready)
            continue;
        ret->ready = true;
        ready = XS_MAX(ready, priority);
        permitted = permitted || st.permitted;
        entered = atomic_load_explicit(&cell->est_entered_ns, memory_order_relaxed);     /* a guess, bounded below */
        completed = atomic_load_explicit(&cell->est_completed_ns, memory_order_relaxed);
        if (entered > completed)
            ret->left_ns += XS_MIN(entered - completed, XS_NS_PER_S);
    }
    ret->priority = ret->ready ? ready : any;
    ret->held = ret->ready && !permitted;
    return level3;
}

static size_t take_seats(struct xs_server *s, XDevice device, struct xs_lv3_seat *seats, struct place *places)
{
    size_t n = 0;

    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        struct xs_lv3_memory *m;

        if (!c->lv3 || n == MAX_SEATS)
            continue;
        m = memory_of(c, device);
        if (!m || !take_facts(s, c, device, &seats[n]))
            continue;
        if (seats[n].ready)
            m->ready_ns = s->now_ns;
        seats[n].off_now = m->off;
        places[n++] = (struct place){c, m};
    }
    return n;
}

/* @return when it is recent no longer; UINT64_MAX: it is not, or it is ready */
static uint64_t mark_recent(struct xs_server *s, struct xs_lv3_seat *seats, const struct place *places, size_t n)
{
    uint64_t next = UINT64_MAX, window;
    size_t ready = 0;

    for (size_t i = 0; i < n; i++)
        ready += seats[i].ready;
    window = ready > 1 ? RECENT_MANY_NS : RECENT_ONE_NS;
    for (size_t i = 0; i < n; i++) {
        uint64_t since = places[i].memory->ready_ns;

        seats[i].recent = seats[i].ready || (since && s->now_ns - since < window);
        if (seats[i].recent && !seats[i].ready)
            next = XS_MIN(next, since + window);
    }
    return next;
}

/* ---- decisions ---- */

/* At most so many pairs of off and on a second and device. */
static bool may_switch(struct xs_server *s, struct xs_lv3_memory *m)
{
    uint64_t each;

    if (!s->options.lv3_pairs_per_s)
        return false;
    each = XS_NS_PER_S / s->options.lv3_pairs_per_s;
    if (s->now_ns < m->off_ns + each)
        return false;
    m->off_ns = s->now_ns;
    return true;
}

static uint64_t decide_device(struct xs_server *s, XDevice device)
{
    static struct xs_lv3_seat seats[MAX_SEATS]; /* owner: the main loop's thread */
    static struct place places[MAX_SEATS];
    struct xs_lv3_counts counts;
    struct xs_lv3_rules rules = {.may_switch_off = s->options.lv3_channels};
    size_t n = take_seats(s, device, seats, places);
    uint64_t next = mark_recent(s, seats, places, n);

    xs_lv3_counts(s->lv3, &counts);
    rules.pair_ns = counts.offs && counts.ons ? counts.off_ns + counts.on_ns : PAIR_FIRST_NS;
    xs_lv3_judge(seats, n, &rules);
    for (size_t i = 0; i < n; i++) {
        struct xs_lv3_memory *m = places[i].memory;
        uint64_t us = m->slice_us;
        bool off = seats[i].off;

        if (seats[i].slice == XS_LV3_DEFAULT)
            us = XS_LV3_SLICE_DEFAULT;
        else if (seats[i].slice != XS_LV3_KEEP)
            us = seats[i].slice == XS_LV3_LONG ? s->options.lv3_long_us : s->options.lv3_short_us;
        if (!s->options.lv3_slices)
            us = XS_LV3_SLICE_DEFAULT;
        if (off && !m->off && !may_switch(s, m))
            off = false;
        m->slice_us = us;
        m->off = off;
        /* the device takes turns by itself: what is in flight need not be short */
        xs_sched_process_set_inflight(s->sched, places[i].client->process,
                                      us != XS_LV3_SLICE_DEFAULT && !xs_lv3_denied(s->lv3, places[i].client->lv3)
                                          ? s->options.lv3_inflight_us : 0);
        xs_lv3_want(s->lv3, places[i].client->lv3, device, us, off);
    }
    return next;
}

uint64_t xs_lv3_update(struct xs_server *s)
{
    XDevice devices[64];
    size_t n = 0;
    uint64_t next = UINT64_MAX;

    if (!s->lv3 || (!s->lv3_changed && s->now_ns < s->lv3_ns))
        return s->lv3_ns;
    s->lv3_changed = false;
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        XDevice of_client[XS_LV3_DEVICES];
        size_t m = c->lv3 ? xs_lv3_devices(s->lv3, c->lv3, of_client, XS_LV3_DEVICES) : 0;

        for (size_t i = 0; i < m; i++) {
            bool known = false;

            for (size_t k = 0; k < n; k++)
                known = known || devices[k] == of_client[i];
            if (!known && n < XS_ARRAY_LEN(devices))
                devices[n++] = of_client[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        next = XS_MIN(next, decide_device(s, devices[i]));
    s->lv3_ns = next;
    return next;
}

void xs_lv3_forget(struct xs_server *s, struct xs_client *c)
{
    if (!c->lv3)
        return;
    /* a process that is gone needs nothing back, and a call would only delay its end */
    xs_lv3_leave(s->lv3, c->lv3, !(atomic_load_explicit(&c->page->h.owner_tid, memory_order_relaxed) & XS_OWNER_DIED));
    c->lv3 = NULL;
    s->n_lv3--;
    s->lv3_changed = true;
}
