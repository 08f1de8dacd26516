/* SPDX-License-Identifier: Apache-2.0 */
/* What new XQueues start with, where the environment says something wrong. */
#include "xqueue/config.h"

#include "base/log.h"

#include "xsched/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char g_log[64] = "/tmp/xs-config-XXXXXX";

static int setup(void **state)
{
    (void)state;
    close(mkstemp(g_log));
    setenv("XLOG_FILE", g_log, 1);
    setenv("XLOG_LEVEL", "WARN", 1);
    xs_log_init();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(g_log);
}

/* Whether the log has it. */
static bool said(const char *text)
{
    static char all[1 << 14];
    FILE *f = fopen(g_log, "r");
    size_t n;

    assert_non_null(f);
    n = fread(all, 1, sizeof(all) - 1, f);
    all[n] = 0;
    fclose(f);
    return strstr(all, text);
}

static void a_wrong_level_is_auto(void **state)
{
    struct xs_queue_defaults right, wrong;

    (void)state;
    unsetenv("XSCHED_AUTO_XQUEUE_LEVEL");
    xs_queue_defaults_from_env(&right);
    assert_true(right.level_auto);
    setenv("XSCHED_AUTO_XQUEUE_LEVEL", "7", 1);
    xs_queue_defaults_from_env(&wrong);
    assert_true(wrong.level_auto);
    assert_int_equal(wrong.level, right.level);
    assert_true(said("XSCHED_AUTO_XQUEUE_LEVEL: '7' is not 1, 2, 3 or auto; the default holds"));
    setenv("XSCHED_AUTO_XQUEUE_LEVEL", "2", 1);
    xs_queue_defaults_from_env(&wrong);
    assert_false(wrong.level_auto);
    assert_int_equal(wrong.level, 2);
}

static void a_wrong_number_is_told_with_its_range(void **state)
{
    struct xs_queue_defaults d;

    (void)state;
    setenv("XSCHED_AUTO_XQUEUE_THRESHOLD", "0", 1);
    setenv("XSCHED_AUTO_XQUEUE_DEADLINE", "soon", 1);
    setenv("XSCHED_AUTO_XQUEUE_PRIORITY", "256", 1);
    setenv("XSCHED_AUTO_XQUEUE_UTILIZATION", "101", 1);
    xs_queue_defaults_from_env(&d);
    assert_int_equal(d.threshold, 0);
    assert_int_equal(d.hints.priority, PRIORITY_DEFAULT);
    assert_true(said("XSCHED_AUTO_XQUEUE_THRESHOLD: '0' is not a number of at least 1; the default holds"));
    assert_true(said("XSCHED_AUTO_XQUEUE_DEADLINE: 'soon' is not "
                     "a time of at least 1 us, such as 5ms, or NONE; the default holds"));
    assert_true(said("XSCHED_AUTO_XQUEUE_PRIORITY: '256' is not a number from -256 to 255; the default holds"));
    assert_true(said("XSCHED_AUTO_XQUEUE_UTILIZATION: '101' is not a number from 0 to 100; the default holds"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_level_is_auto),
        cmocka_unit_test(a_wrong_number_is_told_with_its_range),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
