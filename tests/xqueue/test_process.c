/* SPDX-License-Identifier: Apache-2.0 */
/* What programs do to a library inside them: fork, vfork, exec, becoming a daemon, closing every
 * descriptor, tiny stacks, masked signals, leaving by exit() in a child. */
#include "xqueue_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int setup(void **state)
{
    device_setup(state);
    ok(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst));
    g_l = lane_open(g_d);
    fake_settle();
    return 0;
}

static int teardown(void **state)
{
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    return lane_teardown(state);
}

/* The parent after whatever happened: everything still works. */
static void parent_is_well(void)
{
    HwCommandHandle c = command(&g_l, 10 * US, 1, kXSchedSuccess);

    fake_auto(true);
    ok(XQueueSubmit(g_l.xq, c));
    ok(XQueueWait(g_l.xq, c));
    assert_int_equal(fake_api_launch(g_l.stream, 10 * US, 1), FAKE_OK);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
}

static int child_status(pid_t pid)
{
    int status = -1;

    for (int i = 0; i < 100000; i++) {
        struct timespec ts = {0, 200000};

        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        vtime_real_sleep(&ts);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;                    /* it hung */
}

/* In a child: nothing of the parent's is there, nothing hangs, own queues work. */
static int child_checks(void)
{
    struct fake_device *d;
    struct fake_stream *s;
    HwQueueHandle hwq;
    XQueueHandle xq;
    int64_t n = -1;

    if (queue_of(g_l.stream))
        return 10;
    if (XQueueSuspend(g_l.xq, 0) != kXSchedErrorNotFound || XQueueWaitAll(g_l.xq) != kXSchedErrorNotFound)
        return 11;
    if (XHintPriority(g_l.xq, 5) != kXSchedErrorNotFound)
        return 12;
    /* a stream of its own, then an XQueue on it */
    d = fake_device_create(FAKE_EXCLUSIVE);
    if (fake_stream_create(d, &s) != FAKE_OK || fake_queue_create(&hwq, s) != kXSchedSuccess ||
        XQueueCreate(&xq, hwq, 1, 0) != kXSchedSuccess)
        return 13;
    if (xq == g_l.xq || hwq == g_l.hwq)
        return 14;                /* handles are unique on the host */
    if (fake_api_launch(s, 10 * US, 1) != FAKE_OK || XQueueProfileHwCommandCount(xq, &n) != kXSchedSuccess || n != 1)
        return 15;
    fake_auto(true);
    if (XQueueWaitAll(xq) != kXSchedSuccess || XQueueDestroy(xq) != kXSchedSuccess)
        return 16;
    fake_auto(false);
    return 0;
}

static void fork_child_is_unmanaged(void **state)
{
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0)
        _exit(child_checks());
    assert_int_equal(child_status(pid), 0);
    parent_is_well();
}

static void launch_forever(void *arg)
{
    _Atomic bool *stop = arg;

    while (!atomic_load(stop)) {
        struct lane l = lane_open(g_d);

        fake_api_launch(l.stream, 10 * US, 1);
        ok(XQueueSuspend(l.xq, 0));
        ok(XQueueResume(l.xq, 0));
        fake_api_stream_destroy(l.stream);
    }
}

/* Forked while other threads hold whatever locks there are. */
static void fork_in_the_middle_of_everything(void **state)
{
    _Atomic bool stop = false;
    struct task t;

    (void)state;
    task_start(&t, launch_forever, (void *)&stop);
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            /* the fake device's own lock may be held: only libpreempt is asked */
            if (queue_of(g_l.stream))
                _exit(20);
            if (XQueueSuspend(g_l.xq, 0) != kXSchedErrorNotFound)
                _exit(21);
            if (XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown) != kXSchedSuccess)
                _exit(22);
            _exit(0);
        }
        assert_int_equal(child_status(pid), 0);
    }
    atomic_store(&stop, true);
    fake_auto(true);
    task_join(&t);
    fake_auto(false);
    parent_is_well();
}

static void fork_while_suspended(void **state)
{
    pid_t pid;

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    pid = fork();
    if (pid == 0) {
        /* unmanaged: the child's call on the copied stream is not held */
        _exit(fake_api_launch(g_l.stream, 10 * US, 1) == FAKE_OK ? 0 : 30);
    }
    assert_int_equal(child_status(pid), 0);
    ok(XQueueResume(g_l.xq, 0));
    parent_is_well();
}

