/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls go through our exported ioctl(), as the vendor's library's do, to the fake
 * driver; the table and the controls are checked against what the fake has and has seen. */
#include "fake_rm.h"
#include "hal/cuda/rm/rm.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CTL 500                   /* descriptors of the fake; no such file is open */
#define ADDRESS 0x00001b10u       /* of gpu id 0x1b02: device 2, function 0 */

/* ---- what a vendor's library does ---- */

static uint32_t alloc_form(int fd, uint32_t client, uint32_t parent, uint32_t handle, uint32_t object_class,
                           void *params, uint32_t params_bytes, int form, uint32_t *ret_handle)
{
    struct xs_nvrm_alloc a = {.client = client, .parent = parent, .object = handle, .object_class = object_class,
                              .params = (uint64_t)(uintptr_t)params, .params_bytes = params_bytes};
    struct xs_nvrm_alloc_short s = {.client = client, .parent = parent, .object = handle,
                                    .object_class = object_class, .params = (uint64_t)(uintptr_t)params,
                                    .params_bytes = params_bytes};
    struct xs_nvrm_wrapped w = {.escape = XS_NVRM_ESC_ALLOC, .bytes = sizeof(a), .address = (uint64_t)(uintptr_t)&a};

    if (form == 1) {
        assert_int_equal(ioctl(fd, XS_NVRM_IOC_ALLOC_SHORT, &s), 0);
        *ret_handle = s.object;
        return s.status;
    }
    if (form == 2)
        assert_int_equal(ioctl(fd, XS_NVRM_IOC_WRAPPED, &w), 0);
    else
        assert_int_equal(ioctl(fd, XS_NVRM_IOC_ALLOC, &a), 0);
    *ret_handle = a.object;
    return a.status;
}

static int g_form;

static uint32_t alloc(int fd, uint32_t client, uint32_t parent, uint32_t object_class, void *params, uint32_t bytes)
{
    uint32_t handle = 0;

    assert_int_equal(alloc_form(fd, client, parent, 0, object_class, params, bytes, g_form, &handle), 0);
    assert_int_not_equal(handle, 0);
    return handle;
}

static uint32_t alloc_group(int fd, uint32_t client, uint32_t device, uint32_t engine)
{
    struct xs_nvrm_group_params p = {.engine = engine};

    return alloc(fd, client, device, XS_NVRM_CLASS_GROUP, &p, sizeof(p));
}

static void rm_free(int fd, uint32_t client, uint32_t handle)
{
    struct xs_nvrm_free f = {.client = client, .object = handle};

    assert_int_equal(ioctl(fd, XS_NVRM_IOC_FREE, &f), 0);
}

struct context {
    int fd;
    uint32_t client, device, subdevice, group, copies, channels[300];
    unsigned n;
};

static void make_context(struct context *c, int fd, unsigned channels)
{
    uint32_t instance = 3;

    c->fd = fd;
    c->client = alloc(fd, 0, 0, XS_NVRM_CLASS_CLIENT, NULL, 0);
    c->device = alloc(fd, c->client, c->client, XS_NVRM_CLASS_DEVICE, &instance, sizeof(instance));
    c->subdevice = alloc(fd, c->client, c->device, XS_NVRM_CLASS_SUBDEVICE, NULL, 0);
    c->copies = alloc_group(fd, c->client, c->device, 9);
    alloc(fd, c->client, c->copies, 0xc86f, NULL, 0);
    c->group = alloc_group(fd, c->client, c->device, 1);
    for (c->n = 0; c->n < channels; c->n++)
        c->channels[c->n] = alloc(fd, c->client, c->group, 0xc86f, NULL, 0);
}

static unsigned n_groups(void)
{
    static struct xs_rm_group g;
    unsigned n = 0;

    while (xs_rm_group_get(n, &g) == 0)
        n++;
    return n;
}

