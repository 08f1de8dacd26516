/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of compute units that confine a program's queues, against the fake driver. */
#include "kfd_stage.h"

#include "wire/page.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include <cmocka.h>

static void confined_and_free(void **state)
{
    uint32_t a = kfd_make(0x1000), b = kfd_make(0x2000), c, units;
    uint32_t copies = kfd_make_on(0, 1, 0x3000), other = kfd_make_on(1, 0, 0x4000);
    struct xs_kfd_report r;

    (void)state;
    assert_int_equal(xs_kfd_lanes(KFD_ADDR, &units), XS_LANES(256, 128));
    assert_int_equal(units, 304);
    assert_int_equal(xs_kfd_lanes(0x1234, &units), 0);
    kfd_confine(128, false, KFD_LATER);
    assert_int_equal(xs_kfd_due(1), KFD_LATER);
    kfd_has(a, 128, 1);
    kfd_has(b, 128, 1);
    kfd_has(copies, 304, 0);
    kfd_has(other, 304, 0);
    xs_kfd_due(2);
    kfd_confine(128, false, KFD_LATER);
    xs_kfd_due(3);
    kfd_has(a, 128, 1);                  /* said again is not done again */
    kfd_confine(256, false, KFD_LATER);
    xs_kfd_due(4);
    kfd_has(a, 256, 2);
    c = kfd_make(0x5000);                /* a new queue is confined, too */
    xs_kfd_due(5);
    kfd_has(c, 256, 1);
    kfd_confine(0, false, KFD_LATER);
    assert_int_equal(xs_kfd_due(6), UINT64_MAX);
    kfd_has(a, 304, 3);
    kfd_has(c, 304, 2);
    kfd_confine(128, false, 1000);       /* and xserver says no more */
    assert_int_equal(xs_kfd_due(10), 1000);
    kfd_has(a, 128, 4);
    assert_int_equal(xs_kfd_due(1000), UINT64_MAX);
    kfd_has(a, 304, 5);
    kfd_confine(128, false, KFD_LATER);
    xs_kfd_due(1001);
    assert_true(xs_kfd_restore());
    kfd_has(a, 304, 7);
    kfd_is(a, 100, 7, 0x1000);
    assert_false(xs_kfd_report(&r)); /* that is for queues off and on */
    assert_int_equal(fake_kfd_queue(a)->updates, 0);
}

/* While a queue is off, its mask stays; it goes on with the right one. */
static void masks_and_suspension(void **state)
{
    uint32_t a = kfd_make(0x1000);

    (void)state;
    kfd_confine(128, false, KFD_LATER);
    xs_kfd_due(1);
    kfd_confine(128, true, KFD_LATER);
    xs_kfd_due(2);
    kfd_is(a, 0, 7, 0x1000);
    kfd_confine(256, true, KFD_LATER);
    xs_kfd_due(3);
    kfd_confine(0, true, KFD_LATER);
    xs_kfd_due(4);
    kfd_has(a, 128, 1);
    assert_int_equal(fake_kfd_queue(a)->updates, 1);
    kfd_confine(256, false, KFD_LATER);
    xs_kfd_due(5);
    kfd_is(a, 100, 7, 0x1000);
    kfd_has(a, 256, 2);
    kfd_confine(0, true, KFD_LATER);
    xs_kfd_due(6);
    kfd_has(a, 256, 2);
    assert_true(xs_kfd_restore());
    kfd_is(a, 100, 7, 0x1000);
    kfd_has(a, 304, 3);
}

