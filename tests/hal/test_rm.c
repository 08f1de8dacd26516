/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what the driver was asked to make, checked against what the fake has. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void finds_group(void **state)
{
    static struct xs_rm_group g;
    struct context c;

    (void)state;
    for (program_form = 0; program_form < 3; program_form++) {
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
    assert_int_equal(xs_rm_level(), 3);
    assert_int_equal(fake_rm_slice(other.client, other.group), 100);
    n = fake_rm_calls(&calls);
    for (size_t i = 1; i < n; i++) /* two were made before the close */
        if (calls[i].client == c.client && i > 2)
            assert_int_equal(calls[i].status, XS_NVRM_ERR_INVALID_CLIENT);
    assert_true(xs_rm_restore());
    assert_int_equal(fake_rm_slice(other.client, other.group), FAKE_RM_DEFAULT_SLICE_US);
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

static void forked_child(void **state)
{
    struct context c;
    int status;
    pid_t pid;

    (void)state;
    make_context(&c, CTL, 3);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), 0);
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

/* Contexts come and go while another thread sets slices and gives them back. */
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
        for (uint32_t i = 0; xs_rm_group_get(i, &g) == 0; i++)
            atomic_fetch_add(&g_found, g.n_channels <= 4);
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
        T(finds_group), T(frees), T(handle_used_again), T(forgotten_before_it_goes), T(closes),
        T(closed_after_it_was_told), T(number_of_another_file), T(dups), T(failed_alloc_is_nothing),
        T(other_ioctls_pass), T(forked_child), T(listener), T(many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
