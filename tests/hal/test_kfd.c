/* SPDX-License-Identifier: Apache-2.0 */
/* The table of queues and what is done to them, against the fake driver. */
#include "kfd_stage.h"

#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/kfd_ioctl.h>

static void which_requests(void **state)
{
    (void)state;
    assert_true(xs_kfd_wants(AMDKFD_IOC_CREATE_QUEUE));
    assert_true(xs_kfd_wants(_IOWR('K', 0x02, char[96]))); /* since a newer kernel */
    assert_false(xs_kfd_wants(_IOWR('K', 0x02, char[80])));
    assert_true(xs_kfd_wants(AMDKFD_IOC_UPDATE_QUEUE));
    assert_true(xs_kfd_wants(AMDKFD_IOC_DESTROY_QUEUE));
    assert_true(xs_kfd_wants(AMDKFD_IOC_GET_VERSION));
    assert_true(xs_kfd_wants(AMDKFD_IOC_SET_CU_MASK));
    assert_true(xs_kfd_wants(AMDKFD_IOC_ALLOC_QUEUE_GWS));
    assert_false(xs_kfd_wants(AMDKFD_IOC_SET_TRAP_HANDLER));
    assert_false(xs_kfd_wants(0x4b3a)); /* KDSETMODE of a console */
    assert_false(xs_kfd_wants(_IOWR('F', 0x02, struct kfd_ioctl_create_queue_args)));
}

