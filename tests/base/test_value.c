/* SPDX-License-Identifier: Apache-2.0 */
/* The one reader of settings: each kind, its borders, and what is said of a text that it does not take. */
#include "base/settings/hint_rows.h"
#include "xsched/types.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NO INT64_MIN              /* it does not take the text */

static const struct xs_value_type number = {XS_TYPE_NUMBER(-256, 255)}, large = {XS_TYPE_NUMBER(1, INT64_MAX)},
                                  us = {XS_TYPE_TIME("us", 100, 10000000)}, ms = {XS_TYPE_TIME("ms", 0, INT64_MAX)},
                                  seconds = {XS_TYPE_TIME("s", 0, 86400)},
                                  none = {XS_TYPE_TIME_OR_NONE("us", 1, INT64_MAX)},
                                  unlimited = {XS_TYPE_TIME_OR_UNLIMITED("us", 100, 10000000)}, flag = {XS_TYPE_FLAG()},
                                  choice = {XS_TYPE_CHOICE("1|2|3|auto")}, size = {XS_TYPE_SIZE()}, any = {XS_TYPE_TEXT("path")};

static void values(void **state)
{
    static const struct {
        const struct xs_value_type *type;
        const char *text;
        int64_t value;
    } k_cases[] = {
        {&number, "-256", -256}, {&number, "255", 255}, {&number, "+9", 9}, {&number, "0x10", 16},
        {&number, "256", NO}, {&number, "-257", NO}, {&number, "", NO}, {&number, "1.0", NO},
        {&number, "7 ", NO}, {&number, "none", NO}, {&number, "99999999999999999999", NO},
        {&large, "9223372036854775807", INT64_MAX}, {&large, "0", NO}, {&us, "100", 100},
        {&us, "5ms", 5000}, {&us, "5 MS", 5000}, {&us, "1.5ms", 1500}, {&us, "0.25s", 250000},
        {&us, "10s", 10000000}, {&us, "10.000001s", NO}, {&us, "99us", NO}, {&us, "500ns", NO},
        {&us, "1500000ns", 1500}, {&us, "100.5us", NO}, {&us, "100000.5ns", NO}, {&us, "5 fortnights", NO},
        {&us, "ms", NO}, {&us, "-5ms", NO}, {&us, "1.ms", NO}, {&us, ".5ms", NO}, {&us, "1.5", NO},
        {&us, "5msx", NO}, {&us, "-1", NO}, {&us, "UNLIMITED", NO}, {&ms, "2s", 2000}, {&ms, "1.5m", 90000},
        {&ms, "2h", 7200000}, {&ms, "1us", NO}, {&ms, "1.5", NO}, {&ms, "1.1234567h", NO},
        {&ms, "0.000001h", NO}, {&ms, "99999999999h", NO}, {&ms, "9999999999999999999999999h", NO},
        {&seconds, "5min", 300}, {&seconds, "24h", 86400}, {&seconds, "25h", NO}, {&seconds, "1e3", NO},
        {&none, "-1", -1}, {&none, "none", -1}, {&none, "0", NO}, {&none, "-2", NO}, {&none, "1ms", 1000},
        {&none, "unlimited", NO}, {&unlimited, "unlimited", -1}, {&unlimited, "-1", NO},
        {&unlimited, "NONE", NO}, {&unlimited, "100", 100}, {&flag, "on", 1}, {&flag, "Yes", 1},
        {&flag, "0", 0}, {&flag, "OFF", 0}, {&flag, "2", NO}, {&flag, "", NO}, {&choice, "1", 0},
        {&choice, "AUTO", 3}, {&choice, "aut", NO}, {&choice, "autoo", NO}, {&choice, "", NO},
        {&choice, "1|2", NO}, {&size, "8G", 0}, {&size, "8X", NO}, {&any, "", 0}, {&any, "anything", 0},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_cases); i++) {
        struct xs_value v = {.number = NO};
        int r = xs_value_parse(k_cases[i].type, k_cases[i].text, &v);

        if (v.number != k_cases[i].value || r != (v.number == NO ? -EINVAL : 0))
            fail_msg("%zu '%s': %d, %lld", i, k_cases[i].text, r, (long long)v.number);
    }
}

static void sizes(void **state)
{
    struct xs_value v;

    (void)state;
    assert_int_equal(xs_value_parse(&size, "8G", &v), 0);
    assert_int_equal(v.size.bytes, 8ull << 30);
    assert_int_equal(xs_value_parse(&size, "50%", &v), 0);
    assert_int_equal(v.size.percent, 50);
}

