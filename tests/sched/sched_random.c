/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs, hints and policies. After each decision the words are what the decision says: a ready queue is open exactly
 * where its gang runs, and so on. */
#include "world.h"

#include "sched/internal.h"

#define PROCESSES 5u
#define CELLS     14u
#define STEPS     4000u
#define SEEDS     200u

struct play {
    struct xs_sched *s;
    struct proc w[PROCESSES];
    struct xs_sched_queue *q[PROCESSES][CELLS];
    uint64_t seed, state, t;
};

static unsigned pick(struct play *p, unsigned n)
{
    p->state = p->state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(p->state >> 33) % n;
}

static void check_entity(const struct play *p, struct xs_entity *e)
{
    bool settled = xs_list_empty(&e->view->pending) && !e->view->dirty;

    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        if (settled && q->permitted != e->before.run)
            fail_msg("seed %llu, %s: a ready queue is %s, and its gang is %s", (unsigned long long)p->seed,
                     p->s->policy->name, q->permitted ? "open" : "closed", e->before.run ? "resumed" : "suspended");
        if (settled && q->lane > XS_LANE_MAKE && e->before.run && !e->now.lane)
            fail_msg("seed %llu, %s: a lane where the gang has the device", (unsigned long long)p->seed,
                     p->s->policy->name);
        assert_false(!q->watched && q->armed == XS_ARMED_SUBMIT);
    }
    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link) {
        if (settled && e->before.run && !q->barred && !q->permitted)
            fail_msg("seed %llu, %s: an idle queue of a gang that runs is closed", (unsigned long long)p->seed,
                     p->s->policy->name);
        assert_false(q->barred && q->permitted);
    }
}

static void check(const struct play *p)
{
    for (size_t i = 0; i < p->s->host.n; i++)
        check_entity(p, xs_entity_of(p->s->host.entities[i]));
    XS_LIST_FOR(of, &p->s->processes, struct xs_sched_process, link) {
        size_t closed = 0;

        XS_LIST_FOR(q, &of->queues, struct xs_sched_queue, process_link) {
            bool open = q->permitted && q->limit == XS_PERMIT_OPEN;

            closed += (size_t)!open + (size_t)(q->lane > XS_LANE_MAKE);
            assert_int_equal(atomic_load(&q->server->permitted) == XS_PERMIT_OPEN, open);
        }
        assert_int_equal(closed, of->closed); /* the scheduler renews a lease while this is not 0 */
    }
}

static void change_queue(struct play *p, unsigned i, unsigned k)
{
    struct xs_hints h = world_hints;

    if (!p->q[i][k]) {
        p->q[i][k] = world_queue(&p->w[i], k, 1 + pick(p, 2), (int32_t)pick(p, 10), p->t);
        if (p->seed % 5 == 0)
            atomic_store(&p->w[i].client->cells[k].lanes, XS_LANES(120, 66));
    } else if (pick(p, 8) == 0) {
        xs_sched_queue_remove(p->s, p->q[i][k], p->t);
        p->q[i][k] = NULL;
    } else {
        h.priority = (int32_t)pick(p, 12) - 1;
        h.deadline_us = pick(p, 16) ? -1 : 2000;
        xs_sched_queue_set_hints(p->s, p->q[i][k], &h);
    }
}

static void step(struct play *p)
{
    unsigned i = pick(p, PROCESSES), k = pick(p, CELLS), what = pick(p, 32);
    struct xs_client_cell *c = &p->w[i].client->cells[k];
    uint64_t left = atomic_load(&c->entered) - atomic_load(&c->completed);

    if (what < 6)
        change_queue(p, i, k);
    else if (what == 6 && pick(p, 8) == 0)
        xs_sched_set_policy(p->s, xs_policies[pick(p, (unsigned)xs_policies_count)]);
    else if (what == 7)
        xs_sched_process_set_held(p->s, p->w[i].p, pick(p, 4) == 0);
    else if (what < (p->seed % 2 ? 20u : 14u) && p->q[i][k])
        world_submit(&p->w[i], k, 1, MS);
    else if (left && (world_open(&p->w[i], k) || pick(p, 3) == 0))
        world_complete(&p->w[i], k, (unsigned)(pick(p, 4) ? left : 1), MS);
    p->t += pick(p, 300) * US;
    world_step(p->s, p->w, PROCESSES, p->t);
    check(p);
}

static void words_are_what_was_decided(void **state)
{
    static const char *const names[] = {"HPF", "UP", "PUP", "CFS", "KEDF", "LAX", "EDF", "HHPF"};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *name = names[seed % XS_ARRAY_LEN(names)];
        struct play p = {.s = world_sched(xs_policy_by_name(name) ? name : "HPF"), .seed = seed, .t = MS,
                         .state = seed * 102947};

        for (uint64_t i = 0; i < PROCESSES; i++)
            p.w[i] = world_join_as(p.s, (struct xs_sched_process_info){
                .id = i + 1, .group = i >= 3 ? "pair" : NULL, .intra = i == 1 && seed % 3 == 0, .space = seed % 5 ? 0 : 7,
                .user = 1, .drain = seed % 2 ? XS_DRAIN_ON : XS_DRAIN_BY_POLICY});
        for (unsigned n = 0; n < STEPS; n++)
            step(&p);
        world_done(p.s, p.w, PROCESSES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_what_was_decided)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
