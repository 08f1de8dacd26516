/* SPDX-License-Identifier: Apache-2.0 */
/* The table of durations: programs have hundreds of kernels, and none may push another out for ever. */
#include "xqueue/estimate.h"

#include "base/xs_base.h"
#include "xqueue/interface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Of a set of keys that come in turn again and again, as those of a model do, so many are unknown when they come. */
static unsigned unknown(const uint64_t *keys, size_t n)
{
    unsigned missed = 0;

    for (unsigned round = 0; round < 8; round++)
        for (size_t i = 0; i < n; i++) {
            missed += round > 0 && xs_estimate_get(keys[i]) == 0;
            xs_estimate_learn(keys[i], 20000 + i);
        }
    return missed;
}

static void keys_of_one_place(void **state)
{
    uint64_t keys[XS_ESTIMATE_WAYS], key = 1;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(keys); key += 2) /* keys are odd */
        if (xs_estimate_places(key) == xs_estimate_places(1))
            keys[i++] = key;
    assert_int_equal(unknown(keys, XS_ARRAY_LEN(keys)), 0);
}

static void keys_of_a_model(void **state)
{
    uint64_t keys[300], at = 0x7f12a0000000ull;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(keys); i++)
        keys[i] = (at += 64 + 192 * (i * i % 23)) ^ (i % 7) << 48; /* functions near each other, some sizes of each */
    assert_int_equal(unknown(keys, XS_ARRAY_LEN(keys)), 0);
}

static void goes_down_fast_and_up_slowly(void **state)
{
    (void)state;
    xs_estimate_learn(77, 100000);
    assert_int_equal(xs_estimate_get(77), 100000);
    xs_estimate_learn(77, 50000);
    assert_int_equal(xs_estimate_get(77), 75000);
    xs_estimate_learn(77, 155000);
    assert_int_equal(xs_estimate_get(77), 85000);
    assert_int_equal(xs_estimate_get(0), 0);
}

/* What was launched is loaded, timed or not, until something is unloaded; what was timed stays known. */
static void loaded_until_something_goes(void **state)
{
    uint32_t code = atomic_load(&xs_estimate_code);

    (void)state;
    xs_estimate_learn(79, 4000);
    assert_false(xs_estimate_is_loaded(79));
    xs_estimate_note_loaded(79, code);
    xs_estimate_note_loaded(81, code);
    assert_true(xs_estimate_is_loaded(79) && xs_estimate_is_loaded(81));
    assert_int_equal(xs_estimate_get(79), 4000);
    assert_int_equal(xs_estimate_get(81), 0);
    xs_estimate_learn(81, 5000);
    assert_int_equal(xs_estimate_get(81), 5000);
    assert_true(xs_estimate_is_loaded(81));
    xsched_priv_code_gone();
    assert_false(xs_estimate_is_loaded(79) || xs_estimate_is_loaded(81));
    xs_estimate_note_loaded(79, code); /* a launch that began before */
    assert_false(xs_estimate_is_loaded(79));
    assert_int_equal(xs_estimate_get(79), 4000);
    assert_false(xs_estimate_is_loaded(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_one_place),
        cmocka_unit_test(keys_of_a_model),
        cmocka_unit_test(goes_down_fast_and_up_slowly),
        cmocka_unit_test(loaded_until_something_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