static int setup(void **state)
{
    (void)state;
    fake_rm_reset();
    xs_rm_reset();
    g_form = 0;
    fake_rm_open(CTL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return fake_rm_complaints() ? -1 : 0;
}

/* ---- the table ---- */

static void finds_group(void **state)
{
    static struct xs_rm_group g;
    struct context c;

    (void)state;
    for (g_form = 0; g_form < 3; g_form++) {
        fake_rm_reset();
        xs_rm_reset();
        fake_rm_open(CTL);
        assert_int_equal(xs_rm_level(), 2);
        make_context(&c, CTL, 8);
        assert_int_equal(xs_rm_level(), 3);
        assert_string_equal(xs_rm_why(), "");
        assert_int_equal(n_groups(), 1);
        assert_int_equal(xs_rm_group_get(0, &g), 0);
        assert_int_equal(g.handles.group_fd, CTL);
        assert_int_equal(g.handles.group_client, c.client);
        assert_int_equal(g.handles.group, c.group);
        assert_int_equal(g.handles.subdevice, c.subdevice);
        assert_int_equal(g.device_instance, 3);
        assert_int_equal(g.n_channels, 8);
        assert_memory_equal(g.channels, c.channels, 8 * sizeof(uint32_t));
    }
}

static void frees(void **state)
{
    static struct xs_rm_group g;
    struct context a, b;
    uint32_t generation;

    (void)state;
    fake_rm_open(CTL + 1);
    make_context(&a, CTL, 4);
    make_context(&b, CTL + 1, 4);
    assert_int_equal(n_groups(), 2);
    generation = xs_rm_generation();
    rm_free(CTL, a.client, a.channels[1]);
    assert_int_not_equal(xs_rm_generation(), generation);
    xs_rm_group_get(0, &g);
    assert_int_equal(g.n_channels, 3);
    assert_int_equal(g.channels[1], a.channels[2]);
    rm_free(CTL, a.client, a.group); /* with its channels */
    assert_int_equal(n_groups(), 1);
    rm_free(CTL + 1, b.client, b.device); /* with all below */
    assert_int_equal(n_groups(), 0);
    rm_free(CTL, a.client, a.client);
    rm_free(CTL + 1, b.client, b.client);
    assert_int_equal(fake_rm_objects(), 0);
    struct xs_rm_counts counts;
    xs_rm_counts(&counts);
    assert_int_equal(counts.objects, 0);
    assert_int_equal(counts.channels, 0);
    assert_int_equal(xs_rm_level(), 3);
}

static void handle_used_again(void **state)
{
    static struct xs_rm_group g;
    struct context c;
    struct xs_nvrm_group_params p = {.engine = 1};
    uint32_t again = 0;

    (void)state;
    make_context(&c, CTL, 2);
    rm_free(CTL, c.client, c.group);
    assert_int_equal(alloc_form(CTL, c.client, c.device, c.group, XS_NVRM_CLASS_GROUP, &p, sizeof(p), 0, &again), 0);
    assert_int_equal(again, c.group);
    assert_int_equal(n_groups(), 1);
    xs_rm_group_get(0, &g);
    assert_int_equal(g.n_channels, 0);
    assert_int_equal(g.id, 2);
}

static bool g_seen;
static void look_while_freeing(int fd, unsigned long request, void *arg)
{
    (void)fd, (void)arg;
    if (request == XS_NVRM_IOC_FREE)
        g_seen = n_groups() == 0;
}

/* What is being freed is not acted upon any more, not even while the driver frees it. */
static void forgotten_before_it_goes(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 2);
    g_seen = false;
    fake_rm_set_hook(look_while_freeing);
    rm_free(CTL, c.client, c.group);
    assert_true(g_seen);
}

static void closes(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 2);
    fake_rm_close(CTL);
    xs_rm_closed(CTL + 7);
    assert_int_equal(n_groups(), 1);
    /* not told of the close: the number is no longer the driver's, nothing is sent there */
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), -ENOENT);
    assert_int_equal(xs_rm_level(), 3);
    assert_int_equal(n_groups(), 0); /* and what was made through it is gone */
    fake_rm_open(CTL);
    make_context(&c, CTL, 2);
    assert_int_equal(n_groups(), 1);
    xs_rm_closed(CTL);            /* it is open: nothing goes */
    assert_int_equal(n_groups(), 1);
    fake_rm_close(CTL);
    xs_rm_closed(CTL);
    assert_int_equal(n_groups(), 0);
}

