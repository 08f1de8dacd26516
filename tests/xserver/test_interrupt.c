/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 between libpreempt and a real xserver: what is told and when, and that the process gives
 * itself back what was taken when the server dies, or is stopped while the process is suspended. */
#include "raw.h"

#include "base/clock.h"
#include "base/fd.h"
#include "xqueue/interface.h"

#include "xsched/xsched.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DEVICE 77u

static struct raw_server g_server;
static const char *const k_args[] = {"--stall-ms", "0", NULL};

/* ---- a platform that does nothing ---- */

static XResult synchronize(void *hw)
{
    (void)hw;
    return kXSchedSuccess;
}

static bool mark(void *hw, struct xs_queue *q, uint64_t number)
{
    (void)hw;
    xsched_priv_completed(q, number);
    return true;
}

static const struct xs_hal_ops k_hal = {
    .abi = XS_HAL_ABI, .size = sizeof(struct xs_hal_ops), .platform = kPlatformCUDA, .name = "test",
    .levels = 1u << 1 | 1u << 3, .synchronize = synchronize, .mark = mark,
};

/* ---- and its channel group ---- */

static _Atomic uint32_t g_generation, g_packets, g_ends, g_restores, g_refuse_restores;
static int g_null;

static uint32_t generation(void)
{
    return atomic_load(&g_generation);
}

static int packet(uint32_t index, union xs_msg *ret, int *ret_id, int ret_fds[2])
{
    memset(ret, 0, sizeof(*ret));
    if (index == 0) {
        ret->nv_group = (struct xs_msg_nv_group){
            .group_id = 1, .device = DEVICE, .default_slice_us = 2048, .client = 1, .group = 2,
            .subdevice_client = 1, .subdevice = 3, .count = 1, .driver = "580.159.04"};
        *ret_id = XS_MSG_nv_group;
        ret_fds[0] = ret_fds[1] = g_null; /* not the driver's: the server says so, and goes on */
        atomic_fetch_add(&g_packets, 1);
        return 2;
    }
    if (index == 1) {
        *ret_id = XS_MSG_nv_groups_end;
        ret->nv_groups_end.groups = 1;
        atomic_fetch_add(&g_ends, 1);
        return 0;
    }
    return -ENOENT;
}

static bool restore(void)
{
    atomic_fetch_add(&g_restores, 1);
    if (atomic_load(&g_refuse_restores) == 0)
        return true;
    atomic_fetch_sub(&g_refuse_restores, 1);
    return false;
}

static const struct xs_interrupt_ops k_interrupt = {
    .abi = XS_HAL_ABI, .size = sizeof(k_interrupt), .generation = generation, .packet = packet,
    .restore = restore,
};

static bool becomes(_Atomic uint32_t *word, uint32_t least)
{
    for (int i = 0; i < 2000 && atomic_load(word) < least; i++)
        usleep(5000);
    return atomic_load(word) >= least;
}

static void told_at_each_change(void **state)
{
    HwQueueHandle hwq;
    XQueueHandle xq;
    char *log;

    (void)state;
    xsched_priv_interrupt_ops(&k_interrupt);
    assert_int_equal(xsched_priv_hwq_create(&k_hal, 1, &g_null, DEVICE, &hwq, NULL), kXSchedSuccess);
    assert_int_equal(XQueueCreate(&xq, hwq, kPreemptLevelInterrupt, 0), kXSchedSuccess);
    assert_true(becomes(&g_ends, 1));
    for (int i = 0; i < 500 && raw_status(&g_server, "refused") < 1; i++)
        usleep(5000);
    assert_int_equal(raw_status(&g_server, "refused"), 1);
    log = raw_server_log(&g_server);
    assert_non_null(strstr(log, "nv_group refused"));
    free(log);
    assert_int_equal(raw_status(&g_server, "clients"), 1);
    assert_int_equal(raw_status(&g_server, "queues"), 1);
    /* nothing new, nothing told */
    xsched_priv_interrupt_changed();
    usleep(50000);
    assert_int_equal(atomic_load(&g_ends), 1);
    atomic_fetch_add(&g_generation, 1);
    xsched_priv_interrupt_changed();
    assert_true(becomes(&g_ends, 2));
    assert_int_equal(atomic_load(&g_restores), 0);
}

