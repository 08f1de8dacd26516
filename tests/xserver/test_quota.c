/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares, subordinate user ids and what is remembered of ended programs: the rules, without a server. */
#include "host/quota.h"
#include "host/subuids.h"
#include "http/connections.h"
#include "xserver/records/history.h"
#include "xserver/shares/rate_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint64_t take_all(struct xs_quota *q, struct xs_quota_user *u, bool privileged)
{
    uint64_t n = 0;

    while (xs_quota_take(q, u, XS_POOL_QUEUES, 1, privileged))
        n++;
    return n;
}

/* However many greedy users there were, the next one finds something, and root always does. */
static void every_user_finds_something(void **state)
{
    struct xs_quota q = {.size[XS_POOL_QUEUES] = 800};
    struct xs_quota_user *root = xs_quota_user_get(&q, 0), *u;
    uint64_t got, before = UINT64_MAX, sum = 0;

    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        u = xs_quota_user_get(&q, 1000 + i);
        got = take_all(&q, u, false);
        assert_true(got > 0 && got <= before);
        assert_true(got >= 700 / (i * (i + 1))); /* what dbus-broker promises: 1/(k (k + 1)) of all */
        before = got;
        sum += got;
    }
    assert_true(sum <= 700);
    assert_int_equal(take_all(&q, root, true), 800 - sum);
    assert_false(xs_quota_take(&q, root, XS_POOL_QUEUES, 1, true));
    xs_quota_fini(&q);
}

static void one_user_takes_half(void **state)
{
    struct xs_quota q = {.size[XS_POOL_QUEUES] = 800};
    struct xs_quota_user *a = xs_quota_user_get(&q, 1), *b = xs_quota_user_get(&q, 2);

    (void)state;
    assert_int_equal(take_all(&q, a, false), 350);
    assert_true(xs_quota_greatest(&q, XS_POOL_QUEUES) == a);
    assert_int_equal(take_all(&q, b, false), 116);
    assert_int_equal(take_all(&q, a, false), 0); /* it has more than its share now, and keeps it */
    xs_quota_give(&q, a, XS_POOL_QUEUES, 350);
    assert_int_equal(q.holders[XS_POOL_QUEUES], 1);
    assert_int_equal(take_all(&q, b, false), 350 - 116);
    xs_quota_user_put(&q, b);
    assert_int_equal(q.used[XS_POOL_QUEUES], 0);
    assert_int_equal(take_all(&q, a, false), 350);
    assert_false(xs_quota_take(&q, a, XS_POOL_QUEUES, UINT64_MAX, true));
    xs_quota_fini(&q);
}

/* A pool of one or two is no pool to share: whoever comes first has it. */
static void small_pools_are_used(void **state)
{
    struct xs_quota q = {.size[XS_POOL_QUEUES] = 2};
    struct xs_quota_user *a = xs_quota_user_get(&q, 1), *b = xs_quota_user_get(&q, 2);

    (void)state;
    assert_int_equal(take_all(&q, a, false), 1);
    assert_int_equal(take_all(&q, b, false), 1);
    xs_quota_fini(&q);
}

static bool find_user(const char *name, uint32_t *ret_uid)
{
    *ret_uid = 1000;
    return !strcmp(name, "ann");
}

static void subordinate_ids_have_owners(void **state)
{
    static const struct { uint32_t uid, owner; } k_rows[] = {
        {0, 0}, {1000, 1000}, {99999, 99999}, {100000, 1000}, {165535, 1000}, {165536, 1001}, {231071, 1001},
        {231072, 231072}, {300000, 7}, {300005, 7}, {300009, 8}, {300019, 8}, {300020, 300020}, {5, 9}, {10, 10},
        {4294967294u, 12}, {4294967295u, 4294967295u}, {400000, 400000}, {500000, 500000},
    };
    char text[] = "ann:100000:65536\n1001:165536:65536\n8:300005:15\n7:300000:9\n9:0:10\nnobody-here:400000:10\n"
                  "\n:\n::\nann\nann:x:1\nann:500000:0\nann:500000:-1\nann:500000\n:500000:10\n11:99999999999:1\n"
                  "12:4294967290:99999999999999999999\n12:4294967290:18446744073709551615\nann:1:2:3";
    struct xs_subuids s;

    (void)state;
    assert_int_equal(xs_subuids_parse(text, find_user, &s), 0);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++)
        assert_int_equal(xs_subuids_find(&s, k_rows[i].uid), k_rows[i].owner);
    xs_subuids_fini(&s);
}

/* A program that launches and completes as fast as it can is heard; one that rings for nothing is not for long. */
static void rings_are_counted(void **state)
{
    struct xs_rate r = {0};
    uint64_t now = XS_NS_PER_S, n = 0;

    (void)state;
    for (; n < 1000000; n++, now += 20 * XS_NS_PER_US) /* 50000 a second that wake, as no program can for long, ... */
        if (!xs_rate_spend(&r, n % 2 ? XS_RATE_WOKE : XS_RATE_AWAKE, 2, now))
            break;
    assert_int_equal(n, 1000000);
    for (n = 0; n < 1000000; n++, now += 8 * XS_NS_PER_US) /* ... or 125000 while it looks anyway */
        if (!xs_rate_spend(&r, XS_RATE_AWAKE, 2, now))
            break;
    assert_int_equal(n, 1000000);
    for (n = 0; xs_rate_spend(&r, XS_RATE_PARTS, 0, now); n++)
        now += 5 * XS_NS_PER_US;
    assert_in_range(n, XS_RATE_BURST / 2, 2 * XS_RATE_BURST);
    assert_false(xs_rate_recovered(&r, 8, now));
    assert_true(xs_rate_recovered(&r, 8, now + XS_NS_PER_S / 2));
    for (n = 0; xs_rate_spend(&r, XS_RATE_AWAKE, 128, now); n++) /* each has a step of a program's queues read */
        now += 100 * XS_NS_PER_US;
    assert_in_range(n, 1, XS_RATE_BURST / 8);
}

