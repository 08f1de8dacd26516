/* SPDX-License-Identifier: Apache-2.0 */
/* Joining and leaving, leases, wake-ups. */
#include "world.h"

#include "base/futex.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

static void dead_process_takes_its_window_along(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "AWF", 0, 0);
    uint64_t t = 2 * MS;

    (void)state;
    xs_sched_process_set_window(s, w[1].p, true);
    world_submit(&w[0], 0, 5, MS);
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 2, t);
    assert_false(world_open(&w[0], 0));
    xs_sched_process_remove(s, w[1].p, t);
    munmap(w[1].client, sizeof(*w[1].client));      /* nothing of its pages is touched any more */
    munmap(w[1].server, sizeof(*w[1].server));
    xs_sched_run(s, t += US);
    assert_true(world_open(&w[0], 0));
    xs_sched_renew_leases(s, t);
    xs_sched_run(s, t += MS);
    world_done(s, w, 1);
}

static void leases(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS;

    (void)state;
    world_submit(&w[0], 0, 5, MS);
    world_step(s, w, 2, t);
    assert_false(xs_sched_renew_leases(s, t));
    assert_int_equal(atomic_load(&w[0].server->h.lease_until_ns), 0);
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 2, t += MS);
    assert_int_equal(atomic_load(&w[0].server->h.lease_until_ns), t + XS_LEASE_NS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].suspensions), 1);
    assert_true(xs_sched_renew_leases(s, t += 100 * MS));
    assert_int_equal(atomic_load(&w[0].server->h.lease_until_ns), t + XS_LEASE_NS);
    assert_int_equal(atomic_load(&w[1].server->h.lease_until_ns), 0);
    world_done(s, w, 2);
}

/* Processes of other time namespaces: each reads its lease by its own clock. */
static void leases_by_other_clocks(void **state)
{
    static const int64_t k_ahead[] = {0, 100000000 * (int64_t)MS, -(int64_t)MS};
    struct xs_sched *s = world_sched("HPF");
    struct proc w[XS_ARRAY_LEN(k_ahead) + 1];
    uint64_t t = 2 * MS;

    (void)state;
    for (unsigned i = 0; i < XS_ARRAY_LEN(w); i++) {
        w[i] = world_join_as(s, (struct xs_sched_process_info){.id = i + 1,
                                                               .clock_ahead_ns = i < XS_ARRAY_LEN(k_ahead) ? k_ahead[i] : 0});
        (void)world_queue(&w[i], 0, 1, i < XS_ARRAY_LEN(k_ahead) ? 0 : 10, t);
        world_submit(&w[i], 0, 5, MS);
    }
    world_step(s, w, XS_ARRAY_LEN(w), t += MS);
    for (int again = 0; again < 2; again++) {
        for (unsigned i = 0; i < XS_ARRAY_LEN(k_ahead); i++) {
            assert_false(world_open(&w[i], 0));
            assert_int_equal(atomic_load(&w[i].server->h.lease_until_ns), t + XS_LEASE_NS + (uint64_t)k_ahead[i]);
        }
        assert_true(xs_sched_renew_leases(s, t += 100 * MS));
    }
    world_done(s, w, XS_ARRAY_LEN(w));
}

static void *sleeper(void *arg)
{
    struct proc *p = arg;

    atomic_fetch_add(&p->client->cells[0].waiters, 1);
    while (atomic_load(&p->server->cells[0].permitted) == XS_PERMIT_CLOSED)
        xs_futex_wait(xs_futex_low(&p->server->cells[0].permitted), 0, UINT64_MAX);
    atomic_fetch_sub(&p->client->cells[0].waiters, 1);
    return NULL;
}

static void opening_wakes(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {             /* by a decision, by removal, by the end of all */
        struct proc w[2];
        struct xs_sched *s = world_pair(w, "HPF", 0, 10);
        pthread_t thread;

        world_submit(&w[0], 0, 5, MS);
        world_submit(&w[1], 0, 5, MS);
        world_step(s, w, 2, 2 * MS);
        assert_false(world_open(&w[0], 0));
        assert_int_equal(pthread_create(&thread, NULL, sleeper, &w[0]), 0);
        while (atomic_load(&w[0].client->cells[0].waiters) == 0)
            sched_yield();
        if (how == 0) {
            xs_sched_process_set_held(s, w[1].p, true);
            xs_sched_run(s, 3 * MS);
        } else if (how == 1) {
            xs_sched_process_remove(s, w[0].p, 3 * MS);
        } else {
            xs_sched_free(s);
            s = NULL;
        }
        pthread_join(thread, NULL);
        world_done(s, w, 2);
    }
}

static unsigned turns_in(struct xs_sched *s, struct proc w[2], uint64_t *t, uint64_t length_ns)
{
    uint64_t end = *t + length_ns, next;
    unsigned turns = 0;
    bool open = world_open(&w[0], 0), now;

    while (*t < end) {
        next = world_step(s, w, 2, *t);
        now = world_open(&w[0], 0);
        turns += now != open;
        open = now;
        assert_true(next <= *t + XS_NS_PER_S);
        if (xs_sched_renew_leases(s, *t))
            assert_int_equal(XS_MAX(atomic_load(&w[0].server->h.lease_until_ns),
                                    atomic_load(&w[1].server->h.lease_until_ns)), *t + XS_LEASE_NS);
        *t = XS_MAX(XS_MIN(next, *t + MS), *t + 1);
    }
    return turns;
}

