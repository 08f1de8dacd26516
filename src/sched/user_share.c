/* SPDX-License-Identifier: Apache-2.0 */
/* User share. A policy orders programs by their own wishes (a priority, a deadline), and any user may
 * wish for the most. So a bound holds between users, under every policy: where users have work on a
 * device, each has user_share percent of a part of it. Their parts are as their weights: 1/n where all
 * of n users have the same. While a user waits, others have the rest at most.
 *
 * A stake is a user's account on a device. It grows by the user's share of the time in which the user
 * waits: something of the user is ready and nothing of it runs. It falls by the rest of the time in
 * which something of the user runs, down to the amount that WINDOW_NS of waiting earn. When it reaches
 * a slice, the user has a grant until the account is empty. Then the policy chooses among the user's
 * programs, and the programs of others do not run.
 *
 * Only time counts. Programs write themselves what they have completed, so that shows nothing between
 * users.
 *
 * A grant does not suspend a program that is exempt (of root, of an operator), and waiting for it
 * earns nothing. */
#include "sched/internal.h"
#include "sched/stage.h"

#define WHOLE     1000000                       /* parts of the time */
#define WINDOW_NS (250 * XS_NS_PER_MS)          /* a user that has just run may be suspended for so long
                                                   at a time, and a slice's wait */
#define CHARGE_NS (100 * XS_NS_PER_S)           /* the most time that it charges at once */

static struct xs_stake *stake_of(const struct xs_entity *e)
{
    return e->grant.stakes[e->view == &e->sched->host];
}

/* ---- stakes ---- */

static struct xs_stake *stake_get(struct xs_sched *s, struct xs_view *v, uint64_t user)
{
    struct xs_stake *k;

    XS_LIST_FOR(it, &v->stakes, struct xs_stake, link) {
        if (it->user == user) {
            it->entities++;
            return it;
        }
    }
    k = xs_pages_alloc(s->pages, sizeof(*k));
    if (!k)
        return NULL;
    k->user = user;
    k->entities = 1;
    xs_list_add(&v->stakes, &k->link);
    if (++v->nstakes == 2)
        v->stakes_ns = s->now_ns;
    return k;
}

static void stake_put(struct xs_sched *s, struct xs_view *v, struct xs_stake *k)
{
    if (--k->entities > 0)
        return;
    if (v->granted == k)
        v->granted = NULL;
    xs_list_remove(&k->link);
    if (--v->nstakes == 1)
        v->at_ns[XS_TIMER_GRANT] = UINT64_MAX;
    xs_pages_free(s->pages, k);
}

int xs_stakes_join(struct xs_sched *s, struct xs_entity *e)
{
    struct xs_view *device = &e->presence->device->view;
    uint64_t user = e->presence->group->user;

    e->grant.stakes[0] = stake_get(s, device, user);
    e->grant.stakes[1] = e->grant.stakes[0] ? stake_get(s, &s->host, user) : NULL;
    if (e->grant.stakes[1])
        return 0;
    if (e->grant.stakes[0])
        stake_put(s, device, e->grant.stakes[0]);
    return -1;
}

void xs_stakes_leave(struct xs_sched *s, struct xs_entity *e)
{
    stake_put(s, &e->presence->device->view, e->grant.stakes[0]);
    stake_put(s, &s->host, e->grant.stakes[1]);
}

void xs_view_reset_stakes(struct xs_view *v)
{
    v->granted = NULL;
    v->at_ns[XS_TIMER_GRANT] = UINT64_MAX;
    XS_LIST_FOR(k, &v->stakes, struct xs_stake, link) {
        k->owed = 0;
        k->state = XS_STAKE_IDLE;
    }
}

/* ---- accounts ---- */

/* The system may owe several users a slice at a time; this bounds how much. */
static void bound(struct xs_stake *k)
{
    int64_t most = k->ppm * (int64_t)WINDOW_NS;

    k->owed = XS_MAX(-most, XS_MIN(most, k->owed));
}

