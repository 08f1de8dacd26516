/* SPDX-License-Identifier: Apache-2.0 */
/* Decision latency: from the moment before a submit that makes an urgent queue ready, to the
 * moment at which the word of another process's queue, in the page that xserver made for it, says
 * that nothing more may start. Real xserver, real processes, libpreempt in both.
 *
 *   awake    the server's page says that it looks at the doorbells (a request --gap-us after the
 *            low side was let go)
 *   asleep   it says that the server sleeps (a request every 20 ms); beside it the same sleep and
 *            wake-up between two processes with nothing but a futex
 *   expected the same, with --ahead: a server that is awake when it expects a request (--tune ahead-cpus=1)
 *
 * --clients N: that many more processes with an idle queue; --queues N: one more process with that
 * many idle queues. The urgent process watches the other one's word with process_vm_readv, whose
 * own time (printed) is in the figure. */
#include "bench.h"
#include "null_device.h"

#include "base/clock.h"
#include "base/futex.h"
#include "xqueue/queue.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared {
    _Atomic uint64_t word_address;     /* of the low side's permitted, in its own memory */
    _Atomic uint32_t ready;            /* processes that are set up */
    _Atomic uint32_t stop;
    _Atomic uint32_t ping, pong;       /* the plain futex */
    _Atomic uint64_t ping_ns;
};
static struct shared *g_shared;

static XQueueHandle open_queue(struct null_stream *s, int32_t priority)
{
    HwQueueHandle hwq;
    XQueueHandle xq = 0;

    if (null_queue(s, 0, &hwq) != kXSchedSuccess || XQueueCreate(&xq, hwq, kPreemptLevelBlock, 0) != kXSchedSuccess ||
        XHintPriority(xq, priority) != kXSchedSuccess)
        bench_fail("no queue");
    return xq;
}

static struct xs_queue *find(struct null_stream *s)
{
    return xsched_priv_queue_find(kPlatformVPI, (uint64_t)(uintptr_t)s);
}

static void await_join(struct null_stream *s)
{
    struct xs_state *st = find(s)->state;

    for (int i = 0; i < 1000; i++) {
        struct xs_server_page *page = atomic_load(&st->server);

        if (page && atomic_load(&find(s)->sc) == &page->cells[find(s)->cell])
            return;
        usleep(10000);
    }
    bench_fail("xserver was not joined");
}

/* Key 0, never timed, so that each command is marked and null_complete() can end it.
 *
 * Always ready: something is under way at any time, and more comes whenever it may. */
static void low_side(void)
{
    static struct null_stream s;

    open_queue(&s, 0);
    await_join(&s);
    null_api_launch(&s, 1, 0);
    atomic_store(&s.hold_from, 0);
    atomic_store(&g_shared->word_address, (uint64_t)(uintptr_t)&atomic_load(&find(&s)->sc)->permitted);
    atomic_fetch_add(&g_shared->ready, 1);
    while (!atomic_load(&g_shared->stop)) {
        null_complete(&s);
        atomic_store(&s.hold_from, 0);
        null_api_launch(&s, 1, 0);     /* sleeps at the gate while it is held */
        usleep(1000);
    }
    null_complete(&s);
    _exit(0);
}

static void idle_client(long queues)
{
    struct null_stream *s = calloc((size_t)queues, sizeof(*s));

    for (long i = 0; i < queues; i++)
        open_queue(&s[i], -1);
    await_join(&s[0]);
    atomic_fetch_add(&g_shared->ready, 1);
    while (!atomic_load(&g_shared->stop))
        usleep(20000);
    _exit(0);
}

static void pong_side(struct bench_samples *s, long n)
{
    int fds[2];
    pid_t pid;

    if (pipe(fds))
        bench_fail("no pipe");
    pid = fork();
    if (pid == 0) {
        bench_pin(1);
        for (uint32_t i = 0; i < (uint32_t)n; i++) {
            double us;

            while (atomic_load(&g_shared->ping) == i)
                xs_futex_wait(&g_shared->ping, i, UINT64_MAX);
            us = (double)(xs_now_ns() - atomic_load(&g_shared->ping_ns)) / 1e3;
            if (write(fds[1], &us, sizeof(us)) != sizeof(us))
                _exit(1);
        }
        _exit(0);
    }
    for (long i = 0; i < n; i++) {
        double us;

        usleep(20000);
        atomic_store(&g_shared->ping_ns, xs_now_ns());
        atomic_fetch_add(&g_shared->ping, 1);
        xs_futex_wake(&g_shared->ping, 1);
        if (read(fds[0], &us, sizeof(us)) != sizeof(us))
            bench_fail("the other side has gone");
        bench_add(s, us);
    }
    waitpid(pid, NULL, 0);
}

