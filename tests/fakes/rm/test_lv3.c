/* SPDX-License-Identifier: Apache-2.0 */
/* xserver's level 3 against the fake driver: slices by who is ready (pure), groups that come as
 * messages with real descriptors, the calls that follow, and that everything is given back. */
#include "fake_rm.h"
#include "hal/cuda/rm/rm.h"
#include "wire/wire.h"
#include "xqueue/priv.h"
#include "xserver/lv3.h"
#include "xserver/server.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#define DEVICE ((uint64_t)kDeviceTypeGPU << 32 | 0x1b10u)

/* ---- the judge ---- */

static const struct xs_lv3_rules k_slices = {0};
static const struct xs_lv3_rules k_off = {.may_switch_off = true, .pair_ns = 1000000};

static struct xs_lv3_seat seat(int32_t priority, bool ready, bool recent, bool held, uint64_t left_ns)
{
    return (struct xs_lv3_seat){.priority = priority, .ready = ready, .recent = recent, .held = held,
                                .left_ns = left_ns};
}

static void judged(void **state)
{
    struct xs_lv3_seat s[3];

    (void)state;
    /* one alone: nothing to do */
    s[0] = seat(1, true, true, false, 0);
    xs_lv3_judge(s, 1, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    /* high and low, both ready */
    s[1] = seat(0, true, true, true, 5000000);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_LONG);
    assert_int_equal(s[1].slice, XS_LV3_SHORT);
    assert_false(s[1].off);
    /* high was ready a moment ago: the same */
    s[0] = seat(1, false, true, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_SHORT);
    /* and long ago: low is the top now */
    s[0] = seat(1, false, false, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    /* low not ready: it keeps what it has, high needs no long slice */
    s[0] = seat(1, true, true, false, 0);
    s[1] = seat(0, false, false, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_KEEP);
    /* nobody: everything back */
    s[0] = seat(1, false, false, false, 0);
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    /* two urgent ones do not get long slices against each other, the background stays short */
    s[0] = seat(1, true, true, false, 0);
    s[1] = seat(1, true, true, false, 0);
    s[2] = seat(0, true, true, true, 0);
    xs_lv3_judge(s, 3, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[2].slice, XS_LV3_SHORT);
    /* equals never change anything */
    s[2].priority = 1;
    xs_lv3_judge(s, 3, &k_slices);
    assert_int_equal(s[2].slice, XS_LV3_DEFAULT);
}

/* A gap in the urgent side's burst is another thing than its idleness. */
static void judged_burst(void **state)
{
    struct xs_lv3_seat s[2];

    (void)state;
    s[0] = seat(1, true, true, false, 0);
    s[0].burst = true;
    s[1] = seat(0, true, true, true, 0);
    s[1].burst = true;
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[0].slice, XS_LV3_LONG);
    assert_int_equal(s[1].slice, XS_LV3_BUSY);
    s[0].ready = false;
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_BUSY);
    s[0].burst = false;           /* over: the next one is to start at once */
    xs_lv3_judge(s, 2, &k_slices);
    assert_int_equal(s[1].slice, XS_LV3_SHORT);
}

