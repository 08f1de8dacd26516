/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs run because of a collective that is under way: those of its gang, of its job, or of its user. */
#include "in_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HERE  1u
#define THERE 2u

static struct raw_client g_urgent, g_here[2], g_there;

static void join_as(struct raw_client *c, const char *group, const char *job)
{
    inside_join_as(c, group, job);
    atomic_store(&c->page->h.collectives, 1);
}

static void collective(struct raw_client *c)
{
    raw_submit(c, 0);
    atomic_store(&c->page->cells[0].collective, atomic_load(&c->page->cells[0].entered));
    atomic_fetch_add(&c->page->h.collectives, 1);
    (void)xs_page_ring(c->page, c->server, 0);
}

/* The partner of the first here has begun a collective elsewhere. @return whether the second one here runs, too */
static bool second_runs(const char *group[2], const char *job[2])
{
    bool first, second;

    inside_start();
    inside_join(&g_urgent);
    inside_add(&g_urgent, 0, HERE, 10);
    for (int i = 0; i < 2; i++) {
        join_as(&g_here[i], group[i], job[i]);
        inside_add(&g_here[i], 0, HERE, 0);
    }
    join_as(&g_there, group[0], job[0]);
    inside_add(&g_there, 0, THERE, 0);
    raw_submit(&g_urgent, 0);
    for (int i = 0; i < 2; i++)
        raw_submit(&g_here[i], 0);
    inside_passes(1000);
    assert_false(raw_permitted(&g_here[0], 0));
    assert_false(raw_permitted(&g_here[1], 0));
    collective(&g_there);
    inside_passes(1000);
    first = raw_permitted(&g_here[0], 0);
    second = raw_permitted(&g_here[1], 0);
    assert_true(first);
    raw_leave(&g_urgent);
    raw_leave(&g_here[0]);
    raw_leave(&g_here[1]);
    raw_leave(&g_there);
    assert_int_equal(inside_stop(), 0);
    return second;
}

static void by_group_job_and_user(void **state)
{
    const char *none[2] = {"", ""}, *one[2] = {"a", "a"}, *two[2] = {"a", "b"}, *first[2] = {"a", ""};

    (void)state;
    assert_true(second_runs(none, none));            /* of one user, and nothing else is known */
    assert_true(second_runs(none, one));
    assert_false(second_runs(none, two));
    assert_false(second_runs(none, first));
    assert_false(second_runs(two, one));             /* a group counts before a job */
    assert_true(second_runs(one, two));
    assert_false(second_runs(first, one));           /* and has no name of a job's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_group_job_and_user)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
