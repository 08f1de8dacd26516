/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/common/trace.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "xqueue/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int g_fd;          /* 0: not started, -1: off, else open; owner: xs_trace_start */

bool xs_trace_start(void)
{
    /* acquire pairs with the release below: the file is open */
    int fd = atomic_load_explicit(&g_fd, memory_order_acquire), none = 0, saved = errno;
    const char *path;

    if (fd != 0)
        return fd > 0;
    path = xs_env_get(XS_ENV_XSCHED_TRACE);
    fd = -1;
    if (path) {
        fd = xs_sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        fd = fd < 0 ? -errno : xs_fd_raise(fd);
        if (fd < 0)
            XS_WARN_ONCE("cannot write XSCHED_TRACE=%s (error %d)", path, -fd);
    }
    if (fd <= 0)
        fd = -1;
    if (!atomic_compare_exchange_strong_explicit(&g_fd, &none, fd, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        xs_fd_close(&fd); /* another thread was first */
        fd = none;
    }
    errno = saved;
    return fd > 0;
}

static void put(const char *line, int size)
{
    long n = xs_sys_write(atomic_load_explicit(&g_fd, memory_order_relaxed), line, (size_t)size);

    (void)n; /* nowhere to complain: the program may have closed the descriptor, the disk be full */
}

void xs_trace_call(const char *function, enum xs_how how, uint64_t queue, int64_t result, bool pointer,
                   uint64_t begin_ns)
{
    static const char *const names[] = {"pass", "submit", "sync", "hand"};
    uint64_t now_ns = xs_now_ns(), took_ns = begin_ns ? now_ns - begin_ns : 0;
    char line[256], q[24] = "-", r[24], count[24] = "";
    int n, saved = errno;

    if (atomic_load_explicit(&g_fd, memory_order_relaxed) <= 0)
        return;
    if (queue)
        snprintf(q, sizeof(q), "0x%llx", (unsigned long long)queue);
    snprintf(r, sizeof(r), pointer ? "0x%llx" : "%lld", (long long)result);
    if (how == XS_HOW_SUBMIT)
        snprintf(count, sizeof(count), " %llu", (unsigned long long)xsched_priv_scheduled_count());
    n = snprintf(line, sizeof(line), "%llu.%03u %d/%ld %s %s %s %s %llu.%03u%s\n",
                 (unsigned long long)(now_ns / 1000), (unsigned)(now_ns % 1000), getpid(),
                 (long)syscall(SYS_gettid), function, names[how], q, r,
                 (unsigned long long)(took_ns / 1000), (unsigned)(took_ns % 1000), count);
    if (n > 0 && n < (int)sizeof(line))
        put(line, n);
    errno = saved;
}

void xs_trace_note(const char *format, ...)
{
    char line[512] = "# ";
    int n, saved = errno;
    va_list ap;

    if (atomic_load_explicit(&g_fd, memory_order_relaxed) <= 0)
        return;
    va_start(ap, format);
    n = vsnprintf(line + 2, sizeof(line) - 3, format, ap);
    va_end(ap);
    if (n >= 0) {
        n = XS_MIN(n, (int)sizeof(line) - 4) + 2;
        line[n++] = '\n';
        put(line, n);
    }
    errno = saved;
}