static void masks_of_the_program(void **state)
{
    uint32_t a = kfd_make(0x1000), own[10] = {0xffffffff, 0, 0xffffffff}, all[10], bits[2] = {0xffffffff, 0xff}, b;
    struct xs_kfd_gws gws;

    (void)state;
    memset(all, 0xff, sizeof(all));
    assert_int_equal(kfd_mask(a, 320, own), 0);
    xs_kfd_due(1);
    kfd_has(a, 64, 1);                   /* nothing of ours to do */
    kfd_confine(64, false, KFD_LATER);
    xs_kfd_due(2);
    kfd_has(a, 32, 2);
    assert_int_equal(kfd_mask(a, 320, all), 0); /* meanwhile */
    xs_kfd_due(3);
    kfd_has(a, 64, 4);
    assert_int_equal(kfd_mask(a, 48, bits), -1);
    assert_int_equal(errno, EINVAL); /* the driver's answer is the program's */
    assert_int_equal(kfd_mask(a, 64, bits), 0);
    assert_true(xs_kfd_restore());
    kfd_has(a, 40, 5);
    assert_int_equal(fake_kfd_queue(a)->bits, 64);
    assert_int_equal(kfd_finish(a), 0);
    b = kfd_make(0x9000);                /* the number of an ended queue comes back without its mask */
    assert_int_equal(a, b);
    kfd_confine(64, false, KFD_LATER);
    xs_kfd_due(4);
    kfd_has(b, 64, 1);
    gws = (struct xs_kfd_gws){.queue_id = b, .count = 64};
    assert_int_equal(xs_kfd_call(KFD_FILE, XS_KFD_IOC_GWS, &gws), 0);
    xs_kfd_due(5);
    kfd_has(b, 304, 2);                  /* its kernels wait for each other on the whole device */
    assert_int_equal(kfd_mask(4711, 320, all), -1);
    assert_int_equal(fake_kfd_complaints(), 1);
    fake_kfd_reset();
}

static void no_masks(const char *fault, const char *why)
{
    uint32_t a, b, units;

    kfd_start(NULL);
    a = kfd_make(0x1000);
    b = kfd_make(0x2000);
    fake_kfd_set_fault(fault);
    kfd_confine(128, false, KFD_LATER);
    assert_int_equal(xs_kfd_due(1), KFD_LATER);
    xs_kfd_due(2);
    assert_non_null(strstr(xs_kfd_why_no_masks(), why));
    assert_int_equal(xs_kfd_lanes(KFD_ADDR, &units), XS_LANES_NONE);
    kfd_has(a, 304, 0);
    kfd_has(b, 304, 0);
    kfd_confine(256, false, KFD_LATER);      /* xserver has not read it yet */
    xs_kfd_due(3);
    kfd_has(a, 304, 0);
    kfd_confine(0, true, KFD_LATER);         /* level 3 is there as before */
    xs_kfd_due(4);
    kfd_is(a, 0, 7, 0x1000);
    while (!xs_kfd_restore())
        ;
    kfd_is(a, 100, 7, 0x1000);
    kfd_has(a, 304, 0);
}

static void masks_refused(void **state)
{
    struct xs_kfd_set_mask m = {.queue_id = 0, .bits = 0};
    char grown[32] = {0};
    uint32_t units;

    (void)state;
    no_masks("no_masks", "mask compute units");
    no_masks("deny_masks", "mask compute units");
    no_masks("debugged", "mask compute units");
    kfd_start(NULL);
    kfd_make(0x1000);
    assert_int_equal(xs_kfd_call(KFD_FILE, _IOW('K', 0x1a, char[32]), grown), -1); /* a mask of another size */
    assert_int_equal(xs_kfd_lanes(KFD_ADDR, &units), XS_LANES_NONE);
    assert_int_equal(xs_kfd_level(), 3);
    assert_int_equal(xs_kfd_call(KFD_FILE, XS_KFD_IOC_SET_MASK, &m), -1);
    kfd_start(NULL);
    kfd_make_on(1, 0, 0x1000);           /* the kernel does not say how this one's units lie */
    assert_int_equal(xs_kfd_lanes(0x1c302, &units), XS_LANES_NONE);
    assert_non_null(strstr(xs_kfd_why_no_masks(), "does not tell"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(confined_and_free, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(masks_and_suspension, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(masks_of_the_program, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(masks_refused, kfd_start, kfd_end),
    };

    return kfd_run("kfd_confine", tests, sizeof(tests) / sizeof(tests[0]));
}
