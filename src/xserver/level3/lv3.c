/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3.h"

#include "xserver/server.h"

#include <stdlib.h>

/* A change of slice costs the host 0.3 ms of the driver's locks, and the urgent side the first
 * slice: so a short slice stays for a while after the urgent side went idle. It costs one lone
 * background program nothing; two of them would switch too often, so they are let go sooner. */
#define RECENT_ONE_NS  (500 * XS_NS_PER_MS)
#define RECENT_MANY_NS (20 * XS_NS_PER_MS)
#define MAX_SEATS      1024u
#define BURST_NS       (1 * XS_NS_PER_MS)     /* programs leave gaps between commands */
#define LAUNCHED_NS    (250 * XS_NS_PER_US)   /* a job of some kernels has been launched by then */
#define BUSY_EACH_NS   (20 * XS_NS_PER_MS)    /* at most so often for its sake */
#define PAIR_FIRST_NS  (900 * XS_NS_PER_US)   /* until a pair was measured */

void xs_lv3_judge(struct xs_lv3_seat *seats, size_t n, const struct xs_lv3_rules *rules)
{
    int32_t top = INT32_MIN;
    size_t tops = 0, lower = 0;
    bool gaps = false;

    for (size_t i = 0; i < n; i++)
        if (seats[i].recent && seats[i].priority > top)
            top = seats[i].priority;
    for (size_t i = 0; i < n; i++) {
        tops += seats[i].recent && seats[i].priority == top;
        lower += seats[i].ready && seats[i].priority < top;
        gaps = gaps || (seats[i].gaps && seats[i].priority == top);
    }
    for (size_t i = 0; i < n; i++) {
        struct xs_lv3_seat *s = &seats[i];
        bool is_top = s->recent && s->priority == top;

        s->off = false;
        if (rules->by_turns)
            s->slice = XS_LV3_DEFAULT;
        else if (is_top)
            s->slice = lower && tops == 1 ? XS_LV3_LONG : XS_LV3_DEFAULT;
        else if (s->ready)
            s->slice = gaps ? XS_LV3_BUSY : XS_LV3_SHORT;
        else
            s->slice = tops ? XS_LV3_KEEP : XS_LV3_DEFAULT;
        /* who gave up its turn is waited for */
        if (rules->may_switch_off && !is_top && s->held && !rules->by_turns)
            s->off = s->off_now || XS_MAX(s->left_ns, s->ran_ns) > 2 * rules->pair_ns;
    }
}

uint64_t xs_lv3_ran_ns(struct xs_lv3_memory *m, uint64_t now_ns, bool in_flight, uint64_t completed)
{
    if (!in_flight || !m->in_flight || completed != m->completed)
        m->flight_ns = now_ns;
    m->in_flight = in_flight;
    m->completed = completed;
    return now_ns - m->flight_ns;
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
static bool take_facts(struct xs_server *s, struct xs_client *c, XDevice device, struct xs_lv3_memory *m,
                       struct xs_lv3_seat *ret)
{
    int32_t any = INT32_MIN, ready = INT32_MIN;
    bool level3 = false, permitted = false;
    bool timed = xs_lv3_kfd_of(c, device) != NULL, in_flight = false; /* else its words are left to the program */
    uint64_t ended = 0;

    *ret = (struct xs_lv3_seat){0};
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client) {
        struct xs_sched_queue_status st;
        struct xs_client_cell *cell = &c->page->cells[q->cell];
        uint64_t entered, completed, done;
        int32_t priority;

        xs_sched_queue_status(q->sched, s->now_ns, &st);
        if (st.device != device)
            continue;
        level3 = level3 || q->level >= 3;
        ret->entered += atomic_load_explicit(&cell->entered, memory_order_relaxed); /* a count by itself */
        priority = xs_sched_queue_hints(q->sched)->priority;
        any = XS_MAX(any, priority);
        if (timed) {
            done = XS_MAX(atomic_load(&cell->completed), atomic_load(&cell->marked));
            ended += done;
            in_flight = in_flight || done < atomic_load(&cell->returned);
        }
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
    if (timed)
        ret->ran_ns = xs_lv3_ran_ns(m, s->now_ns, in_flight, ended);
    return level3;
}

static void set_cut_short(struct xs_server *s, struct xs_client *c, struct xs_lv3_memory *m, bool cut_short)
{
    if (m->cut_short == cut_short)
        return;
    m->cut_short = cut_short;
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client)
        if (q->device == m->device)
            xs_prewake_queue(s, q, s->now_ns);
}

