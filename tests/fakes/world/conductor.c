/* SPDX-License-Identifier: Apache-2.0 */
/* conductor FOLDER PROCESSES [--switch-us N] [--control-us N] [--late-us N] [--version TEXT] [--no-slices] [--real]
 *
 * Makes a world (world.h) in FOLDER and says "ready". When so many processes have come, moves its clock, each time to the
 * next event at which something happens, and only when every thread of every process sleeps. Ends when all but the
 * first to come (an xserver; with --all: all) are gone, or at SIGTERM, and says what the GPU did; fails when they are not
 * within a minute of its clock. With --no-slices the driver says that it has set time slices, and they have no effect. With
 * --real: makes the world, says "ready" and ends. */
#include "world.h"

#include "fakes/asleep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONGEST_NS 60000000000ull

static struct world *w;
static struct gpu g_gpu;
static struct gpu_group g_groups[WORLD_SLOTS];
static bool g_no_slices;          /* the driver takes them, and the GPU does not know them */
static int g_first;               /* pid of the process that came first */
static volatile sig_atomic_t g_stop;

static void stop(int signal)
{
    (void)signal;
    g_stop = 1;
}

static void pause_real(long ns)
{
    struct timespec t = {0, ns};

    vtime_real_sleep(&t);
}

/* ---- the processes ---- */

/* 0: there is none. Of a process that ends, the first thread may be gone before the others: it runs until the last one is,
 * since nobody is told before. */
static char state_of(int pid)
{
    char path[64], text[512], *p, state = 0;
    int threads = 1, fd;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    p = strrchr(text, ')');
    if (!p || sscanf(p + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &state, &threads) < 1)
        return 0;
    return state == 'X' ? 0 : state == 'Z' && threads > 1 ? 'R' : state;
}

static void bury(struct world_process *p, int pid)
{
    for (int i = 0; i < WORLD_SLOTS; i++) {
        if (atomic_load(&w->slots[i].pid) == pid) {
            atomic_store(&w->slots[i].left_ns, 0);
            atomic_store(&w->slots[i].pid, 0);
        }
    }
    fake_rm_file_ends(&w->rm, pid);
    atomic_store(&p->polls, 0);
    atomic_store(&p->pid, 0);
}

/* Looks anew whether it can act: it is there, and not stopped. */
static bool acts_now(struct world_process *p)
{
    int pid = atomic_load(&p->pid);
    char state;

    if (pid <= 0)
        return false;
    state = state_of(pid);
    if (state == 0 || state == 'Z')
        bury(p, pid);
    return state != 0 && state != 'Z' && state != 'T';
}

static int count(void)
{
    int n = 0;

    for (int i = 0; i < WORLD_PROCESSES; i++)
        n += atomic_load(&w->processes[i].pid) > 0;
    return n;
}

/* Of each process: its threads, and a descriptor that is readable once all of them have ended. */
static struct {
    struct asleep threads;
    int end_fd, end_pid;
} g_seen[WORLD_PROCESSES];

/* The same, as of the last time when all slept. */
static bool acts(int i)
{
    return atomic_load(&w->processes[i].pid) > 0 && !g_seen[i].threads.stopped;
}

static void bury_ended(void)
{
    struct pollfd ends[WORLD_PROCESSES];

    for (int i = 0; i < WORLD_PROCESSES; i++) {
        int pid = atomic_load(&w->processes[i].pid);

        if (g_seen[i].end_pid != pid) {
            if (g_seen[i].end_pid > 0 && g_seen[i].end_fd >= 0)
                close(g_seen[i].end_fd);
            g_seen[i].end_pid = pid;
            g_seen[i].end_fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
            if (pid > 0 && g_seen[i].end_fd < 0)
                acts_now(&w->processes[i]); /* it is gone already */
        }
        ends[i] = (struct pollfd){.fd = g_seen[i].end_pid > 0 ? g_seen[i].end_fd : -1, .events = POLLIN};
    }
    if (poll(ends, WORLD_PROCESSES, 0) <= 0)
        return;
    for (int i = 0; i < WORLD_PROCESSES; i++)
        if (ends[i].revents)
            acts_now(&w->processes[i]);
}

/* The process that did something last: one of its threads runs most likely. */
static int g_likely;

