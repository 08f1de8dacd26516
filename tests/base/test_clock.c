/* SPDX-License-Identifier: Apache-2.0 */
/* Our clock is the kernel's, whoever takes the place of the C library's; and the text that says how far a process's clock
 * is ahead of the host's. */
#include "base/clock.h"

#include "base/mapped/mapped_symbol.h"
#include "base/xs_base.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static bool s_no_function;

/* As libfaketime. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
    (void)clock;
    *ts = (struct timespec){42, 42};
    return 0;
}

unsigned long getauxval(unsigned long type)
{
    static unsigned long (*real)(unsigned long);

    if (!real)
        real = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
    return type == AT_SYSINFO_EHDR && s_no_function ? 0 : real(type);
}

static uint64_t kernel_ns(void)
{
    struct timespec ts;

    assert_int_equal(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts), 0);
    return (uint64_t)ts.tv_sec * XS_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void between(void)
{
    for (int i = 0; i < 1000; i++) {
        uint64_t before = kernel_ns(), now = xs_now_ns(), after = kernel_ns();

        assert_in_range(now, before, after);
    }
}

static void kernels(void **state)
{
    xs_clock_fn first = xs_clock_read, function, call;
    struct xs_mapped kernel;

    (void)state;
    between();
    function = xs_clock_read;
    assert_true(function != first); /* found once */
    s_no_function = true;
    xs_clock_read = first;
    between();
    call = xs_clock_read;
    s_no_function = false;
    if (xs_mapped_kernel(&kernel)) {
        assert_true(function != call);
        assert_null(xs_mapped_symbol(&kernel, "__vdso_clock_gettim"));
        assert_null(xs_mapped_symbol(&kernel, ""));
    } else {
        assert_true(function == call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels), cmocka_unit_test(texts), cmocka_unit_test(ones_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