/* Nothing of it on the device is at level 3 now: what it was given there goes back. @return when to look again */
static uint64_t let_go(struct xs_server *s, struct xs_client *c, XDevice device, struct xs_lv3_memory *m)
{
    struct xs_lv3_kfd *k = xs_lv3_kfd_of(c, device);

    m->off = false;
    set_cut_short(s, c, m, false);
    m->slice_us = XS_LV3_SLICE_DEFAULT;
    if (c->lv3)
        xs_lv3_want(s->lv3, c->lv3, device, XS_LV3_SLICE_DEFAULT, false);
    return k ? xs_lv3_kfd_want(s, c, k, false) : UINT64_MAX;
}

static size_t take_seats(struct xs_server *s, XDevice device, struct xs_lv3_seat *seats, struct place *places,
                         uint64_t *next)
{
    size_t n = 0;

    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        struct xs_lv3_memory *m;

        if ((!c->lv3 && !xs_lv3_kfd_of(c, device)) || n == MAX_SEATS)
            continue;
        m = memory_of(c, device);
        if (!m)
            continue;
        if (!take_facts(s, c, device, m, &seats[n])) {
            *next = XS_MIN(*next, let_go(s, c, device, m));
            continue;
        }
        if (seats[n].ready || m->was_ready)
            m->ready_ns = s->now_ns;
        m->was_ready = seats[n].ready;
        seats[n].off_now = m->off;
        places[n++] = (struct place){c, m};
    }
    return n;
}

/* Whether the device has gaps in a burst is seen when it is over: more of its commands came late than early. What the last
 * burst was like, the next one is thought to be. @return when to look again */
static uint64_t mark_burst(const struct xs_server *s, struct xs_lv3_seat *seat, struct xs_lv3_memory *m)
{
    uint64_t least = s->options.lv3_busy_after_us * XS_NS_PER_US;
    uint64_t end = m->ready_ns + BURST_NS, look, length;
    bool burst = seat->ready || (m->ready_ns && s->now_ns < end);

    if (burst && !m->burst_ns) {
        m->burst_ns = s->now_ns;
        m->looked = false;
    } else if (!burst && m->burst_ns) {
        /* signed: queues go, and what they counted */
        m->gaps = (m->looked && (int64_t)(seat->entered - m->early) > (int64_t)(m->early - m->before)) ||
                  m->ready_ns - m->burst_ns >= least;
    }
    if (!burst) {
        m->burst_ns = 0;
        m->before = seat->entered;
        return UINT64_MAX;
    }
    length = s->now_ns - m->burst_ns;
    if (!m->looked && length >= LAUNCHED_NS) {
        m->looked = true;
        m->early = seat->entered;
    }
    seat->gaps = m->gaps || length >= least;
    look = !m->looked ? m->burst_ns + LAUNCHED_NS : !seat->gaps ? m->burst_ns + least : UINT64_MAX;
    return seat->ready ? look : XS_MIN(look, end);
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
        if (n > 1 && places[i].client->lv3 && s->options.lv3_slices && s->options.lv3_busy_us)
            next = XS_MIN(next, mark_burst(s, &seats[i], places[i].memory));
    }
    return next;
}

/* ---- decisions ---- */

