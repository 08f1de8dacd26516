/* SPDX-License-Identifier: Apache-2.0 */
/* xserver's level 3 against the fake driver: groups that are told, the calls that follow, and that everything is given
 * back. */
#include "steered.h"

#include "hal/cuda/rm/rm.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void told_and_steered(void **state)
{
    struct xs_lv3_counts counts;
    struct context c;
    XDevice devices[4];

    (void)state;
    new_context(&c, 8);
    assert_int_equal(tell(), 2);
    assert_int_equal(xs_lv3_devices(g_lv3, g_program, devices, 4), 1);
    assert_true(devices[0] == DEVICE);
    want(100);
    assert_int_equal(fake_rm_slice(c.client, c.group), 100);
    want(50000);
    assert_int_equal(fake_rm_slice(c.client, c.group), 50000);
    xs_lv3_want(g_lv3, g_program, DEVICE + 1, 7); /* another device */
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), 50000);
    want(XS_LV3_SLICE_DEFAULT);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    xs_lv3_counts(g_lv3, &counts);
    assert_int_equal(counts.groups, 1);
    assert_int_equal(counts.slices, 3);
    assert_int_equal(counts.denied, 0);
}

static void nothing_twice(void **state)
{
    const struct fake_rm_call *calls;
    struct context c;
    size_t n;

    (void)state;
    new_context(&c, 8);
    tell();
    want(100);
    n = fake_rm_calls(&calls);
    want(100);
    tell();
    xs_lv3_settle(g_lv3);
    for (size_t i = n; i < fake_rm_calls(&calls); i++)
        assert_true(calls[i].command != XS_NVRM_CMD_SET_TIMESLICE);
}

/* A channel that comes later gets the slice that its group has. */
static void many_channels(void **state)
{
    const struct fake_rm_call *calls;
    struct context c;
    size_t n;

    (void)state;
    new_context(&c, 150);
    assert_int_equal(tell(), 4);
    want(100);
    n = fake_rm_calls(&calls);
    add_channels(&c, 1);
    tell();
    xs_lv3_settle(g_lv3);
    assert_true(fake_rm_calls(&calls) > n);
    for (; n < fake_rm_calls(&calls); n++) {
        assert_int_equal(calls[n].command, XS_NVRM_CMD_SET_TIMESLICE);
        assert_int_equal(calls[n].us, 100);
    }
    want(XS_LV3_SLICE_DEFAULT);
    n = fake_rm_calls(&calls);
    add_channels(&c, 1);
    tell();
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_calls(&calls), n); /* the driver's own */
}

static void restored_on_leave(void **state)
{
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    want(100);
    xs_lv3_leave(g_lv3, g_program, true);
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    g_program = xs_lv3_join(g_lv3, 4712);
}