static void server_killed(void **state)
{
    uint32_t ends = atomic_load(&g_ends);
    char socket[sizeof(g_server.socket)];
    int status;

    (void)state;
    strcpy(socket, g_server.socket);
    atomic_store(&g_refuse_restores, 2);
    kill(g_server.pid, SIGKILL);
    waitpid(g_server.pid, &status, 0);
    assert_true(becomes(&g_restores, 3)); /* again until it is done */
    raw_server_start(&g_server, k_args);
    unlink(socket); /* where this process looks, since it read its environment once */
    assert_int_equal(symlink(g_server.socket, socket), 0);
    assert_true(becomes(&g_ends, ends + 1)); /* the new one is told */
    usleep(20000);
    assert_int_equal(atomic_load(&g_restores), 3);
}

static void submit_both(struct raw_client *high)
{
    struct xs_queue *q = xsched_priv_queue_find(kPlatformCUDA, 1);
    struct xs_ticket t;

    assert_non_null(q);
    xsched_priv_submit_begin(q, 1, XS_SUBMIT_PASS | XS_SUBMIT_NO_MARK, &t);
    xsched_priv_submit_end(&t, true, false);
    raw_submit(high, 0);
}

/* Ours works, then the more important one: our word closes. */
static void is_held_for(struct raw_client *high)
{
    int64_t holds = raw_status(&g_server, "holds");

    for (int i = 0; i < 400 && raw_status(&g_server, "holds") == holds; i++) {
        submit_both(high);
        usleep(5000);
    }
    assert_true(raw_status(&g_server, "holds") > holds);
}

static void *submit_one(void *arg)
{
    struct xs_ticket t;

    (void)arg;
    xsched_priv_submit_begin(xsched_priv_queue_find(kPlatformCUDA, 1), 1, XS_SUBMIT_NO_MARK, &t);
    xsched_priv_submit_end(&t, true, false);
    return NULL;
}

/* A stopped server: a thread that waits for its permit sees the end of the lease, and slices go back, too. */
static void server_stopped(void **state)
{
    pthread_t waits;
    struct raw_client high;
    bool renewed = false;
    uint32_t restores = 0;
    uint64_t began;

    (void)state;
    raw_join(&high, g_server.socket);
    raw_add(&high, 0, DEVICE, 10);
    for (int i = 0; i < 5 && !renewed; i++) { /* a machine that is very busy may keep even the server from it once */
        is_held_for(&high);
        restores = atomic_load(&g_restores);
        usleep(700000);
        renewed = atomic_load(&g_restores) == restores; /* held, for longer than one lease */
    }
    assert_true(renewed);
    kill(g_server.pid, SIGSTOP);
    began = xs_now_ns();
    assert_int_equal(pthread_create(&waits, NULL, submit_one, NULL), 0);
    assert_true(becomes(&g_restores, restores + 1));
    assert_true(xs_now_ns() - began < 5 * XS_NS_PER_S);
    assert_int_equal(pthread_join(waits, NULL), 0);
    kill(g_server.pid, SIGCONT);
    raw_leave(&high);
}

static _Atomic uint32_t g_launched;

static XResult launch(HwQueueHandle hwq, void *data)
{
    (void)hwq;
    (void)data;
    atomic_fetch_add(&g_launched, 1);
    return kXSchedSuccess;
}

/* The same, where the only thread that waits is the worker of XQueueSubmit. */
static void server_stopped_deferred(void **state)
{
    HwQueueHandle hwq = xsched_priv_hwq_find(kPlatformCUDA, 1);
    struct raw_client high;
    HwCommandHandle command;
    XQueueHandle xq;

    (void)state;
    raw_join(&high, g_server.socket);
    raw_add(&high, 0, DEVICE, 10);
    is_held_for(&high);
    assert_int_equal(XQueueGet(&xq, hwq), kXSchedSuccess);
    assert_int_equal(HwCommandCreateCallback(&command, launch, NULL), kXSchedSuccess);
    kill(g_server.pid, SIGSTOP);
    assert_int_equal(XQueueSubmit(xq, command), kXSchedSuccess);
    assert_true(becomes(&g_launched, 1));
    kill(g_server.pid, SIGCONT);
    raw_leave(&high);
}

static _Atomic bool g_presents;

static void stays_away(int signal)
{
    (void)signal;
    usleep(1500000);
}