static uint64_t slice_of(struct xs_server *s, const struct xs_lv3_seat *seat, struct xs_lv3_memory *m, uint64_t *next)
{
    if (!s->options.lv3_slices)
        return XS_LV3_SLICE_DEFAULT;
    switch (seat->slice) {
    case XS_LV3_KEEP:
        return m->slice_us;
    case XS_LV3_DEFAULT:
        return XS_LV3_SLICE_DEFAULT;
    case XS_LV3_LONG:
        return s->options.lv3_long_us;
    case XS_LV3_SHORT:
        break;
    case XS_LV3_BUSY:
        if (!s->options.lv3_busy_us || m->slice_us == s->options.lv3_busy_us)
            return s->options.lv3_busy_us ? s->options.lv3_busy_us : s->options.lv3_short_us;
        if (m->busy_ns && s->now_ns < m->busy_ns + BUSY_EACH_NS) {
            *next = XS_MIN(*next, m->busy_ns + BUSY_EACH_NS);
            break;
        }
        m->busy_ns = s->now_ns;
        return s->options.lv3_busy_us;
    }
    return s->options.lv3_short_us;
}

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

/* NVIDIA's driver: done from here. */
static void want_groups(struct xs_server *s, struct xs_client *c, const struct xs_lv3_seat *seat, struct xs_lv3_memory *m,
                        uint64_t us, bool off)
{
    m->slice_us = us;
    if (seat->slice != XS_LV3_KEEP)
        set_cut_short(s, c, m, seat->slice != XS_LV3_LONG && us != XS_LV3_SLICE_DEFAULT);
    xs_lv3_want(s->lv3, c->lv3, m->device, us, off);
}

/* When a program that is held and has its queues may have to lose them, although nothing else changes. */
static uint64_t look_again(const struct xs_server *s, const struct xs_lv3_seat *seat, const struct xs_lv3_memory *m,
                           const struct xs_lv3_rules *rules)
{
    if (!seat->held || m->off || !s->options.lv3_pairs_per_s)
        return UINT64_MAX;
    if (seat->off) /* it was switched off a moment ago */
        return m->off_ns + XS_NS_PER_S / s->options.lv3_pairs_per_s;
    if (!m->in_flight || seat->ran_ns > 2 * rules->pair_ns) /* judged already */
        return UINT64_MAX;
    return m->flight_ns + 2 * rules->pair_ns + 1;
}

static uint64_t decide_device(struct xs_server *s, XDevice device)
{
    static struct xs_lv3_seat seats[MAX_SEATS]; /* owner: the main loop's thread */
    static struct place places[MAX_SEATS];
    struct xs_lv3_counts counts = s->kfd_counts;
    struct xs_lv3_rules rules = {.by_turns = xs_sched_gives_turns(s->sched), .may_switch_off = s->options.lv3_queues};
    uint64_t next = UINT64_MAX;
    size_t n = take_seats(s, device, seats, places, &next);

    next = XS_MIN(next, mark_recent(s, seats, places, n));
    if (n && places[0].client->lv3) { /* a device is of one vendor */
        xs_lv3_counts(s->lv3, &counts);
        rules.may_switch_off = s->options.lv3_channels;
    }
    rules.pair_ns = counts.offs && counts.ons ? counts.off_ns + counts.on_ns : PAIR_FIRST_NS;
    xs_lv3_judge(seats, n, &rules);
    for (size_t i = 0; i < n; i++) {
        struct xs_lv3_kfd *k = xs_lv3_kfd_of(places[i].client, device);
        struct xs_lv3_memory *m = places[i].memory;
        bool off = seats[i].off;

        if (off && !m->off && !may_switch(s, m))
            off = false;
        m->off = off;
        if (k) {
            next = XS_MIN(next, xs_lv3_kfd_want(s, places[i].client, k, off));
            next = XS_MIN(next, look_again(s, &seats[i], m, &rules));
        } else {
            want_groups(s, places[i].client, &seats[i], m, slice_of(s, &seats[i], m, &next), off);
        }
    }
    return next;
}

static size_t add_devices(XDevice *all, size_t n, size_t most, const XDevice *more, size_t n_more)
{
    for (size_t i = 0; i < n_more; i++) {
        bool known = more[i] == 0;

        for (size_t k = 0; k < n; k++)
            known = known || all[k] == more[i];
        if (!known && n < most)
            all[n++] = more[i];
    }
    return n;
}