/* What is known of a group by heart does not make its descriptor the driver's. */
static void closed_after_it_was_told(void **state)
{
    static struct xs_rm_group g;
    struct context c;
    uint32_t address, generation;
    uint64_t us;

    (void)state;
    make_context(&c, CTL, 2);
    assert_int_equal(xs_rm_group_get(0, &g), 0);
    assert_int_equal(xs_rm_group_facts(&g, &address, &us), 0);
    assert_int_equal(xs_rm_group_facts(&g, &address, &us), 0);
    generation = xs_rm_generation();
    fake_rm_close(CTL);
    assert_int_equal(xs_rm_group_facts(&g, &address, &us), -ESTALE);
    assert_int_not_equal(xs_rm_generation(), generation); /* whoever was given it is told anew */
    assert_int_equal(n_groups(), 0);
}

/* The number was closed and is the driver's again, another open file: that one refuses the old client's handles. */
static void number_of_another_file(void **state)
{
    static struct xs_rm_group g;
    const struct fake_rm_call *calls;
    struct context c, other;
    uint32_t address;
    uint64_t us;
    size_t n;

    (void)state;
    make_context(&c, CTL, 2);
    assert_int_equal(xs_rm_group_get(0, &g), 0);
    assert_int_equal(xs_rm_group_facts(&g, &address, &us), 0);
    fake_rm_close(CTL);
    fake_rm_open(CTL);
    make_context(&other, CTL, 1);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), 0);
    assert_int_equal(xs_rm_disable(UINT32_MAX, true), 0);
    assert_int_equal(xs_rm_level(), 3);
    assert_int_equal(fake_rm_slice(other.client, other.group), 100);
    assert_false(fake_rm_channel_on(other.client, other.channels[0]));
    n = fake_rm_calls(&calls);
    for (size_t i = 1; i < n; i++) /* two were made before the close */
        if (calls[i].client == c.client && i > 2)
            assert_int_equal(calls[i].status, XS_NVRM_ERR_INVALID_CLIENT);
    assert_true(xs_rm_restore());
    assert_true(fake_rm_channel_on(other.client, other.channels[0]));
}

static void dups(void **state)
{
    static struct xs_rm_group g;
    struct context c, other;
    struct xs_nvrm_dup d;

    (void)state;
    fake_rm_open(CTL + 1);
    make_context(&c, CTL, 2);
    make_context(&other, CTL + 1, 1);
    /* a second name of the device and of the group in the other client */
    d = (struct xs_nvrm_dup){.client = other.client, .parent = other.client, .source_client = c.client,
                             .source_object = c.device};
    assert_int_equal(ioctl(CTL + 1, XS_NVRM_IOC_DUP, &d), 0);
    d = (struct xs_nvrm_dup){.client = other.client, .parent = d.object, .source_client = c.client,
                             .source_object = c.group};
    assert_int_equal(ioctl(CTL + 1, XS_NVRM_IOC_DUP, &d), 0);
    assert_int_equal(n_groups(), 2); /* no third one */
    rm_free(CTL + 1, other.client, d.object);
    assert_int_equal(n_groups(), 2);
    rm_free(CTL, c.client, c.client);
    assert_int_equal(n_groups(), 1);
    xs_rm_group_get(0, &g);
    assert_int_equal(g.handles.group, other.group);
}

static void failed_alloc_is_nothing(void **state)
{
    struct context c;
    uint32_t handle = 0;

    (void)state;
    make_context(&c, CTL, 2);
    assert_int_not_equal(alloc_form(CTL, c.client, 0xbad, 0x77, 0xc86f, NULL, 0, 0, &handle), 0);
    /* not the driver's file at all */
    errno = 0;
    assert_int_equal(ioctl(CTL + 9, XS_NVRM_IOC_ALLOC, &(struct xs_nvrm_alloc){0}), -1);
    assert_int_equal(errno, ENOTTY);
    assert_int_equal(n_groups(), 1);
    assert_int_equal(xs_rm_level(), 3);
}

