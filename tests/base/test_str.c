/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of text, numbers in it, and copies that end. */
#include "base/str.h"

#include "base/xs_base.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void equal_in_any_case(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } k_rows[] = {
        {"", "", true},           {"a", "", false},         {"", "a", false},        {"abc", "ABC", true},
        {"aZ09_-", "Az09_-", true}, {"abc", "abcd", false}, {"abcd", "abc", false},  {"abc", "abd", false},
        {"xbc", "abc", false},    {"@", "`", false},        {"[", "{", false},       {"1", "Q", false},
        {"\xc4", "\xe4", false},  {"\xc4z", "\xc4Z", true},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        if (xs_str_equal_nocase(k_rows[i].a, k_rows[i].b) != k_rows[i].equal)
            fail_msg("row %zu: %s and %s", i, k_rows[i].a, k_rows[i].b);
    }
}

static void unsigned_numbers(void **state)
{
    static const struct {
        const char *text;
        int base, result;
        uint64_t value;
    } k_rows[] = {
        {"0", 10, 0, 0},
        {"9", 10, 0, 9},
        {"007", 10, 0, 7},
        {"18446744073709551615", 10, 0, UINT64_MAX},
        {"00000000000000000000000018446744073709551615", 10, 0, UINT64_MAX},
        {"18446744073709551616", 10, -ERANGE, 0},         /* the sum is too large */
        {"18446744073709551620", 10, -ERANGE, 0},         /* the product */
        {"99999999999999999999999999", 10, -ERANGE, 0},
        {"0", 16, 0, 0},
        {"x", 16, -EINVAL, 0},
        {"0x", 16, -EINVAL, 0},
        {"0X1f", 16, 0, 0x1f},
        {"aF", 16, 0, 0xaf},
        {"0xfFfFfFfFfFfFfFfF", 16, 0, UINT64_MAX},
        {"0x10000000000000000", 16, -ERANGE, 0},
        {"0x0x1", 16, -EINVAL, 0},
        {"g", 16, -EINVAL, 0},
        {"G", 16, -EINVAL, 0},
        {"@", 16, -EINVAL, 0},
        {"`", 16, -EINVAL, 0},
        {":", 16, -EINVAL, 0},
        {"0x10", 10, -EINVAL, 0},
        {"a", 10, -EINVAL, 0},
        {":", 10, -EINVAL, 0},                            /* behind 9 */
        {"/", 10, -EINVAL, 0},                            /* before 0 */
        {"", 10, -EINVAL, 0},
        {"", 16, -EINVAL, 0},
        {NULL, 10, -EINVAL, 0},
        {NULL, 16, -EINVAL, 0},
        {"-1", 10, -EINVAL, 0},
        {"+1", 10, -EINVAL, 0},
        {" 1", 10, -EINVAL, 0},
        {"1 ", 10, -EINVAL, 0},
        {"1\n", 10, -EINVAL, 0},
        {"12x", 10, -EINVAL, 0},
        {"1.5", 10, -EINVAL, 0},
        {"\xb1", 10, -EINVAL, 0},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        uint64_t value = 77;
        int r = xs_str_parse_u64(k_rows[i].text, k_rows[i].base, &value);

        if (r != k_rows[i].result || value != (r == 0 ? k_rows[i].value : 77))
            fail_msg("row %zu: %s gives %d, %llu", i, k_rows[i].text, r, (unsigned long long)value);
    }
}

static void signed_numbers(void **state)
{
    static const struct {
        const char *text;
        int result;
        int64_t value;
    } k_rows[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"+0", 0, 0},
        {"42", 0, 42},
        {"-42", 0, -42},
        {"+42", 0, 42},
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775808", -ERANGE, 0},
        {"+9223372036854775808", -ERANGE, 0},
        {"-9223372036854775807", 0, -INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"-9223372036854775809", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"-18446744073709551616", -ERANGE, 0},
        {"0x10", 0, 16},
        {"0XfF", 0, 255},
        {"-0x10", 0, -16},
        {"+0x10", 0, 16},
        {"0x7fffffffffffffff", 0, INT64_MAX},
        {"0x8000000000000000", -ERANGE, 0},
        {"-0x8000000000000000", 0, INT64_MIN},
        {"0x", -EINVAL, 0},
        {"-0x", -EINVAL, 0},
        {"ff", -EINVAL, 0},
        {"010", 0, 10},           /* not octal */
        {"", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"+", -EINVAL, 0},
        {"--1", -EINVAL, 0},
        {"+-1", -EINVAL, 0},
        {"-+1", -EINVAL, 0},
        {"- 1", -EINVAL, 0},
        {"1-", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {NULL, -EINVAL, 0},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        int64_t value = 77;
        int r = xs_str_parse_i64(k_rows[i].text, &value);

        if (r != k_rows[i].result || value != (r == 0 ? k_rows[i].value : 77))
            fail_msg("row %zu: %s gives %d, %lld", i, k_rows[i].text, r, (long long)value);
    }
}

static void truths(void **state)
{
    static const char *const k_yes[] = {"ON", "on", "oN", "1", "TRUE", "true", "YES", "Yes"};
    static const char *const k_no[] = {"OFF", "off", "0", "FALSE", "False", "NO", "no"};
    static const char *const k_none[] = {"", "2", "00", "01", "O", "ONE", "ON ", " ON",
                                         "T", "Y", "N", "NONE", "OFFS", "-1"};
    bool value;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_yes); i++) {
        value = false;
        assert_int_equal(xs_str_parse_bool(k_yes[i], &value), 0);
        assert_true(value);
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(k_no); i++) {
        value = true;
        assert_int_equal(xs_str_parse_bool(k_no[i], &value), 0);
        assert_false(value);
    }
    for (size_t i = 0; i < 2 * XS_ARRAY_LEN(k_none); i++) {
        value = i & 1;
        assert_int_equal(xs_str_parse_bool(k_none[i / 2], &value), -EINVAL);
        assert_int_equal(value, i & 1);
    }
    assert_int_equal(xs_str_parse_bool(NULL, &value), -EINVAL);
}

/* Each size from nothing to more than enough, and not one byte behind it. */
static void copies(void **state)
{
    static const char k_text[] = "four";
    char dst[8];

    (void)state;
    for (size_t size = 0; size <= sizeof(dst); size++) {
        size_t length = size ? XS_MIN(size - 1, strlen(k_text)) : 0;

        memset(dst, '#', sizeof(dst));
        assert_int_equal(xs_str_copy(dst, size, k_text), size > strlen(k_text));
        assert_memory_equal(dst, k_text, length);
        if (size > 0)
            assert_int_equal(dst[length], 0);
        for (size_t i = size ? length + 1 : 0; i < sizeof(dst); i++)
            assert_int_equal(dst[i], '#');
    }
    dst[0] = '#';
    assert_true(xs_str_copy(dst, 1, ""));
    assert_int_equal(dst[0], 0);
    assert_false(xs_str_copy(dst, 0, ""));
    assert_false(xs_str_copy(NULL, 0, "four"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_in_any_case),
        cmocka_unit_test(unsigned_numbers),
        cmocka_unit_test(signed_numbers),
        cmocka_unit_test(truths),
        cmocka_unit_test(copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
