/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-window run: makes sure that a monitor watches the display, then becomes `xsched run PROGRAM`. */
#include "window/window.h"

#include "base/str.h"
#include "query/find_xserver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MONITOR_IDLE_S 60u

int xs_window_lock(const char *display)
{
    char folder[PATH_MAX - 64], path[PATH_MAX];
    struct stat st;
    int fd;

    xs_runtime_folder(folder, sizeof(folder));
    mkdir(folder, 0700);
    if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return -EPERM;
    snprintf(path, sizeof(path), "%s/window%s.lock", folder, display);
    for (char *p = path + strlen(folder) + 1; *p; p++)
        if (*p == '/')
            *p = '_';
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int err = errno;

        close(fd);
        return -err;
    }
    return fd;
}

static void start_monitor(const struct xs_window_options *o, int lock)
{
    struct xs_window_options quiet = *o;
    int null;

    if (fork() != 0)
        return;
    setsid(); /* it outlives this program, not the display */
    if (fork() != 0)
        _exit(0);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
    }
    (void)lock; /* stays locked as long as this process lives */
    quiet.quiet = true;
    quiet.idle_s = MONITOR_IDLE_S;
    _exit(xs_window_monitor(&quiet));
}

int xs_window_run(const struct xs_window_options *o)
{
    const char *display = o->display ? o->display : getenv("DISPLAY");
    char tool[PATH_MAX], *slash;
    size_t n = 0, given = 0;
    ssize_t length = readlink("/proc/self/exe", tool, sizeof(tool) - 16);
    char **command;
    int lock;

    if (!display) {
        fprintf(stderr, "xsched-window: there is no DISPLAY; the program runs without a monitor\n");
    } else {
        lock = xs_window_lock(display);
        if (lock >= 0)
            start_monitor(o, lock);
        else if (lock != -EWOULDBLOCK)
            fprintf(stderr, "xsched-window: starting a monitor failed: %s\n", strerror(-lock));
    }
    if (o->plain) {
        execvp(o->program[0], o->program);
        fprintf(stderr, "x11_launcher: %s: %s\n", o->program[0], strerror(errno));
        return 127;
    }
    if (length < 0)
        return 1;
    tool[length] = 0;
    slash = strrchr(tool, '/');
    xs_str_copy(slash + 1, sizeof(tool) - (size_t)(slash + 1 - tool), "xsched"); /* beside this program */
    while (o->program[given])
        given++;
    command = calloc(given + 8, sizeof(*command));
    if (!command)
        return 1;
    command[n++] = tool;
    command[n++] = (char[]){"run"};
    if (o->where.socket) {
        command[n++] = (char[]){"--socket"};
        command[n++] = (char *)(uintptr_t)o->where.socket;
    }
    command[n++] = (char[]){"--"};
    for (size_t i = 0; i < given; i++)
        command[n++] = o->program[i];
    execv(tool, command);
    fprintf(stderr, "xsched-window: %s: %s\n", tool, strerror(errno));
    free(command);
    return 127;
}
