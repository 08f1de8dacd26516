/* SPDX-License-Identifier: Apache-2.0 */
/* The table of platforms as C reads it; tests/abi/check_platforms.py judges the rows. */
#include "base/platforms.h"
#include "xsched/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_public_number_has_a_name(void **state)
{
    static const char *const names[] = {"unknown", "VPI", "CUDA", "CUDLA", "HIP", "Ascend", "OpenCL", "LevelZero"};

    (void)state;
    for (uint32_t i = 0; i < XS_ARRAY_LEN(names); i++)
        assert_string_equal(xs_platform_name(i), names[i]);
    assert_string_equal(xs_platform_name(UINT32_MAX), "unknown");
}

static void a_row_is_at_its_index(void **state)
{
    const struct xs_platform *cuda = &xs_platforms[XS_PLATFORM_CUDA];

    (void)state;
    assert_int_equal(cuda->number, kPlatformCUDA);
    assert_string_equal(cuda->stem, "cuda");
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        const struct xs_platform *p = &xs_platforms[i];
        char lib[64];

        assert_string_equal(xs_platform_name((uint32_t)p->number), p->name);
        snprintf(lib, sizeof(lib), "XSCHED_%s_LIB", p->prefix);
        assert_string_equal(xs_env_rows[p->lib].name, lib);
    }
}

static void names_of_the_vendors_library(void **state)
{
    const struct xs_platform p = {.vendor = "libone", .sonames = "libone.so.2 libone.so.1 libone.so"};
    char name[12] = "unchanged";

    (void)state;
    assert_true(xs_platform_soname(&p, 0, name, sizeof(name)));
    assert_string_equal(name, "libone.so.2");
    assert_true(xs_platform_soname(&p, 1, name, sizeof(name)));
    assert_string_equal(name, "libone.so.1");
    assert_true(xs_platform_soname(&p, 2, name, sizeof(name)));
    assert_string_equal(name, "libone.so");
    assert_false(xs_platform_soname(&p, 3, name, sizeof(name)));
    assert_false(xs_platform_soname(&p, 99, name, sizeof(name)));
    assert_false(xs_platform_soname(&p, 0, name, 11));
    assert_string_equal(name, "libone.so");
}

static void files_of_the_vendors_library(void **state)
{
    const struct xs_platform *cuda = &xs_platforms[XS_PLATFORM_CUDA];

    (void)state;
    assert_true(xs_platform_is_vendor(cuda, "libcuda.so"));
    assert_true(xs_platform_is_vendor(cuda, "libcuda.so.550.54.15"));
    assert_false(xs_platform_is_vendor(cuda, "libcudart.so.12"));
    assert_false(xs_platform_is_vendor(cuda, "libcuda"));
    assert_false(xs_platform_is_vendor(cuda, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_public_number_has_a_name), cmocka_unit_test(a_row_is_at_its_index),
        cmocka_unit_test(names_of_the_vendors_library),   cmocka_unit_test(files_of_the_vendors_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
