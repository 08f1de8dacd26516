/* SPDX-License-Identifier: Apache-2.0 */
#include "vtime.h"

#include "asleep.h"
#include "kernel_object.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLEEPERS 256
/* visible to shared objects, so that they find these before the C library's */
#define EXPORT   __attribute__((visibility("default")))

/* One sleep with a time limit. Owner of each field: the sleeper, but fired_ns: the clock. */
struct sleeper {
    _Atomic int used;             /* 0 free, 1 taken, 2 valid, 3 a timer that is not set */
    _Atomic uint64_t deadline_ns;
    _Atomic(void *) word;         /* a futex; NULL: event_fd */
    _Atomic int event_fd;
    _Atomic uint64_t fired_ns;    /* the deadline that ran out: a later sleep in this place has a later one */
    _Atomic bool timer;           /* nobody's sleep: event_fd stands for a timer */
    _Atomic uint64_t round;       /* ends when a later round begins; 0: no */
};
_Static_assert(sizeof(struct sleeper) * SLEEPERS <= VTIME_SHARED_BYTES, "room in the shared world");

static _Atomic bool g_on;
static _Atomic uint64_t g_own_now_ns = VTIME_START_NS; /* never 0: that is "never" for the code under test */
static struct sleeper g_own_sleepers[SLEEPERS];
/* elsewhere while several processes have one clock; set before anybody sleeps */
static _Atomic uint64_t *g_now_ns = &g_own_now_ns;
static struct sleeper *g_sleepers = g_own_sleepers;
static uint64_t g_late_ns;        /* what a sleep lasts beyond what was asked for */
static _Atomic uint64_t *g_round;

static long kernel_call(long n, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;

    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (r < 0 && r > -4096) {
        errno = (int)-r;
        return -1;
    }
    return r;
#else
    static long (*real)(long, ...);

    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(n, a, b, c, d, e, f);
#endif
}

uint64_t vtime_real_ns(void)
{
    struct timespec ts;

    kernel_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&ts, 0, 0, 0, 0);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void vtime_real_sleep(const struct timespec *ts)
{
    kernel_call(SYS_nanosleep, (long)ts, 0, 0, 0, 0, 0);
}

#define POLLERS 16
static _Atomic long g_pollers[POLLERS]; /* thread ids; owner of each: that thread */