/* As a Vulkan program that presents: it waits for a permit, and enters no command meanwhile. */
static void *present(void *arg)
{
    (void)arg;
    while (atomic_load(&g_presents))
        xsched_priv_permit_wait(xsched_priv_queue_find(kPlatformCUDA, 1), 250 * XS_NS_PER_MS);
    return NULL;
}

/* A signal keeps the thread away while its session ends; then it looks at the page of that session. */
static void a_page_stays_while_a_thread_waits_there(void **state)
{
    struct raw_client high;
    pthread_t presents;

    (void)state;
    signal(SIGUSR1, stays_away);
    raw_join(&high, g_server.socket);
    raw_add(&high, 0, DEVICE, 10);
    atomic_store(&g_presents, true);
    assert_int_equal(pthread_create(&presents, NULL, present, NULL), 0);
    for (int i = 0; i < 2000 && xsched_priv_may_run(xsched_priv_queue_find(kPlatformCUDA, 1), 1); i++) {
        submit_both(&high);
        usleep(2000);
    }
    assert_false(xsched_priv_may_run(xsched_priv_queue_find(kPlatformCUDA, 1), 1));
    usleep(30000);
    assert_int_equal(pthread_kill(presents, SIGUSR1), 0);
    usleep(1000);
    assert_int_equal(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst), kXSchedSuccess);
    usleep(1600000);
    assert_int_equal(XHintSetScheduler(kSchedulerGlobal, kPolicyUnknown), kXSchedSuccess);
    for (int i = 0; i < 1000 && raw_status(&g_server, "clients") != 2; i++)
        usleep(5000);
    atomic_store(&g_presents, false);
    assert_int_equal(pthread_join(presents, NULL), 0);
    raw_leave(&high);
}

static int pages_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    while (fgets(line, sizeof(line), maps))
        n += strstr(line, "xsched-server") != NULL;
    fclose(maps);
    return n;
}

static void join_or_leave(bool join)
{
    assert_int_equal(XHintSetScheduler(join ? kSchedulerGlobal : kSchedulerAppManaged, kPolicyUnknown), kXSchedSuccess);
    for (int i = 0; i < 2000 && raw_status(&g_server, "clients") != join; i++)
        usleep(5000);
    assert_int_equal(raw_status(&g_server, "clients"), join);
}

/* A thread is in the driver all the time; later their pages go, however many they were. */
static void ended_sessions_are_unmapped(void **state)
{
    const int sessions = 12;
    HwQueueHandle hwq;
    XQueueHandle xq;
    struct xs_ticket t;
    int before, after;

    (void)state;
    assert_int_equal(xsched_priv_hwq_create(&k_hal, 2, &g_null, DEVICE, &hwq, NULL), kXSchedSuccess);
    assert_int_equal(XQueueCreate(&xq, hwq, kPreemptLevelBlock, 0), kXSchedSuccess);
    join_or_leave(false);
    for (int i = 0; i < 2000 && pages_mapped() > 0; i++)
        usleep(5000);
    before = pages_mapped();
    assert_int_equal(before, 0);
    xsched_priv_submit_begin(xsched_priv_queue_find(kPlatformCUDA, 2), 1, XS_SUBMIT_PASS | XS_SUBMIT_NO_MARK, &t);
    for (int i = 0; i < sessions; i++) {
        join_or_leave(true);
        join_or_leave(false);
    }
    assert_int_equal(pages_mapped(), sessions); /* it may stand at a word of any of them */
    xsched_priv_submit_end(&t, true, false);
    join_or_leave(true);
    for (int i = 0; i < 2000 && pages_mapped() > 1; i++)
        usleep(5000);
    after = pages_mapped();
    assert_int_equal(after, 1);
}

static int start(void **state)
{
    (void)state;
    g_null = open("/dev/null", O_RDWR | O_CLOEXEC);
    raw_server_start(&g_server, k_args);
    setenv("XSCHED_SCHEDULER", "GLB", 1);
    setenv("XSCHED_SOCKET", g_server.socket, 1);
    return g_null < 0;
}

static int stop(void **state)
{
    (void)state;
    return raw_server_stop(&g_server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_at_each_change), cmocka_unit_test(server_killed), cmocka_unit_test(server_stopped),
        cmocka_unit_test(server_stopped_deferred), cmocka_unit_test(a_page_stays_while_a_thread_waits_there),
        cmocka_unit_test(ended_sessions_are_unmapped),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
