/* SPDX-License-Identifier: Apache-2.0 */
/* Policies from shared objects: the example works in the driver, wrong objects are refused. */
#include "sched/policy_load.h"
#include "table.h"
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct xs_policy_ops *load(const char *path, struct xs_policy_module **m)
{
    char error[300] = "";

    if (xs_policy_load(path, m, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    return xs_policy_module_ops(*m);
}

static void example_follows_its_rule(void **state)
{
    static const struct table_step steps[] = {
        { 0, "", "ab", NEVER },
        { 10, "b+", "b", NEVER },
        { 20, "a+", "b", NEVER },       /* b came first */
        { 30, "b-", "a", NEVER },
        { 40, "b+ c+", "a", NEVER },    /* c never runs */
        { 50, "a-", "b", NEVER },
        { 60, "b-", "ab", NEVER },
    };
    static const struct table fifo = {
        .name = "FIFO", .params = PARAMS(5 * MS), .nentities = 3,
        .entities = { { 0, 0, HINTS(0) }, { 1, 0, HINTS(0) }, { 2, 0, HINTS(NO_EXECUTE) } },
        STEPS(steps),
    };
    struct xs_policy_module *m;
    const struct xs_policy_ops *ops = load(FIFO, &m);
    char why[200] = "";

    (void)state;
    assert_string_equal(ops->name, "FIFO");
    if (!table_holds(&fifo, ops, why))
        fail_msg("%s", why);
    assert_false(table_holds(&fifo, xs_policy_by_name("HPF"), NULL));
    xs_policy_unload(m);
}

static void driver_takes_it_at_run_time(void **state)
{
    struct xs_sched *s = xs_sched_new(xs_policy_by_name("HPF"), NULL, NULL, NULL);
    struct proc w[2];
    struct xs_policy_module *m;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    world_queue(&w[0], 0, 1, 0, MS);
    world_queue(&w[1], 0, 1, 10, MS);
    world_step(s, w, 2, MS);
    world_submit(&w[0], 0, 1, MS);
    world_step(s, w, 2, 2 * MS);
    world_submit(&w[1], 0, 1, MS);
    world_step(s, w, 2, 3 * MS);
    assert_false(world_open(&w[0], 0));
    xs_sched_set_policy(s, load(FIFO, &m));
    xs_sched_run(s, 4 * MS);
    assert_true(world_open(&w[0], 0));      /* it came first */
    assert_false(world_open(&w[1], 0));
    xs_sched_set_policy(s, xs_policy_by_name("HPF"));
    xs_policy_unload(m);
    xs_sched_run(s, 5 * MS);
    assert_false(world_open(&w[0], 0));
    xs_sched_free(s);
    world_free(&w[0]);
    world_free(&w[1]);
}

static void refused(const char *path, int error_number, const char *word)
{
    struct xs_policy_module *m = (struct xs_policy_module *)&m, *before = m;
    char error[300] = "";
    int r = xs_policy_load(path, &m, error, sizeof(error));

    if (r != error_number || m != before || !strstr(error, word))
        fail_msg("%s: %d, '%s'", path, r, error);
}

static void wrong_objects_are_refused(void **state)
{
    char text[] = "/tmp/xsched-policy-XXXXXX";
    int fd = mkstemp(text);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "no object\n", 10), 10);
    close(fd);
    refused(text, -ENOENT, text);
    unlink(text);
    refused("/nonexistent/policy.so", -ENOENT, "policy.so");
    refused("fifo.so", -ENOENT, "slash");
    refused(BAD_DIR "/bad1.so", -ENOEXEC, "xsched_policy_entry");
    refused(BAD_DIR "/bad2.so", -EINVAL, "nothing");
    refused(BAD_DIR "/bad3.so", -EPROTO, "version");
    refused(BAD_DIR "/bad4.so", -EPROTO, "version");
    refused(BAD_DIR "/bad5.so", -EINVAL, "name");
    refused(BAD_DIR "/bad6.so", -EINVAL, "decide");
    refused(BAD_DIR "/bad7.so", -EINVAL, "built-in");
    refused(BAD_DIR "/bad8.so", -EINVAL, "type");
    refused(BAD_DIR "/bad9.so", -EINVAL, "scope");
    xs_policy_unload(NULL);
}

/* An object of another header loads with the flags that it has, and what it cannot say is told. */
static void another_header_is_no_fault(void **state)
{
    static const struct {
        const char *path;
        uint32_t flags;
        const char *text; /* NULL: there is nothing to say */
    } k_rows[] = {
        {FIFO, 0, NULL},
        {BAD_DIR "/bad10.so", XS_POLICY_USES_SERVICE,
         "cannot set XS_POLICY_BY_RANK, XS_POLICY_TURNS, XS_POLICY_CPU_CLASS"},
        {BAD_DIR "/bad11.so", XS_POLICY_BY_RANK, "cannot set XS_POLICY_CPU_CLASS"},
        {BAD_DIR "/bad12.so", XS_POLICY_BY_RANK, "cannot set XS_POLICY_TURNS, XS_POLICY_CPU_CLASS"},
        {BAD_DIR "/bad14.so", XS_POLICY_BY_RANK, NULL},
        {BAD_DIR "/bad13.so", 1u << 30 | XS_POLICY_BY_RANK, "sets unknown flags 0x40000000"},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct xs_policy_module *m;
        char text[256] = "", cut[8];
        uint32_t flags = xs_policy_flags(load(k_rows[i].path, &m));
        bool differs = xs_policy_module_differs(m, text, sizeof(text));

        if (flags != k_rows[i].flags || differs != (k_rows[i].text != NULL) || strcmp(text, k_rows[i].text ? k_rows[i].text : ""))
            fail_msg("%s: flags 0x%x, '%s'", k_rows[i].path, flags, text);
        assert_int_equal(xs_policy_module_differs(m, cut, sizeof(cut)), differs);
        xs_policy_unload(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_follows_its_rule),
        cmocka_unit_test(driver_takes_it_at_run_time),
        cmocka_unit_test(wrong_objects_are_refused),
        cmocka_unit_test(another_header_is_no_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
