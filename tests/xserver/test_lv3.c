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
    want(100, false);
    assert_int_equal(fake_rm_slice(c.client, c.group), 100);
    want(100, true);
    for (unsigned i = 0; i < c.n; i++)
        assert_false(fake_rm_channel_on(c.client, c.channels[i]));
    want(50000, false);
    assert_int_equal(fake_rm_slice(c.client, c.group), 50000);
    for (unsigned i = 0; i < c.n; i++)
        assert_true(fake_rm_channel_on(c.client, c.channels[i]));
    xs_lv3_want(g_lv3, g_program, DEVICE + 1, 7, true); /* another device */
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), 50000);
    want(XS_LV3_SLICE_DEFAULT, false);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    xs_lv3_counts(g_lv3, &counts);
    assert_int_equal(counts.groups, 1);
    assert_int_equal(counts.offs, 1);
    assert_int_equal(counts.ons, 1);
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
    want(100, true);
    n = fake_rm_calls(&calls);
    want(100, true);
    tell();
    xs_lv3_settle(g_lv3);
    for (size_t i = n; i < fake_rm_calls(&calls); i++)
        assert_true(calls[i].command != XS_NVRM_CMD_SET_TIMESLICE &&
                    calls[i].command != XS_NVRM_CMD_DISABLE_CHANNELS);
}

static void many_channels(void **state)
{
    struct context c;

    (void)state;
    new_context(&c, 150);
    assert_int_equal(tell(), 4);
    want(0, true);
    for (unsigned i = 0; i < c.n; i++)
        assert_false(fake_rm_channel_on(c.client, c.channels[i]));
    /* one more while it is off */
    add_channels(&c, 1);
    tell();
    xs_lv3_settle(g_lv3);
    assert_false(fake_rm_channel_on(c.client, c.channels[150]));
    want(0, false);
    for (unsigned i = 0; i < c.n; i++)
        assert_true(fake_rm_channel_on(c.client, c.channels[i]));
}

