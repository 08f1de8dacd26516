/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of devices as the vendors' runtimes write them. */
#include "base/pci.h"

#include "base/xs_base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void addresses(void **state)
{
    static const struct {
        const char *text;
        uint32_t number;
    } rows[] = {
        {"0000:c3:00.0", 0xc300}, {"0001:C3:1f.7", 0x1c3ff}, {"ffff:ff:1F.7", 0xffffffff}, {"0:0:0.0", 0},
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++) {
        uint32_t number = 1;

        assert_true(xs_pci_parse(rows[i].text, &number));
        assert_int_equal(number, rows[i].number);
    }
    assert_int_equal(xs_pci_number(1, 0xc3, 0x1f, 7), 0x1c3ff);
}

static void none(void **state)
{
    static const char *const rows[] = {
        "", "c3:00.0", "0000:c3:00", "0000:c3:00.", "0000:c3:00.0 ", "0000:c3:00:0", "0000::00.0", "0000:c3:20.0", "0000:c3:00.8",
        "10000:c3:00.0", "0000:100:00.0", "000000000000000000:c3:00.0g", "GPU-12", "0000:-1:00.0",
    };

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++) {
        uint32_t number = 77;

        assert_false(xs_pci_parse(rows[i], &number));
        assert_int_equal(number, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses), cmocka_unit_test(none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