/* Threads of a stopped process count as asleep. */
static enum asleep_answer look_at_all(void)
{
    bury_ended();
    for (int n = 0, first = g_likely; n < WORLD_PROCESSES; n++) {
        int i = (first + n) % WORLD_PROCESSES, pid = atomic_load(&w->processes[i].pid);
        enum asleep_answer a;

        if (pid <= 0)
            continue;
        g_seen[i].threads.keep_open = true;
        a = asleep_look(&g_seen[i].threads, pid, NULL);
        if (a == ASLEEP_GONE && !acts_now(&w->processes[i]))
            continue;
        if (a != ASLEEP_ALL) {    /* another pass looks at the others */
            g_likely = i;
            return a == ASLEEP_RAN ? a : ASLEEP_RUNS;
        }
    }
    return ASLEEP_ALL;
}

static void settle(void)
{
    enum asleep_answer a;

    for (int i = 0; !g_stop && (a = look_at_all()) != ASLEEP_ALL;)
        if (a == ASLEEP_RUNS)
            pause_real(i++ < 8 ? 10000 : 100000);
}

static void ask(struct world_process *p)
{
    uint32_t number = atomic_fetch_add(&p->asked, 1) + 1, answered;

    syscall(SYS_futex, &p->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    while ((answered = atomic_load(&p->answered)) != number && acts_now(p) && !g_stop) {
        struct timespec t = {0, 50000000};

        syscall(SYS_futex, &p->answered, FUTEX_WAIT, answered, &t, NULL, 0);
    }
}

static bool anybody_polls(void)
{
    for (int i = 0; i < WORLD_PROCESSES; i++)
        if (acts(i) && atomic_load(&w->processes[i].polls))
            return true;
    return false;
}

static bool anybody_due(void)
{
    for (int i = 0; i < WORLD_PROCESSES; i++)
        if (acts(i) && vtime_due(w->processes[i].sleepers, atomic_load(&w->now_ns), atomic_load(&w->round)))
            return true;
    return false;
}

/* Those whose time has come, or that wait for memory. */
static void ask_all(bool polls)
{
    bool asked = false;

    for (int i = 0; i < WORLD_PROCESSES; i++) {
        struct world_process *p = &w->processes[i];

        if (acts(i) && ((polls && atomic_load(&p->polls)) ||
                        vtime_due(p->sleepers, atomic_load(&w->now_ns), atomic_load(&w->round)))) {
            ask(p);
            g_likely = i;
            asked = true;
        }
    }
    if (asked)                    /* else they sleep as before */
        settle();
}

/* Everybody does what is to be done at this time, always in one order: time limits; then devices, a command each a
 * turn; then threads that look again and again; then commands that wait for memory. Until nothing comes of it. */
static void now(bool woken)
{
    uint64_t seen = atomic_load(&w->activity) - 1; /* the clock has moved: who looks, looks once */

    if (woken)                    /* else they sleep as before */
        settle();
    for (bool quiet = false; !g_stop;) {
        uint64_t before;

        while (!g_stop && anybody_due()) {
            ask_all(false);
            quiet = false;
        }
        before = atomic_load(&w->activity);
        if (before != seen) {
            seen = before;
            atomic_fetch_add(&w->round, 1);
            ask_all(false);
            quiet = false;
            continue;
        }
        if (quiet || !anybody_polls())
            break;
        ask_all(true);
        quiet = true;
    }
}

/* ---- the GPU ---- */

static void take_groups(void)
{
    for (int i = 0; i < WORLD_SLOTS; i++) {
        struct world_slot *s = &w->slots[i];
        struct object *o = s->group ? fake_rm_find(&w->rm, s->client, s->group) : NULL;
        uint64_t slice_ns = (o ? o->slice_us : FAKE_RM_DEFAULT_SLICE_US) * 1000;

        g_groups[i].left_ns = atomic_load(&s->pid) ? atomic_load(&s->left_ns) : 0;
        if (g_no_slices)
            slice_ns = FAKE_RM_DEFAULT_SLICE_US * 1000;
        if (g_groups[i].slice_ns && g_groups[i].slice_ns != slice_ns)
            gpu_restart(&g_gpu);
        g_groups[i].slice_ns = slice_ns;
    }
}

/* @return whether a kernel ended */
static bool give_groups(void)
{
    bool any = false;

    for (int i = 0; i < WORLD_SLOTS; i++) {
        struct world_slot *s = &w->slots[i];

        if (atomic_load(&s->left_ns) == g_groups[i].left_ns)
            continue;
        atomic_store(&s->left_ns, g_groups[i].left_ns);
        if (g_groups[i].left_ns)
            continue;
        atomic_fetch_add(&s->ended, 1);
        syscall(SYS_futex, &s->ended, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        any = true;
    }
    return any;
}

static void report(void)
{
    printf("switches %llu switching_us %llu idle_us %llu", (unsigned long long)g_gpu.switches,
           (unsigned long long)g_gpu.switching_ns / 1000, (unsigned long long)g_gpu.idle_ns / 1000);
    for (int i = 0; i < WORLD_SLOTS; i++)
        if (g_groups[i].ran_ns)
            printf(" group%d_us %llu", i, (unsigned long long)g_groups[i].ran_ns / 1000);
    printf(" end_us %llu\n", (unsigned long long)(atomic_load(&w->now_ns) - VTIME_START_NS) / 1000);
}

static void conduct(int processes, bool all)
{
    uint64_t quiet_since = vtime_real_ns();
    bool woken = true;

    while (count() < processes && !g_stop)
        pause_real(1000000);
    g_first = atomic_load(&w->processes[0].pid);
    settle();
    while (!g_stop) {
        uint64_t next;
        int left;

        now(woken);
        woken = true;
        left = count();
        if (left == 0 || (!all && left == 1 && atomic_load(&w->processes[0].pid) == g_first))
            return;
        take_groups();
        gpu_decide(&g_gpu, g_groups, WORLD_SLOTS);
        next = gpu_next(&g_gpu, g_groups, WORLD_SLOTS);
        for (int i = 0; i < WORLD_PROCESSES; i++) {
            struct world_process *p = &w->processes[i];

            if (acts(i) && vtime_next_of(p->sleepers) < next)
                next = vtime_next_of(p->sleepers);
        }
        if (next == UINT64_MAX) { /* a process that ends, or is stopped */
            if (vtime_real_ns() - quiet_since > 30000000000ull) {
                fprintf(stderr, "conductor: nobody waits for anything, and %d processes are there\n", left);
                exit(1);
            }
            pause_real(1000000);
            continue;
        }
        quiet_since = vtime_real_ns();
        if (next > VTIME_START_NS + LONGEST_NS) {
            fprintf(stderr, "conductor: after a minute %d processes are there still\n", left);
            exit(1);
        }
        if (next < atomic_load(&w->now_ns))
            next = atomic_load(&w->now_ns);
        gpu_advance(&g_gpu, g_groups, WORLD_SLOTS, next);
        atomic_store(&w->now_ns, next);
        woken = give_groups();
    }
}

/* ---- making it ---- */

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "we");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static void make(const char *folder, const char *version)
{
    pthread_mutexattr_t a;
    char path[300];
    int fd;

    put_file(folder, "nvidiactl", "");
    put_file(folder, "version", version);
    snprintf(path, sizeof(path), "%s/world", folder);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*w)) < 0 ||
        (w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(fd);
    atomic_store(&w->now_ns, VTIME_START_NS);
    atomic_store(&w->round, 1);
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&w->rm.lock, &a);
    w->rm.any_file = true;
    w->rm.gpu_id = 0x00001000;    /* 0000:10:00, as the fake driver's first device */
}

int main(int argc, char **argv)
{
    const char *version = "580.159.04\n";
    uint64_t switch_us = 0, control_us = 0, late_us = 0;
    bool all = false;

    if (argc < 3)
        return 2;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            all = true;
        else if (strcmp(argv[i], "--switch-us") == 0 && i + 1 < argc)
            switch_us = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--control-us") == 0 && i + 1 < argc)
            control_us = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--late-us") == 0 && i + 1 < argc)
            late_us = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--version") == 0 && i + 1 < argc)
            version = argv[++i];
        else if (strcmp(argv[i], "--no-slices") == 0)
            g_no_slices = true;
        else if (strcmp(argv[i], "--real") != 0)
            return 2;
    }
    make(argv[1], version);
    for (int i = 3; i < argc; i++)
        w->real |= strcmp(argv[i], "--real") == 0;
    w->control_ns = control_us * 1000;
    w->late_ns = late_us * 1000;
    gpu_start(&g_gpu, VTIME_START_NS, switch_us * 1000);
    atomic_store(&w->ready, WORLD_READY);
    signal(SIGTERM, stop);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    puts("ready");
    fflush(stdout);
    if (w->real)
        return 0;
    conduct(atoi(argv[2]), all);
    report();
    return 0;
}
