/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/share.h"

/* Entity. An account lives in the memo of its first entity, its leader; the others have copies of the credit,
 * so that it outlives the leader. Each call fills in the words from M_READY on. */
enum { M_CREDIT, M_SERVICE, M_FLAGS, M_READY, M_PRESENT, M_SLICE };
enum { V_HOLDER, V_ORDER, V_UNTIL, V_CONTENDED, V_QUIET_SINCE, V_WORK_UNTIL };
enum { P_LEADER = 7 };                                       /* process: index + 1, in this call */
enum { F_SEEN = 1 };                                         /* M_FLAGS; above it the lump, see charge() */

#define UNLIMITED_NS (1ull << 60)                            /* a slice of 36 years has no end */
#define STRICT_MAX_NS (10 * XS_NS_PER_S)                     /* TIMESLICE_MAX */

struct share {
    struct xs_policy_view *v;
    unsigned how;
    size_t accounts, ready, idle_share;                      /* with a share; of those ready; without */
    uint64_t least_ns;                                       /* shortest slice worth its switch */
    uint64_t lump_ns;                                        /* the largest of the accounts' lumps */
};

static int64_t credit(const struct xs_policy_entity *e)
{
    return (int64_t)e->memo[M_CREDIT];
}

static void set_credit(struct xs_policy_entity *e, int64_t c)
{
    e->memo[M_CREDIT] = (uint64_t)c;
}

static struct xs_policy_entity *leader(const struct share *s, struct xs_policy_entity *e)
{
    if (!(s->how & XS_SHARE_PROCESSES))
        return e;
    return s->v->entities[e->process->memo[P_LEADER] - 1];
}

static uint64_t key(const struct share *s, const struct xs_policy_entity *e)
{
    return s->how & XS_SHARE_PROCESSES ? e->process->id : e->id;
}

static uint64_t utilization(const struct share *s, const struct xs_policy_entity *e)
{
    int32_t u = s->how & XS_SHARE_PROCESSES ? e->process->utilization : e->hints.utilization;

    return (uint64_t)XS_MAX(0, XS_MIN(100, u));
}

/* Finds the accounts and what they are. */
static void gather(struct share *s)
{
    struct xs_policy_view *v = s->v;

    if (s->how & XS_SHARE_PROCESSES) {
        for (size_t i = 0; i < v->n; i++)
            v->entities[i]->process->memo[P_LEADER] = 0;
        for (size_t i = 0; i < v->n; i++) {
            uint64_t *at = &v->entities[i]->process->memo[P_LEADER];

            if (*at == 0)
                *at = i + 1;
        }
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i], *l = leader(s, e);

        if (l == e)
            e->memo[M_READY] = e->memo[M_PRESENT] = 0;
        l->memo[M_READY] |= e->ready && !xs_policy_barred(e);
        l->memo[M_PRESENT] |= !xs_policy_barred(e);
    }
}

/* The largest service that one report had, lately. A long command counts when it ends: until
 * then its account saves what that will cost, and those whose turns it took save what they missed. */
static uint64_t lump(const struct xs_policy_entity *l)
{
    return l->memo[M_FLAGS] >> 1;
}

/* Debits the service since the last call, but none for time without competition. */
static void charge(struct share *s)
{
    struct xs_policy_view *v = s->v;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i], *l = leader(s, e);
        uint64_t got;

        if (!(e->memo[M_FLAGS] & F_SEEN)) {
            e->memo[M_FLAGS] |= F_SEEN;
            e->memo[M_SERVICE] = e->service_ns;
        }
        got = e->service_ns - e->memo[M_SERVICE];
        e->memo[M_SERVICE] = e->service_ns;
        if (got > 0)
            l->memo[M_FLAGS] = XS_MAX(XS_MIN(got, XS_NS_PER_S), lump(l) / 16 * 15) << 1 | F_SEEN;
        if (v->memo[V_CONTENDED])
            set_credit(l, credit(l) - (int64_t)got);
    }
}