static long own_tid(void)
{
    return kernel_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

void vtime_poll_begin(void)
{
    for (int i = 0; i < POLLERS; i++) {
        long nobody = 0;

        if (atomic_compare_exchange_strong(&g_pollers[i], &nobody, own_tid()))
            return;
    }
    abort(); /* more than any test has */
}

void vtime_poll_end(void)
{
    for (int i = 0; i < POLLERS; i++) {
        long mine = own_tid();

        if (atomic_compare_exchange_strong(&g_pollers[i], &mine, 0))
            return;
    }
}

static bool polls(long tid)
{
    for (int i = 0; i < POLLERS; i++)
        if (atomic_load(&g_pollers[i]) == tid)
            return true;
    return false;
}

void vtime_enable(bool on)
{
    /* on to the next full second: a clock never goes back */
    atomic_store(g_now_ns, (atomic_load(g_now_ns) / VTIME_START_NS + 1) * VTIME_START_NS);
    atomic_store(&g_on, on);
}

bool vtime_enabled(void)
{
    return atomic_load(&g_on);
}

void vtime_late(uint64_t ns)
{
    g_late_ns = ns;
}

void vtime_share(_Atomic uint64_t *now_ns, _Atomic uint64_t *round, void *sleepers)
{
    g_now_ns = now_ns;
    g_round = round;
    g_sleepers = sleepers;
    atomic_store(&g_on, true);
}

uint64_t vtime_now_ns(void)
{
    return atomic_load(g_now_ns);
}

static struct sleeper *sleeper_open(uint64_t timeout_ns, void *word, int event_fd)
{
    for (int i = 0; i < SLEEPERS; i++) {
        struct sleeper *s = &g_sleepers[i];
        int nobody = 0;

        if (!atomic_compare_exchange_strong(&s->used, &nobody, 1))
            continue;
        atomic_store(&s->fired_ns, 0);
        atomic_store(&s->word, word);
        atomic_store(&s->event_fd, event_fd);
        s->timer = false;
        atomic_store(&s->round, 0);
        atomic_store(&s->deadline_ns, atomic_load(g_now_ns) + timeout_ns + (timeout_ns ? g_late_ns : 0));
        atomic_store(&s->used, 2);
        return s;
    }
    abort(); /* more sleepers than any test has threads */
}

static bool fired(const struct sleeper *s)
{
    return atomic_load(&s->fired_ns) == atomic_load(&s->deadline_ns);
}

static bool sleeper_close(struct sleeper *s)
{
    bool ran_out = fired(s);

    atomic_store(&s->used, 0);
    return ran_out;
}

uint64_t vtime_next_of(const void *sleepers)
{
    const struct sleeper *all = sleepers;
    uint64_t next = UINT64_MAX;

    for (int i = 0; i < SLEEPERS; i++) {
        uint64_t d = atomic_load(&all[i].deadline_ns);

        if (atomic_load(&all[i].used) == 2 && !fired(&all[i]) && d < next)
            next = d;
    }
    return next;
}

uint64_t vtime_next_ns(void)
{
    return vtime_next_of(g_sleepers);
}

static bool is_due(const struct sleeper *s, uint64_t now_ns, uint64_t round)
{
    uint64_t mine = atomic_load(&s->round);

    return atomic_load(&s->used) == 2 && (atomic_load(&s->deadline_ns) <= now_ns || (mine && mine < round));
}

bool vtime_due(const void *sleepers, uint64_t now_ns, uint64_t round)
{
    const struct sleeper *all = sleepers;

    for (int i = 0; i < SLEEPERS; i++)
        if (is_due(&all[i], now_ns, round))
            return true;
    return false;
}

int vtime_timer_open(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sleeper *s = fd < 0 ? NULL : sleeper_open(0, NULL, fd);

    if (s) {
        s->timer = true;
        atomic_store(&s->used, 3);
    }
    return fd;
}

bool vtime_timer_set(int fd, uint64_t at_ns)
{
    for (int i = 0; i < SLEEPERS; i++) {
        struct sleeper *s = &g_sleepers[i];
        uint64_t rest;

        if (atomic_load(&s->used) < 2 || !s->timer || atomic_load(&s->event_fd) != fd)
            continue;
        atomic_store(&s->used, 3);
        kernel_call(SYS_read, fd, (long)&rest, sizeof(rest), 0, 0, 0);
        if (!at_ns)
            return true;
        atomic_store(&s->fired_ns, 0);
        atomic_store(&s->deadline_ns, at_ns);
        atomic_store(&s->used, 2);
        if (at_ns <= vtime_now_ns())
            vtime_set(vtime_now_ns());
        return true;
    }
    return false;
}

void vtime_set(uint64_t now_ns)
{
    const struct timespec some = {0, 20000};
    bool pending, yielded = false;

    if (now_ns > atomic_load(g_now_ns))
        atomic_store(g_now_ns, now_ns);
    do {
        pending = false;
        for (int i = 0; i < SLEEPERS; i++) {
            struct sleeper *s = &g_sleepers[i];
            uint64_t one = 1, deadline_ns;

            if (!is_due(s, now_ns, g_round ? atomic_load(g_round) : 0))
                continue;
            deadline_ns = atomic_load(&s->deadline_ns);
            if (s->timer) {
                int set = 2;

                if (atomic_compare_exchange_strong(&s->used, &set, 3))
                    kernel_call(SYS_write, atomic_load(&s->event_fd), (long)&one, sizeof(one), 0, 0, 0);
                continue;
            }
            pending = true;       /* until the sleeper has left: it may not sleep yet */
            if (atomic_exchange(&s->fired_ns, deadline_ns) == deadline_ns && !atomic_load(&s->word))
                continue;
            if (atomic_load(&s->word))
                kernel_call(SYS_futex, (long)atomic_load(&s->word), FUTEX_WAKE, INT_MAX, 0, 0, 0);
            else
                kernel_call(SYS_write, atomic_load(&s->event_fd), (long)&one, sizeof(one), 0, 0, 0);
        }
        if (pending && yielded)
            vtime_real_sleep(&some); /* on a loaded machine each yield costs a whole turn of the others */
        else if (pending)
            sched_yield();
        yielded = pending;
    } while (pending);
}

/* ---- what the program under test calls ---- */

static void sleep_for(uint64_t ns, bool or_round)
{
    _Atomic uint32_t word = 0;
    struct sleeper *s = sleeper_open(ns, &word, -1);

    if (or_round)
        atomic_store(&s->round, atomic_load(g_round));
    while (!fired(s))
        kernel_call(SYS_futex, (long)&word, FUTEX_WAIT, 0, 0, 0, 0);
    sleeper_close(s);
}

/* A thread that looks at the clock again and again while it stands waits for something: in a world it sleeps until the
 * others have done what is to be done at this time or a later one, for LOOK_NS at most. */
#define LOOKS   100
#define LOOK_NS 50000

static void not_so_often(uint64_t now_ns)
{
    static __thread uint64_t last_ns;
    static __thread int looks;

    if (now_ns != last_ns) {
        last_ns = now_ns;
        looks = 0;
    } else if (++looks >= LOOKS) {
        looks = 0;
        sleep_for(LOOK_NS, true);
    }
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
    uint64_t now;

    if (clock != CLOCK_MONOTONIC || !vtime_enabled())
        return (int)kernel_call(SYS_clock_gettime, clock, (long)ts, 0, 0, 0, 0);
    if (g_round)
        not_so_often(vtime_now_ns());
    now = vtime_now_ns();
    ts->tv_sec = (time_t)(now / 1000000000ull);
    ts->tv_nsec = (long)(now % 1000000000ull);
    return 0;
}

static long futex_timed(long number, long *a)
{
    const struct timespec *ts = (const struct timespec *)a[3];
    int command = (int)a[1] & FUTEX_CMD_MASK;
    uint64_t t = (uint64_t)ts->tv_sec * 1000000000ull + (uint64_t)ts->tv_nsec, now = vtime_now_ns();
    struct sleeper *s;
    bool ran_out;
    long r;

    if (command == FUTEX_WAIT_BITSET) /* absolute */
        t = t > now ? t - now : 0;
    s = sleeper_open(t, (void *)a[0], -1);
    r = kernel_call(number, a[0], a[1], a[2], 0, a[4], a[5]);
    ran_out = sleeper_close(s);
    if (r == 0 && ran_out) {
        errno = ETIMEDOUT;
        return -1;
    }
    return r;
}

static void kernel_clock(clockid_t clock, struct timespec *ret)
{
    clock_gettime(clock, ret);
}

/* Our code reads the clock by the kernel's function, past the C library. */
EXPORT unsigned long getauxval(unsigned long type)
{
    static const char path[] = "/proc/self/auxv";
    int fd = (int)kernel_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    unsigned long pair[2] = {0, 0}, found = 0;

    while (fd >= 0 && kernel_call(SYS_read, fd, (long)pair, sizeof(pair), 0, 0, 0) == sizeof(pair))
        if (pair[0] == type)
            found = pair[1];
    if (fd >= 0)
        kernel_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return type == AT_SYSINFO_EHDR ? fake_kernel_object(kernel_clock) : found;
}

/* Reads six arguments, however many there are, as the C library's does. */
EXPORT __attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
    long a[6], r;
    va_list ap;

    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (vtime_other_syscall && vtime_other_syscall(number, a, &r))
        return r;
#ifdef SYS_poll
    if (number == SYS_poll)
        return poll((struct pollfd *)a[0], (nfds_t)a[1], (int)a[2]);
#endif
    if (number == SYS_ppoll)
        return ppoll((struct pollfd *)a[0], (nfds_t)a[1], (const struct timespec *)a[2], (const sigset_t *)a[3]);
    if (number == SYS_futex && a[3] && vtime_enabled()) {
        int command = (int)a[1] & FUTEX_CMD_MASK;

        if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET)
            return futex_timed(number, a);
    }
    return kernel_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The sleep itself is on the caller's descriptors and one of ours, which the clock signals. */
