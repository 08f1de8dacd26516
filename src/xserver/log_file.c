/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/log_file.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Owner: the main thread, at start. move_and_begin() reads them in the thread that writes the last line. */
static char g_path[PATH_MAX];
static int64_t g_max_bytes; /* 0: no bound */
static int g_fd = -1;       /* one number for all files, since other threads may be writing to it */

static int open_path(void)
{
    int fd = open(g_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600), high;

    if (fd < 0)
        return -errno;
    high = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* a program may start with 0, 1 and 2 closed, and libraries
                                             write to them */
    close(fd);
    return high < 0 ? -errno : high;
}

/* Bytes until the file is full. A terminal, a pipe or a device never is. */
static int64_t room_in(int fd)
{
    struct stat st;

    if (!g_max_bytes || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return INT64_MAX;
    return XS_MAX(g_max_bytes - (int64_t)st.st_size, 1);
}

/* @return 0 or -errno */
static int begin(void)
{
    int fd = open_path();
    int64_t room;

    if (fd < 0)
        return fd;
    room = room_in(fd);
    if (g_fd < 0) {
        g_fd = fd;
    } else {
        dup3(fd, g_fd, O_CLOEXEC);
        close(fd);
    }
    xs_log_set_file(g_fd, room);
    return 0;
}

/* An operator may have put a link or a device in the place of the open file: xserver leaves that there. */
static bool may_move(void)
{
    struct stat st;

    return lstat(g_path, &st) == 0 && S_ISREG(st.st_mode);
}

static void move_and_begin(void)
{
    char old[PATH_MAX + 2];

    snprintf(old, sizeof(old), "%s.1", g_path);
    /* If rename fails, cuts the file: the bound holds all the same. */
    if (may_move() && rename(g_path, old) < 0 && ftruncate(g_fd, 0) < 0)
        return;
    begin();
}

int xs_log_file_open(const char *path, uint64_t max_kib)
{
    snprintf(g_path, sizeof(g_path), "%s", path);
    g_max_bytes = (int64_t)max_kib * 1024;
    xs_log_on_full(move_and_begin);
    return begin();
}

const char *xs_log_file_path(void)
{
    return g_path;
}

void xs_log_file_reopen(void)
{
    int r = g_fd >= 0 ? begin() : 0;

    if (r < 0)
        XS_ERRO("log-file %s: %s; lines go to the file that was open", g_path, strerror(-r));
}