static void texts(void **state)
{
    static const struct {
        const struct xs_value_type *type;
        const char *text, *error, *shown;
    } k_cases[] = {
        {&number, "256", "'256' is not a number from -256 to 255", "-256..255"},
        {&large, "x", "'x' is not a number of at least 1", "count"},
        {&us, "1", "'1' is not a time from 100 to 10000000 us, such as 5ms", "100..10000000us"},
        {&ms, "x", "'x' is not a time of at least 0 ms, such as 5s", "ms"},
        {&seconds, "x", "'x' is not a time from 0 to 86400 s, such as 5m", "0..86400s"},
        {&none, "0", "'0' is not a time of at least 1 us, such as 5ms, or NONE", "us|NONE"},
        {&unlimited, "0", "'0' is not a time from 100 to 10000000 us, such as 5ms, or UNLIMITED", "100..10000000us|UNLIMITED"},
        {&flag, "2", "'2' is neither ON nor OFF", "ON|OFF"},
        {&choice, "4", "'4' is not 1, 2, 3 or auto", "1|2|3|auto"},
        {&size, "8X", "'8X' is not an amount such as 8G or 512M, or percent such as 50%", "8G|50%"},
        {&any, "", NULL, "path"},
    };
    char text[XS_VALUE_ERROR_BYTES], word[8];

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_cases); i++) {
        if (k_cases[i].error)
            assert_string_equal(xs_value_error(k_cases[i].type, k_cases[i].text, text, sizeof(text)), k_cases[i].error);
        assert_string_equal(xs_value_type_text(k_cases[i].type, text, sizeof(text)), k_cases[i].shown);
    }
    assert_string_equal(xs_value_word(&choice, 0, word, sizeof(word)), "1");
    assert_string_equal(xs_value_word(&choice, 3, word, sizeof(word)), "auto");
    assert_string_equal(xs_value_word(&choice, 4, word, sizeof(word)), "");
    assert_string_equal(xs_value_word(&choice, 3, word, 3), "au");
}

/* What the text of a hint may say, a number from elsewhere may be, and the other way round. */
static void hints_have_one_range(void **state)
{
    static const int64_t k_numbers[] = {INT64_MIN, -257, -256, -2, -1, 0, 1, 99, 100, 101, 255, 256, 10000000, 10000001,
                                        INT64_MAX};
    unsigned rows = 0;

    (void)state;
    for (size_t h = 0; h < xs_hint_rows_count; h++) {
        const struct xs_hint_row *row = &xs_hint_rows[h];

        if (!row->name)
            continue;
        rows++;
        assert_true(xs_value_has(&row->type, row->without));
        assert_non_null(strstr(xs_env_rows[row->variable].name, "XSCHED_AUTO_XQUEUE_"));
        assert_string_equal(xs_env_rows[row->variable].help, row->help);
        for (size_t i = 0; i < XS_ARRAY_LEN(k_numbers); i++) {
            struct xs_value v;
            char text[32];

            snprintf(text, sizeof(text), "%lld", (long long)k_numbers[i]);
            assert_int_equal(xs_value_parse(&row->type, text, &v) == 0, xs_value_has(&row->type, k_numbers[i]));
        }
    }
    assert_true(rows >= 6);
}

/* The header that programs include has the same limits, and no two options have one letter. */
static void hints_agree_with_types_h(void **state)
{
    const struct xs_hint_row *priority = &xs_hint_rows[XS_HINT_PRIORITY], *share = &xs_hint_rows[XS_HINT_UTILIZATION],
                             *slice = &xs_hint_rows[XS_HINT_TIMESLICE];

    (void)state;
    assert_int_equal(priority->type.least, PRIORITY_NO_EXECUTE);
    assert_int_equal(priority->type.most, PRIORITY_MAX);
    assert_int_equal(priority->without, PRIORITY_DEFAULT);
    assert_int_equal(share->type.least, UTILIZATION_MIN);
    assert_int_equal(share->type.most, UTILIZATION_MAX);
    assert_int_equal(share->without, UTILIZATION_DEFAULT);
    assert_int_equal(slice->type.least, TIMESLICE_MIN);
    assert_int_equal(slice->type.most, TIMESLICE_MAX);
    assert_int_equal(slice->without, TIMESLICE_DEFAULT);
    assert_int_equal(xs_hint_rows[XS_HINT_DEADLINE].without, NO_DEADLINE);
    assert_int_equal(xs_hint_rows[XS_HINT_LAXITY].without, NO_LAXITY);
    assert_true(xs_hint_rows_count <= XS_HINT_WINDOW || !xs_hint_rows[XS_HINT_WINDOW].name); /* it has no value */
    for (size_t a = 0; a < xs_hint_rows_count; a++)
        for (size_t b = 0; b < a; b++)
            if (xs_hint_rows[a].name && xs_hint_rows[b].name &&
                (xs_hint_rows[a].run_key == xs_hint_rows[b].run_key || xs_hint_rows[a].xcli_key == xs_hint_rows[b].xcli_key))
                fail_msg("%s and %s have one letter", xs_hint_rows[a].name, xs_hint_rows[b].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(sizes), cmocka_unit_test(texts),
                                       cmocka_unit_test(hints_have_one_range), cmocka_unit_test(hints_agree_with_types_h)};

    return cmocka_run_group_tests_name("base.value", tests, NULL, NULL);
}
