/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/judge.h"

/* A change of slice costs the host 0.3 ms of the driver's locks, and the urgent side the first slice.
 * So a short slice stays for a while after the urgent side became idle. It costs a lone background
 * program nothing. Two of them would change too often, so they get the default sooner. */
#define RECENT_ONE_NS  (500 * XS_NS_PER_MS)
#define RECENT_MANY_NS (20 * XS_NS_PER_MS)
#define BURST_NS       (1 * XS_NS_PER_MS)     /* programs leave gaps between commands */
#define LAUNCHED_NS    (250 * XS_NS_PER_US)   /* a program has launched a job of some kernels by then */
#define BUSY_EACH_NS   (20 * XS_NS_PER_MS)    /* at most so often because of a burst */

enum slice { KEEP, DEFAULT, LONG, SHORT, BUSY };

/** How the programs on the device stand to each other. */
struct ranks {
    int32_t top;                  /* highest priority of the programs that are ready or were a moment ago */
    size_t tops, lower;           /* programs of that; ready ones below */
    bool gaps;                    /* a program of the top priority is in a burst with gaps */
};

static void sooner(uint64_t *next, uint64_t when)
{
    if (when < *next)
        *next = when;
}

/* ---- facts of the past ---- */

static uint64_t ran_ns(struct xs_lv3_memory *m, uint64_t now_ns, bool in_flight, uint64_t completed)
{
    if (!in_flight || !m->in_flight || completed != m->completed)
        m->flight_ns = now_ns;
    m->in_flight = in_flight;
    m->completed = completed;
    return now_ns - m->flight_ns;
}

/* When a burst is over, the judge knows whether the device had gaps in it: then more of its commands
 * came late than early. It takes the next burst to be like the last one. @return when to look again */
static uint64_t see_burst(struct xs_lv3_seat *s, const struct xs_lv3_rules *rules)
{
    struct xs_lv3_memory *m = &s->memory;
    uint64_t least = rules->busy_after_us * XS_NS_PER_US;
    uint64_t end = m->ready_ns + BURST_NS, look, length;
    bool burst = s->ready || (m->ready_ns && rules->now_ns < end);

    if (burst && !m->burst_ns) {
        m->burst_ns = rules->now_ns;
        m->looked = false;
    } else if (!burst && m->burst_ns) {
        /* signed: the counts of queues that went are missing */
        m->gaps = (m->looked && (int64_t)(s->entered - m->early) > (int64_t)(m->early - m->before)) ||
                  m->ready_ns - m->burst_ns >= least;
    }
    if (!burst) {
        m->burst_ns = 0;
        m->before = s->entered;
        return UINT64_MAX;
    }
    length = rules->now_ns - m->burst_ns;
    if (!m->looked && length >= LAUNCHED_NS) {
        m->looked = true;
        m->early = s->entered;
    }
    s->seen.gaps = m->gaps || length >= least;
    look = !m->looked ? m->burst_ns + LAUNCHED_NS : !s->seen.gaps ? m->burst_ns + least : UINT64_MAX;
    return s->ready ? look : XS_MIN(look, end);
}

/* @return when to look again: when it stops being recent, or another burst begins */
static uint64_t see_recent(struct xs_lv3_seat *s, uint64_t window_ns, bool bursts, const struct xs_lv3_rules *rules)
{
    struct xs_lv3_memory *m = &s->memory;
    uint64_t next = UINT64_MAX;

    s->seen.recent = s->ready || (m->ready_ns && rules->now_ns - m->ready_ns < window_ns);
    if (s->seen.recent && !s->ready)
        next = m->ready_ns + window_ns;
    if (bursts && !s->own_queues && !s->gathers)
        sooner(&next, see_burst(s, rules));
    return next;
}

static uint64_t see(struct xs_lv3_seat *seats, size_t n, const struct xs_lv3_rules *rules)
{
    uint64_t next = UINT64_MAX, window_ns;
    size_t here = 0, ready = 0;
    bool bursts;

    for (size_t i = 0; i < n; i++) {
        struct xs_lv3_seat *s = &seats[i];

        s->seen = (struct xs_lv3_seen){0};
        if (s->own_queues)
            s->seen.ran_ns = ran_ns(&s->memory, rules->now_ns, s->in_flight, s->completed);
        if (!s->level3)
            continue;
        if (s->ready || s->memory.was_ready)
            s->memory.ready_ns = rules->now_ns;
        s->memory.was_ready = s->ready;
        here++;
        ready += s->ready;
    }
    window_ns = ready > 1 ? RECENT_MANY_NS : RECENT_ONE_NS;
    bursts = here > 1 && rules->slices && rules->busy_us;
    for (size_t i = 0; i < n; i++)
        if (seats[i].level3)
            sooner(&next, see_recent(&seats[i], window_ns, bursts, rules));
    return next;
}

static struct ranks rank(const struct xs_lv3_seat *seats, size_t n)
{
    struct ranks r = {.top = INT32_MIN};