static void judged_turns_and_shares(void **state)
{
    struct xs_lv3_rules turns = {.by = XS_LV3_BY_TURNS, .may_switch_off = true, .pair_ns = 1};
    struct xs_lv3_rules shares = {.by = XS_LV3_BY_SHARE, .round_us = 5000, .least_us = 1000};
    struct xs_lv3_seat s[3];

    (void)state;
    /* turns: neither slices nor channels follow priorities */
    s[0] = seat(1, true, true, false, 0);
    s[1] = seat(0, true, true, true, 50000000);
    xs_lv3_judge(s, 2, &turns);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    assert_int_equal(s[1].slice, XS_LV3_DEFAULT);
    assert_false(s[1].off);
    /* shares: in proportion */
    s[0].percent = 75;
    s[1].percent = 25;
    xs_lv3_judge(s, 2, &shares);
    assert_int_equal(s[0].slice, XS_LV3_SHARE);
    assert_int_equal(s[0].share_us, 3750);
    assert_int_equal(s[1].share_us, 1250);
    /* the shortest is worth its switch */
    shares.least_us = 10000;
    xs_lv3_judge(s, 2, &shares);
    assert_int_equal(s[0].share_us, 30000);
    assert_int_equal(s[1].share_us, 10000);
    /* sums of more than 100 are scaled; who has no share gets the short one; who is away keeps what it has */
    s[0].percent = 100;
    s[1].percent = 100;
    s[2] = seat(0, true, true, false, 0);
    xs_lv3_judge(s, 3, &shares);
    assert_int_equal(s[0].share_us, s[1].share_us);
    assert_int_equal(s[2].slice, XS_LV3_SHORT);
    s[2].recent = false;
    xs_lv3_judge(s, 3, &shares);
    assert_int_equal(s[2].slice, XS_LV3_KEEP);
    /* one that is alone needs none */
    s[1].recent = false;
    s[2].percent = 0;
    xs_lv3_judge(s, 2, &shares);
    assert_int_equal(s[0].slice, XS_LV3_DEFAULT);
    /* and nothing overflows */
    shares = (struct xs_lv3_rules){.by = XS_LV3_BY_SHARE, .round_us = 1000000, .least_us = 20000000};
    s[0] = seat(1, true, true, false, 0);
    s[1] = seat(0, true, true, true, 0);
    s[0].percent = 100;
    s[1].percent = 1;
    xs_lv3_judge(s, 2, &shares);
    assert_int_equal(s[0].share_us, 1000000);
    assert_int_equal(s[1].share_us, 1000000);
}

static void judged_off(void **state)
{
    struct xs_lv3_seat s[2];

    (void)state;
    s[0] = seat(1, true, true, false, 50000000);
    s[1] = seat(0, true, true, true, 5000000);
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[0].off);
    assert_true(s[1].off);
    s[1].left_ns = 1900000;       /* less than twice the cost of a pair */
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[1].off);
    s[1].off_now = true;          /* once off, until it is permitted */
    xs_lv3_judge(s, 2, &k_off);
    assert_true(s[1].off);
    s[1].held = false;
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[1].off);
    s[1] = seat(1, true, true, true, 5000000); /* held among equals: by another policy */
    xs_lv3_judge(s, 2, &k_off);
    assert_false(s[1].off);
}

/* ---- a process and the server ---- */

static const struct xs_interrupt_ops *g_ops;
void xsched_priv_interrupt_ops(const struct xs_interrupt_ops *ops) { g_ops = ops; }
void xsched_priv_interrupt_changed(void) {}

struct context {
    int fd;
    uint32_t client, device, subdevice, group, channels[300];
    unsigned n;
};

static uint32_t alloc(int fd, uint32_t client, uint32_t parent, uint32_t object_class, void *params, uint32_t bytes)
{
    struct xs_nvrm_alloc a = {.client = client, .parent = parent, .object_class = object_class,
                              .params = (uint64_t)(uintptr_t)params, .params_bytes = bytes};

    assert_int_equal(ioctl(fd, XS_NVRM_IOC_ALLOC, &a), 0);
    assert_int_equal(a.status, 0);
    return a.object;
}

static void add_channels(struct context *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        c->channels[c->n++] = alloc(c->fd, c->client, c->group, 0xc86f, NULL, 0);
}

static void make_context(struct context *c, unsigned channels)
{
    struct xs_nvrm_group_params p = {.engine = 1};

    *c = (struct context){.fd = open("/dev/null", O_RDWR | O_CLOEXEC)};
    fake_rm_open(c->fd);
    c->client = alloc(c->fd, 0, 0, XS_NVRM_CLASS_CLIENT, NULL, 0);
    c->device = alloc(c->fd, c->client, c->client, XS_NVRM_CLASS_DEVICE, NULL, 0);
    c->subdevice = alloc(c->fd, c->client, c->device, XS_NVRM_CLASS_SUBDEVICE, NULL, 0);
    c->group = alloc(c->fd, c->client, c->device, XS_NVRM_CLASS_GROUP, &p, sizeof(p));
    add_channels(c, channels);
}