static void other_ioctls_pass(void **state)
{
    struct xs_rm_counts before, after;
    int n = 0, pipe_fds[2];

    (void)state;
    xs_rm_counts(&before);
    fake_rm_remove();
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(write(pipe_fds[1], "abc", 3), 3);
    assert_int_equal(ioctl(pipe_fds[0], FIONREAD, &n), 0);
    assert_int_equal(n, 3);
    errno = 0;
    assert_int_equal(ioctl(-1, FIONREAD, &n), -1);
    assert_int_equal(errno, EBADF);
    errno = 0;
    assert_int_equal(ioctl(pipe_fds[0], XS_NVRM_IOC_ALLOC, &(struct xs_nvrm_alloc){0}), -1);
    assert_int_equal(errno, ENOTTY);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    xs_rm_counts(&after);
    assert_int_equal(before.observed, after.observed);
    assert_int_equal(xs_rm_level(), 2);
}

/* ---- refusals ---- */

static void unknown_channel_class(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 2);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), 0);
    alloc(CTL, c.client, c.group, 0xda6f, NULL, 0);
    assert_int_equal(xs_rm_level(), 2);
    assert_non_null(strstr(xs_rm_why(), "0xda6f"));
    assert_int_equal(n_groups(), 0);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US); /* given back */
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), -EPERM);
}

static void unknown_class_of_copies(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 2);
    alloc(CTL, c.client, c.copies, 0xda6f, NULL, 0);
    assert_int_equal(xs_rm_level(), 3);
}

static void channel_outside_groups(void **state)
{
    struct context c;
    uint32_t memory;

    (void)state;
    make_context(&c, CTL, 2);
    memory = alloc(CTL, c.client, c.device, 0x3e, NULL, 0);
    alloc(CTL, c.client, memory, 0xc86f, NULL, 0);
    assert_int_equal(xs_rm_level(), 2);
}

static void versions(void **state)
{
    static const struct { const char *text; bool known; } k_rows[] = {
        {"535.54.03", true}, {"580.159.04", true}, {"595.45.04", true}, {"530.41.03", false}, {"596.1", false},
        {"600.10", false}, {"", false}, {"x580.1", false}, {"580", false}, {"99999999999580.1", false},
    };
    struct context c;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++)
        assert_int_equal(xs_nvrm_version_known(k_rows[i].text), k_rows[i].known);
    fake_rm_set_version("600.10.02\n");
    make_context(&c, CTL, 2);
    assert_int_equal(xs_rm_level(), 2);
    assert_non_null(strstr(xs_rm_why(), "600.10.02"));
    assert_int_equal(n_groups(), 0);
}

static void switched_off_by_variable(void **state)
{
    struct context c;

    (void)state;
    setenv("XSCHED_CUDA_LV3_IMPL", "OFF", 1);
    make_context(&c, CTL, 2);
    unsetenv("XSCHED_CUDA_LV3_IMPL");
    assert_int_equal(xs_rm_level(), 2);
}

static void beside_mps(void **state)
{
    char folder[] = "/tmp/xs-mps-XXXXXX", path[64];
    struct context c;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/control", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1);
    make_context(&c, CTL, 2);
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    unlink(path);
    rmdir(folder);
    assert_int_equal(xs_rm_level(), 2);
    assert_non_null(strstr(xs_rm_why(), "MPS"));
}

static void denied_call(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 2);
    fake_rm_deny(XS_NVRM_CMD_SET_TIMESLICE, XS_NVRM_ERR_PERMISSIONS, 0, 1);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), -EPERM);
    assert_int_equal(xs_rm_level(), 2);
    assert_non_null(strstr(xs_rm_why(), "denied"));
    make_context(&c, CTL, 2); /* for the process's life */
    assert_int_equal(xs_rm_level(), 2);
}

static void denied_half_way(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 100);
    fake_rm_deny(XS_NVRM_CMD_DISABLE_CHANNELS, XS_NVRM_ERR_NOT_SUPPORTED, 1, 1);
    assert_int_equal(xs_rm_disable(UINT32_MAX, true), -EPERM);
    for (unsigned i = 0; i < c.n; i++)
        assert_true(fake_rm_channel_on(c.client, c.channels[i]));
    assert_int_equal(xs_rm_level(), 2);
}

/* A group that went away under a control is no reason to give up. */
static void stale_is_not_denied(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 2);
    fake_rm_deny(XS_NVRM_CMD_SET_TIMESLICE, XS_NVRM_ERR_INVALID_HANDLE, 0, 1);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), 0);
    assert_int_equal(xs_rm_level(), 3);
}

/* ---- controls ---- */

