/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/realtime.h"

#include "base/log.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS XS_NS_PER_S
#define AWAY_NS   (10 * XS_NS_PER_S)

/* Owner: the main loop's thread. The handler may run in another one. */
static pid_t g_thread;
static atomic_bool g_over; /* the kernel's limit came */

static void leave_class(void)
{
    struct sched_param none = {0};

    sched_setscheduler(g_thread, SCHED_OTHER, &none);
}

/* For a loop that does not come round any more. */
static void on_limit(int number)
{
    (void)number;
    leave_class();
    g_over = true;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * XS_NS_PER_S + (uint64_t)t.tv_nsec;
}

static int class_of(int *ret_priority)
{
    struct sched_param p = {0};
    int policy = sched_getscheduler(0);

    policy = policy < 0 ? 0 : policy & ~SCHED_RESET_ON_FORK;
    sched_getparam(0, &p);
    *ret_priority = p.sched_priority;
    return policy == SCHED_RR || policy == SCHED_FIFO ? policy : 0;
}

void xs_realtime_init(struct xs_realtime *r)
{
    struct sigaction act = {.sa_handler = on_limit, .sa_flags = SA_RESTART};

    memset(r, 0, sizeof(*r));
    g_thread = (pid_t)syscall(SYS_gettid);
    g_over = false;
    sigaction(SIGXCPU, &act, NULL);
}

static void fall_back(struct xs_realtime *r, const char *why, uint64_t now_ns)
{
    leave_class();
    r->back_ns = now_ns + AWAY_NS;
    if (!r->warned)
        XS_WARN("%s: it leaves the real-time class for %u s each time", why, (unsigned)(AWAY_NS / XS_NS_PER_S));
    r->warned = true;
}

static void come_back(struct xs_realtime *r)
{
    struct sched_param p = {.sched_priority = r->priority};

    r->back_ns = 0;
    sched_setscheduler(g_thread, r->policy | SCHED_RESET_ON_FORK, &p); /* if it may; else it waits on */
}

void xs_realtime_look(struct xs_realtime *r, uint64_t percent, uint64_t now_ns)
{
    uint64_t used, passed = now_ns - r->began_ns;
    bool fresh = r->began_ns == 0 || passed > 2 * SECOND_NS; /* it slept meanwhile */

    if (XS_LIKELY(passed < SECOND_NS && r->began_ns))
        return;
    used = cpu_ns() - r->cpu_ns;
    r->cpu_ns += used;
    r->began_ns = now_ns;
    if (g_over) {
        g_over = false;
        fall_back(r, "xserver reached the kernel's limit on real-time work (RLIMIT_RTTIME)", now_ns);
        return;
    }
    if (r->back_ns) {
        if (now_ns >= r->back_ns)
            come_back(r);
        return;
    }
    r->policy = class_of(&r->priority); /* it may have got one since */
    if (r->policy && percent && !fresh && used * 100 > passed * percent)
        fall_back(r, "xserver used too much of a core (realtime-cpu)", now_ns);
}

void xs_realtime_mutex_init(pthread_mutex_t *m)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    if (pthread_mutex_init(m, &attr) != 0) /* a kernel without */
        pthread_mutex_init(m, NULL);
    pthread_mutexattr_destroy(&attr);
}