static void restored_on_leave(void **state)
{
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    want(100, true);
    xs_lv3_leave(g_lv3, g_program, true);
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_true(fake_rm_channel_on(c.client, c.channels[7]));
    g_program = xs_lv3_join(g_lv3, 4712);
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
    want(100, true);
    assert_int_equal(open_descriptors(), before + 2);
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
    assert_int_equal(open_descriptors(), before + 2);
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
    want(100, false);
    fake_rm_deny(XS_NVRM_CMD_DISABLE_CHANNELS, XS_NVRM_ERR_PERMISSIONS, 0, 1);
    want(100, true);
    xs_lv3_counts(g_lv3, &counts);
    assert_int_equal(counts.denied, 1);
    /* everything of it is given back, and it is left alone */
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_int_equal(fake_rm_slice(d.client, d.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_true(fake_rm_channel_on(c.client, c.channels[0]));
    assert_true(fake_rm_channel_on(d.client, d.channels[0]));
    want(77, true);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
}

#define NO_MEMORY 0x51u           /* a status that level 3 does not know */

static bool comes_on(const struct context *c)
{
    for (int i = 0; i < 2000; i++, usleep(5000)) {
        unsigned on = 0;

        for (unsigned k = 0; k < c->n; k++)
            on += fake_rm_channel_on(c->client, c->channels[k]);
        if (on == c->n)
            return true;
    }
    return false;
}

static unsigned pairs_asked(void)
{
    const struct fake_rm_call *calls;
    unsigned n = 0;

    for (size_t i = fake_rm_calls(&calls); i > 0; i--)
        n += calls[i - 1].command == XS_NVRM_CMD_DISABLE_CHANNELS;
    return n;
}

/* A program whose channels stay off hangs, and nobody would notice: whatever the driver's reason was, it is asked again. */
static void switched_on_at_last(void **state)
{
    const uint32_t why[] = {NO_MEMORY, XS_NVRM_ERR_PERMISSIONS};
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    for (unsigned i = 0; i < 2; i++) {
        want(100, true);
        assert_false(fake_rm_channel_on(c.client, c.channels[0]));
        fake_rm_deny(XS_NVRM_CMD_DISABLE_CHANNELS, why[i], 0, 3);
        want(50000, false);
        assert_false(fake_rm_channel_on(c.client, c.channels[0]));
        assert_true(comes_on(&c));
        xs_lv3_settle(g_lv3);
        assert_int_equal(fake_rm_slice(c.client, c.group), i ? FAKE_RM_DEFAULT_SLICE_US : 50000);
        assert_int_equal(pairs_asked(), 5 * (i + 1)); /* off, three failures, on: not in a loop */
    }
}

/* The same where it leaves; what never succeeds is let go. */
static void given_back_at_last(void **state)
{
    unsigned before = open_descriptors(), asked;
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    want(100, true);
    fake_rm_deny(XS_NVRM_CMD_DISABLE_CHANNELS, NO_MEMORY, 0, 2);
    xs_lv3_leave(g_lv3, g_program, true);
    assert_true(comes_on(&c));
    g_program = xs_lv3_join(g_lv3, 4712);
    tell();
    want(100, true);
    asked = pairs_asked();
    fake_rm_deny(XS_NVRM_CMD_DISABLE_CHANNELS, NO_MEMORY, 0, UINT32_MAX);
    xs_lv3_leave(g_lv3, g_program, true);
    g_program = NULL;
    xs_lv3_free(g_lv3);           /* all its tries are over then */
    assert_int_equal(pairs_asked() - asked, 6);
    assert_int_equal(open_descriptors(), before);
    g_lv3 = xs_lv3_new();
    assert_non_null(g_lv3);
}

/* Switching off fails in the middle, and so does the way back. */
static void neither_off_nor_on(void **state)
{
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    want(100, true);
    add_channels(&c, 1);
    fake_rm_deny(XS_NVRM_CMD_DISABLE_CHANNELS, NO_MEMORY, 0, 2);
    tell();                       /* one more while it is off: this fails */
    xs_lv3_settle(g_lv3);
    want(100, false);
    assert_true(comes_on(&c));
}

static void variable_limits(void **state)
{
    struct context c;

    (void)state;
    new_context(&c, 2);
    setenv("XSCHED_CUDA_LV3_IMPL", "TSG", 1);
    tell();
    unsetenv("XSCHED_CUDA_LV3_IMPL");
    want(100, true);
    assert_int_equal(fake_rm_slice(c.client, c.group), 100);
    assert_true(fake_rm_channel_on(c.client, c.channels[0]));
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
    want(100, true);              /* of 32 groups one is stale: no harm */
}

#define SLOW_US 2000u

static void slow(int fd, unsigned long request, void *arg)
{
    (void)fd, (void)arg;
    if (request == XS_NVRM_IOC_CONTROL)
        usleep(SLOW_US);
}

/* What a pair takes says when it is worth it: neither half of it may be missed. */
static void calls_are_timed(void **state)
{
    struct xs_lv3_counts counts;
    struct context c;

    (void)state;
    new_context(&c, 8);
    tell();
    fake_rm_set_hook(slow);
    want(100, true);
    want(100, false);
    xs_lv3_counts(g_lv3, &counts);
    assert_true(counts.slice_ns >= SLOW_US * XS_NS_PER_US);
    assert_true(counts.off_ns >= SLOW_US * XS_NS_PER_US);
    assert_true(counts.on_ns >= SLOW_US * XS_NS_PER_US);
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
        xs_lv3_want(g_lv3, g_program, DEVICE, i % 2 ? 100 : 50000, i % 3 == 0);
    xs_lv3_want(g_lv3, g_program, DEVICE, 123, true);
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), 123);
    assert_false(fake_rm_channel_on(c.client, c.channels[0]));
    assert_true(fake_rm_calls(&calls) - n < 20);
    xs_lv3_want(g_lv3, g_program, DEVICE, 0, false);
    xs_lv3_leave(g_lv3, g_program, true); /* while calls are under way */
    xs_lv3_settle(g_lv3);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_true(fake_rm_channel_on(c.client, c.channels[0]));
    g_program = xs_lv3_join(g_lv3, 4712);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(told_and_steered), T(nothing_twice), T(many_channels), T(restored_on_leave), T(dead_is_let_go),
        T(freed_group_is_closed), T(denied), T(switched_on_at_last), T(given_back_at_last),
        T(neither_off_nor_on), T(variable_limits), T(bad_messages), T(calls_are_timed),
        T(last_wish_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
