/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/daemonize.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/str.h"
#include "launcher/preload.h"
#include "launcher/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define POLL_MS     5
#define STACK_BYTES (8 << 20) /* the usual limit */

int xs_daemon_folder(const char *folder)
{
    struct stat st;

    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (lstat(folder, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    if (st.st_uid != geteuid() || (st.st_mode & 022))
        return -EPERM;
    return 0;
}

int xs_daemon_lock(const char *folder, const char *name, uint64_t timeout_ns)
{
    char path[PATH_MAX];
    uint64_t until = xs_now_ns() + timeout_ns;
    int fd;

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return -ENAMETOOLONG;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || xs_now_ns() > until) {
            int err = errno == EWOULDBLOCK ? -ETIMEDOUT : -errno;

            close(fd);
            return err;
        }
        usleep(POLL_MS * 1000);
    }
    return fd;
}

/* The caller's limits (ulimit, a job's) are for one program. Core files keep theirs, and so does real-time
 * work: at RTTIME xserver leaves the class. */
static void raise_limits(void)
{
    static const int limits[] = {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_MEMLOCK,
                                 RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_SIGPENDING, RLIMIT_STACK};
    struct rlimit l;

    for (size_t i = 0; i < XS_ARRAY_LEN(limits); i++) {
        if (getrlimit(limits[i], &l) < 0)
            continue;
        /* the kernel lays out the memory of a process with an unlimited stack in another way */
        if (limits[i] == RLIMIT_STACK)
            l.rlim_cur = XS_MAX(l.rlim_cur, XS_MIN(l.rlim_max, (rlim_t)STACK_BYTES));
        else
            l.rlim_cur = l.rlim_max;
        (void)setrlimit(limits[i], &l);
    }
    signal(SIGXFSZ, SIG_IGN); /* the hard limit may be low, too: it ends the log, and not the daemon */
}

/* All above stderr: the caller's pipes must see their end when the program does. */
static void close_others(void)
{
    const struct dirent *e;
    DIR *dir;

    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) == 0)
        return;
    dir = opendir("/proc/self/fd"); /* a kernel before 5.9 */
    while (dir && (e = readdir(dir)) != NULL) {
        int64_t fd;

        if (xs_str_parse_i64(e->d_name, &fd) == 0 && fd > STDERR_FILENO && fd != dirfd(dir))
            close((int)fd);
    }
    if (dir)
        closedir(dir);
}

/* @param ret_log  of the daemon; empty: none
 *
 * The daemon must not be a client of xserver. The caller's choices for one program (a core, niceness, blocked
 * signals, limits) are not for it. */
static void become_daemon(const struct xs_daemon *d, char *ret_log, size_t log_size)
{
    cpu_set_t all;
    sigset_t none;
    int fd;

    memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
    if (getpriority(PRIO_PROCESS, 0) > 0)
        setpriority(PRIO_PROCESS, 0, 0); /* the kernel often refuses; then it stays as it is */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < NSIG; s++) {
        if (s != SIGKILL && s != SIGSTOP)
            signal(s, SIG_DFL);
    }
    raise_limits();
    for (size_t i = 0; i < XS_ENV_COUNT; i++)
        unsetenv(xs_env_rows[i].name);
    xs_shims_unset();
    umask(077);
    if (chdir("/") < 0)
        _exit(126);
    fd = open("/dev/null", O_RDONLY);
    if (fd >= 0)
        dup2(fd, STDIN_FILENO);
    snprintf(ret_log, log_size, "%s/%s", d->folder, d->log);
    fd = open(ret_log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    if (fd < 0) {
        fd = open("/dev/null", O_WRONLY);
        ret_log[0] = 0;
    }
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    close_others();
}

bool xs_daemon_has_manager(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char path[PATH_MAX], ignored[PATH_MAX];
    struct stat st;

    return runtime && runtime[0] == '/' &&
           (size_t)snprintf(path, sizeof(path), "%s/systemd/private", runtime) < sizeof(path) && stat(path, &st) == 0 &&
           S_ISSOCK(st.st_mode) && xs_program_find("systemd-run", ignored, sizeof(ignored)) == 0;
}

/* In the daemon: becomes the program. systemd-run becomes it, too, once it has made the scope. */
static void exec_daemon(const struct xs_daemon *d, bool scoped)
{
    char log[PATH_MAX + 16], description[128];
    const char *argv[XS_DAEMON_ARGUMENTS] = {"systemd-run", "--user", "--scope", "--quiet", "--collect", description, "--"};
    const unsigned scope = 7;

    snprintf(description, sizeof(description), "--description=%s", d->description);
    become_daemon(d, log, sizeof(log));
    argv[scope + d->arguments(d->ctx, log, argv + scope)] = NULL;
    if (scoped)
        execvp(argv[0], (char **)(uintptr_t)argv);
    else
        execv(argv[scope], (char **)(uintptr_t)(argv + scope));
}

pid_t xs_daemon_spawn(const struct xs_daemon *d, bool scoped)
{
    int channel[2];
    pid_t child, daemon_pid = -1;

    if (pipe2(channel, O_CLOEXEC) < 0)
        return -errno;
    child = fork();
    if (child < 0) {
        int err = -errno;

        close(channel[0]);
        close(channel[1]);
        return err;
    }
    if (child == 0) {
        pid_t pid;

        setsid();
        pid = fork();
        if (pid == 0) {
            exec_daemon(d, scoped);
            _exit(127);
        }
        if (write(channel[1], &pid, sizeof(pid)) != sizeof(pid))
            _exit(1);
        _exit(0);
    }
    close(channel[1]);
    if (read(channel[0], &daemon_pid, sizeof(daemon_pid)) != sizeof(daemon_pid))
        daemon_pid = -ECHILD;
    close(channel[0]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return daemon_pid > 0 ? daemon_pid : -ECHILD;
}
