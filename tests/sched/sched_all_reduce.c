/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduces, above all those under a name that nobody knows, played in virtual time: two processes that opened each
 * other's memory submit some kernels and then one that waits on the device for the other's, again and again, while an
 * urgent program comes and goes. No rank waits for long inside such a kernel, however often the two are suspended,
 * and the ranks get little of the device meanwhile. */
#include "world.h"

#include <stdio.h>

#define TICK    (20 * US)
#define WORK    (40 * US)
#define KERNELS 4u             /* of its own before each all-reduce */
#define FLIGHT  256u
#define RANKS   2u

struct command {
    uint64_t left_ns;
    uint32_t reduce;           /* number of an all-reduce; 0: none */
};

struct rank_model {
    struct proc *w;
    struct command flight[FLIGHT];
    unsigned head, n;
    bool named;
    unsigned step;             /* in its program */
    uint32_t reduces, done;    /* submitted; completed */
    bool entered;              /* its thread is inside a submit */
    uint64_t away_ns;          /* its thread does something else until then */
    uint32_t random;
    uint64_t began_ns;         /* the all-reduce at the head has begun; 0: none */
    uint64_t longest_ns;
};

struct play {
    const char *name;
    const char *group, *job;   /* of both ranks */
    bool told;                 /* they say that they opened memory of others */
    bool nccl;                 /* they have kernels that are known by name, and do not launch them */
    bool named;                /* they say of each all-reduce that it is one */
    bool both;                 /* the urgent program uses both devices */
    uint64_t suspensions, burst_ns, pause_ns;
    uint64_t long_each, long_ns; /* every so many bursts last so long */
    uint64_t bound_ns;         /* no rank waits longer */
};

static bool is_reduce(const struct rank_model *r)
{
    return r->step % (KERNELS + 1) == KERNELS;
}

static uint32_t random_below(struct rank_model *r, uint32_t n)
{
    r->random = r->random * 1664525u + 1013904223u;
    return (r->random >> 8) % n;
}

/* As a process tells of a kernel that it knows by its name, before its vendor call. */
static void tells(struct rank_model *r)
{
    struct xs_client_cell *c = &r->w->client->cells[0];

    atomic_store(&c->collective, atomic_load(&c->entered));
    atomic_fetch_add(&r->w->client->h.collectives, 1);
    if (atomic_load(&r->w->server->h.collectives) != XS_COLLECTIVES_KNOWN)
        xs_page_ring(r->w->client, r->w->server, 0);
}

/* The thread of a rank: submits as long as it may, and is away for a moment now and then, so that one is ahead. */
static void submits(struct rank_model *r, uint64_t now)
{
    struct xs_client_cell *c = &r->w->client->cells[0];
    const struct xs_server_cell *s = &r->w->server->cells[0];

    while (now >= r->away_ns) {
        uint64_t est = WORK, bound = atomic_load(&s->inflight_us) * US;
        struct command *at;

        if (!r->entered) {
            atomic_fetch_add(&c->entered, 1);
            r->entered = true;
            if (atomic_load(&s->armed) & XS_ARMED_SUBMIT)
                xs_page_ring(r->w->client, r->w->server, 0);
        }
        atomic_store(&c->waiters, atomic_load(&c->entered) > atomic_load(&s->permitted));
        if (atomic_load(&c->waiters) || r->n == FLIGHT || r->n * est + est > bound)
            return;
        at = &r->flight[(r->head + r->n++) % FLIGHT];
        at->left_ns = WORK;
        at->reduce = is_reduce(r) ? ++r->reduces : 0;
        if (at->reduce && r->named)
            tells(r);
        r->step++;
        r->away_ns = random_below(r, 20) == 0 ? now + random_below(r, 50) * TICK : 0;
        atomic_fetch_add(&c->est_entered_ns, est);
        atomic_fetch_add(&c->returned, 1);
        r->entered = false;
    }
}

/* A device for a tick. */
static void runs(struct rank_model *r, const struct rank_model *other, uint64_t now)
{
    uint64_t left = TICK;

    while (r->n > 0 && left > 0) {
        struct command *at = &r->flight[r->head % FLIGHT];
        const struct command *theirs = &other->flight[other->head % FLIGHT];

        if (at->reduce) {
            if (!r->began_ns)
                r->began_ns = now;
            r->longest_ns = XS_MAX(r->longest_ns, now - r->began_ns);
            if (other->done < at->reduce && !(other->n > 0 && theirs->reduce == at->reduce))
                return;
        }
        if (at->left_ns > left) {
            at->left_ns -= left;
            return;
        }
        left -= at->left_ns;
        if (at->reduce) {
            r->done = at->reduce;
            r->began_ns = 0;
        }
        r->head++;
        r->n--;
        world_complete(r->w, 0, 1, WORK);
    }
}

static void urgent(struct proc *w, bool both, bool begins, uint64_t length)
{
    for (uint32_t cell = 0; cell < (both ? 2u : 1u); cell++) {
        if (begins)
            world_submit(w, cell, 1, length);
        else
            world_complete(w, cell, 1, length);
    }
}

