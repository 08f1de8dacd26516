/* SPDX-License-Identifier: Apache-2.0 */
/* Why a queue waits, or runs although it would not by the policy alone (reasons.def): the reason that a status shows,
 * the program that it names, and the time that counts for it. */
#include "world.h"

#include "sched/why.h"

#include <stdio.h>
#include <string.h>

static struct xs_sched_queue *g_q[3];

/* world_pair, with the queues at hand; both have work. */
static struct xs_sched *pair(struct proc w[2], const char *policy, int32_t low, int32_t high, enum xs_drain drain)
{
    struct xs_sched *s = world_sched(policy);

    w[0] = world_join_as(s, (struct xs_sched_process_info){.id = 1, .drain = drain});
    w[1] = world_join_as(s, (struct xs_sched_process_info){.id = 2, .drain = drain});
    g_q[0] = world_queue(&w[0], 0, WORLD_DEVICE, low, MS);
    g_q[1] = world_queue(&w[1], 0, WORLD_DEVICE, high, MS);
    world_step(s, w, 2, MS);
    world_submit(&w[0], 0, 5, MS);
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 2, 2 * MS);
    return s;
}

static struct xs_sched_queue_why assert_why(struct xs_sched_queue *q, uint64_t t, enum xs_why why, const struct proc *who)
{
    struct xs_sched_queue_status st;
    struct xs_sched_queue_why names;

    xs_sched_queue_status(q, t, &st);
    assert_string_equal(xs_why_code(st.why), xs_why_code(why));
    assert_int_equal(xs_sched_queue_reason(q), st.why);
    xs_sched_queue_why(q, &names);
    assert_ptr_equal(names.who, who ? who->p : NULL);
    return names;
}

static void a_more_important_program(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10, XS_DRAIN_BY_POLICY);
    struct xs_sched_counters c;
    uint64_t t = 2 * MS;

    (void)state;
    assert_why(g_q[0], t, XS_WHY_RANK, &w[1]);
    assert_why(g_q[1], t, XS_WHY_FREE, NULL);
    world_complete(&w[1], 0, 5, MS);
    world_step(s, w, 2, t += 5 * MS);
    xs_sched_run(s, t += 5 * MS);                   /* it lingered */
    assert_true(world_open(&w[0], 0));
    assert_why(g_q[0], t, XS_WHY_FREE, NULL);
    xs_sched_counters(s, &c);
    assert_in_range(c.waiting_ns[XS_WHY_RANK], 5 * MS, 10 * MS);
    assert_int_equal(c.waiting_ns[XS_WHY_TURN], 0);
    world_done(s, w, 2);
}

static void its_turn_comes(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "CFS", 0, 0, XS_DRAIN_BY_POLICY);
    uint64_t t = 2 * MS;
    size_t waits = world_open(&w[0], 0);
    struct xs_sched_queue_why st = assert_why(g_q[waits], t, XS_WHY_TURN, &w[!waits]);

    (void)state;
    assert_true(st.until_ns > t && st.until_ns < t + 100 * MS);
    world_done(s, w, 2);
}

static void by_hand_and_never(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", -256, 10, XS_DRAIN_BY_POLICY);
    uint64_t t = 2 * MS;

    (void)state;
    assert_why(g_q[0], t, XS_WHY_NEVER, NULL);
    xs_sched_process_set_held(s, w[1].p, true);
    world_step(s, w, 2, t += US);
    assert_why(g_q[1], t, XS_WHY_HAND, NULL);
    xs_sched_process_set_held(s, w[1].p, false);
    world_step(s, w, 2, t += US);
    assert_why(g_q[1], t, XS_WHY_FREE, NULL);
    world_done(s, w, 2);
}

static void commands_on_the_device(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10, XS_DRAIN_ON);
    struct xs_hints h = world_hints;
    uint64_t t = 2 * MS;

    (void)state;
    h.priority = 20;                                /* the other one is suspended, with work on the device */
    xs_sched_queue_set_hints(s, g_q[0], &h);
    world_step(s, w, 2, t += US);
    assert_false(world_open(&w[0], 0));
    assert_why(g_q[0], t, XS_WHY_DRAIN, &w[1]);
    world_done(s, w, 2);
}

static void a_circle(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10, XS_DRAIN_BY_POLICY);
    uint64_t t = 2 * MS, next;

    (void)state;
    atomic_fetch_sub(&w[1].client->cells[0].returned, 1);
    next = world_step(s, w, 2, t);
    while (!world_open(&w[0], 0) && t < 2 * XS_NS_PER_S)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_why(g_q[0], t, XS_WHY_CIRCLE, NULL);
    world_done(s, w, 2);
}

