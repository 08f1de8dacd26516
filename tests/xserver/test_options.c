/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: which lines it takes, and what they mean. */
#include "config/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char g_path[64], g_error[256];

static int make_file(void **state)
{
    int fd;

    (void)state;
    strcpy(g_path, "/tmp/xserver-options-XXXXXX");
    fd = mkstemp(g_path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(g_path);
}

/* Reads a file of these bytes into the defaults. */
static int read_bytes(struct xs_options *o, const char *bytes, size_t n)
{
    FILE *f = fopen(g_path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    xs_options_defaults(o);
    g_error[0] = 0;
    return xs_options_read_file(o, g_path, NULL, g_error, sizeof(g_error));
}

static void accept(struct xs_options *o, const char *text)
{
    if (read_bytes(o, text, strlen(text)) != 0)
        fail_msg("%s -> %s", text, g_error);
}

static void refuse(const char *text, const char *where_and_why)
{
    struct xs_options o;
    char want[512];

    snprintf(want, sizeof(want), "%s%s", g_path, where_and_why);
    if (read_bytes(&o, text, strlen(text)) == 0)
        fail_msg("it takes %s", text);
    assert_string_equal(g_error, want);
}

/* The head, n times x, and the tail; valid until the next call. */
static const char *line_of(size_t n, const char *head, const char *tail)
{
    static char text[4096];
    size_t at = strlen(head);

    assert_true(at + n + strlen(tail) < sizeof(text));
    strcpy(text, head);
    memset(text + at, 'x', n);
    strcpy(text + at + n, tail);
    return text;
}

static void comments_have_any_length(void **state)
{
    struct xs_options o;

    (void)state;
    for (size_t n = 0; n < 2500; n++) {
        accept(&o, line_of(n, "[scheduler]\n# ", "policy = CFS\nk = 7\n"));
        assert_string_equal(o.policy, "HPF");
        assert_int_equal(o.k, 7);
    }
    accept(&o, line_of(2000, "[scheduler]\n  ; ", "")); /* no end of line */
    refuse(line_of(2000, "[scheduler]\n; ", "\nk = many\n"),
           ":3: k: 'many' is not a number from 1 to 1000000");
}

static void values_have_their_length(void **state)
{
    struct xs_options o;
    const char *line;

    (void)state;
    accept(&o, line_of(255, "[log]\nlog-file = ", "\n"));
    assert_int_equal(strlen(o.log_file), 255);
    line = line_of(256, "[log]\nlog-file = ", "\n");
    assert_int_equal(read_bytes(&o, line, strlen(line)), -EINVAL);
    assert_non_null(strstr(g_error, ":2: log-file: "));
    assert_non_null(strstr(g_error, "it is too long"));
    accept(&o, "[scheduler]\npriority-limits = "
               "1001=-10..10 1002=-10..10 1003=-10..10 1004=-10..10 1005=-10..10 1006=-10..10 1007=-10..10 "
               "1008=-10..10 1009=-10..10 1010=-10..10 1011=-10..10 1012=-10..10 1013=-10..10 1014=-10..10 "
               "1015=-10..10\n"
               "k = 3\n");
    assert_int_equal(strlen(o.priority_limits), 15 * 13 - 1);
    assert_int_equal(o.k, 3);
    refuse(line_of(2000, "[scheduler]\n\nk = ", "\nk = 1\n"), ":3: this line is longer than 1024 bytes");
    refuse(line_of(2000, "", ""), ":1: this line is longer than 1024 bytes");
}

static void the_value_is_the_rest_of_the_line(void **state)
{
    struct xs_options o;

    (void)state;
    accept(&o, "[http]\ntoken = abc ;def # x = [y]\t\r\n");
    assert_string_equal(o.token, "abc ;def # x = [y]");
    accept(&o, "[http]\ntoken : a=b\ntoken-file =\n");
    assert_string_equal(o.token, "a=b");
    assert_string_equal(o.token_file, "");
    refuse("[scheduler]\nk = 3 ; three\n", ":2: k: '3 ; three' is not a number from 1 to 1000000");
    refuse("[http]\nhttp = ON ; yes\n", ":2: http: 'ON ; yes' is neither ON nor OFF");
}

static void blanks_before_a_key_mean_nothing(void **state)
{
    struct xs_options o;

    (void)state;
    accept(&o, "\xEF\xBB\xBF  [scheduler]  \n  timeslice-us = 700\n\n\t k=3");
    assert_int_equal(o.timeslice_us, 700);
    assert_int_equal(o.k, 3);
    refuse("[scheduler]\nk = 3\n  timeslice-us = 700\n  k = 4\n", ":4: k stands there twice");
}

static void other_lines_are_refused(void **state)
{
    static const char *const k_rows[] = {"[scheduler", "[scheduler] k = 3", "[http] ; what answers",
                                         "[]]", "k", "]"};
    static const char k_nul[] = "[scheduler]\nk = 3\0 0\n";
    struct xs_options o;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++)
        refuse(k_rows[i], ":1: this is no [section], 'key = value' or comment");
    refuse("[]\nk = 3\n", ":2: 'k' stands before any [section]");
    refuse("[scheduler]\n= 3\n", ":2: there is no key '' in [scheduler]");
    assert_int_equal(read_bytes(&o, k_nul, sizeof(k_nul) - 1), -EINVAL);
    assert_non_null(strstr(g_error, ":2: there is a NUL byte in this line"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_have_any_length),
        cmocka_unit_test(values_have_their_length),
        cmocka_unit_test(the_value_is_the_rest_of_the_line),
        cmocka_unit_test(blanks_before_a_key_mean_nothing),
        cmocka_unit_test(other_lines_are_refused),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