static void child_leaves_by_exit(void **state)
{
    pid_t pid;

    (void)state;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        close(1);                 /* stdio's copy of the parent's output is not to appear twice */
        exit(0);
    }
    assert_int_equal(child_status(pid), 0);
    parent_is_well();
}

static __attribute__((noinline)) pid_t vfork_true(void)
{
    pid_t pid = vfork();

    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(40);
    }
    return pid;
}

static void vfork_and_exec(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(child_status(vfork_true()), 0);
    parent_is_well();
}

static void daemonise(void **state)
{
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        pid_t again;
        int status;

        setsid();
        again = fork();           /* a grandchild, as daemons do */
        if (again == 0) {
            if (chdir("/") != 0)
                _exit(51);
            for (int fd = 0; fd < 256; fd++)
                close(fd);
            _exit(child_checks());
        }
        waitpid(again, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 50);
    }
    assert_int_equal(child_status(pid), 0);
    parent_is_well();
}

/* Descriptors are above 2 and closed on exec. */
static void descriptors(void **state)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *e;
    int n = 0;

    (void)state;
    while ((e = readdir(dir))) {
        char path[300], target[256] = "";
        int fd = atoi(e->d_name);

        if (e->d_name[0] == '.' || fd == dirfd(dir))
            continue;
        snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
        if (readlink(path, target, sizeof(target) - 1) < 0)
            continue;
        if (strstr(target, "memfd:xsched") || strstr(target, "eventfd")) { /* not a clone in a folder of that name */
            assert_true(fd > 2);
            assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
            n++;
        }
    }
    closedir(dir);
    assert_true(n > 0);
}

/* The program closes all, then opens files of its own: they are not written to, not closed. */
static void program_closes_everything(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        /* a fresh process state in the child, with a local scheduler and its descriptors */
        struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
        struct lane l[2];
        int fds[64], pipe_fd[2];
        char text[8];

        if (XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst) != kXSchedSuccess)
            _exit(60);
        for (int i = 0; i < 2; i++) {
            fake_stream_create(d, &l[i].stream);
            fake_queue_create(&l[i].hwq, l[i].stream);
            XQueueCreate(&l[i].xq, l[i].hwq, 1, 0);
        }
        XHintPriority(l[1].xq, 5);
        fake_settle();
        for (int fd = 3; fd < 256; fd++)
            close(fd);
        for (int i = 0; i < 64; i++)
            fds[i] = open("/dev/null", O_RDWR);
        if (pipe2(pipe_fd, O_NONBLOCK))
            _exit(61);
        fake_auto(true);
        for (int i = 0; i < 50; i++) {
            fake_api_launch(l[i & 1].stream, 100 * US, 1);
            XHintPriority(l[i & 1].xq, i);
        }
        XQueueWaitAll(l[0].xq);
        XQueueWaitAll(l[1].xq);
        fake_auto(false);
        if (read(pipe_fd[0], text, sizeof(text)) >= 0)
            _exit(62);            /* something was written into a descriptor of the program's */
        for (int i = 0; i < 64; i++)
            if (fcntl(fds[i], F_GETFD) < 0)
                _exit(63);        /* ... or one was closed */
        _exit(0);
    }
    assert_int_equal(child_status(pid), 0);
    parent_is_well();
}

static void *small_stack_main(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        fake_api_launch(g_l.stream, 50 * US, 1);
        if (i % 5 == 0)
            ok(XHintPriority(g_l.xq, i));
    }
    ok(XQueueSuspend(g_l.xq, 0));
    ok(XQueueResume(g_l.xq, 0));
    ok(XQueueWaitAll(g_l.xq));
    return NULL;
}

static void tiny_stacks(void **state)
{
    pthread_attr_t attr;
    pthread_t t;

    (void)state;
#ifdef XQUEUE_SANITIZED
    skip();
#endif
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN), 0);
    fake_auto(true);
    assert_int_equal(pthread_create(&t, &attr, small_stack_main, NULL), 0);
    pthread_join(t, NULL);
    fake_auto(false);
    pthread_attr_destroy(&attr);
}

static _Atomic int g_signals;

static void on_signal(int sig)
{
    (void)sig;
    atomic_fetch_add(&g_signals, 1);
}

