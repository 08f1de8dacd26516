/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/autostart.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/str.h"
#include "query/find_xserver.h"
#include "query/listening.h"
#include "query/stopped.h"
#include "launcher/daemonize.h"
#include "launcher/preload.h"
#include "launcher/say.h"
#include "transport/socket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define START_TIMEOUT_NS (5 * XS_NS_PER_S)
#define LOCK_TIMEOUT_NS  (START_TIMEOUT_NS + XS_NS_PER_S)
#define POLL_MS          5
#define LOG_MAX_KIB      "1024" /* and as much again in xserver.log.1 */

struct server_arguments {
    const char *server, *socket_path, *idle_s;
};

/* any free TCP port: the usual one belongs to the system's server */
static unsigned server_arguments(const void *ctx, const char *log, const char **argv)
{
    const struct server_arguments *a = ctx;
    unsigned n = 0;

    argv[n++] = a->server;
    argv[n++] = "--idle-exit";
    argv[n++] = a->idle_s;
    argv[n++] = "--socket";
    argv[n++] = a->socket_path;
    argv[n++] = "--port";
    argv[n++] = "0";
    if (log[0]) {
        argv[n++] = "--log-file";
        argv[n++] = log;
        argv[n++] = "--log-max-kib";
        argv[n++] = LOG_MAX_KIB;
    }
    return n;
}

static int wait_until_it_answers(const char *socket_path, pid_t pid)
{
    uint64_t until = xs_now_ns() + START_TIMEOUT_NS;
    /* unlike kill(pid, 0), this also detects a process that has ended without a parent's wait */
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
    char server[PATH_MAX], idle[16];
    const struct server_arguments arguments = {server, socket_path, idle};
    const struct xs_daemon daemon = {
        .folder = folder, .log = "xserver.log", .description = "XSched server that xsched run started",
        .arguments = server_arguments, .ctx = &arguments,
    };
    int lock, err;
    bool scoped;
    pid_t pid;

    snprintf(idle, sizeof(idle), "%u", idle_s);
    err = xs_find_beside("xserver", server, sizeof(server));
    if (err < 0) {
        xs_say("no xserver answers and none is installed beside xsched: the program runs unscheduled");
        return err;
    }
    err = xs_daemon_folder(folder);
    lock = err < 0 ? err : xs_daemon_lock(folder, "start.lock", LOCK_TIMEOUT_NS);
    if (lock < 0) {
        xs_say("cannot start xserver in %s (%s): the program runs unscheduled", folder, reason(lock));
        return lock;
    }
    if (xs_place_probe(socket_path, NULL, NULL) == 0) { /* another launcher was faster */
        close(lock);
        return 0;
    }
    scoped = xs_daemon_has_manager();
    pid = xs_daemon_spawn(&daemon, scoped);
    err = pid < 0 ? (int)pid : wait_until_it_answers(socket_path, pid);
    if (err < 0 && scoped) { /* a manager that refuses or is stuck: start it in this session */
        if (pid > 0 && err == -ETIMEDOUT)
            kill(pid, SIGKILL);
        pid = xs_daemon_spawn(&daemon, false);
        err = pid < 0 ? (int)pid : wait_until_it_answers(socket_path, pid);
    }
    close(lock);
    if (err < 0)
        xs_say("cannot start xserver (%s; see %s/xserver.log): the program runs unscheduled", reason(err),
               folder);
    else if (idle_s)
        xs_say("no xserver answered, so xsched started one for this user (pid %d, %s; it ends after %u s "
               "without programs)",
               (int)pid, socket_path, idle_s);
    else
        xs_say("no xserver answered, so xsched started one for this user (pid %d, %s)", (int)pid, socket_path);
    return err;
}

/* Whether a driver of a GPU or of another accelerator is here: users of CPUs have no device to share. */
static bool has_accelerator(void)
{
    static const char *const files[] = {"/dev/nvidiactl", "/dev/kfd", "/dev/dri/renderD128",
                                        "/dev/accel/accel0", "/dev/dxg"};

    for (size_t i = 0; i < XS_ARRAY_LEN(files); i++)
        if (access(files[i], F_OK) == 0)
            return true;
    return false;
}

/* The servers of two users know nothing of each other's programs, and both users may have the same device. */
static void say_other_servers(const char *own)
{
    static struct xs_listening list[XS_LISTENING_MAX]; /* large, and stacks may be small */
    const struct xs_listening *other;
    uid_t owner = 0;
    char user[64];

    if (!has_accelerator() || xs_place_probe(own, NULL, &owner) < 0 || owner != geteuid())
        return; /* the service of all users mends it, and is there */
    other = xs_listening_of_others(list, xs_listening(NULL, list), own, geteuid());
    if (!other)
        return;
    xs_listening_user(other, user, sizeof(user));
    xs_say("another xserver runs here, of %s (%s): its programs and those of this user's xserver are not "
           "suspended for each "
           "other, also on one device; one xserver for all users mends that: install the service "
           "(docs/howto/install.md, "
           "\"Several users\")",
           user, other->path);
}

