/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/steps.h"

#include "base/xs_base.h"

#include <string.h>

#define WORTH_NS   400000u        /* two changes of the device */
#define KNOWN      3u             /* steps that did not gather, before one does */
#define CHECK_EACH 31u            /* then one in so many does not; odd, since steps may alternate */
#define CHECK_SOON 7u             /* ... as long as it is not known what they lose */
#define NEAR       16u            /* numbers that are apart by one part in so many are nearly equal */
#define ODD_STEP   4u
#define ODD_MOST   64u
#define ODD_STOP   16u
#define REST       64u
#define IRREGULAR  64u            /* steps without a kind that came again */
#define SHORT_GAP_NS 4000000u    /* the others stay off the device for so long at most, to see a step by itself */
#define RESTS_MOST 6u
#define WELL       256u           /* so many steps that gather make the next rest shorter */
#define TRUSTED    32u            /* so many steps that gather, none of them overdue */
#define LATE_LEAST_NS 20000u
#define LATE_MUCH  8
#define PAIRS      64u            /* comparisons whose average counts, at most */
#define PAIRS_FEW  4u             /* ... at least */
#define PAIRS_SOME 16u            /* so many say roughly what steps lose */
#define LOSS       20             /* in 1/1024: so much longer a step may take */
#define CLIP       200

/* A command that other threads submit comes now in this step and now in the next. */
static bool is_near(uint32_t a, uint32_t b)
{
    uint32_t apart = a > b ? a - b : b - a;

    return apart <= b / NEAR || (b >= NEAR && apart <= 2);
}

static struct xs_step_kind *kind_of(struct xs_steps *s, uint32_t last, uint32_t before)
{
    struct xs_step_kind *oldest = &s->kinds[0], *near = NULL;

    for (size_t i = 0; i < XS_STEP_KINDS; i++) {
        struct xs_step_kind *k = &s->kinds[i];

        if (k->used && k->before[0] == last && k->before[1] == before)
            return k;
        if (k->used && is_near(last, k->before[0]) && is_near(before, k->before[1]) && (!near || k->used > near->used))
            near = k;
        if (k->used < oldest->used)
            oldest = k;
    }
    if (near)
        return near;
    memset(oldest, 0, sizeof(*oldest));
    oldest->before[0] = last;
    oldest->before[1] = before;
    for (size_t i = 0; i < 2; i++)
        if (s->last[i].kind == oldest)
            s->last[i].kind = NULL;
    return oldest;
}

static uint64_t median(const struct xs_step_kind *k)
{
    uint64_t v[XS_STEP_PLAINS] = {0};
    size_t n = XS_MIN(k->plains, XS_STEP_PLAINS);

    for (size_t i = 0; i < n; i++) {
        size_t at = i;

        for (; at > 0 && v[at - 1] > k->plain_ns[i]; at--)
            v[at] = v[at - 1];
        v[at] = k->plain_ns[i];
    }
    return n ? v[n / 2] : 0;
}

/* All commands of a step come within that time: the rest of it is the wait. */
static uint64_t launch_ns(const struct xs_step_kind *k)
{
    return XS_MAX(k->ns - XS_MIN(k->ns, median(k)), k->ns / 16 + 1);
}

/* How long so many commands take to come. */
static uint64_t time_of(const struct xs_step_kind *k, uint32_t commands)
{
    return launch_ns(k) * commands / XS_MAX(k->commands, 1u);
}

static uint32_t commands_in(const struct xs_step_kind *k, uint64_t ns)
{
    return (uint32_t)XS_MIN(ns * k->commands / launch_ns(k) + 1, (uint64_t)UINT32_MAX / 2);
}

/* The least number of commands whose gathering pays, at the beginning of a step. */
static uint32_t worth(const struct xs_step_kind *k)
{
    return k->gap_ns >= WORTH_NS ? 1 : commands_in(k, WORTH_NS - k->gap_ns);
}

static void rest(struct xs_step_kind *k)
{
    k->rests = XS_MIN(k->rests + 1, RESTS_MOST + 1);
    k->rest = REST << (k->rests - 1);
    k->well = 0;
    k->to = 0;
    k->late_once = false;
}

/* Fewer gather, as the program lost time by it. */
static void shrink(struct xs_step_kind *k, uint32_t by)
{
    k->late_once = true;
    k->to -= XS_MIN(by, k->to);
    if (k->to < worth(k))
        rest(k);
}

/* The program waited longer than it does without. In this step commands may have come faster than in those before. */
static void less(struct xs_step_kind *k, const struct xs_step *step, uint64_t late_ns)
{
    uint64_t launch_ns = XS_MAX(step->ns - XS_MIN(step->ns, step->waited_ns), 1);
    uint64_t own = XS_MIN(2 * late_ns * step->commands / launch_ns, (uint64_t)k->to);

    k->late_ns = 0;
    k->gathers = 0;
    shrink(k, XS_MAX(XS_MAX(commands_in(k, 2 * late_ns), (uint32_t)own), k->to / 16 + 1));
}

