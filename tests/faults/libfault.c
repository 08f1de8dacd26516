/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: makes calls of XSched's own code into the C library fail, by the environment:
 *
 *   FAULT_OBJECTS  whose calls: file names begin with one of these, separated by commas
 *   FAULT_AT       the nth such call fails (1: the first); 0 or unset: none, they are counted
 *   FAULT_ONLY     only calls of this function count (FAULT_AT) or fail (without FAULT_AT: all of them)
 *   FAULT_ERRNO    with this number; unset: one that the function may give, by turns
 *   FAULT_ACTION   instead: kill or stop this process at that call, or clock+N, clock-N: the clock
 *                  jumps by N seconds there
 *   FAULT_VENDOR   NAME=VALUE: the function NAME, when our code asks dlsym for it, gives VALUE always
 *   FAULT_VENDOR_AT=N, with FAULT_VENDOR_VALUE=V: the Nth call of our own into the vendor's library gives V; 0: they
 *                  are counted. Those of libhal are our own, and those of libshim that FAULT_VENDOR_SHIM names
 *                  (separated by commas); the others are the program's. FAULT_VENDOR_LOST=1: and the device is lost
 *                  from then on, for the program too (fakes). See vendor.c
 *   FAULT_COUNT    the number of calls is written to this file at the end, and what failed
 *
 * A call is ours when its return address lies in such an object. */
#define _GNU_SOURCE
#include "libfault.h"

#include "../fakes/kernel_object.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static _Atomic long g_calls;
static _Atomic int g_failed;
static long g_at;
static const char *g_only, *g_action, *g_objects, *g_count_file;
static int g_errno;
static _Atomic int64_t g_clock_ns;
static _Atomic(const char *) g_what;
static _Thread_local bool t_inside;
static bool g_ready;

/* Pages of code and whether they are ours; a lost update costs a look-up more. */
static _Atomic uintptr_t g_pages[256];

static bool ours(void *address)
{
    uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;
    _Atomic uintptr_t *slot = &g_pages[(page >> 12) % 256];
    uintptr_t known = atomic_load(slot);
    const char *base, *item;
    bool verdict = false;
    Dl_info info;

    if (!g_ready || t_inside)
        return false;
    if ((known & ~(uintptr_t)4095) == page)
        return known & 1;
    t_inside = true;
    if (dladdr(address, &info) && info.dli_fname) {
        base = strrchr(info.dli_fname, '/');
        base = base ? base + 1 : info.dli_fname;
        for (item = g_objects; item && *item; item += strcspn(item, ","), item += *item == ',') {
            size_t n = strcspn(item, ",");

            verdict |= n && strncmp(base, item, n) == 0;
        }
    }
    t_inside = false;
    atomic_store(slot, page | verdict);
    return verdict;
}

static void write_count(void);