/* A server in the folder under another name: then the name that the user gave is a mistyped one. */
static bool has_neighbour(const char *named, const char *folder, char *ret, size_t size)
{
    static struct xs_listening list[XS_LISTENING_MAX]; /* large, and stacks may be small */
    size_t n = xs_listening(NULL, list), length = strlen(folder);

    for (size_t i = 0; i < n; i++) {
        if (strncmp(list[i].path, folder, length) == 0 && list[i].path[length] == '/' &&
            !strchr(list[i].path + length + 1, '/') && strcmp(list[i].path, named) != 0)
            return xs_str_copy(ret, size, list[i].path);
    }
    return false;
}

/* Whether xsched may start a server at a place that the user named. Of folders xsched makes those alone that it chooses itself:
 * a mistyped name would make another one, with a server that no other program finds. */
static int check_named(const char *named, char *ret_folder, size_t size)
{
    char neighbour[XS_SOCKET_PATH_BYTES];
    char *slash;

    xs_str_copy(ret_folder, size, named);
    slash = strrchr(ret_folder, '/');
    if (named[0] != '/' || slash == ret_folder) {
        xs_say("XSCHED_SOCKET=%s must be an absolute path in a folder of its own: xsched started no xserver",
               named);
        return -EINVAL;
    }
    if (strlen(named) >= XS_SOCKET_PATH_BYTES) {
        xs_say("XSCHED_SOCKET must be a path of at most %u bytes, not %s: xsched started no xserver",
               XS_SOCKET_PATH_BYTES - 1, named);
        return -ENAMETOOLONG;
    }
    *slash = 0;
    if (access(ret_folder, F_OK) < 0) {
        xs_say("no xserver answers at %s, and the folder %s is not there: xsched started none. Make the "
               "folder, or mend the name "
               "(--socket, XSCHED_SOCKET)",
               named, ret_folder);
        return -ENOENT;
    }
    if (has_neighbour(named, ret_folder, neighbour, sizeof(neighbour))) {
        xs_say("no xserver answers at %s, and one answers at %s: xsched started no second one. Mend the name "
               "(--socket, "
               "XSCHED_SOCKET)",
               named, neighbour);
        return -EEXIST;
    }
    return 0;
}

/* Something is where programs look, and this user may not use it. @return whether it is the only place */
static bool say_denied(const struct xs_places *places, bool named)
{
    int i = xs_places_first_denied(places);

    if (i < 0)
        return false;
    xs_say("%s: %s%s", places->items[i].path, xs_place_text(-EACCES),
           named ? "; the program runs unscheduled"
                 : "; programs of this user and of that xserver are not suspended for each other");
    return named;
}

int xs_autostart(bool start, unsigned idle_s)
{
    const char *named = xs_env_get(XS_ENV_XSCHED_SOCKET);
    char folder[PATH_MAX], socket_path[PATH_MAX + 16];
    static struct xs_places places; /* large, and stacks may be small */
    bool agents_look = true;
    pid_t server = 0;
    int i, err;

    xs_places_get(&places);
    i = xs_places_first(&places);
    if (i >= 0) {
        if (xs_place_probe_of(&places.items[i], &server, NULL) == 0 && xs_process_is_stopped(server))
            xs_say("the xserver at %s (PID %d) " XS_STOPPED_BY
                   ": the program runs unscheduled until it goes on. " XS_STOPPED_REMEDY,
                   places.items[i].path, (int)server, (int)server);
        if (!places.items[i].agents_look)
            setenv("XSCHED_SOCKET", places.items[i].path, 1);
        xs_place_expect(places.items[i].path);
        say_other_servers(places.items[i].path);
        return 0;
    }
    if (say_denied(&places, named != NULL))
        return -EACCES;
    if (!start)
        return -ENOENT;
    if (named) {
        err = check_named(named, folder, sizeof(folder));
        if (err < 0)
            return err;
        xs_str_copy(socket_path, sizeof(socket_path), named);
    } else {
        agents_look = xs_runtime_folder(folder, sizeof(folder));
        snprintf(socket_path, sizeof(socket_path), "%s/xserver.sock", folder);
    }
    err = start_server(folder, socket_path, idle_s);
    if (err == 0) {
        xs_place_expect(socket_path);
        say_other_servers(socket_path);
    }
    if (err == 0 && !agents_look)
        setenv("XSCHED_SOCKET", socket_path, 1);
    return err;
}