/* Times that are long past: the clock was put back, and everything goes on from there. */
static void a_clock_that_is_put_back(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "UP", 0, 0);
    uint64_t t = 1000 * XS_NS_PER_S;
    unsigned before, after;

    (void)state;
    world_submit(&w[0], 0, 1000, MS);
    world_submit(&w[1], 0, 1000, MS);
    before = turns_in(s, w, &t, 2 * XS_NS_PER_S);
    assert_true(before >= 10);
    t -= 900 * XS_NS_PER_S;
    after = turns_in(s, w, &t, 2 * XS_NS_PER_S);
    assert_in_range(after, before / 2, before * 2);
    t += 5000 * XS_NS_PER_S;
    after = turns_in(s, w, &t, 2 * XS_NS_PER_S);
    assert_in_range(after, before / 2, before * 2);
    world_done(s, w, 2);
}

static void bad_arguments(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc p = world_join(s, 1, NULL, false);

    (void)state;
    assert_null(xs_sched_queue_add(s, p.p, 1, WORLD_DEVICE, XS_PAGE_QUEUES, &world_hints, MS, NULL));
    world_queue(&p, 5, WORLD_DEVICE, 0, MS);
    assert_null(xs_sched_queue_add(s, p.p, 2, WORLD_DEVICE, 5, &world_hints, MS, NULL));
    assert_null(xs_sched_new(NULL, NULL, NULL, NULL));
    world_done(s, &p, 1);
}

/* What a policy remembers of a process ends with it, whatever number the next one has. */
static uint64_t seen_ids[16], seen_memos;
static int32_t seen_utilization;
static size_t nseen;

static void remember(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        e->run = true;
        seen_memos = e->memo[0] + e->process->memo[0];
        seen_utilization = e->process->utilization;
        seen_ids[nseen++ % 16] = e->process->id;
        e->memo[0] = e->process->memo[0] = 1;
    }
}

static void identity_is_never_reused(void **state)
{
    const struct xs_policy_ops ops = { .abi = XS_POLICY_ABI, .size = sizeof(ops), .name = "test", .title = "test",
                                       .scope = XS_SCOPE_DEVICE, .decide = remember };
    struct xs_sched *s = xs_sched_new(&ops, NULL, NULL, NULL);
    struct proc w = world_join(s, 4711, NULL, false);

    (void)state;
    world_queue(&w, 0, WORLD_DEVICE, 0, MS);
    xs_sched_process_set_utilization(s, w.p, 30);
    xs_sched_run(s, MS);
    assert_int_equal(nseen, 1);
    assert_int_equal(seen_memos, 0);
    assert_int_equal(seen_utilization, 30);
    xs_sched_process_remove(s, w.p, 2 * MS);
    world_free(&w);
    w = world_join(s, 4711, NULL, false);           /* the owner's number comes again */
    world_queue(&w, 0, WORLD_DEVICE, 0, 3 * MS);
    xs_sched_run(s, 3 * MS);
    assert_int_equal(nseen, 2);
    assert_int_equal(seen_memos, 0);
    assert_int_equal(seen_utilization, 100);
    assert_int_not_equal(seen_ids[0], seen_ids[1]);
    world_done(s, &w, 1);
}

/* A gang that is ready on this device is held here since on another one, where it is ready too,
 * something else runs. */
static bool bound(struct xs_sched *s, struct proc *w, struct xs_sched_queue *q[6][8], unsigned i,
                  const unsigned *open)
{
    if (!(xs_sched_policy(s)->flags & XS_POLICY_BY_RANK) || i % 2)
        return false;
    for (unsigned k = 0; k < 8; k++) {
        struct xs_sched_queue_status st;

        if (!q[i][k])
            continue;
        xs_sched_queue_status(q[i][k], 0, &st);
        if (st.ready && !world_open(&w[i], k) && open[st.device] > 0)
            return true;
    }
    return false;
}

/* Whatever happened: where something is ready, something that is ready may run (not under SPUP,
 * where a slice may be nobody's, nor where the end of what is held is waited for), unless all of it is
 * bound elsewhere. */