void xs_share_charge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    int64_t passed = (int64_t)XS_MIN(now_ns - XS_MIN(now_ns, v->stakes_ns), CHARGE_NS);

    (void)s;
    v->stakes_ns = now_ns;
    if (passed == 0)
        return;
    XS_LIST_FOR(k, &v->stakes, struct xs_stake, link) {
        if (k->state == XS_STAKE_WAITS)
            k->owed += k->ppm * passed;
        else if (k->state == XS_STAKE_RUNS)
            k->owed -= (WHOLE - k->ppm) * passed;
        else if (k->state == XS_STAKE_IDLE && k->owed < 0) /* its last run leaves the window */
            k->owed = XS_MIN(0, k->owed + k->ppm * passed);
        bound(k);
    }
}

static int64_t slice_cost(const struct xs_sched *s, const struct xs_stake *k)
{
    return (WHOLE - k->ppm) * (int64_t)xs_policy_grace_ns(&s->config.params);
}

/* When an account that changes by `rate` parts of the time has changed by `cost`; UINT64_MAX: never. */
static uint64_t after(int64_t cost, int64_t rate, uint64_t now_ns)
{
    if (cost <= 0)
        return now_ns;
    return rate <= 0 ? UINT64_MAX : now_ns + (uint64_t)((cost + rate - 1) / rate);
}

/* If this decision granted no slice to a user that has earned one, something is in the way: looks
 * again soon. */
static uint64_t begins(const struct xs_sched *s, const struct xs_stake *k, uint64_t now_ns)
{
    int64_t missing = slice_cost(s, k) - k->owed;

    return missing > 0 ? after(missing, k->ppm, now_ns) : now_ns + XS_LOOK_MAX_NS;
}

/* A policy that partitions the device gives way to a grant only by as much as the user's own programs
 * asked for. */
static int64_t asked_ppm(const struct xs_sched *s, const struct xs_view *v, const struct xs_stake *k)
{
    int64_t percent = 0;

    if (!xs_sched_turns(s))
        return WHOLE;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (stake_of(e) == k && e->nready > 0)
            percent += XS_MAX(0, XS_MIN(e->pe.hints.utilization, e->pe.process->utilization));
    }
    return XS_MIN(percent, 100) * (WHOLE / 100);
}

static void note_states(struct xs_view *v)
{
    XS_LIST_FOR(k, &v->stakes, struct xs_stake, link)
        k->state = XS_STAKE_IDLE;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);
        struct xs_stake *k = stake_of(e);

        k->weight = e->presence->group->weight;
        /* an entity whose commands are on the device after its suspension has the device, while others wait
         * for their end */
        if ((e->before.run && (e->nready > 0 || e->pe.ready)) || xs_entity_end_awaited(e))
            k->state = XS_STAKE_RUNS;
        else if (e->nready > 0 && k->state == XS_STAKE_IDLE)
            k->state = XS_STAKE_WAITS;
    }
}

/* Something of another user that is exempt has work and runs. */
static bool behind_exempt(const struct xs_view *v, const struct xs_stake *k, bool applied)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->presence->group->exempt && stake_of(e) != k && e->nready > 0 && (applied ? e->before.run : e->now.chosen))
            return true;
    }
    return false;
}

void xs_share_note(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    int64_t weights = 0;

    v->stakes_ns = now_ns;
    v->at_ns[XS_TIMER_GRANT] = UINT64_MAX;
    note_states(v);
    XS_LIST_FOR(k, &v->stakes, struct xs_stake, link)
        weights += k->state != XS_STAKE_IDLE ? k->weight : 0;
    XS_LIST_FOR(k, &v->stakes, struct xs_stake, link) {
        if (k->state == XS_STAKE_IDLE)
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): the loop counted this one just now */
        k->ppm = XS_MIN((int64_t)s->config.user_share * (WHOLE / 100) * k->weight / weights, asked_ppm(s, v, k));
        bound(k); /* by the share that it has from now on */
        if (k->state == XS_STAKE_WAITS && behind_exempt(v, k, true))
            k->state = XS_STAKE_BEHIND;
        if (k == v->granted && k->state == XS_STAKE_RUNS)
            xs_view_wake_at(v, XS_TIMER_GRANT, after(k->owed, WHOLE - k->ppm, now_ns));
        else if (!v->granted && k->state == XS_STAKE_WAITS && k->ppm > 0)
            xs_view_wake_at(v, XS_TIMER_GRANT, begins(s, k, now_ns));
    }
}

