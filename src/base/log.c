/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/env.h"
#include "base/str.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int g_level = -1; /* -1: not read yet; owner: this file */
static _Atomic int g_fd = 2;
static _Atomic int64_t g_room = INT64_MAX; /* bytes; see xs_log_set_file */
static void (*g_full)(void);

static const char *const k_names[] = {"DEBG", "INFO", "WARN", "ERRO", "OFF"};

bool xs_log_level_parse(const char *name, enum xs_log_level *ret_level)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_names); i++) {
        if (xs_str_equal_nocase(name, k_names[i])) {
            *ret_level = (enum xs_log_level)i;
            return true;
        }
    }
    return false;
}

void xs_log_set_level(enum xs_log_level level)
{
    atomic_store_explicit(&g_level, (int)level, memory_order_relaxed);
}

void xs_log_set_file(int fd, int64_t room)
{
    atomic_store_explicit(&g_fd, fd, memory_order_relaxed);
    atomic_store_explicit(&g_room, room, memory_order_relaxed);
}

void xs_log_on_full(void (*full)(void))
{
    g_full = full;
}

void xs_log_init(void)
{
    enum xs_log_level level = XS_LOG_WARN;
    const char *name = xs_env_get(XS_ENV_XLOG_LEVEL);
    const char *path = xs_env_get(XS_ENV_XLOG_FILE);
    int saved = errno;

    bool known = !name || xs_log_level_parse(name, &level);
    char error[XS_VALUE_ERROR_BYTES];

    xs_log_set_level(level);
    if (path && path[0]) {
        int fd = xs_sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd >= 0 && fd < 3) { /* 0..2 belong to the program */
            int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);

            xs_sys_close(fd);
            fd = high;
        }
        if (fd >= 0)
            atomic_store_explicit(&g_fd, fd, memory_order_relaxed);
        else
            XS_WARN_ONCE("opening the log file %s failed (error %d): log lines go to stderr", path, errno);
    }
    if (!known)
        XS_WARN_ONCE("XLOG_LEVEL: %s; the default holds",
                     xs_value_error(&xs_env_rows[XS_ENV_XLOG_LEVEL].type, name, error, sizeof(error)));
    errno = saved;
}

enum xs_log_level xs_log_level(void)
{
    int level = atomic_load_explicit(&g_level, memory_order_relaxed);

    if (XS_UNLIKELY(level < 0)) {
        xs_log_init();
        level = atomic_load_explicit(&g_level, memory_order_relaxed);
    }
    return (enum xs_log_level)level;
}

void xs_log_line(enum xs_log_level level, const char *format, ...)
{
    char line[768];
    struct timespec ts;
    unsigned long day_s;
    int saved = errno, n, m;
    va_list ap;
    long w;

    clock_gettime(CLOCK_REALTIME, &ts);
    day_s = (unsigned long)(ts.tv_sec % 86400); /* UTC: localtime may allocate and lock */
    n = snprintf(line, sizeof(line), "[XSCHED %s @ T%ld @ %02lu:%02lu:%02lu.%06ld] ",
                 k_names[level & 3], (long)syscall(SYS_gettid), day_s / 3600, day_s / 60 % 60,
                 day_s % 60, ts.tv_nsec / 1000);
    if (n < 0 || n >= (int)sizeof(line) - 2) {
        errno = saved;
        return;
    }
    va_start(ap, format);
    m = vsnprintf(line + n, sizeof(line) - 1 - (size_t)n, format, ap);
    va_end(ap);
    if (m < 0)
        m = 0;
    n = XS_MIN(n + m, (int)sizeof(line) - 2);
    line[n++] = '\n';
    w = xs_sys_write(atomic_load_explicit(&g_fd, memory_order_relaxed), line, (size_t)n);
    if (w > 0 && g_full) { /* only one thread crosses the bound */
        int64_t room = atomic_fetch_sub_explicit(&g_room, w, memory_order_relaxed);

        if (room > 0 && room <= w)
            g_full();
    } /* on an error there is no place to complain */
    errno = saved;
}