static void set_slices(struct share *s)
{
    struct xs_policy_view *v = s->v;
    uint64_t sum = 0, shortest = UINT64_MAX, slice, factor;
    /* a strict turn without end would hold everybody for as long as its account is idle */
    uint64_t longest = s->how & XS_SHARE_STRICT ? STRICT_MAX_NS : UNLIMITED_NS;

    slice = XS_MIN(v->params->timeslice_ns, longest);
    s->least_ns = XS_MIN(v->params->switch_ns, XS_NS_PER_S) * 20;
    s->least_ns = XS_MAX(s->least_ns, 100 * XS_NS_PER_US);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        if (leader(s, e) == e && e->memo[M_PRESENT])
            sum += utilization(s, e);
    }
    sum = XS_MAX(sum, 100);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];
        uint64_t u = utilization(s, e);

        e->memo[M_SLICE] = 0;
        if (leader(s, e) != e || !e->memo[M_PRESENT])
            continue;
        if (u == 0) {
            s->idle_share += e->memo[M_READY];
            continue;
        }
        e->memo[M_SLICE] = XS_MAX(slice / sum * u + slice % sum * u / sum, 1);
        shortest = XS_MIN(shortest, e->memo[M_SLICE]);
        s->accounts++;
        s->ready += e->memo[M_READY];
    }
    if (shortest >= s->least_ns)
        return;
    factor = (s->least_ns + shortest - 1) / shortest;
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->memo[M_SLICE] *= factor;
}

/* Whether the account takes turns. */
static bool eligible(const struct share *s, const struct xs_policy_entity *l)
{
    return l->memo[M_SLICE] > 0 && (l->memo[M_READY] || (s->how & XS_SHARE_STRICT));
}

/* The turn passes over an account that is not ready. */
static void pass_over(const struct share *s, struct xs_policy_entity *l)
{
    if (!(s->how & XS_SHARE_PROCESSES) && credit(l) > 0)
        set_credit(l, 0);
    else
        set_credit(l, credit(l) / 2);
}

static void add_slice(const struct share *s, struct xs_policy_entity *l)
{
    int64_t slice = (int64_t)l->memo[M_SLICE], c = credit(l);

    if (s->how & XS_SHARE_STRICT) /* unused credit lapses; service that is not measured yet still counts */
        set_credit(l, XS_MIN(c, (int64_t)s->lump_ns) + slice);
    else
        set_credit(l, XS_MIN(c, slice + (int64_t)s->lump_ns) + slice);
}

/* All that could run are in debt: the rounds until one is not, at once. */
static void pay_debts(const struct share *s)
{
    uint64_t rounds = UINT64_MAX;

    for (size_t i = 0; i < s->v->n; i++) {
        const struct xs_policy_entity *e = s->v->entities[i];
        int64_t missing = (int64_t)s->least_ns - credit(e);

        if (eligible(s, e))
            rounds = XS_MIN(rounds, missing > 0 ? (uint64_t)missing / e->memo[M_SLICE] : 0);
    }
    for (size_t i = 0; i < s->v->n; i++) {
        struct xs_policy_entity *e = s->v->entities[i];

        if (eligible(s, e) && rounds != UINT64_MAX) {
            int64_t paid = (int64_t)(rounds * e->memo[M_SLICE]);

            set_credit(e, XS_MIN(credit(e) + paid, XS_MAX(credit(e), (int64_t)e->memo[M_SLICE])));
        }
    }
}

static struct xs_policy_entity *next_holder(struct share *s)
{
    struct xs_policy_view *v = s->v;
    size_t start = 0;

    while (start < v->n && v->entities[start]->id <= v->memo[V_ORDER])
        start++;
    for (unsigned round = 0; round < 4; round++) {
        for (size_t k = 0; k < v->n; k++) {
            struct xs_policy_entity *e = v->entities[(start + k) % v->n];

            if (leader(s, e) != e || e->memo[M_SLICE] == 0)
                continue;
            if (!eligible(s, e)) {
                pass_over(s, e);
                continue;
            }
            add_slice(s, e);
            if (credit(e) >= (int64_t)s->least_ns || (s->how & XS_SHARE_STRICT))
                return e;
        }
        pay_debts(s);
    }
    return NULL;
}

static uint64_t end_of(const struct share *s, uint64_t length_ns)
{
    return length_ns >= UNLIMITED_NS / 200 ? UINT64_MAX : xs_add_sat(s->v->now_ns, length_ns);
}

/* A strict turn lasts as long as the slice, whatever of it the account may use: were the turns of
 * accounts in debt shorter, the rounds would be, and everybody's share larger than reserved. */
