/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: kernels that run until others like them run, on other devices, in other queues and
 * processes. If the scheduler suspended one of them after another has begun, that one would occupy its
 * device for as long.
 * The scheduler does not know which processes take part in which collective. It knows which processes
 * belong together (a named gang, a job, else a user). So while a collective is under way, the
 * processes of its group run. Each of their queues runs up to its own collective, and queues without
 * one as far as they need. If the collectives of a group do not complete for long, the scheduler
 * suspends the group as it suspends others.
 *
 * The scheduler looks only at queues with work (xs_sched_process.busy). An idle queue neither waits
 * nor has waiters, and its process rings when it submits.
 *
 * A process that opened memory of other processes may run such kernels under names that the scheduler
 * does not know. If its commands in flight do not end while a member of its group is suspended, it may
 * be inside such a kernel. Then the others may submit command by command until it goes on. */
#include "sched/internal.h"
#include "sched/stage.h"

#include "base/log.h"

#include <string.h>

#define DOUBT_STALLS  3u                         /* stall times after which it does not believe a group */
#define STEP_NS       (100 * XS_NS_PER_US)       /* members may submit one command in this time */
#define QUIET_NS      (2 * XS_NS_PER_MS)         /* beyond twice its estimate: it may be inside a kernel that waits */
#define QUIET_NAMED_NS (100 * XS_NS_PER_MS)      /* ... of a process that has kernels known by name: likely those alone */
#define ESTIMATE_NS   (500 * XS_NS_PER_MS)       /* of that estimate at most */
#define UNLIMITED_NS  (50 * XS_NS_PER_MS)        /* no member completes anything for so long: all may submit freely */

static bool rank(const struct xs_sched_process *p)
{
    return !xs_list_empty(&p->rank_link);
}

static struct xs_collective_group *group_of(const struct xs_entity *e)
{
    return e->presence->group->collective;
}

bool xs_collective_rank(const struct xs_entity *e)
{
    XS_LIST_FOR(p, &e->presence->group->processes, struct xs_sched_process, group_link) {
        if (rank(p))
            return true;
    }
    return false;
}

/* ---- groups ---- */

int xs_collective_join(struct xs_sched *s, struct xs_group *gang, const char *name)
{
    struct xs_collective_group *g;
    size_t n = strlen(name) + 1;

    XS_LIST_FOR(it, &s->collective_groups, struct xs_collective_group, link) {
        if (strcmp(it->name, name) == 0) {
            gang->collective = it;
            it->gangs++;
            return 0;
        }
    }
    g = xs_pages_alloc(s->pages, sizeof(*g));
    if (!g)
        return -1;
    g->name = xs_pages_alloc(s->pages, n);
    if (!g->name) {
        xs_pages_free(s->pages, g);
        return -1;
    }
    memcpy(g->name, name, n);
    xs_list_init(&g->ranks);
    xs_list_add(&s->collective_groups, &g->link);
    g->gangs = 1;
    gang->collective = g;
    return 0;
}

void xs_collective_leave(struct xs_sched *s, struct xs_group *gang)
{
    struct xs_collective_group *g = gang->collective;

    gang->collective = NULL;
    if (--g->gangs > 0)
        return;
    xs_list_remove(&g->link);
    xs_pages_free(s->pages, g->name);
    xs_pages_free(s->pages, g);
}

/* ---- the collective under way ---- */

void xs_collective_update_busy(struct xs_sched_queue *q)
{
    bool busy = q->armed != XS_ARMED_SUBMIT || q->collective;

    if (!q->client || busy == !xs_list_empty(&q->busy_link))
        return;
    if (busy)
        xs_list_add(&q->process->busy, &q->busy_link);
    else
        xs_list_remove(&q->busy_link);
}

static uint64_t done_of(const struct xs_client_cell *c)
{
    return XS_MAX(atomic_load(&c->completed), atomic_load(&c->marked));
}

/* @return its number; 0: none. A number above entered does not count: the process writes its numbers
 *         itself. */
static uint64_t under_way(const struct xs_client_cell *c)
{
    uint64_t number = atomic_load(&c->collective);

    return number && number <= atomic_load(&c->entered) && number > done_of(c) ? number : 0;
}

/* It completed since it was last seen under way; the next one may have begun since. */
static bool completes_one(struct xs_sched_queue *q, uint64_t number)
{
    bool completed = q->collective && done_of(q->client) >= q->collective;

    if (completed)
        q->collective = 0;
    if (!q->collective)
        q->collective = number;
    return completed;
}

static void recheck(const struct xs_collective_group *g)
{
    XS_LIST_FOR(p, &g->ranks, struct xs_sched_process, rank_link) {
        XS_LIST_FOR(q, &p->busy, struct xs_sched_queue, busy_link)
            q->entity->view->recheck = true;
    }
}

/* Two members at least, of which one opened memory of others: the scheduler cannot know which of its
 * kernels wait for each other. */
