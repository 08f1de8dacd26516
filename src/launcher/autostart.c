/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/autostart.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/str.h"
#include "query/find_xserver.h"
#include "launcher/preload.h"
#include "launcher/program.h"
#include "launcher/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

#define START_TIMEOUT_NS (5 * XS_NS_PER_S)
#define LOCK_TIMEOUT_NS  (START_TIMEOUT_NS + XS_NS_PER_S)
#define POLL_MS          5
#define LOG_MAX_KIB      "1024" /* and as much again in xserver.log.1 */

static int find_server(char *ret, size_t size)
{
    static const char *const beside[] = {"xserver", "../sbin/xserver"};
    char own[PATH_MAX];

    for (size_t i = 0; xs_own_folder(own, sizeof(own)) == 0 && i < XS_ARRAY_LEN(beside); i++) {
        if ((size_t)snprintf(ret, size, "%s/%s", own, beside[i]) < size && access(ret, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

/* Makes the folder if it is ours to make; it must belong to this user, and nobody else may write
 * there: who can replace the socket is who schedules us. */
static int prepare_folder(const char *folder)
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

/* @return the descriptor that holds the lock (closed on exec), or -errno */
static int take_lock(const char *folder)
{
    char path[PATH_MAX];
    uint64_t until = xs_now_ns() + LOCK_TIMEOUT_NS;
    int fd;

    if ((size_t)snprintf(path, sizeof(path), "%s/start.lock", folder) >= sizeof(path))
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

/* @param ret_log  of the server; empty: none
 * The server must not be a client of itself, and what the caller chose for one program (a core,
 * niceness, blocked signals) is not meant for it. */
static void become_daemon(const char *folder, char *ret_log, size_t log_size)
{
    cpu_set_t all;
    sigset_t none;
    int fd;

    memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
    if (getpriority(PRIO_PROCESS, 0) > 0)
        setpriority(PRIO_PROCESS, 0, 0); /* often not allowed; then it stays as it is */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < NSIG; s++) {
        if (s != SIGKILL && s != SIGSTOP)
            signal(s, SIG_DFL);
    }
    for (size_t i = 0; i < XS_ENV_COUNT; i++)
        unsetenv(xs_env_rows[i].name);
    xs_shims_unset();
    umask(077);
    if (chdir("/") < 0)
        _exit(126);
    fd = open("/dev/null", O_RDONLY);
    if (fd >= 0)
        dup2(fd, STDIN_FILENO);
    snprintf(ret_log, log_size, "%s/xserver.log", folder);
    fd = open(ret_log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    if (fd < 0) {
        fd = open("/dev/null", O_WRONLY);
        ret_log[0] = 0;
    }
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    for (fd = 3; fd < 1024; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC); /* the caller's pipes must see their end when the program does */
}

/* Whether this user's systemd can give the server a scope of its own. Without one it belongs to the session, the service or the
 * job of the first program, and ends with that, while others use it. */
static bool user_manager_is_there(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char path[PATH_MAX], ignored[PATH_MAX];
    struct stat st;

    return runtime && runtime[0] == '/' &&
           (size_t)snprintf(path, sizeof(path), "%s/systemd/private", runtime) < sizeof(path) && stat(path, &st) == 0 &&
           S_ISSOCK(st.st_mode) && xs_program_find("systemd-run", ignored, sizeof(ignored)) == 0;
}

/* In the daemon: becomes the server. systemd-run becomes it, too, once it has made the scope. */
static void exec_server(const char *server, const char *folder, const char *socket_path, unsigned idle_s, bool scoped)
{
    char idle[16], log[PATH_MAX + 16];
    /* any free TCP port: the usual one belongs to the system's server */
    const char *argv[24] = {"systemd-run", "--user", "--scope", "--quiet", "--collect",
                            "--description=XSched server that xsched run started", "--"};
    unsigned scope = 7, n = scope;

    snprintf(idle, sizeof(idle), "%u", idle_s);
    become_daemon(folder, log, sizeof(log));
    argv[n++] = server;
    argv[n++] = "--idle-exit";
    argv[n++] = idle;
    argv[n++] = "--socket";
    argv[n++] = socket_path;
    argv[n++] = "--port";
    argv[n++] = "0";
    if (log[0]) {
        argv[n++] = "--log-file";
        argv[n++] = log;
        argv[n++] = "--log-max-kib";
        argv[n++] = LOG_MAX_KIB;
    }
    if (scoped)
        execvp(argv[0], (char **)(uintptr_t)argv);
    else
        execv(server, (char **)(uintptr_t)(argv + scope));
}

/* Forks twice, so that the server is nobody's child. @return its pid or -errno */
static pid_t spawn(const char *server, const char *folder, const char *socket_path, unsigned idle_s, bool scoped)
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
            exec_server(server, folder, socket_path, idle_s, scoped);
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

static int wait_until_it_answers(const char *socket_path, pid_t pid)
{
    uint64_t until = xs_now_ns() + START_TIMEOUT_NS;
    /* unlike kill(pid, 0), this tells of a process that has ended and that nobody has waited for */
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int err;

    while ((err = xs_place_probe(socket_path, NULL, NULL)) < 0) {
        if (poll(&ended, 1, POLL_MS) > 0 || (ended.fd < 0 && kill(pid, 0) < 0))
            err = -ECHILD;
        else if (xs_now_ns() > until)
            err = -ETIMEDOUT;
        else
            continue;
        break;
    }
    if (ended.fd >= 0)
        close(ended.fd);
    return err;
}

static const char *reason(int err)
{
    switch (err) {
    case -EPERM:
        return "its folder must belong to this user, and nobody else may write there";
    case -ECHILD:
        return "xserver ended at once";
    case -ETIMEDOUT:
        return "xserver does not answer";
    default:
        return strerror(-err);
    }
}

static int start_server(const char *folder, const char *socket_path, unsigned idle_s)
{
    char server[PATH_MAX];
    int lock, err;
    bool scoped;
    pid_t pid;

    err = find_server(server, sizeof(server));
    if (err < 0) {
        xs_say("no xserver answers and none is installed beside xsched: the program runs unscheduled");
        return err;
    }
    err = prepare_folder(folder);
    lock = err < 0 ? err : take_lock(folder);
    if (lock < 0) {
        xs_say("cannot start xserver in %s (%s): the program runs unscheduled", folder, reason(lock));
        return lock;
    }
    if (xs_place_probe(socket_path, NULL, NULL) == 0) { /* somebody else was faster */
        close(lock);
        return 0;
    }
    scoped = user_manager_is_there();
    pid = spawn(server, folder, socket_path, idle_s, scoped);
    err = pid < 0 ? (int)pid : wait_until_it_answers(socket_path, pid);
    if (err < 0 && scoped) { /* a manager that refuses or is stuck: better a server in this session than none */
        if (pid > 0 && err == -ETIMEDOUT)
            kill(pid, SIGKILL);
        pid = spawn(server, folder, socket_path, idle_s, false);
        err = pid < 0 ? (int)pid : wait_until_it_answers(socket_path, pid);
    }
    close(lock);
    if (err < 0)
        xs_say("cannot start xserver (%s; see %s/xserver.log): the program runs unscheduled", reason(err),
               folder);
    else if (idle_s)
        xs_say("no xserver answered, so one was started for this user (pid %d, %s; it ends after %u s "
               "without programs)",
               (int)pid, socket_path, idle_s);
    else
        xs_say("no xserver answered, so one was started for this user (pid %d, %s)", (int)pid, socket_path);
    return err;
}

int xs_autostart(bool start, unsigned idle_s)
{
    const char *named = xs_env_get(XS_ENV_XSCHED_SOCKET);
    char folder[PATH_MAX], socket_path[PATH_MAX + 16];
    struct xs_places places;
    bool agents_look = true;
    int i, err;

    xs_places_get(&places);
    i = xs_places_first(&places);
    if (i >= 0) {
        if (!places.items[i].agents_look)
            setenv("XSCHED_SOCKET", places.items[i].path, 1);
        xs_place_expect(places.items[i].path);
        return 0;
    }
    if (!start)
        return -ENOENT;
    if (named) {
        char *slash;

        xs_str_copy(socket_path, sizeof(socket_path), named);
        xs_str_copy(folder, sizeof(folder), named);
        slash = strrchr(folder, '/');
        if (named[0] != '/' || slash == folder) {
            xs_say("XSCHED_SOCKET=%s must be an absolute path in a folder of its own: no xserver was started",
                   named);
            return -EINVAL;
        }
        *slash = 0;
    } else {
        agents_look = xs_runtime_folder(folder, sizeof(folder));
        snprintf(socket_path, sizeof(socket_path), "%s/xserver.sock", folder);
    }
    err = start_server(folder, socket_path, idle_s);
    if (err == 0)
        xs_place_expect(socket_path);
    if (err == 0 && !agents_look)
        setenv("XSCHED_SOCKET", socket_path, 1);
    return err < 0 ? err : 1;
}