/* A user hangs up and comes again: what it spent is known still. Of 64 such users the oldest is forgotten first. */
static void what_was_spent_is_remembered(void **state)
{
    struct xs_quota q = {.size = {[XS_POOL_SESSIONS] = 100}};
    struct xs_quota_user *u = xs_quota_user_get(&q, 1);

    (void)state;
    assert_true(xs_quota_take(&q, u, XS_POOL_SESSIONS, 1, false));
    u->rings.spent = 7;
    xs_quota_user_put(&q, u);
    assert_int_equal(q.used[XS_POOL_SESSIONS], 0);
    for (uint64_t other = 2; other < 65; other++)
        xs_quota_user_put(&q, xs_quota_user_get(&q, other));
    assert_int_equal(q.idle, 64);
    u = xs_quota_user_get(&q, 1);
    assert_int_equal(u->rings.spent, 7);
    assert_int_equal(q.idle, 63);
    xs_quota_user_put(&q, u);
    for (uint64_t other = 100; other < 164; other++)
        xs_quota_user_put(&q, xs_quota_user_get(&q, other));
    u = xs_quota_user_get(&q, 1);
    assert_int_equal(u->rings.spent, 0);
    xs_quota_user_put(&q, u);
    xs_quota_fini(&q);
}

/* A user gets a twentieth of a core of the threads that answer, and a share of the memory for answers; operators get all. */
static void answers_are_bounded(void **state)
{
    const size_t half = (size_t)(XS_HTTP_ANSWERS - XS_HTTP_ANSWERS / 8) / 2;
    struct xs_connections *s = xs_connections_new(false);
    struct xs_asker user = {.uid = 1000, .known = true}, root = {.known = true, .all = true};
    struct xs_connection_of a, b, c;
    uint64_t wait_ms;

    (void)state;
    assert_true(xs_connections_came(s, &user, &a) && xs_connections_came(s, &root, &b));
    xs_connections_worked(s, &a, XS_HTTP_SAVED_NS - XS_NS_PER_MS);
    assert_int_equal(xs_connections_wait_ms(s, &a), 0);
    xs_connections_worked(s, &a, 100 * XS_NS_PER_MS);
    xs_connections_worked(s, &b, XS_NS_PER_S);
    wait_ms = xs_connections_wait_ms(s, &a);
    assert_true(wait_ms > 1000 && wait_ms <= 2000);
    assert_int_equal(xs_connections_wait_ms(s, &b), 0);
    assert_true(xs_connections_answer(s, &a, half));
    assert_false(xs_connections_answer(s, &a, 4096));
    assert_true(xs_connections_answer(s, &b, half));
    xs_connections_answer_gone(s, b.user, half);
    xs_connections_gone(s, a.user); /* before its answer is read */
    assert_true(xs_connections_came(s, &user, &c));
    assert_true(xs_connections_wait_ms(s, &c) > 0); /* it is still the same user */
    assert_false(xs_connections_answer(s, &c, 4096));
    xs_connections_answer_gone(s, a.user, half);
    assert_true(xs_connections_answer(s, &c, 4096));
    xs_connections_answer_gone(s, c.user, 4096);
    xs_connections_gone(s, c.user);
    xs_connections_gone(s, b.user);
    xs_connections_free(s);
}

static void add_ended(struct xs_history *h, uint64_t user, int32_t pid, bool wish)
{
    struct xs_client_record r = {.share_key = user, .uid = (uint32_t)user, .pid = pid, .held = wish};

    xs_history_add(h, &r);
}

static unsigned ended_of(const struct xs_history *h, uint64_t user)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < h->n; i++)
        n += xs_history_at(h, i)->share_key == user;
    return n;
}

/* One who comes and goes without end loses what is his own. */
static void history_is_shared(void **state)
{
    static struct xs_history h;

    (void)state;
    add_ended(&h, 1, 1, true);
    for (int i = 0; i < 20; i++)
        add_ended(&h, 1, 100 + i, false);
    for (int i = 0; i < 100000; i++)
        add_ended(&h, 2, i, false);
    assert_int_equal(ended_of(&h, 1), 21);
    assert_non_null(xs_history_of(&h, 0, 1, 1));
    assert_int_equal(xs_history_at(&h, h.n - 1)->pid, 99999);
    assert_int_equal(xs_history_at(&h, 21)->pid, 100000 - (256 - 21)); /* its newest ones stay, in order */
    for (int i = 0; i < 1000; i++)
        add_ended(&h, 3 + (uint64_t)i % 3, i, false);
    assert_int_equal(ended_of(&h, 1), 21);
    for (int i = 0; i < 1000; i++)
        add_ended(&h, 1, 1000 + i, false);
    assert_true(ended_of(&h, 1) >= 50 && ended_of(&h, 2) >= 50 && ended_of(&h, 3) >= 50);
    assert_non_null(xs_history_of(&h, 0, 1, 1)); /* what an operator changed goes last */
    assert_int_equal(h.n, XS_HISTORY_LENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_user_finds_something),
        cmocka_unit_test(one_user_takes_half),
        cmocka_unit_test(small_pools_are_used),
        cmocka_unit_test(subordinate_ids_have_owners),
        cmocka_unit_test(what_was_spent_is_remembered),
        cmocka_unit_test(answers_are_bounded),
        cmocka_unit_test(history_is_shared),
        cmocka_unit_test(rings_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