static bool unnamed(const struct xs_collective_group *g)
{
    return g->peers > 0 && g->ranks.next->next != &g->ranks;
}

static bool suspended(const struct xs_entity *e)
{
    return !e->before.run || e->now.limit;
}

static bool any_suspended(const struct xs_collective_group *g)
{
    XS_LIST_FOR(p, &g->ranks, struct xs_sched_process, rank_link) {
        XS_LIST_FOR(q, &p->busy, struct xs_sched_queue, busy_link) {
            if (suspended(q->entity))
                return true;
        }
    }
    return false;
}

bool xs_collective_end_awaited(const struct xs_entity *e)
{
    return group_of(e)->peers > 0 && suspended(e) && unnamed(group_of(e)) && xs_collective_rank(e);
}

static bool in_flight(const struct xs_sched_queue *q)
{
    return q->completed < q->returned && !(q->inferred && q->inferred_entered == q->entered);
}

/* Its commands in flight should have ended. */
static bool is_overdue(struct xs_sched *s, struct xs_sched_queue *q, uint64_t quiet_ns)
{
    xs_queue_ask_for_mark(s, q, s->now_ns);
    return s->now_ns >= q->changed_ns + quiet_ns + 2 * XS_MIN(q->est_left_ns, ESTIMATE_NS);
}

/* NCCL opens memory of other processes, too. Where a process has kernels known by name, unknown
 * kernels that wait are unlikely, until it had one. */
static bool is_stuck(struct xs_sched *s, struct xs_sched_process *p)
{
    uint64_t quiet_ns = atomic_load(&p->client->h.collectives) && !p->stuck ? QUIET_NAMED_NS : QUIET_NS;
    bool flies = false, stuck = false;

    XS_LIST_FOR_SAFE(q, &p->busy, struct xs_sched_queue, busy_link) {
        bool was = q->ready;

        xs_queue_settle(q, s->now_ns);
        if (q->ready != was)
            q->entity->view->recheck = true;
        if (!in_flight(q))
            continue;
        flies = true;
        stuck = is_overdue(s, q, quiet_ns) || stuck;
    }
    p->stuck = stuck || (p->stuck && flies);
    p->collective->in_flight |= flies;
    return stuck;
}

static void look_for_stuck(struct xs_sched *s, struct xs_collective_group *g)
{
    g->stuck = NULL;
    g->several_stuck = g->in_flight = false;
    if (!unnamed(g) || !any_suspended(g))
        return;
    XS_LIST_FOR(p, &g->ranks, struct xs_sched_process, rank_link) {
        if (!p->peer || !is_stuck(s, p))
            continue;
        g->several_stuck = g->stuck != NULL;
        g->stuck = p;
    }
}

static void look(struct xs_sched *s, struct xs_collective_group *g)
{
    bool named = false, completed = false, moved = false, now;

    XS_LIST_FOR(p, &g->ranks, struct xs_sched_process, rank_link) {
        s->c.work++;
        XS_LIST_FOR_SAFE(q, &p->busy, struct xs_sched_queue, busy_link) {
            uint64_t number = under_way(q->client), done = done_of(q->client);

            s->c.work++;
            completed |= completes_one(q, number);
            named = named || number;
            moved = moved || done != q->collective_done;
            q->collective_done = done;
            xs_collective_update_busy(q);
        }
    }
    look_for_stuck(s, g);
    now = named || g->stuck;
    if (moved || now != g->under_way)
        g->moved_ns = s->now_ns;
    if (completed || !now) {
        g->kept_ns = 0;
        if (g->doubted)
            recheck(g);
        g->doubted = false;
    }
    g->named = named;
    if (g->under_way == now)
        return;
    g->under_way = now;
    recheck(g);
}

void xs_collective_facts(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    (void)v, (void)now_ns;
    XS_LIST_FOR(g, &s->collective_groups, struct xs_collective_group, link) {
        if (!xs_list_empty(&g->ranks))
            look(s, g);
    }
}

/* ---- ranks ---- */

static void tell(struct xs_sched_process *p)
{
    if (p->server)
        atomic_store(&p->server->h.collectives,
                     XS_COLLECTIVES_KNOWN | (p->collective->told ? XS_COLLECTIVES_AWAITED : 0));
}

void xs_collective_met(struct xs_sched_process *p)
{
    struct xs_collective_group *g = p->group->collective;
    bool is = rank(p), peer;

    if (!p->client)
        return;
    peer = atomic_load(&p->client->h.peer_memory) != 0;
    if (!is && !peer && atomic_load(&p->client->h.collectives) == 0)
        return;
    g->peers += peer && !p->peer;
    p->peer = p->peer || peer;
    if (!is) {
        p->collective = g;
        xs_list_add(&g->ranks, &p->rank_link);
        p->sched->ranks++;
        tell(p);
        xs_process_read_all(p, p->sched->now_ns); /* finds the busy ones */
    }
    look(p->sched, g);
    if (!is)
        recheck(g);
}

