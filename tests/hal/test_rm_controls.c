/* SPDX-License-Identifier: Apache-2.0 */
/* Where level 3 is refused, and its controls, checked against what the fake has seen. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
    static const struct { const char *text; bool known, newer; } k_rows[] = {
        {"535.54.03", true, false}, {"580.159.04", true, false}, {"595.45.04", true, false}, {"530.41.03", false, false},
        {"596.1", false, true}, {"620.10", false, true}, {"", false, false}, {"x580.1", false, false}, {"580", false, false},
        {"99999999999580.1", false, false},
    };
    struct context c;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        assert_int_equal(xs_nvrm_version_known(k_rows[i].text), k_rows[i].known);
        assert_int_equal(xs_nvrm_version_newer(k_rows[i].text), k_rows[i].newer);
    }
    fake_rm_set_version("530.41.03\n");
    make_context(&c, CTL, 2);
    assert_int_equal(xs_rm_level(), 2);
    assert_non_null(strstr(xs_rm_why(), "530.41.03"));
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

/* Keeps in text what does() says to the log. */
static void logged(void (*does)(void), char *text, size_t bytes)
{
    char path[] = "/tmp/xs-log-XXXXXX";
    int saved = dup(STDERR_FILENO), log = mkstemp(path);

    assert_true(saved >= 0 && log >= 0);
    dup2(log, STDERR_FILENO);
    does();
    dup2(saved, STDERR_FILENO);
    close(saved);
    memset(text, 0, bytes);
    assert_true(pread(log, text, bytes - 1, 0) > 0);
    close(log);
    unlink(path);
}

static struct context g_last;

static void two_lives(void)
{
    for (int i = 0; i < 2; i++) {
        xs_rm_reset();
        make_context(&g_last, CTL, 2);
    }
}

/* What once switched channels off means AUTO now, with one line. */
static void channel_means_auto(void **state)
{
    char text[4096];

    (void)state;
    setenv("XSCHED_CUDA_LV3_IMPL", "Channel", 1);
    logged(two_lives, text, sizeof(text));
    unsetenv("XSCHED_CUDA_LV3_IMPL");
    assert_non_null(strstr(text, "XSCHED_CUDA_LV3_IMPL=CHANNEL means AUTO"));
    assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n')); /* one line */
    assert_int_equal(xs_rm_level(), 3);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), 0);
    assert_int_equal(fake_rm_slice(g_last.client, g_last.group), 100);
}

/* In a process of its own, where the lines were not said yet, and later tests hear them. */
static void warns_twice(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        xs_rm_warn();             /* nothing was seen yet */
        make_context(&g_last, CTL, 2);
        xs_rm_warn();
        xs_rm_warn();
        _exit(0);
    }
    assert_true(waitpid(pid, &status, 0) == pid && status == 0);
}

/* A warning that came before anything was seen hides no reason that is known later. */
static void early_warning_hides_no_reason(void **state)
{
    char text[4096], *second;

    (void)state;
    fake_rm_set_version("530.41.03\n");
    logged(warns_twice, text, sizeof(text));
    assert_non_null(strstr(text, "saw no call"));
    second = strstr(text, "530.41.03");
    assert_non_null(second);
    assert_null(strstr(second + 1, "530.41.03"));
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

static void too_many_channels(void **state)
{
    struct context c;

    (void)state;
    make_context(&c, CTL, 257);
    assert_int_equal(xs_rm_level(), 2);
}

static void restores(void **state)
{
    static struct xs_rm_group g;
    struct context c;

    (void)state;
    make_context(&c, CTL, 3);
    assert_int_equal(xs_rm_set_slices(UINT32_MAX, 100), 0);
    assert_true(xs_rm_restore());
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
    /* what another process set, too */
    xs_rm_group_get(0, &g);
    assert_int_equal(xs_nvrm_set_slice(&g.handles, 50, NULL), 0);
    assert_true(xs_rm_restore());
    assert_int_equal(fake_rm_slice(c.client, c.group), FAKE_RM_DEFAULT_SLICE_US);
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

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(early_warning_hides_no_reason), /* first: others say its lines */
        T(unknown_channel_class), T(unknown_class_of_copies), T(channel_outside_groups), T(versions), T(switched_off_by_variable),
        T(channel_means_auto), T(beside_mps), T(denied_call),
        T(stale_is_not_denied), T(slices), T(too_many_channels),
        T(restores), T(passed_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
