/* SPDX-License-Identifier: Apache-2.0 */
/* The text that says how far a process's clock is ahead of the host's. */
#include "base/clock.h"

#include "base/xs_base.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define S ((int64_t)1000000000)

static void texts(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } k_rows[] = {
        {"monotonic           0         0\nboottime            0         0\n", 0},
        {"monotonic      100000         0\nboottime       100000         0\n", 100000 * S},
        {"monotonic      -10000 999999999\nboottime       5 0\n", -10000 * S + 999999999},
        {"boottime       5 0\nmonotonic      7 1\n", 7 * S + 1},
        {"monotonic 7 1", 7 * S + 1},
        {"", 0},
        {"monotonic", 0},
        {"monotonic 5", 0},
        {"monotonic five 0\n", 0},
        {"monotonic 5 nought\n", 0},
        {"boottime 5 0\n", 0},
        {"monotonic 99999999999 0\n", 0},
        {"monotonic 9999999999999999999999999999999 0\n", 0},
        {"a-word-that-is-longer-than-any-number 1 1\nmonotonic 5 0\n", 0},
        {"\n\n\nmonotonic 5 0\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        if (xs_clock_offset_of(k_rows[i].text) != k_rows[i].ns)
            printf("row %zu\n", i);
        assert_int_equal(xs_clock_offset_of(k_rows[i].text), k_rows[i].ns);
    }
}

static void ones_own(void **state)
{
    int64_t ns;

    (void)state;
    errno = 17;
    ns = xs_clock_offset_ns();
    assert_int_equal(errno, 17);
    assert_int_equal(xs_clock_offset_ns(), ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(ones_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