static void off_and_on(void **state)
{
    uint32_t a = kfd_make(0x1000), b = kfd_make_on(0, XS_KFD_TYPE_COMPUTE, 0x2000), copies = kfd_make_on(0, 1, 0x3000),
             other = kfd_make_on(1, XS_KFD_TYPE_COMPUTE_AQL, 0x4000);
    struct xs_kfd_report r;
    struct xs_kfd_device d;

    (void)state;
    assert_int_equal(xs_kfd_level(), 3);
    assert_int_equal(xs_kfd_device(0, &d), 0);
    assert_int_equal(d.address, KFD_ADDR);
    assert_int_equal(d.queues, 2);
    assert_int_equal(xs_kfd_device(1, &d), 0);
    assert_int_equal(d.address, 0x1c302);
    assert_int_equal(xs_kfd_device(2, &d), -ENOENT);
    assert_int_equal(xs_kfd_due(0), UINT64_MAX);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    assert_int_equal(xs_kfd_due(1), KFD_LATER);
    kfd_is(a, 0, 7, 0x1000);
    kfd_is(b, 0, 7, 0x2000);
    kfd_is(copies, 100, 7, 0x3000);
    kfd_is(other, 100, 7, 0x4000);
    assert_true(xs_kfd_report(&r));
    assert_int_equal(r.address, KFD_ADDR);
    assert_true(r.off && r.queues == 2 && r.error == 0);
    assert_false(xs_kfd_report(&r));
    xs_kfd_due(2);
    assert_int_equal(fake_kfd_queue(a)->updates, 1); /* said again is not done again */
    kfd_want(KFD_ADDR, false, 0);
    assert_int_equal(xs_kfd_due(3), UINT64_MAX);
    kfd_is(a, 100, 7, 0x1000);
    kfd_is(b, 100, 7, 0x2000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(4);
    kfd_is(a, 0, 7, 0x1000);
    assert_true(xs_kfd_restore());
    kfd_is(a, 100, 7, 0x1000);
    kfd_is(b, 100, 7, 0x2000);
    assert_false(xs_kfd_wish(0x1234, &(struct xs_kfd_wish){0}));
}

static void ends_by_itself(void **state)
{
    uint32_t a = kfd_make(0x1000);

    (void)state;
    kfd_want(KFD_ADDR, true, 1000);
    assert_int_equal(xs_kfd_due(10), 1000);
    kfd_is(a, 0, 7, 0x1000);
    kfd_want(KFD_ADDR, true, 2000); /* said again */
    assert_int_equal(xs_kfd_due(1500), 2000);
    kfd_is(a, 0, 7, 0x1000);
    assert_int_equal(xs_kfd_due(2000), UINT64_MAX);
    kfd_is(a, 100, 7, 0x1000);
}

static void the_programs_own_wishes(void **state)
{
    uint32_t a = kfd_make(0x1000);

    (void)state;
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(1);
    assert_int_equal(kfd_change(a, 0x1000, 50, 9), 0); /* succeeds for the program, and waits */
    kfd_is(a, 0, 9, 0x1000);
    xs_kfd_due(2);
    kfd_is(a, 0, 9, 0x1000);
    kfd_want(KFD_ADDR, false, 0);
    xs_kfd_due(3);
    kfd_is(a, 50, 9, 0x1000);
    assert_int_equal(kfd_change(a, 0x1000, 0, 9), 0); /* suspended by the program */
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(4);
    kfd_want(KFD_ADDR, false, 0);
    xs_kfd_due(5);
    kfd_is(a, 0, 9, 0x1000);
    assert_int_equal(kfd_change(a, 0x1000, 0x264, 9), 0); /* part 2 of the device */
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(6);
    kfd_is(a, 0x200, 9, 0x1000);
    assert_int_equal(kfd_change(a, 0x1000, 0x264, 99), -1); /* the driver's error is the program's */
    assert_int_equal(errno, EINVAL);
    assert_true(xs_kfd_restore());
    kfd_is(a, 0x264, 9, 0x1000);
    assert_int_equal(kfd_change(4711, 0x1000, 100, 7), -1);
    assert_int_equal(fake_kfd_complaints(), 1);
    fake_kfd_reset();
}

static void made_and_ended_while_held(void **state)
{
    uint32_t a = kfd_make(0x1000), b;
    unsigned told = kfd_told;

    (void)state;
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(1);
    assert_int_equal(kfd_finish(a), 0);
    b = kfd_make(0x9000);
    assert_int_equal(a, b); /* the driver's numbers come back at once */
    assert_true(kfd_told > told);
    kfd_is(b, 100, 7, 0x9000);
    xs_kfd_due(2);
    kfd_is(b, 0, 7, 0x9000);
    assert_true(xs_kfd_restore());
    kfd_is(b, 100, 7, 0x9000);
    assert_int_equal(kfd_finish(b), 0);
    assert_int_equal(kfd_finish(b), -1);
    assert_int_equal(errno, EINVAL);
}

static void what_is_not_known(void **state)
{
    struct xs_kfd_version v;
    char grown[48] = {0};
    uint32_t a;

    (void)state;
    fake_kfd_set_fault("version2");
    assert_int_equal(xs_kfd_call(KFD_FILE, XS_KFD_IOC_VERSION, &v), 0);
    assert_int_equal(v.major, 2);
    assert_int_equal(xs_kfd_level(), 1);
    assert_non_null(strstr(xs_kfd_why(), "version"));
    a = kfd_make(0x1000); /* everything works on, unseen */
    kfd_is(a, 100, 7, 0x1000);
    assert_int_equal(kfd_change(a, 0x1000, 30, 3), 0);
    kfd_is(a, 30, 3, 0x1000);
    assert_false(xs_kfd_wish(KFD_ADDR, &(struct xs_kfd_wish){.off = true, .until_ns = KFD_LATER}));

    kfd_start(NULL);
    a = kfd_make(0x1000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(1);
    kfd_is(a, 0, 7, 0x1000);
    assert_int_equal(xs_kfd_call(KFD_FILE, _IOW('K', 0x07, char[48]), grown), -1); /* an update of another size: hands off */
    assert_int_equal(xs_kfd_level(), 1);
    xs_kfd_due(2);
    kfd_is(a, 100, 7, 0x1000);

    kfd_start(NULL);
    setenv("XSCHED_HIP_LV3_IMPL", "off", 1);
    a = kfd_make(0x1000);
    unsetenv("XSCHED_HIP_LV3_IMPL");
    assert_int_equal(xs_kfd_level(), 1);
    assert_non_null(strstr(xs_kfd_why(), "XSCHED_HIP_LV3_IMPL"));
}

static void the_driver_refuses(void **state)
{
    uint32_t a = kfd_make(0x1000), b = kfd_make(0x2000);
    struct xs_kfd_report r;

    (void)state;
    fake_kfd_set_fault("sticky");
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(xs_now_ns());
    assert_int_equal(xs_kfd_level(), 1);
    assert_true(xs_kfd_report(&r));
    assert_int_equal(r.error, -EPERM);
    while (!xs_kfd_restore())
        ;
    kfd_is(a, 100, 7, 0x1000);
    kfd_is(b, 100, 7, 0x2000);

    kfd_start(NULL);
    a = kfd_make(0x1000);
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(1);
    fake_kfd_set_fault("deny"); /* it cannot be brought back: tried again, without end for now */
    kfd_want(KFD_ADDR, false, 0);
    assert_true(xs_kfd_due(xs_now_ns()) < UINT64_MAX);
    kfd_is(a, 0, 7, 0x1000);
    fake_kfd_set_fault("");
    usleep(110000);
    assert_int_equal(xs_kfd_due(xs_now_ns()), UINT64_MAX);
    kfd_is(a, 100, 7, 0x1000);
}

static void a_child_has_none(void **state)
{
    uint32_t a = kfd_make(0x1000);
    int status;
    pid_t pid;

    (void)state;
    kfd_want(KFD_ADDR, true, KFD_LATER);
    xs_kfd_due(1);
    pid = fork();
    if (pid == 0) {
        struct xs_kfd_device d;
        bool ok = xs_kfd_due(KFD_LATER) == UINT64_MAX && xs_kfd_restore() && xs_kfd_device(0, &d) == -ENOENT;

        ok = ok && kfd_change(a, 0x1000, 100, 7) == -1 && errno == EBADF; /* as the driver answers anybody else */
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(xs_kfd_restore());
    kfd_is(a, 100, 7, 0x1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(which_requests, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(off_and_on, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(ends_by_itself, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(the_programs_own_wishes, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(made_and_ended_while_held, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(what_is_not_known, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(the_driver_refuses, kfd_start, kfd_end),
        cmocka_unit_test_setup_teardown(a_child_has_none, kfd_start, kfd_end),
    };

    return kfd_run("kfd", tests, sizeof(tests) / sizeof(tests[0]));
}