void xs_collective_gone(struct xs_sched_process *p)
{
    struct xs_collective_group *g = p->collective;

    if (!rank(p))
        return;
    xs_list_remove(&p->rank_link);
    p->sched->ranks--;
    g->peers -= p->peer;
    look(p->sched, g);
}

/* While no member is suspended, the begin of the next collective does not matter. seq_cst pairs with
 * the process, which stores the number and then reads this word. */
static void tell_ranks(struct xs_sched *s, struct xs_collective_group *g, bool told)
{
    if (g->told == told)
        return;
    g->told = told;
    XS_LIST_FOR(p, &g->ranks, struct xs_sched_process, rank_link)
        tell(p);
    atomic_thread_fence(memory_order_seq_cst);
    if (told)
        look(s, g);
}

static bool held_anywhere(const struct xs_collective_group *g)
{
    XS_LIST_FOR(p, &g->ranks, struct xs_sched_process, rank_link) {
        XS_LIST_FOR(q, &p->busy, struct xs_sched_queue, busy_link) {
            if (!q->entity->now.run)
                return true;
        }
    }
    return false;
}

/* ---- decisions ---- */

static size_t count_ranks(const struct xs_collective_group *g)
{
    size_t n = 0;

    XS_LIST_FOR(p, &g->ranks, struct xs_sched_process, rank_link)
        n++;
    return n;
}

/* Others wait for its collective. One that completes nothing meanwhile, for long, hangs or is none. */
static bool keeps_running(struct xs_sched *s, struct xs_collective_group *g, uint64_t now_ns)
{
    uint64_t most_ns = DOUBT_STALLS * s->config.stall_ns;
    size_t n;

    if (!g->under_way || g->doubted)
        return false;
    if (g->kept_ns == 0 || now_ns - g->kept_ns > XS_VERIFY_NS)
        g->kept_since_ns = now_ns; /* nothing waited in between */
    g->kept_ns = now_ns;
    if (most_ns == 0 || now_ns - g->kept_since_ns < most_ns)
        return true;
    g->doubted = true;
    recheck(g);
    n = count_ranks(g);
    XS_WARN("collectives of group '%s' completed nothing for %u ms while others wait: until one completes, the "
            "scheduler suspends its %zu process%s like others%s",
            g->name, (unsigned)(most_ns / XS_NS_PER_MS), n, n == 1 ? "" : "es",
            n == 1 ? " (is its partner in another group, on another host, or gone?)" : "");
    return false;
}

/* @return the time until the next look whether something of a suspended member's group is under way */
static uint64_t look_after(const struct xs_collective_group *g)
{
    if (g->under_way && !g->doubted)
        return g->named ? XS_COLLECTIVE_NS : STEP_NS;
    if (unnamed(g) && g->in_flight && !g->doubted)
        return XS_LOOK_MAX_NS;
    return g->doubted || unnamed(g) ? XS_HELD_LOOK_NS : UINT64_MAX;
}

void xs_collective_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    v->some_kept = false;
    if (s->ranks == 0)
        return;
    XS_LIST_FOR(g, &s->collective_groups, struct xs_collective_group, link) {
        if (!xs_list_empty(&g->ranks))
            tell_ranks(s, g, g->under_way || held_anywhere(g));
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        uint64_t after;

        if (e->now.run || !xs_collective_rank(e))
            continue;
        if (keeps_running(s, group_of(e), now_ns)) {
            xs_entity_say(e, true, XS_WHY_COLLECTIVE);
            e->now.chosen = e->now.limit = v->some_kept = true;
        }
        after = look_after(group_of(e));
        if (after != UINT64_MAX)
            xs_view_wake_at(v, XS_TIMER_collective, now_ns + after);
    }
}

/* @return the number of the last command of a queue that may start. The commands that a collective
 *         needs come before it, or are in other queues. */
static uint64_t limit_of(const struct xs_collective_group *g, const struct xs_sched_queue *q, uint64_t now_ns)
{
    uint64_t number, returned;

    if (!q->client || now_ns - g->moved_ns > UNLIMITED_NS)
        return XS_PERMIT_OPEN;
    number = under_way(q->client);
    if (number || g->named)
        return number ? number : XS_PERMIT_OPEN;
    returned = XS_MIN(atomic_load(&q->client->returned), XS_PERMIT_OPEN - 1);
    if (done_of(q->client) < returned || (g->stuck == q->process && !g->several_stuck))
        return returned;
    return returned + 1;
}

void xs_collective_limit(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    bool some = false;

    (void)s;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        bool limit = e->now.limit && e->before.run && !v->stalled;

        if (!limit && e->limited == 0)
            continue;
        XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
            xs_queue_limit(q, limit ? limit_of(group_of(e), q, now_ns) : XS_PERMIT_OPEN, now_ns);
        if (e->limited == 0)
            continue;
        XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link)
            xs_queue_limit(q, XS_PERMIT_OPEN, now_ns);
        some = some || e->limited;
    }
    v->some_limited = some;
}
