/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of memory as people write them. */
#include "base/size.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define K (1ull << 10)
#define M (1ull << 20)
#define G (1ull << 30)
#define T (1ull << 40)

static void amounts(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } k_rows[] = {
        {"1", 1},
        {"1000000", 1000000},
        {"0001", 1},
        {"7B", 7},
        {"7 B", 7},
        {"1k", K},
        {"1K", K},
        {"1kB", K},
        {"1KiB", K},
        {"2m", 2 * M},
        {"2M", 2 * M},
        {"512 MiB", 512 * M},
        {"8g", 8 * G},
        {"8G", 8 * G},
        {"8   GB", 8 * G},
        {"8GiB", 8 * G},
        {"3t", 3 * T},
        {"3TiB", 3 * T},
        {"1.5g", G + G / 2},
        {"0.5K", 512},
        {"0.25 KiB", 256},
        {"1.0K", K},
        {"1.05K", K + 51},        /* a nought before the digit counts */
        {"0.001K", 1},            /* rounded down from 1.024 */
        {"1.9", 1},
        {"1.999999T", T + 999999 * T / 1000000},
        {"1.9999999999999999999T", T + 999999 * T / 1000000}, /* six digits count */
        {"9223372036854775807", INT64_MAX},
        {"9007199254740991K", 9007199254740991ull << 10},
        {"8388607.999999T", (8388607ull << 40) + 999999 * T / 1000000},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct xs_size size = {.bytes = 77, .percent = 77};
        int r = xs_size_parse(k_rows[i].text, &size);

        if (r != 0 || size.bytes != k_rows[i].bytes || size.percent != 0)
            fail_msg("row %zu gives %d, %llu, %u", i, r, (unsigned long long)size.bytes, size.percent);
    }
}

static void percents(void **state)
{
    static const struct {
        const char *text;
        unsigned percent;
    } k_rows[] = {{"1%", 1}, {"50%", 50}, {"099%", 99}, {"100%", 100}};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        struct xs_size size = {.bytes = 77, .percent = 77};

        assert_int_equal(xs_size_parse(k_rows[i].text, &size), 0);
        assert_int_equal(size.percent, k_rows[i].percent);
        assert_int_equal(size.bytes, 0);
    }
}

static void refused(const char *const *texts, size_t n, int result)
{
    for (size_t i = 0; i < n; i++) {
        struct xs_size size = {.bytes = 77, .percent = 77};
        int r = xs_size_parse(texts[i], &size);

        if (r != result || size.bytes != 77 || size.percent != 77)
            fail_msg("\"%s\" gives %d, %llu, %u", texts[i], r, (unsigned long long)size.bytes, size.percent);
    }
}

static void what_is_no_amount(void **state)
{
    static const char *const k_texts[] = {
        /* nothing, or no digit first */
        "", " ", "G", "B", "%", ".5G", "-1", "+1", " 1", "/", ":", "0x10",
        /* a fraction that is none */
        "1.", "1.G", "1..5G", "1.5.5G", "1,5G", "1. 5G",
        /* a unit that is none, and more behind one */
        "1P", "1b", "1iB", "1Gi", "1Gib", "1GIB", "1GG", "1BB", "1GBB", "1BG", "1G ", "1G B", "1\t", "1G,",
        "1 1",
        /* a percentage that is none */
        "50 %", "50%%", "50% ", "1.5%", "50G%", "50%G",
    };

    (void)state;
    refused(k_texts, XS_ARRAY_LEN(k_texts), -EINVAL);
}

static void what_is_too_little_or_too_much(void **state)
{
    static const char *const k_texts[] = {
        "0%", "101%", "4294967297%", "18446744073709551617%",
        "0", "0B", "000G", "0.0T", "0.9", "0.0009K", "0.00000099999999T",
        /* more than 63 bits */
        "9223372036854775808", "18446744073709551615", "18446744073709551617", "184467440737095516160",
        "99999999999999999999999999999999", "9007199254740992K", "8796093022208M", "8589934592G", "8388608T",
        "16777217T",
    };

    (void)state;
    refused(k_texts, XS_ARRAY_LEN(k_texts), -ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts),
        cmocka_unit_test(percents),
        cmocka_unit_test(what_is_no_amount),
        cmocka_unit_test(what_is_too_little_or_too_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