static void start_turn(struct share *s, struct xs_policy_entity *l)
{
    struct xs_policy_view *v = s->v;
    bool strict = s->how & XS_SHARE_STRICT;
    int64_t work = strict ? XS_MIN(XS_MAX(credit(l), 0), (int64_t)l->memo[M_SLICE])
                          : XS_MAX(credit(l), (int64_t)s->least_ns);

    v->memo[V_HOLDER] = key(s, l);
    v->memo[V_ORDER] = l->id;
    v->memo[V_WORK_UNTIL] = end_of(s, (uint64_t)work);
    v->memo[V_UNTIL] = strict ? end_of(s, l->memo[M_SLICE]) : v->memo[V_WORK_UNTIL];
}

static struct xs_policy_entity *find_holder(struct share *s)
{
    for (size_t i = 0; i < s->v->n; i++) {
        struct xs_policy_entity *e = s->v->entities[i];

        if (leader(s, e) == e && key(s, e) == s->v->memo[V_HOLDER])
            return e;
    }
    return NULL;
}

/* No accounts compete: all that may run do, and it costs nothing. Credits fade with the time that this
 * lasts, not at once: a gap between two commands is no new beginning. */
static void uncontended(struct share *s)
{
    struct xs_policy_view *v = s->v;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];
        struct xs_policy_entity *l = leader(s, e);

        e->run = !xs_policy_barred(e) && (s->ready == 0 || l->memo[M_SLICE] > 0);
        if (l == e && e->memo[M_READY] && e->memo[M_SLICE]) {
            v->memo[V_HOLDER] = key(s, e);
            v->memo[V_ORDER] = e->id;
        }
    }
    if (v->memo[V_CONTENDED] || v->memo[V_QUIET_SINCE] == 0)
        v->memo[V_QUIET_SINCE] = XS_MAX(v->now_ns, 1);
    v->memo[V_CONTENDED] = 0;
    v->memo[V_UNTIL] = 0;
    v->next_ns = UINT64_MAX;
}

static void fade(struct share *s)
{
    struct xs_policy_view *v = s->v;
    uint64_t quiet = v->memo[V_QUIET_SINCE] ? v->now_ns - XS_MIN(v->now_ns, v->memo[V_QUIET_SINCE]) : 0;
    uint64_t halvings = quiet / XS_MAX(XS_MIN(v->params->timeslice_ns, XS_NS_PER_S), s->least_ns);

    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        set_credit(e, halvings > 62 ? 0 : credit(e) / (int64_t)(1ll << halvings));
    }
}

void xs_policy_share(struct xs_policy_view *v, unsigned how)
{
    struct share s = { .v = v, .how = how };
    struct xs_policy_entity *holder;
    bool competing, works;

    gather(&s);
    charge(&s);
    for (size_t i = 0; i < v->n; i++)
        s.lump_ns = XS_MAX(s.lump_ns, lump(leader(&s, v->entities[i])));
    set_slices(&s);
    competing = how & XS_SHARE_STRICT ? s.accounts > 1 && s.ready > 0 : s.ready > 1;
    if (!competing) {
        uncontended(&s);
    } else {
        holder = find_holder(&s);
        if (!v->memo[V_CONTENDED]) {
            fade(&s);
            v->memo[V_CONTENDED] = 1;
            if (holder && eligible(&s, holder) && holder->memo[M_READY]) {
                add_slice(&s, holder); /* the account that ran alone goes on for one slice */
                start_turn(&s, holder);
            }
        }
        if (!holder || !eligible(&s, holder) || v->now_ns >= v->memo[V_UNTIL] ||
            (credit(holder) <= 0 && !(how & XS_SHARE_STRICT))) {
            holder = next_holder(&s);
            if (holder)
                start_turn(&s, holder);
        }
        works = holder && v->now_ns < v->memo[V_WORK_UNTIL] && credit(holder) > 0;
        for (size_t i = 0; i < v->n; i++) {
            struct xs_policy_entity *e = v->entities[i];

            e->run = works && leader(&s, e) == holder && !xs_policy_barred(e);
        }
        v->next_ns = works ? v->memo[V_WORK_UNTIL] : v->memo[V_UNTIL];
    }
    for (size_t i = 0; i < v->n; i++) { /* credits outlive their leaders */
        struct xs_policy_entity *e = v->entities[i];

        e->memo[M_CREDIT] = leader(&s, e)->memo[M_CREDIT];
    }
    xs_policy_starvation(v);
}