/* ---- grants ---- */

/* Something of it has work; *ret_chosen: and the policy lets some of that run. */
static bool has_work(const struct xs_view *v, const struct xs_stake *k, bool *ret_chosen)
{
    bool work = false;

    *ret_chosen = false;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (stake_of(e) != k || (e->nready == 0 && !e->pe.ready))
            continue;
        work = true;
        *ret_chosen = *ret_chosen || e->now.chosen;
    }
    return work;
}

/* A grant goes on until its account is empty: a gap of the others does not end it. */
static bool lasts(const struct xs_view *v, const struct xs_stake *k)
{
    bool chosen;

    return k && k->owed > 0 && has_work(v, k, &chosen) && !behind_exempt(v, k, false);
}

static struct xs_stake *next_granted(struct xs_sched *s, struct xs_view *v)
{
    struct xs_stake *best = NULL;

    XS_LIST_FOR(k, &v->stakes, struct xs_stake, link) {
        bool chosen;

        if (k->owed <= 0 || k->owed < slice_cost(s, k) || (best && k->owed <= best->owed))
            continue;
        if (has_work(v, k, &chosen) && !chosen && !behind_exempt(v, k, false))
            best = k;
    }
    return best;
}

/* The policy chooses among the user's programs as if there were no others. A policy that ranks
 * remembers nothing of the others' facts. A starvation bound of its own does not count here. */
static void choose_by_rank(struct xs_sched *s, struct xs_view *v, const struct xs_stake *k, uint64_t now_ns)
{
    struct xs_policy_params params = s->config.params;

    params.starvation_ns = 0;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        e->pe.ready = stake_of(e) == k && (e->pe.ready || e->nready > 0);
        e->pe.run = false;
    }
    v->next_ns = XS_MIN(v->next_ns, xs_view_ask(s, v, &params, now_ns));
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        e->pe.ready = e->now.ready;
    }
}

/* A second call would change the memory of a policy that remembers. So this chooses the program that
 * has this grant, or else the one whose last grant was longest ago. */
static void choose_in_turn(struct xs_view *v, const struct xs_stake *k, const struct xs_entity *now)
{
    struct xs_entity *best = NULL;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        e->pe.run = false;
        if (stake_of(e) != k || (e->nready == 0 && !e->pe.ready))
            continue;
        if (!best || e == now || (best != now && e->grant.since_ns < best->grant.since_ns))
            best = e;
    }
    if (best)
        best->pe.run = true;
}

static struct xs_entity *latest(const struct xs_view *v, const struct xs_stake *k)
{
    struct xs_entity *best = NULL;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (stake_of(e) == k && e->grant.since_ns && (!best || e->grant.since_ns > best->grant.since_ns))
            best = e;
    }
    return best;
}

void xs_share_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    struct xs_stake *k = v->granted;
    bool goes_on = !v->stalled && s->config.user_share && lasts(v, k);
    const struct xs_entity *now;

    if (!goes_on)
        k = v->stalled || !s->config.user_share ? NULL : next_granted(s, v);
    v->granted = k;
    if (!k)
        return;
    now = goes_on ? latest(v, k) : NULL;
    if (xs_sched_policy_flags(s) & XS_POLICY_BY_RANK)
        choose_by_rank(s, v, k, now_ns);
    else
        choose_in_turn(v, k, now);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        bool own = stake_of(e) == k;

        if (own && e->pe.run && !e->now.chosen) {
            xs_entity_say(e, true, XS_WHY_GRANT);
            if (e != now)
                e->grant.since_ns = now_ns;
        } else if (e->now.run && !(own ? e->pe.run : e->presence->group->exempt)) {
            xs_entity_say(e, false, XS_WHY_SHARE);
        }
    }
}