static bool is_default(const struct xs_options *o, enum xs_option_id id)
{
    const struct xs_option_row *row = &xs_option_rows[id];

    return *(const uint64_t *)(const void *)((const char *)o + row->offset) == row->def;
}

/* Whoever bounds what is in flight means programs at level 3, too. @return 0: as for others */
static uint64_t inflight_us(const struct xs_options *o)
{
    bool own = !is_default(o, XS_OPT_lv3_inflight_us) || is_default(o, XS_OPT_inflight_us);

    return own ? o->lv3_inflight_us : 0;
}

/* What is in flight when a program is held goes by in the pauses of the one for which it is; behind a gate it stays. */
static void tell_gates(struct xs_server *s, struct xs_client *c, bool want)
{
    if (want == c->lv3_gates && (!want || c->record.queues_ever == c->lv3_gates_ever))
        return;
    c->lv3_gates = want;
    c->lv3_gates_ever = c->record.queues_ever;
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client) {
        q->config.handle = q->handle;
        q->config.gates = want ? XS_GATES_ON : XS_GATES_OFF;
        q->send_config = true;
        xs_client_tell(s, q);
    }
}

/* Where the device takes turns by itself, what is in flight need not be short: a process has one bound for all its
 * devices. */
static void bound_inflight(struct xs_server *s, struct xs_client *c, const XDevice *devices, size_t n)
{
    bool cut_short = false;

    if (!c->lv3)
        return;
    for (size_t i = 0; i < XS_ARRAY_LEN(c->lv3_memory); i++)
        for (size_t k = 0; k < n; k++)  /* else nobody has groups there any more */
            cut_short = cut_short || (c->lv3_memory[i].cut_short && c->lv3_memory[i].device == devices[k]);
    cut_short = cut_short && !xs_lv3_denied(c->lv3);
    xs_sched_process_set_inflight(s->sched, c->process, cut_short ? inflight_us(&s->options) : 0);
    tell_gates(s, c, s->options.lv3_gates && cut_short);
}

bool xs_lv3_cuts_short(const struct xs_client *c, XDevice device)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(c->lv3_memory); i++)
        if (c->lv3_memory[i].device == device)
            return c->lv3 && c->lv3_memory[i].cut_short && !xs_lv3_denied(c->lv3);
    return false;
}

uint64_t xs_lv3_update(struct xs_server *s)
{
    XDevice devices[64];
    size_t n = 0;
    uint64_t next = UINT64_MAX;

    if ((!s->n_lv3 && !s->n_kfd) || (!s->lv3_changed && s->now_ns < s->lv3_ns))
        return s->lv3_ns;
    s->lv3_changed = false;
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        XDevice of_client[XS_LV3_DEVICES];
        size_t m = c->lv3 ? xs_lv3_devices(s->lv3, c->lv3, of_client, XS_LV3_DEVICES) : 0;

        n = add_devices(devices, n, XS_ARRAY_LEN(devices), of_client, m);
        for (size_t i = 0; i < XS_LV3_KFD_DEVICES; i++)
            n = add_devices(devices, n, XS_ARRAY_LEN(devices), &c->kfd[i].device, 1);
    }
    for (size_t i = 0; i < n; i++)
        next = XS_MIN(next, decide_device(s, devices[i]));
    XS_LIST_FOR(c, &s->clients, struct xs_client, link)
        bound_inflight(s, c, devices, n);
    s->lv3_ns = next;
    return next;
}

void xs_lv3_forget(struct xs_server *s, struct xs_client *c)
{
    xs_lv3_kfd_forget(s, c);
    if (!c->lv3)
        return;
    /* a process that is gone needs nothing back, and a call would only delay its end */
    xs_lv3_leave(s->lv3, c->lv3, !(atomic_load_explicit(&c->page->h.owner_tid, memory_order_relaxed) & XS_OWNER_DIED));
    c->lv3 = NULL;
    s->n_lv3--;
    if (s->n_lv3 == 0)
        xs_server_update_switch(s);
    s->lv3_changed = true;
}