static void more(struct xs_step_kind *k)
{
    uint32_t by = k->commands / (k->late_once ? 512u : k->to < k->commands - k->commands / 4 ? 8u : 32u);

    if (++k->well >= WELL && k->rests) {
        k->well = 0;
        k->rests--;
    }
    if (++k->gathers < (by ? 1u : 4u))
        return;
    k->gathers = 0;
    k->to = XS_MIN(k->to + XS_MAX(by, 1u), k->commands);
}

static void learn_gathered(struct xs_step_kind *k, const struct xs_step *step, bool odd)
{
    int64_t late_ns = (int64_t)(step->waited_ns - median(k));
    int64_t bound_ns = (int64_t)XS_MAX(k->ns / 64, LATE_LEAST_NS);

    k->late_ns += (late_ns - k->late_ns) / 4;
    if (k->late_ns > bound_ns)
        less(k, step, (uint64_t)k->late_ns);
    else if (late_ns > LATE_MUCH * bound_ns)
        less(k, step, (uint64_t)late_ns / 4);
    else if (!odd && k->late_ns < bound_ns / 2)
        more(k);
}

/* It is more than chance: more than twice the standard error. */
static bool is_loss(const struct xs_step_kind *k)
{
    return k->pairs >= PAIRS_FEW && k->loss > LOSS &&
           (uint64_t)k->loss * (uint64_t)k->loss * k->pairs > 4 * (uint64_t)k->loss_off;
}

/* Steps that gather, against one by itself between two of them: whatever else changes does so more slowly. */
static void compare(struct xs_step_kind *k, uint64_t took, bool alone, bool gathered)
{
    int64_t loss, off;

    if (alone) {
        k->alone_took = k->gathered_took ? took : 0;
        return;
    }
    if (!gathered)
        return;
    if (k->alone_took) {
        uint64_t both = (took + k->gathered_took) / 2;

        loss = ((int64_t)both - (int64_t)k->alone_took) * 2048 / (int64_t)(both + k->alone_took);
        loss = XS_MAX(XS_MIN(loss, CLIP), -CLIP);
        k->pairs = XS_MIN(k->pairs + 1, PAIRS);
        off = loss - k->loss;
        k->loss += (int32_t)(off / (int32_t)k->pairs);
        k->loss_off += (off * (loss - k->loss) - k->loss_off) / k->pairs;
        k->alone_took = 0;
    }
    k->gathered_took = took;
    if (!is_loss(k))
        return;
    if (k->graph)                 /* not one of them came later than by itself */
        rest(k);
    else
        shrink(k, XS_MAX(commands_in(k, took / 1024 * (uint64_t)k->loss), k->to / 4));
    k->pairs = k->loss_off = 0;
    k->loss = 0;
}

/* The commands of a step do not come evenly: some at once, and others after a pause. */
static void learn_lead(struct xs_step_kind *k, const struct xs_step *step)
{
    if (step->lead_ns < XS_STEP_LEAD_NS)
        k->early = XS_MIN(k->early + 1, (int32_t)XS_MIN(k->commands, 1000u));
    else if (step->lead_ns > XS_STEP_LEAD_NS + XS_STEP_LEAD_NS / 2)
        k->early = XS_MAX(k->early - 1, -(int32_t)XS_MIN(k->commands, 1000u));
}

static void average(uint64_t *a, uint64_t value, bool known)
{
    *a = known ? (3 * *a + value) / 4 : value;
}

static void learn(struct xs_step_kind *k, const struct xs_step *step)
{
    uint32_t apart = step->commands > k->commands ? step->commands - k->commands : k->commands - step->commands;
    bool odd = k->seen && apart > k->commands / 8;
    bool alone = !step->gathered && (step->alone || step->gap_ns >= SHORT_GAP_NS); /* or the others left as it began */

    if (odd)
        k->odd = XS_MIN(k->odd + ODD_STEP, ODD_MOST);
    else if (k->odd)
        k->odd--;
    average(&k->gap_off_ns, step->gap_ns > k->gap_ns ? step->gap_ns - k->gap_ns : k->gap_ns - step->gap_ns, k->seen > 1);
    average(&k->gap_ns, step->gap_ns, k->seen);
    average(&k->ns, step->ns, k->seen && !odd);
    k->commands = step->commands;
    k->helper = step->helper;
    k->graph = step->graph;
    k->seen++;
    if (k->rest)
        k->rest--;
    k->in_time = step->overdue ? 0 : k->in_time + step->gathered;
    if (step->overdue)            /* it may wait where XSched does not see it: for memory that a kernel writes */
        rest(k);
    if (!odd && !step->helper)
        compare(k, step->ns, alone, step->gathered);
    if (step->helper && k->to && !k->late_once)
        k->to = step->commands;
    if (step->helper && step->gathered)
        learn_lead(k, step);
    else if (step->gathered)
        learn_gathered(k, step, odd);
    if (alone && !odd)
        k->plain_ns[k->plains++ % XS_STEP_PLAINS] = step->waited_ns;
    if (!k->to && !k->rest && k->plains >= KNOWN) {
        k->to = k->helper ? k->commands : XS_MAX(worth(k), k->commands / 4);
        if (worth(k) > k->commands - k->commands / 8)
            rest(k);
    }
}