static struct xs_lv3 *g_lv3;
static struct xs_lv3_program *g_program;

/* All packets of this process, over the wire, to the server. */
static unsigned tell(void)
{
    unsigned packets = 0;

    for (uint32_t i = 0;; i++) {
        unsigned char bytes[XS_WIRE_MAX_BYTES];
        union xs_msg m, got;
        int id, fds[2], copies[2] = {-1, -1}, n = g_ops->packet(i, &m, &id, fds);
        const char *wrong = NULL;
        size_t size;

        if (n == -ENOENT)
            return packets;
        assert_true(n >= 0);
        packets++;
        size = xs_wire_seal(&m, (enum xs_msg_id)id, 1);
        memcpy(bytes, &m, size);
        assert_int_equal(xs_wire_open(bytes, size, &got, &wrong), 0);
        if (got.head.id == XS_MSG_nv_groups_end) {
            xs_lv3_groups_end(g_lv3, g_program);
            continue;
        }
        for (int k = 0; k < n; k++) {
            copies[k] = fcntl(fds[k], F_DUPFD_CLOEXEC, 100);
            fake_rm_dup_fd(copies[k], fds[k]);
        }
        assert_null(xs_lv3_group(g_lv3, g_program, &got.nv_group, copies, (unsigned)n));
        for (int k = 0; k < n; k++) {
            if (copies[k] >= 0) {
                fake_rm_close(copies[k]);
                close(copies[k]);
            }
        }
    }
}

static void want(uint64_t us, bool off)
{
    xs_lv3_want(g_lv3, g_program, DEVICE, us, off);
    xs_lv3_settle(g_lv3);
}

static int setup(void **state)
{
    (void)state;
    fake_rm_reset();
    xs_rm_reset();
    xs_rm_publish();
    g_lv3 = xs_lv3_new();
    g_program = xs_lv3_join(g_lv3, 4711);
    return g_lv3 && g_program ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    xs_lv3_leave(g_lv3, g_program, true);
    xs_lv3_free(g_lv3);
    return fake_rm_complaints() ? -1 : 0;
}