static void launch_while_held(void *arg)
{
    (void)arg;
    fake_api_launch(g_l.stream, 10 * US, 1);
}

/* A signal during a wait runs its handler and does not end the wait; our threads take none. */
static void signals(void **state)
{
    struct sigaction sa = {.sa_handler = on_signal}, before[3], after;
    static const int numbers[] = {SIGTERM, SIGUSR1, SIGCHLD};
    struct task t;
    sigset_t all, old;

    (void)state;
    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], &sa, &before[i]);
    ok(XQueueSuspend(g_l.xq, 0));
    task_start(&t, launch_while_held, NULL);
    fake_settle();
    for (int i = 0; i < 20; i++) {
        pthread_kill(t.thread, SIGUSR1);
        fake_settle();
    }
    assert_true(g_signals > 0);
    assert_false(t.done);
    ok(XQueueResume(g_l.xq, 0));
    task_join(&t);
    /* masked everywhere: still works */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    parent_is_well();
    /* a signal to the process while this thread masks it stays pending: no thread of ours took it */
    g_signals = 0;
    kill(getpid(), SIGTERM);
    fake_settle();
    assert_int_equal(g_signals, 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    WAIT_FOR(g_signals == 1);
    for (int i = 0; i < 3; i++) { /* nobody changed the handlers */
        sigaction(numbers[i], NULL, &after);
        assert_true(after.sa_handler == on_signal);
        sigaction(numbers[i], &before[i], NULL);
    }
}

/* All that rings somebody, logs or closes a descriptor, in a thread whose cancellation is pending. */
static void *cancelled_main(void *arg)
{
    struct lane *l = arg;
    XResult r[6];

    pthread_cancel(pthread_self());
    /* warns: there is no level 2 */
    r[0] = XQueueCreate(&l->xq, l->hwq, kPreemptLevelDeactivate, kQueueCreateFlagNone);
    r[1] = XHintPriority(l->xq, 3);
    r[2] = XQueueSuspend(l->xq, 0);
    r[3] = XQueueResume(l->xq, 0);
    for (int i = 0; i < 50; i++)
        fake_api_launch(l->stream, 10 * US, 1);
    r[4] = XQueueDestroy(l->xq);
    r[5] = HwQueueDestroy(l->hwq);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int i = 0; i < 6; i++)
        ok(r[i]);
    return NULL;
}

/* A thread that is cancelled dies in calls of the program's own choice, never in ours, with a lock held. */
static void cancelled(void **state)
{
    struct lane l;
    pthread_t t;
    void *ret;

    (void)state;
    ok(fake_stream_create(g_d, &l.stream));
    ok(fake_queue_create(&l.hwq, l.stream));
    fake_auto(true);
    assert_int_equal(pthread_create(&t, NULL, cancelled_main, &l), 0);
    pthread_join(t, &ret);
    fake_auto(false);
    if (ret == PTHREAD_CANCELED) {
        print_error("cancelled inside\n");
        _exit(1);                 /* whoever needs what it held would hang */
    }
    parent_is_well();
}

/* No thread a queue, and the worker of deferred commands goes when they have gone. */
static void number_of_threads(void **state)
{
    struct lane l[50];
    HwCommandHandle c[50];
    int before = threads();

    (void)state;
    for (int i = 0; i < 50; i++)
        l[i] = lane_open(g_d);
    assert_int_equal(threads(), before);
    for (int i = 0; i < 50; i++) {
        c[i] = command(&l[i], 10 * US, 1, kXSchedSuccess);
        ok(XQueueSubmit(l[i].xq, c[i]));
    }
    assert_true(threads() <= before);                  /* nothing had to wait */
    fake_auto(true);
    for (int i = 0; i < 50; i++)
        ok(XQueueWait(l[i].xq, c[i]));
    fake_auto(false);
    for (int i = 0; i < 50; i++)
        lane_close(&l[i]);
    WAIT_FOR(threads() <= before);
}

int main(int argc, char **argv)
{
#define A(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        A(fork_child_is_unmanaged), A(fork_in_the_middle_of_everything), A(fork_while_suspended),
        A(child_leaves_by_exit), A(vfork_and_exec), A(daemonise), A(descriptors), A(program_closes_everything),
        A(tiny_stacks), A(signals), A(cancelled), A(number_of_threads),
    };

    (void)argc;
    (void)argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