/* A program that goes on while a helper thread waits loses only time until its next steps begin: it may need what the
 * helper waits for in the next one, or the one after. */
static void compare_periods(struct xs_steps *s, const struct xs_step *step)
{
    struct xs_step_kind *k = s->last[0].kind;

    if (k && step->helper && !step->spoiled && step->period_ns && s->last[1].kind == k && s->last[0].alone == s->last[1].alone &&
        s->last[0].gathered == s->last[1].gathered)
        compare(k, step->period_ns, s->last[0].alone, s->last[0].gathered);
    s->last[1] = s->last[0];
    s->last[0].kind = step->spoiled ? NULL : s->now;
    s->last[0].alone = step->alone;
    s->last[0].gathered = step->gathered;
}

void xs_steps_ended(struct xs_steps *s, const struct xs_step *step)
{
    compare_periods(s, step);
    if (s->now && !step->spoiled)
        learn(s->now, step);
    s->n++;
    s->now = kind_of(s, step->commands, s->before);
    s->now->used = s->n;
    s->before = step->commands;
}

void xs_steps_broke(struct xs_steps *s)
{
    s->now = NULL;
    s->before = 0;
    s->last[0].kind = s->last[1].kind = NULL;
}

static bool is_left_alone(const struct xs_steps *s, const struct xs_step_kind *k)
{
    return k->helper && !s->helped;
}

static uint32_t lead_of(const struct xs_step_kind *k)
{
    int32_t lead = (int32_t)XS_MIN(commands_in(k, XS_STEP_LEAD_NS), 1000u) + k->early;

    return (uint32_t)XS_MAX(XS_MIN(lead, (int32_t)XS_MIN(k->to, 1000u) - 1), 1);
}

struct xs_step_plan xs_steps_plan(const struct xs_steps *s)
{
    const struct xs_step_kind *k = s->now;
    struct xs_step_plan p = {.off_ns = UINT64_MAX};

    if (!k)
        return p;
    if (k->odd > ODD_STOP || k->rest || is_left_alone(s, k))
        return p;
    if (k->plains < KNOWN || k->seen % (k->pairs < PAIRS_SOME ? CHECK_SOON : CHECK_EACH) < (k->helper ? 2 : 1)) {
        p.alone_ns = k->seen && k->gap_ns < SHORT_GAP_NS ? k->gap_ns + k->gap_ns / 2 + XS_STEP_LEAD_NS : 0;
        return p;
    }
    p.to = k->to;
    p.opens_ns = time_of(k, k->to);
    p.trusted = k->in_time >= TRUSTED;
    if (p.opens_ns > XS_STEP_LEAD_NS)
        p.lead = lead_of(k);
    else if (k->gap_ns + p.opens_ns > XS_STEP_LEAD_NS + k->gap_off_ns && k->gap_off_ns < k->gap_ns / 4)
        p.off_ns = k->gap_ns - k->gap_off_ns + p.opens_ns - XS_STEP_LEAD_NS;
    return p;
}

uint32_t xs_steps_least(const struct xs_steps *s)
{
    return s->now ? commands_in(s->now, WORTH_NS) : UINT32_MAX;
}

bool xs_steps_any(const struct xs_steps *s)
{
    for (size_t i = 0; i < XS_STEP_KINDS; i++)
        if (s->kinds[i].to && s->kinds[i].odd <= ODD_STOP && !is_left_alone(s, &s->kinds[i]))
            return true;
    return false;
}

enum xs_sched_gather_state xs_steps_state(const struct xs_steps *s)
{
    bool known = false, rests = false;

    if (xs_steps_any(s))
        return XS_SCHED_GATHER_GATHERS;
    for (size_t i = 0; i < XS_STEP_KINDS; i++) {
        const struct xs_step_kind *k = &s->kinds[i];

        known |= k->seen > KNOWN && k->odd <= ODD_STOP;
        rests |= k->rest > 0 || is_left_alone(s, k);
    }
    if (rests)
        return XS_SCHED_GATHER_NO_USE;
    return !known && s->n > IRREGULAR ? XS_SCHED_GATHER_IRREGULAR : XS_SCHED_GATHER_LEARNS;
}