    for (size_t i = 0; i < n; i++)
        if (seats[i].level3 && seats[i].seen.recent)
            r.top = XS_MAX(r.top, seats[i].priority);
    for (size_t i = 0; i < n; i++) {
        const struct xs_lv3_seat *s = &seats[i];

        if (!s->level3)
            continue;
        r.tops += s->seen.recent && s->priority == r.top;
        r.lower += s->ready && s->priority < r.top;
        r.gaps = r.gaps || (s->seen.gaps && s->priority == r.top);
    }
    return r;
}

/* ---- slices ---- */

static enum slice slice_of(const struct xs_lv3_seat *s, bool is_top, const struct ranks *r, const struct xs_lv3_rules *rules)
{
    if (rules->by_turns)
        return DEFAULT;
    if (is_top)
        return r->lower && r->tops == 1 ? LONG : DEFAULT;
    if (s->ready)
        return r->gaps ? BUSY : SHORT;
    return r->tops ? KEEP : DEFAULT;
}

/* The slice beside a burst: not again too soon. */
static uint64_t busy_us(struct xs_lv3_seat *s, const struct xs_lv3_rules *rules, uint64_t *next)
{
    struct xs_lv3_memory *m = &s->memory;

    if (!rules->busy_us)
        return rules->short_us;
    if (s->in_force.slice_us == rules->busy_us)
        return rules->busy_us;
    if (m->busy_ns && rules->now_ns < m->busy_ns + BUSY_EACH_NS) {
        sooner(next, m->busy_ns + BUSY_EACH_NS);
        return rules->short_us;
    }
    m->busy_ns = rules->now_ns;
    return rules->busy_us;
}

static uint64_t slice_us(enum slice slice, struct xs_lv3_seat *s, const struct xs_lv3_rules *rules, uint64_t *next)
{
    if (!rules->slices)
        return XS_LV3_SLICE_DEFAULT;
    switch (slice) {
    case KEEP:
        return s->in_force.slice_us;
    case DEFAULT:
        return XS_LV3_SLICE_DEFAULT;
    case LONG:
        return rules->long_us;
    case SHORT:
        return rules->short_us;
    case BUSY:
        return busy_us(s, rules, next);
    }
    return XS_LV3_SLICE_DEFAULT;
}

static void wish_slice(struct xs_lv3_seat *s, enum slice slice, const struct xs_lv3_rules *rules, uint64_t *next)
{
    if (s->own_queues)            /* AMD's driver has no slices */
        return;
    s->wish.slice_us = slice_us(slice, s, rules, next);
    s->wish.cut_short = slice == KEEP ? s->in_force.cut_short
                                      : slice != LONG && s->wish.slice_us != XS_LV3_SLICE_DEFAULT;
}

/* ---- off and on ---- */

static bool is_suspended(const struct xs_lv3_seat *s)
{
    return s->ready && !s->permitted;
}

static bool is_worth_off(const struct xs_lv3_seat *s, bool is_top, const struct xs_lv3_rules *rules)
{
    /* where programs have turns, the others wait for the one whose turn is over */
    if (!rules->may_switch_off || is_top || !is_suspended(s) || rules->by_turns)
        return false;
    return s->in_force.off || XS_MAX(s->left_ns, s->seen.ran_ns) > 2 * rules->pair_ns;
}

/* At most so many pairs of off and on for a program in a second. */
static bool may_switch_off(struct xs_lv3_memory *m, const struct xs_lv3_rules *rules)
{
    if (!rules->pairs_per_s || rules->now_ns < m->off_ns + XS_NS_PER_S / rules->pairs_per_s)
        return false;
    m->off_ns = rules->now_ns;
    return true;
}

/* When a suspended program that has its queues on the device may have to lose them, although nothing
 * else changes. */
static uint64_t off_next(const struct xs_lv3_seat *s, bool worth, const struct xs_lv3_rules *rules)
{
    const struct xs_lv3_memory *m = &s->memory;

    if (!s->own_queues || !is_suspended(s) || s->wish.off || !rules->pairs_per_s)
        return UINT64_MAX;
    if (worth) /* xserver switched it off a moment ago */
        return m->off_ns + XS_NS_PER_S / rules->pairs_per_s;
    if (!m->in_flight || s->seen.ran_ns > 2 * rules->pair_ns) /* judged already */
        return UINT64_MAX;
    return m->flight_ns + 2 * rules->pair_ns + 1;
}

static uint64_t wish_off(struct xs_lv3_seat *s, bool is_top, const struct xs_lv3_rules *rules)
{
    bool worth = is_worth_off(s, is_top, rules);

    s->wish.off = worth && (s->in_force.off || may_switch_off(&s->memory, rules));
    return off_next(s, worth, rules);
}

uint64_t xs_lv3_judge(struct xs_lv3_seat *seats, size_t n, const struct xs_lv3_rules *rules)
{
    uint64_t next = see(seats, n, rules);
    struct ranks r = rank(seats, n);

    for (size_t i = 0; i < n; i++) {
        struct xs_lv3_seat *s = &seats[i];
        bool is_top = s->seen.recent && s->priority == r.top;

        s->wish = (struct xs_lv3_wish){.slice_us = XS_LV3_SLICE_DEFAULT};
        if (!s->level3)
            continue;
        sooner(&next, wish_off(s, is_top, rules));
        wish_slice(s, slice_of(s, is_top, &r, rules), rules, &next);
    }
    return next;
}