static void someone_runs(struct xs_sched *s, struct proc *w, struct xs_sched_queue *q[6][8], const bool *held,
                         bool drain)
{
    const struct xs_policy_ops *policy = xs_sched_policy(s);
    unsigned ready[4] = { 0 }, open[4] = { 0 }, who[4] = { 0 };

    if (policy->type == 6 || (drain && xs_sched_gives_turns(s)))
        return;
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < 8; k++) {
            const struct xs_client_cell *c = &w[i].client->cells[k];
            struct xs_sched_queue_status st;
            unsigned d;

            if (!q[i][k] || held[i] || atomic_load(&c->completed) == atomic_load(&c->entered))
                continue;
            xs_sched_queue_status(q[i][k], 0, &st);
            if (!st.ready) /* inferred */
                continue;
            assert_int_equal(st.permitted, world_open(&w[i], k));
            d = policy->scope == XS_SCOPE_HOST ? 0 : (unsigned)st.device;
            ready[d]++;
            open[d] += st.permitted;
            who[d] |= 1u << i;
        }
    }
    for (unsigned d = 0; d < 4; d++) {
        bool all_bound = true;

        for (unsigned i = 0; i < 6; i++)
            all_bound = all_bound && (!(who[d] >> i & 1) || bound(s, w, q, i, open));
        if (ready[d] > 0 && open[d] == 0 && !all_bound)
            fail_msg("%s: %u queues of device %u are ready, and none may run", policy->name, ready[d], d);
    }
}

/* When all is done, and nobody is told, everything opens in the end, and there is no timer and no
 * lease any more. */
static void all_opens_at_rest(struct xs_sched *s, struct proc *w, struct xs_sched_queue *q[6][8], bool *held,
                              uint64_t *t)
{
    for (unsigned i = 0; i < 6; i++) {
        held[i] = false;
        xs_sched_process_set_held(s, w[i].p, false);
        for (unsigned k = 0; k < 8; k++) {
            struct xs_client_cell *c = &w[i].client->cells[k];

            atomic_store(&c->completed, atomic_load(&c->entered));
        }
    }
    for (unsigned r = 0; r < 3000; r++) {
        uint64_t next = xs_sched_run(s, *t);

        if (next == UINT64_MAX)
            break;
        *t = XS_MAX(next, *t + 1);
    }
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < 8; k++) {
            if (q[i][k] && !world_open(&w[i], k))
                fail_msg("%s: cell %u of process %u is closed for nobody", xs_sched_policy(s)->name, k, i);
        }
    }
    assert_int_equal(xs_sched_run(s, *t), UINT64_MAX);
    assert_false(xs_sched_renew_leases(s, *t));
}

static void join_and_leave(uint64_t seed, bool drain)
{
    bool held[6] = { false };
    struct xs_sched *s = world_sched("CFS");
    struct proc w[6];
    struct xs_sched_queue *q[6][8] = { { NULL } };
    uint64_t t = MS, x = seed;

    for (uint64_t i = 0; i < 6; i++)
        w[i] = world_join_as(s, (struct xs_sched_process_info){ .id = i + 1, .group = i >= 4 ? "pair" : NULL,
                                                                .intra = i % 2,
                                                                .drain = drain ? XS_DRAIN_BY_POLICY : XS_DRAIN_OFF });
    for (unsigned n = 0; n < 20000; n++) {
        unsigned i, k;

        x = x * 6364136223846793005ull + 1442695040888963407ull;
        i = (unsigned)(x >> 33) % 6;
        k = (unsigned)(x >> 40) % 8;
        switch (x >> 60) {
        case 0: case 1:
            if (q[i][k])
                xs_sched_queue_remove(s, q[i][k], t);
            q[i][k] = NULL;
            break;
        case 2: case 3: case 4: case 5:
            if (!q[i][k])
                q[i][k] = world_queue(&w[i], k, 1 + (x >> 50) % 3, (int32_t)(x >> 45) % 10, t);
            break;
        case 6:
            xs_sched_set_policy(s, xs_policies[(x >> 30) % xs_policies_count]);
            break;
        case 7:
            held[i] = x >> 59 & 1;
            xs_sched_process_set_held(s, w[i].p, held[i]);
            break;
        case 8: case 9: case 10: case 11:
            if (q[i][k])
                world_submit(&w[i], k, 1, MS);
            break;
        default:
            if (atomic_load(&w[i].client->cells[k].completed) < atomic_load(&w[i].client->cells[k].entered))
                world_complete(&w[i], k, 1, MS);
        }
        world_step(s, w, 6, t += (x >> 20) % (300 * US));
        xs_sched_renew_leases(s, t);
        if (n % 8 == 0) { /* past the longest linger */
            world_step(s, w, 6, t += 50 * US);
            for (unsigned r = 0; r < 5; r++)
                world_step(s, w, 6, t += 100 * US);
            someone_runs(s, w, q, held, drain);
        }
        if (n % 100 == 99)
            all_opens_at_rest(s, w, q, held, &t);
    }
    for (unsigned i = 0; i < 6; i++)
        xs_sched_process_remove(s, w[i].p, t);
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < 8; k++)
            assert_true(!q[i][k] || world_open(&w[i], k));
    }
    world_done(s, w, 6);
}

static void joins_and_leaves_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        join_and_leave(seed * 102947, seed % 2 == 0);  /* the first one once found a timer that was lost */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_process_takes_its_window_along),
        cmocka_unit_test(leases),
        cmocka_unit_test(leases_by_other_clocks),
        cmocka_unit_test(a_clock_that_is_put_back),
        cmocka_unit_test(opening_wakes),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(identity_is_never_reused),
        cmocka_unit_test(joins_and_leaves_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