static int wait_any(struct pollfd *fds, nfds_t n, uint64_t timeout_ns)
{
    static __thread int event_fd = -1;
    struct pollfd *all = __builtin_alloca((n + 1) * sizeof(*all));
    struct sleeper *s;
    uint64_t drain;
    int r;

    if (event_fd < 0)
        event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    memcpy(all, fds, n * sizeof(*all));
    all[n] = (struct pollfd){.fd = event_fd, .events = POLLIN};
    s = sleeper_open(timeout_ns, NULL, event_fd);
    r = (int)kernel_call(SYS_ppoll, (long)all, (long)(n + 1), 0, 0, 0, 0);
    sleeper_close(s);
    kernel_call(SYS_read, event_fd, (long)&drain, sizeof(drain), 0, 0, 0);
    if (r > 0 && all[n].revents)
        r--;
    memcpy(fds, all, n * sizeof(*all));
    return r;
}

static bool timed(int timeout_ms)
{
    return vtime_enabled() && timeout_ms > 0;
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask)
{
    struct pollfd p = {.fd = epfd, .events = POLLIN};

    if (timed(timeout_ms)) {
        int r = wait_any(&p, 1, (uint64_t)timeout_ms * 1000000ull);

        if (r < 0)
            return r;
        timeout_ms = 0;
    }
    return (int)kernel_call(SYS_epoll_pwait, epfd, (long)events, max, timeout_ms, (long)mask, _NSIG / 8);
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
    return epoll_pwait(epfd, events, max, timeout_ms, NULL);
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    struct timespec ts = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};

    if (timed(timeout_ms))
        return wait_any(fds, n, (uint64_t)timeout_ms * 1000000ull);
    return (int)kernel_call(SYS_ppoll, (long)fds, (long)n, timeout_ms < 0 ? 0 : (long)&ts, 0, 0, 0);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask)
{
    if (vtime_enabled() && ts && (ts->tv_sec || ts->tv_nsec))
        return wait_any(fds, n, (uint64_t)ts->tv_sec * 1000000000ull + (uint64_t)ts->tv_nsec);
    {
        struct timespec copy = ts ? *ts : (struct timespec){0, 0};

        return (int)kernel_call(SYS_ppoll, (long)fds, (long)n, ts ? (long)&copy : 0, (long)mask, _NSIG / 8, 0);
    }
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts, struct timespec *rest)
{
    uint64_t t = (uint64_t)ts->tv_sec * 1000000000ull + (uint64_t)ts->tv_nsec, now = vtime_now_ns();

    if (!vtime_enabled())
        return kernel_call(SYS_clock_nanosleep, clock, flags, (long)ts, (long)rest, 0, 0) < 0 ? errno : 0;
    if (flags & TIMER_ABSTIME)
        t = t > now ? t - now : 0;
    sleep_for(t, false);
    return 0;
}

EXPORT int nanosleep(const struct timespec *ts, struct timespec *rest)
{
    int r = clock_nanosleep(CLOCK_MONOTONIC, 0, ts, rest);

    if (!r)
        return 0;
    errno = r;
    return -1;
}

EXPORT int usleep(useconds_t us)
{
    struct timespec ts = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000L};

    return nanosleep(&ts, NULL);
}

/* ---- does everybody sleep? ---- */

static bool not_counted(long tid)
{
    return tid == own_tid() || polls(tid);
}

bool vtime_others_sleep(void)
{
    static struct asleep seen = {.keep_open = true};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    enum asleep_answer a;

    pthread_mutex_lock(&lock);
    do
        a = asleep_look(&seen, (long)getpid(), not_counted);
    while (a == ASLEEP_RAN);
    pthread_mutex_unlock(&lock);
    return a == ASLEEP_ALL;
}
