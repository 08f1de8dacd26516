/* SPDX-License-Identifier: Apache-2.0 */
/* libfakeworld.so, preloaded into each program that takes part. Its clock, sleeps and timers are those of vtime.c;
 * a thread of ours answers the conductor. The calls of the C library by which a program would reach NVIDIA's kernel
 * driver come here as well. */
#include "world.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/stat.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct world *g_world;
static struct world_process *g_me;
static char g_folder[256];
static uint64_t g_control_inode, g_control_device;
static _Atomic(void (*)(void)) g_poke;

/* Past vtime.c and everybody else's syscall(). */
static long kernel(long n, long a, long b, long c, long d, long e)
{
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;

    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return r;
}

static void *agent(void *arg)
{
    uint32_t seen = 0;

    (void)arg;
    for (;;) {
        uint32_t asked = atomic_load(&g_me->asked);
        void (*poke)(void);

        if (asked == seen) {
            kernel(SYS_futex, (long)&g_me->asked, FUTEX_WAIT, (long)seen, 0, 0);
            continue;
        }
        seen = asked;
        vtime_set(vtime_now_ns());
        poke = atomic_load(&g_poke);
        if (poke)
            poke();
        atomic_store(&g_me->answered, seen);
        kernel(SYS_futex, (long)&g_me->answered, FUTEX_WAKE, INT_MAX, 0, 0);
    }
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const char *folder = getenv("FAKE_WORLD");
    char path[300];
    struct statx st;
    pthread_t t;
    int fd;

    if (!folder || strlen(folder) >= sizeof(g_folder))
        return;
    snprintf(path, sizeof(path), "%s/world", folder);
    fd = (int)kernel(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0);
    if (fd < 0)
        return;
    g_world = mmap(NULL, sizeof(*g_world), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    snprintf(path, sizeof(path), "%s/nvidiactl", folder);
    memset(&st, 0, sizeof(st));
    if (g_world == MAP_FAILED || atomic_load(&g_world->ready) != WORLD_READY ||
        kernel(SYS_statx, AT_FDCWD, (long)path, 0, STATX_BASIC_STATS, (long)&st) != 0) {
        static const char text[] = "fake world: not there\n";

        if (write(2, text, sizeof(text) - 1) < 0)
            _exit(98);
        _exit(98);
    }
    g_control_inode = st.stx_ino;
    g_control_device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
    strcpy(g_folder, folder);
    if (g_world->real)
        return;
    for (int i = 0; i < WORLD_PROCESSES && !g_me; i++) {
        int nobody = 0;

        if (atomic_compare_exchange_strong(&g_world->processes[i].pid, &nobody, -1))
            g_me = &g_world->processes[i];
    }
    if (!g_me)
        _exit(98);
    memset(g_me->sleepers, 0, sizeof(g_me->sleepers));
    atomic_store(&g_me->asked, 0);
    atomic_store(&g_me->answered, 0);
    atomic_store(&g_me->polls, 0);
    vtime_share(&g_world->now_ns, &g_world->round, g_me->sleepers);
    vtime_late(g_world->late_ns);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would wait for ever in a world without a conductor */
    if (pthread_create(&t, NULL, agent, NULL) != 0)
        _exit(98);
    pthread_detach(t);
    atomic_store(&g_me->pid, (int)getpid());
}

/* ---- for the fake driver ---- */

EXPORT bool fake_world_virtual(void)
{
    return g_me != NULL;
}

EXPORT int fake_world_slot(uint32_t client, uint32_t group)
{
    for (int i = 0; g_me && i < WORLD_SLOTS; i++) {
        struct world_slot *s = &g_world->slots[i];
        int nobody = 0;

        if (!atomic_compare_exchange_strong(&s->pid, &nobody, (int)getpid()))
            continue;
        s->client = client;
        s->group = group;
        return i;
    }
    return -1;
}

EXPORT void fake_world_slot_ends(int slot)
{
    atomic_store(&g_world->slots[slot].left_ns, 0);
    atomic_store(&g_world->slots[slot].pid, 0);
}

EXPORT void fake_world_run(int slot, uint64_t ns)
{
    struct world_slot *s = &g_world->slots[slot];
    uint32_t ended = atomic_load(&s->ended);

    atomic_store(&s->left_ns, ns);
    while (atomic_load(&s->ended) == ended)
        kernel(SYS_futex, (long)&s->ended, FUTEX_WAIT, (long)ended, 0, 0);
}

EXPORT void fake_world_turn(void)
{
    struct timespec none = {0, 0};

    nanosleep(&none, NULL);
    atomic_fetch_add(&g_world->activity, 1);
}

EXPORT void fake_world_polls(int dev, bool on, void (*poke)(void))
{
    atomic_store(&g_poke, poke);
    if (on)
        atomic_fetch_or(&g_me->polls, 1u << dev);
    else
        atomic_fetch_and(&g_me->polls, ~(1u << dev));
}

/* ---- the kernel driver ---- */

static bool is_control(int fd)
{
    struct statx st;

    memset(&st, 0, sizeof(st));
    return kernel(SYS_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS, (long)&st) == 0 &&
           st.stx_ino == g_control_inode &&
           ((uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor) == g_control_device;
}

bool vtime_other_syscall(long number, long *a, long *ret)
{
    if (!g_world)
        return false;
    if (number == SYS_ioctl && ((a[1] >> 8) & 0xff) == 'F' && is_control((int)a[0])) {
        if ((a[1] & 0xff) == XS_NVRM_ESC_CONTROL && g_world->control_ns && g_me) {
            struct timespec t = {0, (long)g_world->control_ns};

            nanosleep(&t, NULL);
        }
        *ret = fake_rm_request(&g_world->rm, (int)getpid(), (unsigned long)a[1], (void *)a[2]);
        return true;
    }
    if (number == SYS_statx && ((int)a[2] & AT_EMPTY_PATH) && is_control((int)a[0])) {
        struct statx *st = (struct statx *)a[4];

        st->stx_mode = 0020000;
        st->stx_rdev_major = 195;
        st->stx_rdev_minor = 255;
        *ret = 0;
        return true;
    }
    return false;
}

/* The C library's does the system call without the function that is replaced. Behind a shim of ours. */
EXPORT int ioctl(int fd, unsigned long request, ...);
EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    void *arg;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    return (int)syscall(SYS_ioctl, fd, request, arg);
}

EXPORT int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    char other[300];
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (!real) {
        void *p = dlsym(RTLD_NEXT, "open");

        memcpy(&real, &p, sizeof(real));
    }
    if (g_world && strcmp(path, "/dev/nvidiactl") == 0)
        snprintf(other, sizeof(other), "%s/nvidiactl", g_folder);
    else if (g_world && strcmp(path, "/sys/module/nvidia/version") == 0)
        snprintf(other, sizeof(other), "%s/version", g_folder);
    else
        return real(path, flags, mode);
    return real(other, flags, mode);
}

/* ---- timers of a descriptor ---- */

EXPORT int timerfd_create(int clock, int flags)
{
    long r;

    if (g_me)
        return vtime_timer_open();
    r = kernel(SYS_timerfd_create, clock, flags, 0, 0, 0);
    if (r >= 0)
        return (int)r;
    errno = (int)-r;
    return -1;
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *spec, struct itimerspec *old)
{
    uint64_t at = (uint64_t)spec->it_value.tv_sec * 1000000000ull + (uint64_t)spec->it_value.tv_nsec;
    long r;

    if (g_me && vtime_timer_set(fd, at && !(flags & TFD_TIMER_ABSTIME) ? at + vtime_now_ns() : at))
        return 0;
    r = kernel(SYS_timerfd_settime, fd, flags, (long)spec, (long)old, 0);
    if (r >= 0)
        return (int)r;
    errno = (int)-r;
    return -1;
}