static void slices(void **state)
{
    const struct fake_rm_call *calls;
    struct context c;
    size_t n;

    (void)state;
    make_context(&c, CTL, 8);
    assert_int_equal(xs_rm_set_slices(ADDRESS, 100), 0);
    assert_int_equal(fake_rm_slice(c.client, c.group), 100);
    assert_int_equal(fake_rm_slice(c.client, c.copies), FAKE_RM_DEFAULT_SLICE_US);
    n = fake_rm_calls(&calls);
    assert_int_equal(xs_rm_set_slices(ADDRESS, 100), 0);
    assert_int_equal(fake_rm_calls(&calls), n); /* nothing to do */
    assert_int_equal(xs_rm_set_slices(0x9900, 50), -ENOENT);
    /* a channel that comes later does not change that */
    alloc(CTL, c.client, c.group, 0xc86f, NULL, 0);
    n = fake_rm_calls(&calls);
    assert_int_equal(calls[n - 1].command, XS_NVRM_CMD_SET_TIMESLICE);
    assert_int_equal(calls[n - 1].us, 100);
    assert_int_equal(xs_rm_set_slices(ADDRESS, XS_RM_SLICE_DEFAULT), 0);
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
}

static void more_than_64_channels(void **state)
{
    const struct fake_rm_call *calls;
    struct context c;
    size_t n;

    (void)state;
    make_context(&c, CTL, 150);
    assert_int_equal(xs_rm_disable(UINT32_MAX, true), 0);
    n = fake_rm_calls(&calls);
    assert_true(n >= 3);
    assert_int_equal(calls[n - 3].channels, 64);
    assert_int_equal(calls[n - 2].channels, 64);
    assert_int_equal(calls[n - 1].channels, 22);
    for (unsigned i = 0; i < c.n; i++)
        assert_false(fake_rm_channel_on(c.client, c.channels[i]));
    assert_int_equal(xs_rm_disable(UINT32_MAX, false), 0);
    for (unsigned i = 0; i < c.n; i++)
        assert_true(fake_rm_channel_on(c.client, c.channels[i]));
}

static void too_many_channels(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 257);
    assert_int_equal(xs_rm_level(), 2);
}

static void channel_in_disabled_group(void **state)
{
    struct context c;
    uint32_t late;

    (void)state;
    make_context(&c, CTL, 2);
    assert_int_equal(xs_rm_disable(UINT32_MAX, true), 0);
    late = alloc(CTL, c.client, c.group, 0xc86f, NULL, 0);
    assert_false(fake_rm_channel_on(c.client, late)); /* before its ioctl returned */
    assert_int_equal(xs_rm_disable(UINT32_MAX, false), 0);
    assert_true(fake_rm_channel_on(c.client, late));
}

static void restores(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 3);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), 0);
    assert_int_equal(xs_rm_disable(UINT32_MAX, true), 0);
    assert_true(xs_rm_restore());
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    assert_true(fake_rm_channel_on(c.client, c.channels[2]));
    /* what somebody else switched off, too */
    static struct xs_rm_group g;
    xs_rm_group_get(0, &g);
    assert_int_equal(xs_nvrm_disable(&g.handles, g.channels, g.n_channels, true, NULL), 0);
    assert_true(xs_rm_restore());
    assert_true(fake_rm_channel_on(c.client, c.channels[0]));
}

/* Another process's descriptor of the same open file is as good, one of another file is not. */
static void passed_descriptors(void **state)
{
    static struct xs_rm_group g;
    struct xs_nvrm_group other;
    struct context c;
    uint64_t us = 0;

    (void)state;
    make_context(&c, CTL, 3);
    xs_rm_group_get(0, &g);
    fake_rm_dup_fd(CTL + 20, CTL);
    fake_rm_open(CTL + 21);
    other = g.handles;
    other.group_fd = other.subdevice_fd = CTL + 20;
    assert_int_equal(xs_nvrm_set_slice(&other, 77, NULL), 0);
    assert_int_equal(xs_nvrm_get_slice(&other, &us, NULL), 0);
    assert_int_equal(us, 77);
    other.group_fd = CTL + 21;
    assert_int_equal(xs_nvrm_set_slice(&other, 78, NULL), -ESTALE);
    /* it keeps the objects alive, and gone they are stale */
    fake_rm_close(CTL);
    other.group_fd = CTL + 20;
    assert_int_equal(xs_nvrm_set_slice(&other, 79, NULL), 0);
    fake_rm_close(CTL + 20);
    assert_true(xs_nvrm_set_slice(&other, 80, NULL) < 0);
}