/* @return the part of what the ranks do alone that they did while the urgent program was at work, percent */
static double play(const struct play *g, uint64_t *ret_longest_ns)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[RANKS + 1];
    struct rank_model r[RANKS] = {{0}};
    uint64_t t = MS, next = 0, suspensions = 0, bursts = 0, change = 50 * MS, length = 0, busy_ns = 0, busy_done = 0;
    bool busy = false;

    for (unsigned i = 0; i <= RANKS; i++) {
        w[i] = world_join_as(s, (struct xs_sched_process_info){.id = i + 1, .group = i < RANKS ? g->group : NULL,
                                                               .job = i < RANKS ? g->job : NULL});
        world_queue(&w[i], 0, WORLD_DEVICE + (i < RANKS ? i : 0), i < RANKS ? 0 : 10, t);
        if (i < RANKS) {
            r[i].w = &w[i];
            r[i].random = i + 1;
            r[i].named = g->named;
            atomic_store(&w[i].client->h.peer_memory, g->told);
            atomic_store(&w[i].client->h.collectives, g->nccl);
            xs_page_ring(w[i].client, w[i].server, 0);
        }
    }
    world_queue(&w[RANKS], 1, WORLD_DEVICE + 1, 10, t);
    for (; suspensions < g->suspensions; t += TICK) {
        uint32_t before = r[0].done;
        bool rang = false;

        if (t >= change) {
            busy = !busy;
            if (busy)
                length = g->long_each && ++bursts % g->long_each == 0 ? g->long_ns : g->burst_ns;
            urgent(&w[RANKS], g->both, busy, length);
            change = t + (busy ? length : g->pause_ns);
        }
        for (unsigned i = 0; i < RANKS; i++)
            submits(&r[i], t);
        for (unsigned i = 0; i < RANKS; i++)
            runs(&r[i], &r[1 - i], t);
        for (unsigned i = 0; i <= RANKS; i++)
            rang = xs_sched_process_poll(s, w[i].p, t) || rang;
        if (rang || t >= next)
            next = xs_sched_run(s, t);
        busy_ns += busy ? TICK : 0;
        busy_done += busy ? r[0].done - before : 0;
        suspensions = atomic_load(&w[0].server->cells[0].suspensions);
        if (t > 100000000 * MS)
            fail_msg("%s: only %u suspensions", g->name, (unsigned)suspensions);
    }
    *ret_longest_ns = XS_MAX(r[0].longest_ns, r[1].longest_ns);
    world_done(s, w, RANKS + 1);
    return 100.0 * (double)busy_done * (double)((KERNELS + 1) * WORK) / (double)busy_ns;
}

/* A burst of the urgent program takes 4 ms, one in so many 3 s. */
#define PLAY(text, group_, job_, told_, nccl_, named_, both_, times, each, bound_ms)                              \
    {.name = text, .group = group_, .job = job_, .told = told_, .nccl = nccl_, .named = named_, .both = both_,    \
     .suspensions = times, .burst_ns = 4 * MS, .pause_ns = 3 * MS, .long_each = each, .long_ns = 3000 * MS,       \
     .bound_ns = (bound_ms) * MS}

static const struct play k_plays[] = {
    PLAY("a gang, both devices", "1000:g", NULL, true, false, false, true, 10000, 500, 100),
    PLAY("a gang, one device", "1000:g", NULL, true, false, false, false, 1000, 100, 100),
    PLAY("a job, both devices", NULL, "1000:j", true, false, false, true, 1000, 100, 100),
    PLAY("a job, one device", NULL, "1000:j", true, false, false, false, 1000, 100, 100),
    PLAY("NCCL is there too, a gang", "1000:g", NULL, true, true, false, true, 1000, 100, 300),
    PLAY("NCCL is there too, a job, one device", NULL, "1000:j", true, true, false, false, 1000, 100, 300),
    PLAY("known by name, a gang", "1000:g", NULL, true, true, true, true, 1000, 100, 100),
    PLAY("known by name, a job", NULL, "1000:j", false, true, true, true, 1000, 100, 100),
};

static void nobody_waits_inside(void **state)
{
    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_plays); i++) {
        uint64_t longest_ns;
        double done = play(&k_plays[i], &longest_ns);

        printf("%s: %.1f ms inside an all-reduce at most, %.1f %% while somebody urgent is at work\n", k_plays[i].name,
               (double)longest_ns / MS, done);
        assert_true(longest_ns < k_plays[i].bound_ns);
        assert_true(done < 10);
    }
}

/* Where nobody says that such kernels may be there, a rank waits for as long as the other one is suspended. */
static void untold_they_wait(void **state)
{
    struct play g = k_plays[2];
    uint64_t longest_ns;

    (void)state;
    g.told = false;
    g.suspensions = 100;
    g.long_each = 10;
    play(&g, &longest_ns);
    assert_true(longest_ns > 2000 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_inside),
        cmocka_unit_test(untold_they_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