static void told_and_steered(void **state)
{
    struct xs_lv3_counts counts;
    struct context c;
    XDevice devices[4];

    (void)state;
    make_context(&c, 8);
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
    make_context(&c, 8);
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
    make_context(&c, 150);
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
    make_context(&c, 8);
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
    make_context(&c, 8);
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
    make_context(&c, 8);
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
    make_context(&c, 8);
    make_context(&d, 8);
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

static void variable_limits(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, 2);
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
    make_context(&c, 8);
    assert_int_equal(g_ops->packet(0, &u, &id, fds), 2);
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

static void slow(int fd, unsigned long request, void *arg)
{
    (void)fd, (void)arg;
    if (request == XS_NVRM_IOC_CONTROL)
        usleep(2000);
}

/* Wishes that come faster than the driver is: the last one holds. */
static void last_wish_counts(void **state)
{
    const struct fake_rm_call *calls;
    struct context c;
    size_t n;

    (void)state;
    make_context(&c, 8);
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

/* ---- who is ready, as the server sees it ---- */

struct scene {
    struct xs_server s;
    struct xs_client a, b;        /* urgent, background */
    struct xs_queue qa, qb;
    struct context ca, cb;
};

static void join(struct scene *c, struct xs_client *client, struct xs_queue *q, struct context *ctx, int32_t priority)
{
    struct xs_sched_process_info info = {.id = (uint64_t)priority + 100};
    struct xs_hints hints = {.priority = priority, .utilization = 100, .deadline_us = -1, .laxity_us = -1};
    struct xs_lv3_program *program = g_program;

    client->page = calloc(1, sizeof(*client->page));
    assert_non_null(client->page);
    xs_list_init(&client->queues);
    client->process = xs_sched_process_add(c->s.sched, &info, client);
    q->client = client;
    q->level = 3;
    q->sched = xs_sched_queue_add(c->s.sched, client->process, (uint64_t)priority + 1, DEVICE, 0, &hints, c->s.now_ns, q);
    xs_list_add(&client->queues, &q->in_client);
    xs_list_add(&c->s.clients, &client->link);
    xs_rm_reset();                /* another process */
    make_context(ctx, 4);
    client->lv3 = g_program = xs_lv3_join(g_lv3, 100 + priority);
    c->s.n_lv3++;
    tell();
    g_program = program;
}

static struct scene *new_scene(void)
{
    struct scene *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    xs_options_defaults(&c->s.options);
    c->s.options.lv3_busy_us = 0; /* but where it is what is tested */
    xs_list_init(&c->s.clients);
    c->s.now_ns = XS_NS_PER_S;
    c->s.lv3_ns = UINT64_MAX;
    c->s.lv3 = g_lv3;
    c->s.sched = xs_sched_new(xs_policy_by_name("HPF"), NULL, NULL, NULL);
    join(c, &c->a, &c->qa, &c->ca, 10);
    join(c, &c->b, &c->qb, &c->cb, 0);
    return c;
}

static void free_scene(struct scene *c)
{
    xs_lv3_forget(&c->s, &c->a);
    xs_lv3_forget(&c->s, &c->b);
    assert_int_equal(c->s.n_lv3, 0);
    xs_sched_free(c->s.sched);
    free(c->a.page);
    free(c->b.page);
    free(c);
}

/* Time passes, then somebody became ready or idle; the calls that follow are made.
 * @return when the server wants to look again, from now */
static uint64_t step(struct scene *c, uint64_t ms, struct xs_queue *q, bool ready)
{
    uint64_t next;

    c->s.now_ns += ms * XS_NS_PER_MS;
    if (q)
        xs_sched_queue_set_ready(c->s.sched, q->sched, ready, c->s.now_ns);
    xs_sched_run(c->s.sched, c->s.now_ns);
    c->s.now_ns += XS_NS_PER_MS;  /* whoever ran dry has lingered */
    xs_sched_run(c->s.sched, c->s.now_ns);
    c->s.lv3_changed = c->s.lv3_changed || q;
    next = xs_lv3_update(&c->s);
    if (next <= c->s.now_ns) {    /* it changed who may be held */
        xs_sched_run(c->s.sched, c->s.now_ns);
        next = xs_lv3_update(&c->s);
    }
    xs_lv3_settle(g_lv3);
    return next == UINT64_MAX ? next : next - c->s.now_ns;
}

#define SLICE(ctx) fake_rm_slice(c->ctx.client, c->ctx.group)

static void slices_follow(void **state)
{
    struct scene *c = new_scene();
    const struct fake_rm_call *calls;
    uint64_t next;
    size_t n;

    (void)state;
    assert_true(step(c, 1, &c->qb, true) == UINT64_MAX);
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), 50000);
    assert_int_equal(SLICE(cb), 50);
    n = fake_rm_calls(&calls);
    next = step(c, 2, &c->qa, false); /* a pause of the urgent side: no call */
    assert_true(next <= 500 * XS_NS_PER_MS && next > 400 * XS_NS_PER_MS);
    step(c, 100, &c->qa, true);
    step(c, 2, &c->qa, false);
    assert_int_equal(fake_rm_calls(&calls), n);
    assert_int_equal(SLICE(cb), 50);
    step(c, 501, NULL, false);    /* it stays away */
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(cb), 50);
    assert_true(fake_rm_channel_on(c->cb.client, c->cb.channels[0])); /* not by default */
    c->qb.level = 2;              /* it asks for less: no longer ours to slice, so it keeps nothing */
    xs_lv3_forget(&c->s, &c->b);
    xs_lv3_settle(g_lv3);
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    c->b.lv3 = NULL;
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), FAKE_RM_DEFAULT_SLICE_US);
    free_scene(c);
}

static bool held(struct scene *c, const struct xs_queue *q)
{
    struct xs_sched_queue_status st;

    xs_sched_queue_status(q->sched, c->s.now_ns, &st);
    return !st.permitted;
}

