/* SPDX-License-Identifier: Apache-2.0 */
/* XSCHED_TUNE, and variables that went. */
#include "base/env.h"
#include "base/log.h"
#include "base/tune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void values(void **state)
{
    static const struct {
        const char *text;
        int64_t inflight, mark, gate;
    } k_cases[] = {
        {"", -7, -7, -7},
        {"mark-us=0", -7, 0, -7},
        {"inflight-us=850,gate-us=300", 850, -7, 300},
        {"gate-us=1,gate-us=2", -7, -7, 2},            /* the last one counts */
        {",,gate-us=5,", -7, -7, 5},
        {"inflight-us=0,gate-us=4", -7, -7, 4},        /* out of range: that one alone is ignored */
        {"mark-us=10000001", -7, -7, -7},
        {"mark-us=10000000", -7, 10000000, -7},
        {"mark-us=-1", -7, -7, -7},
        {"mark-us=", -7, -7, -7},
        {"mark-us", -7, -7, -7},
        {"=3", -7, -7, -7},
        {"mark-u=3,mark-uss=3", -7, -7, -7},
        {"mark-us=3x", -7, -7, -7},
        {"mark-us=0000000000000000000000000000000000003,gate-us=6", -7, -7, 6}, /* longer than any number */
    };

    (void)state;
    unsetenv("XSCHED_TUNE");
    assert_int_equal(xs_tune_i64(XS_TUNE_MARK_US, 100), 100);
    for (size_t i = 0; i < sizeof(k_cases) / sizeof(k_cases[0]); i++) {
        setenv("XSCHED_TUNE", k_cases[i].text, 1);
        if (xs_tune_i64(XS_TUNE_INFLIGHT_US, -7) != k_cases[i].inflight ||
            xs_tune_i64(XS_TUNE_MARK_US, -7) != k_cases[i].mark || xs_tune_i64(XS_TUNE_GATE_US, -7) != k_cases[i].gate)
            fail_msg("%s", k_cases[i].text);
    }
    unsetenv("XSCHED_TUNE");
}

/* Each names itself and what replaces it, and is none of those that are read. */
static void withdrawn(void **state)
{
    const char *instead = NULL;
    char name[64];
    unsigned n = 0;

    (void)state;
    for (; xs_env_withdrawn(n, name, sizeof(name), &instead); n++) {
        assert_int_equal(strncmp(name, "XSCHED_", 7), 0);
        assert_true(strlen(instead) > 10);
        for (const char *at = name; *at; at++)
            assert_true((*at >= 'A' && *at <= 'Z') || *at == '_' || (*at >= '0' && *at <= '9'));
        for (size_t i = 0; i < XS_ENV_COUNT; i++)
            assert_string_not_equal(name, xs_env_rows[i].name);
    }
    assert_true(n >= 3);
}

static void withdrawn_is_said(void **state)
{
    char path[] = "/tmp/xsched-tune-XXXXXX", text[1024] = "";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    setenv("XLOG_FILE", path, 1);
    setenv("XSCHED_MARK_US", "0", 1);
    xs_log_init();
    xs_env_warn_withdrawn();
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "XSCHED_MARK_US means nothing any more; instead: XSCHED_TUNE=mark-us=US"));
    assert_null(strstr(text, "XSCHED_GATE_US"));
    assert_null(strstr(text, "XSCHED_CUPTI_LIB"));
    /* of the original */
    setenv("XSCHED_CUDA_SINGLE_STREAM_PER_PROCESS", "ON", 1);
    setenv("XSCHED_CUDART_LIB", "/nonexistent", 1);
    xs_env_warn_withdrawn();
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "XSCHED_CUDA_SINGLE_STREAM_PER_PROCESS means nothing"));
    assert_non_null(strstr(text, "XSCHED_CUDART_LIB means nothing any more; instead: XSCHED_CUDA_LIB"));
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(withdrawn),
                                       cmocka_unit_test(withdrawn_is_said)};

    return cmocka_run_group_tests_name("base.tune", tests, NULL, NULL);
}