/* Process A tells a group of process B beside its own descriptor: the driver knows B's client by another open file. */
static void another_programs_group(void **state)
{
    struct context own, victim;
    struct xs_lv3_counts counts;
    union xs_msg m;
    XDevice devices[4];
    int id, fds[2], copies[2];

    (void)state;
    new_context(&own, 8);
    new_context(&victim, 8);
    assert_int_equal(steered_ops->packet(0, &m, &id, fds), 2);
    assert_int_equal(m.nv_group.client, own.client);
    for (int k = 0; k < 2; k++) {
        copies[k] = fcntl(fds[k], F_DUPFD_CLOEXEC, 100);
        fake_rm_dup_fd(copies[k], fds[k]);
    }
    m.nv_group.client = victim.client;
    m.nv_group.group = victim.group;
    assert_null(xs_lv3_group(g_lv3, g_program, &m.nv_group, copies, 2));
    fake_rm_close(copies[1]);
    close(copies[1]);
    want(100);
    assert_int_equal(fake_rm_slice(victim.client, victim.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_int_equal(xs_lv3_devices(g_lv3, g_program, devices, 4), 0); /* nothing is counted on */
    xs_lv3_counts(g_lv3, &counts);
    assert_int_equal(counts.groups, 0);
    assert_int_equal(counts.slices, 0);
    assert_int_equal(tell(), 3); /* what it tells rightly is steered all the same */
    want(100);
    assert_int_equal(fake_rm_slice(own.client, own.group), 100);
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;

    for (int i = 100; i < 200; i++)
        n += fcntl(i, F_GETFD) >= 0;
    return n;
}

static void dead_is_let_go(void **state)
{
    const struct fake_rm_call *calls;
    struct context c;
    unsigned before = open_descriptors();
    size_t n;

    (void)state;
    new_context(&c, 8);
    tell();
    want(100);
    assert_int_equal(open_descriptors(), before + 1); /* the subdevice's is not kept */
    n = fake_rm_calls(&calls);
    xs_lv3_leave(g_lv3, g_program, false);
    xs_lv3_settle(g_lv3);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(fake_rm_calls(&calls), n); /* nothing asked of a dead program's groups */
    g_program = xs_lv3_join(g_lv3, 4712);
}

static void freed_group_is_closed(void **state)
{
    unsigned before = open_descriptors();
    struct xs_nvrm_free f;
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    assert_int_equal(open_descriptors(), before + 1);
    f = (struct xs_nvrm_free){.client = c.client, .object = c.group};
    assert_int_equal(ioctl(c.fd, XS_NVRM_IOC_FREE, &f), 0);
    assert_int_equal(tell(), 1);
    xs_lv3_settle(g_lv3);
    assert_int_equal(open_descriptors(), before);
}

static void denied(void **state)
{
    struct xs_lv3_counts counts;
    struct context c, d;

    (void)state;
    new_context(&c, 8);
    new_context(&d, 8);
    tell();
    want(100);
    fake_rm_deny(XS_NVRM_CMD_SET_TIMESLICE, XS_NVRM_ERR_PERMISSIONS, 0, 1);
    want(200);
    xs_lv3_counts(g_lv3, &counts);
    assert_int_equal(counts.denied, 1);
    /* everything of it is given back, and it is left alone */
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_int_equal(fake_rm_slice(d.client, d.group), FAKE_RM_DEFAULT_SLICE_US);
    want(77);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
}

#define NO_MEMORY 0x51u           /* a status that level 3 does not know */

/* What failed is not tried again for the same wish, and does not end level 3. */
static void failed(void **state)
{
    struct xs_lv3_counts counts;
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    fake_rm_deny(XS_NVRM_CMD_SET_TIMESLICE, NO_MEMORY, 0, 1);
    want(100);
    want(100);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    xs_lv3_counts(g_lv3, &counts);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(counts.slices, 1);
    want(50000);
    assert_int_equal(fake_rm_slice(c.client, c.group), 50000);
}

/* A newer driver, under which the probe has seen slices work. */
static void a_newer_driver_that_was_probed(void **state)
{
    struct context c;
    union xs_msg u;
    int id, fds[2];

    (void)state;
    new_context(&c, 2);
    assert_int_equal(steered_ops->packet(0, &u, &id, fds), 2);
    assert_int_equal(u.nv_group.flags, XS_NV_GROUP_SLICES);
    int copies[2] = {fcntl(fds[0], F_DUPFD_CLOEXEC, 100), fcntl(fds[1], F_DUPFD_CLOEXEC, 100)};
    fake_rm_dup_fd(copies[0], fds[0]);
    fake_rm_dup_fd(copies[1], fds[1]);
    strcpy(u.nv_group.driver, "620.10.02");
    assert_non_null(xs_lv3_group(g_lv3, g_program, &u.nv_group, copies, 2));
    u.nv_group.flags |= XS_NV_GROUP_PROBED;
    assert_null(xs_lv3_group(g_lv3, g_program, &u.nv_group, copies, 2));
    close(copies[1]);
    want(100);
    assert_int_equal(fake_rm_slice(c.client, c.group), 100);
}

/* A program of an older release says that its channels may be switched off, and nothing else: nothing happens to it. */
static void an_older_program_that_allows_channels_alone(void **state)
{
    struct context c;
    union xs_msg u;
    int id, fds[2];

    (void)state;
    new_context(&c, 2);
    assert_int_equal(steered_ops->packet(0, &u, &id, fds), 2);
    int copies[2] = {fcntl(fds[0], F_DUPFD_CLOEXEC, 100), fcntl(fds[1], F_DUPFD_CLOEXEC, 100)};
    fake_rm_dup_fd(copies[0], fds[0]);
    fake_rm_dup_fd(copies[1], fds[1]);
    u.nv_group.flags = 2;
    assert_null(xs_lv3_group(g_lv3, g_program, &u.nv_group, copies, 2));
    close(copies[1]);
    want(100);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
}

static void bad_messages(void **state)
{
    struct xs_msg_nv_group good, m;
    struct context c;
    union xs_msg u;
    int id, fds[2], none[2] = {-1, -1};

    (void)state;
    new_context(&c, 8);
    assert_int_equal(steered_ops->packet(0, &u, &id, fds), 2);
    good = u.nv_group;
    int other[2] = {open("/dev/null", O_RDWR | O_CLOEXEC), fds[0]};
    assert_non_null(xs_lv3_group(g_lv3, g_program, &good, none, 0));
    assert_non_null(xs_lv3_group(g_lv3, g_program, &good, other, 2)); /* no control device */
    assert_true(other[0] >= 0);
    m = good;
    m.first = 64;
    assert_non_null(xs_lv3_group(g_lv3, g_program, &m, none, 0)); /* more of nothing */
    m = good;
    m.first = 255;
    m.count = 64;
    assert_non_null(xs_lv3_group(g_lv3, g_program, &m, none, 0));
    m = good;
    strcpy(m.driver, "700.1");
    assert_non_null(xs_lv3_group(g_lv3, g_program, &m, fds, 2));
    strcpy(m.driver, "530.1");    /* too old, and no probe helps */
    m.flags |= XS_NV_GROUP_PROBED;
    assert_non_null(xs_lv3_group(g_lv3, g_program, &m, fds, 2));
    for (uint32_t i = 0; i <= XS_LV3_GROUPS; i++) {
        int copies[2] = {fcntl(fds[0], F_DUPFD_CLOEXEC, 100), fcntl(fds[0], F_DUPFD_CLOEXEC, 100)};
        const char *wrong;

        fake_rm_dup_fd(copies[0], fds[0]);
        fake_rm_dup_fd(copies[1], fds[0]);
        m = good;
        m.group_id = 100 + i;
        wrong = xs_lv3_group(g_lv3, g_program, &m, copies, 2);
        assert_int_equal(wrong == NULL, i < XS_LV3_GROUPS);
        for (int k = 0; k < 2 && wrong; k++)
            close(copies[k]);
    }
    close(other[0]);
    /* a group that comes again as another one */
    m = good;
    m.group_id = 100;
    m.group++;
    int again[2] = {fcntl(fds[0], F_DUPFD_CLOEXEC, 100), fcntl(fds[0], F_DUPFD_CLOEXEC, 100)};
    fake_rm_dup_fd(again[0], fds[0]);
    fake_rm_dup_fd(again[1], fds[0]);
    assert_null(xs_lv3_group(g_lv3, g_program, &m, again, 2));
    want(100);                    /* of 32 groups one is stale: no harm */
}

#define SLOW_US 2000u

static void slow(int fd, unsigned long request, void *arg)
{
    (void)fd, (void)arg;
    if (request == XS_NVRM_IOC_CONTROL)
        usleep(SLOW_US);
}

static void calls_are_timed(void **state)
{
    struct xs_lv3_counts counts;
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    fake_rm_set_hook(slow);
    want(100);
    xs_lv3_counts(g_lv3, &counts);
    assert_true(counts.slice_ns >= SLOW_US * XS_NS_PER_US);
}

/* Wishes that come faster than the driver is: the last one holds. */
static void last_wish_counts(void **state)
{
    const struct fake_rm_call *calls;
    struct context c;
    size_t n;

    (void)state;
    new_context(&c, 8);
    tell();
    n = fake_rm_calls(&calls);
    fake_rm_set_hook(slow);
    for (int i = 0; i < 500; i++)
        xs_lv3_want(g_lv3, g_program, DEVICE, i % 2 ? 100 : 50000);
    xs_lv3_want(g_lv3, g_program, DEVICE, 123);
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), 123);
    assert_true(fake_rm_calls(&calls) - n < 20);
    xs_lv3_want(g_lv3, g_program, DEVICE, 0);
    xs_lv3_leave(g_lv3, g_program, true); /* while calls are under way */
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    g_program = xs_lv3_join(g_lv3, 4712);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(told_and_steered), T(nothing_twice), T(many_channels), T(restored_on_leave), T(dead_is_let_go),
        T(another_programs_group), T(freed_group_is_closed), T(denied), T(failed), T(an_older_program_that_allows_channels_alone),
        T(a_newer_driver_that_was_probed),
        T(bad_messages), T(calls_are_timed), T(last_wish_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