static void longer_beside_a_burst(void **state)
{
    struct scene *c = new_scene();
    uint64_t next;

    (void)state;
    c->s.options.lv3_busy_us = 200;
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), 50000);
    assert_int_equal(SLICE(cb), 200);
    next = step(c, 2, &c->qa, false); /* may be a gap */
    assert_int_equal(SLICE(cb), 200);
    assert_true(next <= XS_NS_PER_MS);
    step(c, 1, NULL, false);      /* it was the end: the next one is to start at once */
    assert_int_equal(SLICE(cb), 50);
    next = step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(cb), 50); /* not again so soon */
    assert_true(next <= 20 * XS_NS_PER_MS);
    step(c, 20, NULL, false);
    assert_int_equal(SLICE(cb), 200);
    free_scene(c);
}

static void slices_instead_of_holding(void **state)
{
    struct scene *c = new_scene();
    struct xs_hints hints = {.utilization = 75, .deadline_us = -1, .laxity_us = -1};

    (void)state;
    c->s.options.lv3_hold = false;
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), 50000);
    assert_int_equal(SLICE(cb), 50);
    assert_false(held(c, &c->qb));
    c->qb.level = 1;              /* somebody on the device has no slices */
    c->qb.device = DEVICE;
    step(c, 1, &c->qa, true);
    assert_true(held(c, &c->qb));
    c->qb.level = 3;
    xs_sched_set_policy(c->s.sched, xs_policy_by_name("CFS")); /* slices do not know runtimes */
    step(c, 1, &c->qa, true);
    assert_true(held(c, &c->qa) || held(c, &c->qb));
    xs_sched_set_policy(c->s.sched, xs_policy_by_name("UP"));
    xs_sched_queue_set_hints(c->s.sched, c->qa.sched, &hints);
    hints.utilization = 25;
    xs_sched_queue_set_hints(c->s.sched, c->qb.sched, &hints);
    step(c, 1, &c->qa, true);
    step(c, 30, &c->qa, true);
    assert_int_equal(SLICE(ca), 3750);
    assert_int_equal(SLICE(cb), 1250);
    assert_false(held(c, &c->qa));
    assert_false(held(c, &c->qb));
    c->s.options.lv3_hold = true; /* turns, and the driver's own slices */
    xs_sched_process_set_excused(c->s.sched, c->a.process, false);
    xs_sched_process_set_excused(c->s.sched, c->b.process, false);
    step(c, 1, &c->qa, true);
    assert_int_equal(SLICE(ca), FAKE_RM_DEFAULT_SLICE_US);
    assert_int_equal(SLICE(cb), FAKE_RM_DEFAULT_SLICE_US);
    assert_true(held(c, &c->qa) || held(c, &c->qb));
    free_scene(c);
}

static void channels_follow(void **state)
{
    struct scene *c = new_scene();
    struct xs_lv3_counts counts;

    (void)state;
    c->s.options.lv3_channels = true;
    step(c, 1, &c->qb, true);
    step(c, 1, &c->qa, true);     /* nothing of the background's is in flight */
    assert_true(fake_rm_channel_on(c->cb.client, c->cb.channels[0]));
    step(c, 1, &c->qa, false);
    atomic_store(&c->b.page->cells[0].est_entered_ns, 50 * XS_NS_PER_MS);
    for (int i = 0; i < 10; i++) {
        bool off = i % 2 == 0 && i != 2; /* the cap: 50 a second, so not again 6 ms later */

        step(c, i < 4 ? 3 : 30, &c->qa, i % 2 == 0);
        assert_int_equal(fake_rm_channel_on(c->cb.client, c->cb.channels[0]), !off);
        assert_true(fake_rm_channel_on(c->ca.client, c->ca.channels[0]));
    }
    xs_lv3_counts(g_lv3, &counts);
    assert_int_equal(counts.offs, 4);
    assert_int_equal(counts.ons, 4);
    free_scene(c);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judged), cmocka_unit_test(judged_off), T(judged_burst), T(judged_turns_and_shares),
        T(told_and_steered), T(nothing_twice),
        T(many_channels), T(restored_on_leave), T(dead_is_let_go), T(freed_group_is_closed), T(denied),
        T(variable_limits), T(bad_messages), T(last_wish_counts), T(slices_follow), T(longer_beside_a_burst),
        T(slices_instead_of_holding), T(channels_follow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