/* The share of a user whom another one's priority would keep from the device. */
static void a_users_share(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[2];
    uint64_t t = MS, next;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        w[i] = world_join_as(s, (struct xs_sched_process_info){.id = i + 1, .user = i + 1});
        g_q[i] = world_queue(&w[i], 0, WORLD_DEVICE, i ? 10 : 0, t);
    }
    world_step(s, w, 2, t);
    next = t;
    while (!world_open(&w[0], 0) || world_open(&w[1], 0)) {
        assert_true(t < 3 * XS_NS_PER_S);
        for (size_t i = 0; i < 2; i++)
            if (atomic_load(&w[i].client->cells[0].entered) < atomic_load(&w[i].client->cells[0].completed) + 2)
                world_submit(&w[i], 0, 2, MS);
        for (size_t i = 0; i < 2; i++)
            if (world_open(&w[i], 0))
                world_complete(&w[i], 0, 1, MS);
        next = world_step(s, w, 2, t += MS);
    }
    (void)next;
    assert_why(g_q[0], t, XS_WHY_GRANT, NULL);
    assert_true(assert_why(g_q[1], t, XS_WHY_SHARE, &w[0]).until_ns > t);
    world_done(s, w, 2);
}

/* ---- a policy with words of its own ---- */

static void decide(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        v->entities[i]->run = i > 0;
        if (i == 0)
            v->entities[i]->why = "its hour is from 22 to 6";
    }
}

static void words_of_a_policy(void **state)
{
    static const struct xs_policy_ops ops = {
        .abi = XS_POLICY_ABI, .size = sizeof(ops), .name = "HOURS", .title = "", .scope = XS_SCOPE_DEVICE, .decide = decide};
    struct xs_sched *s = xs_sched_new(&ops, NULL, NULL, NULL);
    struct xs_sched_queue_why names;
    struct proc w[2];
    char text[128];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        w[i] = world_join(s, i + 1, NULL, false);
        g_q[i] = world_queue(&w[i], 0, WORLD_DEVICE, 0, MS);
        world_submit(&w[i], 0, 1, MS);
    }
    world_step(s, w, 2, MS);
    names = assert_why(g_q[0], MS, XS_WHY_OTHER, NULL);
    xs_why_text(XS_WHY_OTHER, &(struct xs_why_names){.within_ns = UINT64_MAX}, names.own, text, sizeof(text));
    assert_string_equal(text, "its hour is from 22 to 6");
    world_done(s, w, 2);
}

/* ---- words ---- */

static void words(void **state)
{
    struct xs_why_names n = {.pid = 4242, .user = "ann", .within_ns = 3200 * US}, none = {.within_ns = UINT64_MAX};
    char text[256], shown[256];

    (void)state;
    xs_why_text(XS_WHY_TURN, &n, NULL, text, sizeof(text));
    assert_string_equal(text, "its turn comes: process 4242 has the device, for 3.2 ms at most");
    xs_why_text(XS_WHY_SHARE, &n, "not these", text, sizeof(text));
    assert_string_equal(text, "user ann has the share of the device that no other user can take, for 3.2 ms at most");
    xs_why_text(XS_WHY_SHARE, &none, NULL, text, sizeof(text));
    assert_string_equal(text, "another user has the share of the device that no other user can take");
    xs_why_text(XS_WHY_OTHER, &n, "100 %p of it", text, sizeof(text));
    assert_string_equal(text, "100 %p of it");
    xs_why_text(200, &n, NULL, text, sizeof(text));       /* of a later version */
    assert_string_equal(xs_why_code(200), "other");
    for (unsigned i = 0; i < XS_WHYS; i++) {
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(xs_why_code(i), xs_why_code(k));
        xs_why_text(i, &n, NULL, text, sizeof(text));
        assert_null(strchr(text, '%'));
        for (size_t size = 1; size <= sizeof(shown); size++) { /* cut, and never beyond its place */
            memset(shown, '!', sizeof(shown));
            xs_why_text(i, &n, NULL, shown, size);
            assert_true(strlen(shown) < size && !strncmp(shown, text, strlen(shown)));
            assert_true(size == sizeof(shown) || shown[size] == '!');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_more_important_program), cmocka_unit_test(its_turn_comes), cmocka_unit_test(by_hand_and_never),
        cmocka_unit_test(commands_on_the_device),   cmocka_unit_test(a_circle),       cmocka_unit_test(a_users_share),
        cmocka_unit_test(words_of_a_policy),        cmocka_unit_test(words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