static void act(void)
{
    if (strcmp(g_action, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(g_action, "stop") == 0)
        kill(getpid(), SIGSTOP);
    else if (strncmp(g_action, "clock", 5) == 0)
        g_clock_ns = (int64_t)atol(g_action + 5) * 1000000000;
}

/* @return 0, or the errno that this call is to fail with */
static int fault(void *caller, const char *name, const int *errnos)
{
    long n;
    int count = 0;

    if (!ours(caller))
        return 0;
    if (g_only && strcmp(g_only, name) != 0)
        return 0;
    n = atomic_fetch_add(&g_calls, 1) + 1;
    if (g_at ? n != g_at : !g_only)
        return 0;
    atomic_fetch_add(&g_failed, 1);
    g_what = name;
    if (g_at) /* it may not come to its end */
        write_count();
    if (g_action) {
        act();
        return 0;
    }
    while (errnos[count])
        count++;
    return g_errno ? g_errno : errnos[(n * 7 + n / 5) % count];
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAULT_AT"), *number = getenv("FAULT_ERRNO");

    free(NULL); /* finds the real one: later, a dlsym that fails would free while it is looked for */
    g_objects = getenv("FAULT_OBJECTS");
    g_only = getenv("FAULT_ONLY");
    g_action = getenv("FAULT_ACTION");
    g_count_file = getenv("FAULT_COUNT");
    g_at = at ? atol(at) : 0;
    g_errno = number ? atoi(number) : 0;
    g_ready = g_objects != NULL;
    fault_vendor_begin();
}

void fault_count(long calls, const char *failed)
{
    g_calls = calls;
    if (!failed)
        return;
    atomic_fetch_add(&g_failed, 1);
    g_what = failed;
    write_count();
}

/* Programs may leave by _exit: the file is rewritten at each thousandth call and at the end. */
static void write_count(void)
{
    char text[128];
    int fd, n;

    if (!g_count_file)
        return;
    t_inside = true;
    n = snprintf(text, sizeof(text), "%ld %d %s\n", (long)g_calls, (int)g_failed, g_what ? g_what : "-");
    fd = (int)syscall(SYS_openat, AT_FDCWD, g_count_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        syscall(SYS_write, fd, text, (size_t)n);
        syscall(SYS_close, fd);
    }
    t_inside = false;
}

__attribute__((destructor)) static void end(void)
{
    write_count();
}

void _exit(int status)
{
    write_count();
    for (;;)
        syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
    _exit(status);
}

#define REAL(name)                                                                                           \
    static __typeof__(name) *real_;                                                                          \
    if (!real_) {                                                                                            \
        bool inside_ = t_inside;                                                                             \
        t_inside = true;                                                                                     \
        real_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                                 \
        t_inside = inside_;                                                                                  \
    }

#define FAILS(name, value, ...)                                                                              \
    static const int errnos_[] = {__VA_ARGS__, 0};                                                           \
    int error_ = fault(__builtin_return_address(0), #name, errnos_);                                         \
    if (error_) {                                                                                            \
        errno = error_;                                                                                      \
        return value;                                                                                        \
    }

#define ROW(type, name, params, args, value, ...)                                                            \
    type name params                                                                                         \
    {                                                                                                        \
        REAL(name)                                                                                           \
        FAILS(name, value, __VA_ARGS__)                                                                      \
        return real_ args;                                                                                   \
    }

ROW(int, access, (const char *p, int m), (p, m), -1, EACCES, ENOMEM)
ROW(int, connect, (int s, const struct sockaddr *a, socklen_t n), (s, a, n), -1, EINTR, ECONNREFUSED, EPERM,
    ENOMEM)
ROW(int, eventfd, (unsigned v, int f), (v, f), -1, EMFILE, ENOMEM, EPERM)
ROW(int, ftruncate, (int f, off_t n), (f, n), -1, ENOSPC, EINTR, EPERM)
ROW(int, getsockopt, (int s, int l, int n, void *v, socklen_t *z), (s, l, n, v, z), -1, ENOMEM, EPERM)
ROW(off_t, lseek, (int f, off_t o, int w), (f, o, w), -1, EPERM, EINVAL)
ROW(int, madvise, (void *p, size_t n, int a), (p, n, a), -1, ENOMEM, EAGAIN, EINVAL, EPERM)
ROW(void *, mmap, (void *p, size_t n, int a, int f, int fd, off_t o), (p, n, a, f, fd, o), MAP_FAILED, ENOMEM,
    EAGAIN, EPERM)
ROW(int, munmap, (void *p, size_t n), (p, n), -1, ENOMEM, EINVAL)
ROW(ssize_t, pread, (int f, void *b, size_t n, off_t o), (f, b, n, o), -1, EINTR, ENOMEM, EPERM)
ROW(ssize_t, read, (int f, void *b, size_t n), (f, b, n), -1, EINTR, EAGAIN, ENOMEM, EPERM)
ROW(ssize_t, write, (int f, const void *b, size_t n), (f, b, n), -1, EINTR, EAGAIN, ENOSPC, EPERM)
ROW(ssize_t, readlink, (const char *p, char *b, size_t n), (p, b, n), -1, EACCES, ENOMEM)
ROW(ssize_t, recvmsg, (int s, struct msghdr *m, int f), (s, m, f), -1, EINTR, EAGAIN, ENOMEM, ECONNRESET)
ROW(ssize_t, sendmsg, (int s, const struct msghdr *m, int f), (s, m, f), -1, EINTR, EAGAIN, ENOMEM, EPIPE,
    EPERM)
ROW(ssize_t, sendto, (int s, const void *b, size_t n, int f, const struct sockaddr *a, socklen_t z),
    (s, b, n, f, a, z), -1, EAGAIN, ENOMEM)
ROW(int, setsockopt, (int s, int l, int n, const void *v, socklen_t z), (s, l, n, v, z), -1, ENOMEM, EPERM)
ROW(int, socket, (int d, int t, int p), (d, t, p), -1, EMFILE, ENOMEM, EPERM)
ROW(int, poll, (struct pollfd * p, nfds_t n, int t), (p, n, t), -1, EINTR, ENOMEM)
ROW(int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *s), (p, n, t, s), -1,
    EINTR, ENOMEM)
ROW(char *, realpath, (const char *p, char *r), (p, r), NULL, EACCES, ENOMEM)
ROW(void *, malloc, (size_t n), (n), NULL, ENOMEM)
ROW(void *, realloc, (void *p, size_t n), (p, n), NULL, ENOMEM)
/* only xserver */
ROW(int, accept4, (int s, struct sockaddr *a, socklen_t *z, int f), (s, a, z, f), -1, EMFILE, EINTR, ENOMEM,
    ECONNABORTED, EPERM)
ROW(int, bind, (int s, const struct sockaddr *a, socklen_t z), (s, a, z), -1, EACCES, ENOMEM, EADDRINUSE)
ROW(int, chmod, (const char *p, mode_t m), (p, m), -1, EPERM, ENOMEM)
ROW(int, epoll_create1, (int f), (f), -1, EMFILE, ENOMEM)
ROW(int, epoll_ctl, (int e, int o, int f, struct epoll_event *v), (e, o, f, v), -1, ENOMEM, ENOSPC)
ROW(int, epoll_wait, (int e, struct epoll_event *v, int n, int t), (e, v, n, t), -1, EINTR)
ROW(int, getsockname, (int s, struct sockaddr *a, socklen_t *z), (s, a, z), -1, ENOMEM)
ROW(ssize_t, getrandom, (void *b, size_t n, unsigned f), (b, n, f), -1, EAGAIN, EINTR, EPERM)
ROW(int, listen, (int s, int n), (s, n), -1, EADDRINUSE, EPERM)
ROW(int, mkdir, (const char *p, mode_t m), (p, m), -1, EACCES, ENOSPC)
ROW(int, timerfd_create, (int c, int f), (c, f), -1, EMFILE, ENOMEM)
ROW(int, timerfd_settime, (int f, int g, const struct itimerspec *n, struct itimerspec *o), (f, g, n, o), -1,
    EINVAL)
ROW(int, unlink, (const char *p), (p), -1, EACCES, EPERM)

/* What libc itself needs before dlsym works comes from here. */
static char g_early[8192];
static _Atomic size_t g_early_used;

void *calloc(size_t n, size_t size)
{
    static void *(*real_)(size_t, size_t);
    static _Thread_local bool looking;
    static const int errnos[] = {ENOMEM, 0};

    if (!real_) {
        if (looking)
            return g_early + atomic_fetch_add(&g_early_used, (n * size + 15) & ~(size_t)15);
        looking = true;
        real_ = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
        looking = false;
    }
    if (fault(__builtin_return_address(0), "calloc", errnos)) {
        errno = ENOMEM;
        return NULL;
    }
    return real_(n, size);
}

void free(void *p)
{
    static void (*real_)(void *);

    if ((char *)p >= g_early && (char *)p < g_early + sizeof(g_early))
        return;
    if (!real_)
        real_ = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    real_(p);
}

/* Closed all the same, as Linux does. */
int close(int fd)
{
    static const int errnos[] = {EINTR, EIO, 0};
    int error = fault(__builtin_return_address(0), "close", errnos);
    int r = (int)syscall(SYS_close, fd);

    if (error) {
        errno = error;
        return -1;
    }
    return r;
}

int fcntl(int fd, int command, ...)
{
    static const int errnos[] = {EMFILE, EINVAL, EPERM, 0};
    int error = fault(__builtin_return_address(0), "fcntl", errnos);
    va_list ap;
    long arg;

    va_start(ap, command);
    arg = va_arg(ap, long);
    va_end(ap);
    if (error) {
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, arg);
}

int open(const char *path, int flags, ...)
{
    static const int errnos[] = {EMFILE, EACCES, ENOMEM, EINTR, 0};
    int error = fault(__builtin_return_address(0), "open", errnos);
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (error) {
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    static const int errnos[] = {EAGAIN, EPERM, 0};
    int error;

    REAL(pthread_create)
    error = fault(__builtin_return_address(0), "pthread_create", errnos);
    return error ? error : real_(t, a, fn, arg);
}

long syscall(long number, ...)
{
    static const int futex[] = {EINTR, EAGAIN, 0}, poll[] = {EINTR, ENOMEM, 0}, other[] = {ENOMEM, EMFILE, EPERM, ENOSYS, 0};
    static long (*real_)(long, ...);
    bool polls = number == SYS_poll || number == SYS_ppoll;
    const char *name = number == SYS_futex          ? "futex"
                       : number == SYS_memfd_create ? "memfd_create"
                       : number == SYS_ppoll        ? "ppoll"
                       : polls                      ? "poll"
                                                    : "syscall";
    long a[6];
    int error = 0;
    va_list ap;

    if (!real_)
        real_ = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number != SYS_futex || (a[1] & 127) != 1) /* a wake does not fail */
        error = fault(__builtin_return_address(0), name, number == SYS_futex ? futex : polls ? poll : other);
    if (error) {
        errno = error;
        return -1;
    }
    return real_(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* A look of ours at the clock. */
static void kernel_clock(clockid_t clock, struct timespec *t)
{
    static const int none[] = {EINVAL, 0};

    clock_gettime(clock, t);
    if (g_action) {
        (void)fault(__builtin_return_address(0), "clock_gettime", none);
        if (clock == CLOCK_MONOTONIC)
            t->tv_sec += g_clock_ns / 1000000000;
    }
}

unsigned long getauxval(unsigned long type)
{
    static unsigned long (*real_)(unsigned long);

    if (!real_)
        real_ = (unsigned long (*)(unsigned long))dlvsym(RTLD_NEXT, "getauxval", "GLIBC_2.16");
    return type == AT_SYSINFO_EHDR && ours(__builtin_return_address(0)) ? fake_kernel_object(kernel_clock) : real_(type);
}

/* The vendor's function NAME, as our code finds it, only fails. */
static int vendor_value;
static int vendor_fails(void)
{
    return vendor_value;
}

/* Our code takes the object that has this one, too, for the C library (hal/common/next_symbol.h). */
int dlinfo(void *handle, int request, void *ret)
{
    static int (*real_)(void *, int, void *);

    if (!real_)
        real_ = (int (*)(void *, int, void *))dlsym(RTLD_NEXT, "dlinfo");
    return real_(handle, request, ret);
}

void *dlsym(void *handle, const char *name)
{
    static void *(*real_)(void *, const char *);
    const char *vendor = getenv("FAULT_VENDOR"), *value = vendor ? strchr(vendor, '=') : NULL;

    if (!real_)
        real_ = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (value && strlen(name) == (size_t)(value - vendor) && strncmp(name, vendor, strlen(name)) == 0 &&
        ours(__builtin_return_address(0))) {
        vendor_value = atoi(value + 1);
        return (void *)vendor_fails;
    }
    if (fault_vendor_on && !t_inside && ours(__builtin_return_address(0))) {
        void *found = real_(handle, name);
        Dl_info info;

        if (found && dladdr(__builtin_return_address(0), &info) && info.dli_fname)
            return fault_vendor_wrap(found, name, info.dli_fname, real_);
        return found;
    }
    /* RTLD_NEXT means behind the caller, and we are that now: ours, and what we interpose, alone use it */
    return real_(handle, name);
}