static void forked_child(void **state)
{
    struct context c;
    int status;
    pid_t pid;

    (void)state;
    make_context(&c, CTL, 3);
    assert_int_equal(xs_rm_disable(UINT32_MAX, true), 0);
    pid = fork();
    if (pid == 0) {
        const struct fake_rm_call *calls;
        size_t n = fake_rm_calls(&calls);

        /* nothing of the parent's is touched */
        if (n_groups() != 0 || !xs_rm_restore() || fake_rm_calls(&calls) != n)
            _exit(1);
        rm_free(CTL, c.client, 0x12345);
        _exit(n_groups() == 0 && xs_rm_level() == 2 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(n_groups(), 1);
}

static unsigned g_told;
static void count_told(void)
{
    g_told++;
    assert_int_not_equal(xs_rm_group_get(0, &(struct xs_rm_group){0}), -EAGAIN); /* no lock is held */
}

static void listener(void **state)
{
    struct context c;

    (void)state;
    xs_rm_set_listener(count_told);
    g_told = 0;
    make_context(&c, CTL, 3);
    assert_int_equal(g_told, 4);  /* the group and each channel; not the copies' */
    rm_free(CTL, c.client, c.client);
    assert_int_equal(g_told, 5);
    xs_rm_set_listener(NULL);
}

static _Atomic int g_making;
static _Atomic unsigned g_found;   /* groups that the steering thread came across */
static void *make_and_free(void *arg)
{
    int fd = (int)(intptr_t)arg;
    struct context c;

    /* until they met, however the threads are scheduled */
    for (int i = 0; i < 100 || (atomic_load(&g_found) < 10 && i < 1000000); i++) {
        make_context(&c, fd, 4);
        if (i >= 100)
            sched_yield();
        rm_free(fd, c.client, i % 2 ? c.client : c.device);
        if (i % 2 == 0)
            rm_free(fd, c.client, c.client);
    }
    atomic_fetch_sub(&g_making, 1);
    return NULL;
}

/* Contexts come and go while somebody slices, switches and gives back. */
static void many_threads(void **state)
{
    static struct xs_rm_group g;
    struct xs_rm_counts counts;
    pthread_t threads[3];

    (void)state;
    atomic_store(&g_found, 0);
    atomic_store(&g_making, 3);
    for (int i = 0; i < 3; i++) {
        fake_rm_open(CTL + 30 + i);
        pthread_create(&threads[i], NULL, make_and_free, (void *)(intptr_t)(CTL + 30 + i));
    }
    while (atomic_load(&g_making) > 0) {
        xs_rm_set_slices(UINT32_MAX, 100);
        xs_rm_disable(UINT32_MAX, true);
        for (uint32_t i = 0; xs_rm_group_get(i, &g) == 0; i++)
            atomic_fetch_add(&g_found, g.n_channels <= 4);
        xs_rm_disable(UINT32_MAX, false);
        xs_rm_restore();
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_true(atomic_load(&g_found) >= 10);
    xs_rm_counts(&counts);
    assert_int_equal(counts.objects, 0);
    assert_int_equal(counts.groups, 0);
    assert_int_equal(counts.channels, 0);
    assert_int_equal(fake_rm_objects(), 0);
    assert_int_equal(xs_rm_level(), 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(finds_group), T(frees), T(handle_used_again), T(forgotten_before_it_goes), T(closes), T(closed_after_it_was_told),
        T(number_of_another_file), T(dups),
        T(failed_alloc_is_nothing), T(other_ioctls_pass), T(unknown_channel_class), T(unknown_class_of_copies),
        T(channel_outside_groups), T(versions), T(switched_off_by_variable), T(beside_mps), T(denied_call), T(denied_half_way),
        T(stale_is_not_denied), T(slices), T(more_than_64_channels), T(too_many_channels),
        T(channel_in_disabled_group), T(restores), T(passed_descriptors), T(forked_child), T(listener),
        T(many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