static uint64_t peek(pid_t pid, uint64_t address)
{
    uint64_t v = 0;
    struct iovec local = {&v, sizeof(v)}, remote = {(void *)(uintptr_t)address, sizeof(v)};

    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != sizeof(v))
        bench_fail("the other process's word cannot be read");
    return v;
}

static void spin_until(pid_t pid, uint64_t address, bool closed, const char *what)
{
    uint64_t until = xs_now_ns() + 2 * XS_NS_PER_S;

    while ((peek(pid, address) != XS_PERMIT_OPEN) != closed)
        if (xs_now_ns() > until)
            bench_fail("the low side is never %s", what);
}

static void pass_us(long us)
{
    uint64_t until = xs_now_ns() + (uint64_t)us * 1000;

    if (us >= 1000)
        usleep((useconds_t)us);
    while (xs_now_ns() < until)
        xs_cpu_relax();
}

static pid_t start(void (*side)(void), long queues)
{
    uint32_t before = atomic_load(&g_shared->ready);
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (side)
            side();
        idle_client(queues);
    }
    for (int i = 0; i < 3000 && atomic_load(&g_shared->ready) == before; i++)
        usleep(10000);
    if (atomic_load(&g_shared->ready) == before)
        bench_fail("a client does not get ready");
    return pid;
}

int main(int argc, char **argv)
{
    long n = bench_option(argc, argv, "samples", 2000), gap_us = bench_option(argc, argv, "gap-us", 20);
    long clients = bench_option(argc, argv, "clients", 0), queues = bench_option(argc, argv, "queues", 0);
    long sleep_n = bench_option(argc, argv, "sleep-samples", n > 500 ? 500 : n), ahead = bench_option(argc, argv, "ahead", 0);
    struct bench_samples awake = {0}, asleep = {0}, expected = {0}, plain = {0}, look = {0};
    struct xs_server_page *page;
    static struct null_stream s;
    char variant[64], name[80];
    pid_t server, low;
    uint64_t word;

    g_shared = mmap(NULL, sizeof(*g_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("XSCHED_SCHEDULER", "GLB", 1);
    server = bench_server_start(XSERVER_PATH, ahead ? "--tune=ahead-cpus=1" : "--tune=ahead-cpus=0");
    low = start(low_side, 0);
    for (long i = 0; i < clients; i++)
        start(NULL, 1);
    if (queues)
        start(NULL, queues);
    word = atomic_load(&g_shared->word_address);
    bench_pin(0);
    open_queue(&s, 10);
    await_join(&s);
    page = atomic_load(&find(&s)->state->server);
    snprintf(variant, sizeof(variant), "%ld clients, %ld queues", 2 + clients + (queues ? 1 : 0),
             2 + clients + queues);
    for (long i = 0; i < 1000; i++) {
        uint64_t t0 = xs_now_ns();

        peek(low, word);
        bench_add(&look, (double)(xs_now_ns() - t0) / 1e3);
    }
    for (long i = 0; i < n + sleep_n; i++) {
        bool sleeps = i >= n, expects = sleeps && ahead;
        uint64_t t0;

        spin_until(low, word, false, "let go");
        /* every other request comes after a pause, so that the server's looking stays within its share */
        pass_us(sleeps ? 20000 : i % 2 ? gap_us : 2000);
        spin_until(low, word, false, "let go");
        atomic_store(&s.hold_from, 0);
        sleeps = atomic_load(&page->h.asleep);
        t0 = xs_now_ns();
        null_api_launch(&s, 1, 0);     /* ready; it runs until completed below */
        spin_until(low, word, true, "held");
        bench_add(expects ? &expected : sleeps ? &asleep : &awake, (double)(xs_now_ns() - t0) / 1e3);
        null_complete(&s);
    }
    if (xsched_priv_scheduled_count() != (uint64_t)(n + sleep_n))
        bench_fail("not every submit took the scheduled path");
    pong_side(&plain, sleep_n);
    snprintf(name, sizeof(name), "awake: %s", variant);
    bench_figures("decision", name, NULL, "", &awake, "us");
    snprintf(name, sizeof(name), "asleep: %s", variant);
    bench_figures("decision", name, NULL, "", &asleep, "us");
    if (ahead) {
        snprintf(name, sizeof(name), "expected: %s", variant);
        bench_figures("decision", name, NULL, "", &expected, "us");
    }
    bench_figures("decision", "futex wake-up alone", NULL, "", &plain, "us");
    bench_figures("decision", "reading the word", NULL, "", &look, "us");
    atomic_store(&g_shared->stop, 1);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    usleep(100000);
    bench_server_stop(server);
    return 0;
}
