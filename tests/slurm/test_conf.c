/* SPDX-License-Identifier: Apache-2.0 */
/* The words of plugstack.conf. */
#include "slurm_conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct xs_slurm_conf g_conf;
static char g_error[256];

static int read_words(const char *const *words, size_t count)
{
    /* Slurm gives char **, and nothing here writes into the words */
    return xs_slurm_conf_read(&g_conf, (int)count, (char **)(uintptr_t)words, g_error, sizeof(g_error));
}

#define READ(...) read_words((const char *const[]){__VA_ARGS__}, XS_ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static void nothing_said(void **state)
{
    int priority = 99;

    (void)state;
    assert_int_equal(xs_slurm_conf_read(&g_conf, 0, NULL, g_error, sizeof(g_error)), 0);
    assert_int_equal(g_conf.min, -255);
    assert_int_equal(g_conf.max, 255);
    assert_string_equal(g_conf.libdir, "/usr/lib/xsched");
    assert_false(xs_slurm_conf_default(&g_conf, "main", "normal", NULL, &priority));
    assert_int_equal(priority, 99);
}

static void rules(void **state)
{
    int priority;

    (void)state;
    assert_int_equal(READ("min=-10", "max=20", "default=1", "partition=night:-5", "qos=urgent:15", "partition=a:b:7",
                          "socket=/run/x", "account=/var/log/x", "libdir=/opt/x"),
                     0);
    assert_true(xs_slurm_conf_default(&g_conf, "night", "", NULL, &priority) && priority == -5);
    assert_true(xs_slurm_conf_default(&g_conf, "night", "urgent", NULL, &priority) && priority == 15);
    assert_true(xs_slurm_conf_default(&g_conf, "a:b", "", NULL, &priority) && priority == 7);
    assert_true(xs_slurm_conf_default(&g_conf, "other", "other", NULL, &priority) && priority == 1);
    assert_true(xs_slurm_conf_default(&g_conf, "", "", NULL, &priority) && priority == 1);
    assert_string_equal(g_conf.socket, "/run/x");
    assert_string_equal(g_conf.account, "/var/log/x");
    assert_string_equal(g_conf.libdir, "/opt/x");
}

static void job_priorities(void **state)
{
    static const struct {
        uint32_t job;
        int want; /* 99: none */
    } rows[] = {{0, 99}, {99, 99}, {100, -5}, {200, -5}, {201, 99}, {999, 99}, {1000, 30}, {4294967295u, 30}};
    uint32_t job = 1000;
    int priority;

    (void)state;
    assert_int_equal(READ("jobpriority=100-200:-5", "jobpriority=1000:30", "jobpriority=150-160:7", "partition=a:1"), 0);
    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++) {
        priority = 99;
        assert_int_equal(xs_slurm_conf_default(&g_conf, "main", "", &rows[i].job, &priority), rows[i].want != 99);
        assert_int_equal(priority, rows[i].want);
    }
    assert_false(xs_slurm_conf_default(&g_conf, "main", "", NULL, &priority)); /* not known */
    assert_true(xs_slurm_conf_default(&g_conf, "a", "", &job, &priority) && priority == 1); /* the partition comes first */
    assert_int_equal(READ("jobpriority=7-7:3", "default=2"), 0);
    job = 8;
    assert_true(xs_slurm_conf_default(&g_conf, "", "", &job, &priority) && priority == 2);
}

static void wrong_words(void **state)
{
    static const char *const words[] = {"max", "max=", "max=256", "max=1x", "colour=1", "partition=4", "partition=:4", "qos=a:",
                                  "socket=run", "=", "", "jobpriority=5", "jobpriority=:5", "jobpriority=9-5:1",
                                  "jobpriority=x:1", "jobpriority=1-4294967296:1", "jobpriority=-1:1", "jobpriority=1-:1",
                                  "jobpriority=1:256", "jobpriority=99999999999999999999:1"};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(words); i++) {
        g_error[0] = 0;
        assert_true(READ(words[i], "min=-7") < 0);
        assert_non_null(strstr(g_error, words[i]));
        assert_int_equal(g_conf.min, -7); /* what is right is taken */
        assert_int_equal(g_conf.max, 255);
    }
}

static void limits_the_wrong_way_round(void **state)
{
    (void)state;
    assert_true(READ("min=5", "max=-5") < 0);
    assert_non_null(strstr(g_error, "above"));
    assert_int_equal(g_conf.min, 0);
    assert_int_equal(g_conf.max, 0);
}

static void too_many_rules(void **state)
{
    const char *words[XS_SLURM_RULES_MAX + 1];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(words); i++)
        words[i] = "qos=x:1";
    assert_int_equal(read_words(words, XS_SLURM_RULES_MAX), 0);
    assert_true(read_words(words, XS_SLURM_RULES_MAX + 1) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said),   cmocka_unit_test(rules),
        cmocka_unit_test(wrong_words),    cmocka_unit_test(limits_the_wrong_way_round),
        cmocka_unit_test(too_many_rules), cmocka_unit_test(job_priorities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
