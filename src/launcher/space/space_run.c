/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of `xsched run --share=space` before it becomes the program. After cuInit nothing can change, so
 * a child tries all of it with the environment that the program would have. If that fails, one line says why,
 * and the program shares in time. */
#include "launcher/space/space.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/str.h"
#include "launcher/daemonize.h"
#include "launcher/preload.h"
#include "launcher/say.h"
#include "launcher/trial.h"
#include "query/find_xserver.h"
#include "transport/socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELPER_NS   (10 * XS_NS_PER_S)   /* until a helper listens */
#define ANSWER_MS   45000                /* it starts a daemon, maybe two */
#define PROBE_NS    (30 * XS_NS_PER_S)   /* the first program of a daemon waits for its server */
#define NOWHERE      "/dev/null"         /* a pipe folder without a daemon, in place of a broken one's */

/* Shares in time, and says why. */
static bool time_then(const char *why)
{
    xs_say("--share=space: %s: the program shares in time", why);
    return false;
}

/* ---- the probe: xsched-probe-cuda, in the program's environment ---- */

struct device {
    unsigned count;                      /* that the program would see */
    char uuid[64];
    bool mig, served;                    /* served: contexts on it are MPS's */
    bool unlike_first;                   /* NVML's number 0 is a device of another kind */
    char why[256];                       /* empty: a kernel ran */
};

static const char *field(const char *text, const char *name, char *ret, size_t size)
{
    char key[32];
    const char *at;
    size_t n;

    snprintf(key, sizeof(key), "%s=", name);
    at = strstr(text, key);
    ret[0] = 0;
    if (!at)
        return ret;
    at += strlen(key);
    n = XS_MIN(strcspn(at, "\n"), size - 1);
    memcpy(ret, at, n);
    ret[n] = 0;
    return ret;
}

/* @param what  "devices", "numbers" or "space"  @return false, with a reason, if it learns nothing of devices */
static bool look(const char *what, struct device *ret)
{
    char own[PATH_MAX], program[PATH_MAX + 32], text[4096], word[64];
    const struct xs_trial t = {.program = program, .argument = what, .quiet = true, .limit_ns = PROBE_NS,
                               .before_kill = xs_mps_end_own};
    int64_t count;
    int status;

    memset(ret, 0, sizeof(*ret));
    if (xs_own_folder(own, sizeof(own)) < 0 ||
        (size_t)snprintf(program, sizeof(program), "%s/xsched-probe-cuda", own) >= sizeof(program) ||
        access(program, X_OK) != 0) {
        xs_str_copy(ret->why, sizeof(ret->why), "xsched-probe-cuda is not installed");
        return false;
    }
    status = xs_trial_run(&t, text, sizeof(text));
    if (status == 3) {
        xs_str_copy(ret->why, sizeof(ret->why), "there is no NVIDIA driver that works here");
        return false;
    }
    field(text, "why", ret->why, sizeof(ret->why));
    field(text, "uuid", ret->uuid, sizeof(ret->uuid));
    ret->count = xs_str_parse_i64(field(text, "count", word, sizeof(word)), &count) == 0 && count > 0 ? (unsigned)count : 0;
    ret->mig = strcmp(field(text, "mig", word, sizeof(word)), "1") == 0;
    ret->unlike_first = strcmp(field(text, "first", word, sizeof(word)), "unlike") == 0;
    ret->served = strcmp(field(text, "mps", word, sizeof(word)), "1") == 0;
    if (status != 0 && !ret->why[0])
        xs_str_copy(ret->why, sizeof(ret->why),
                    status < 0 ? "a trial program hung or crashed" : "a trial program did not start");
    return status == 0 || ret->why[0] != 0;
}

/* ---- the helper ---- */

struct helper_arguments {
    const char *program, *folder, *device, *idle_s;
};

static unsigned helper_arguments(const void *ctx, const char *log, const char **argv)
{
    const struct helper_arguments *a = ctx;

    (void)log;
    argv[0] = a->program;
    argv[1] = a->folder;
    argv[2] = a->device;
    argv[3] = a->idle_s;
    return 4;
}

static int await_helper(const char *path)
{
    uint64_t until = xs_now_ns() + HELPER_NS;
    int fd;

    while ((fd = xs_socket_connect(path, XS_NS_PER_S)) < 0 && xs_now_ns() < until)
        usleep(5000);
    return fd;
}

/* Connects to the helper of this folder, and starts it if there is none. @return descriptor or -errno */
static int connect_helper(const char *folder, const char *device, unsigned idle_s)
{
    char own[PATH_MAX], program[PATH_MAX + 16], path[XS_SOCKET_PATH_BYTES], idle[16];
    struct helper_arguments arguments = {program, folder, device, idle};
    const struct xs_daemon d = {
        .folder = folder, .log = "helper.log", .description = "XSched: keeps an MPS daemon for programs of this user",
        .arguments = helper_arguments, .ctx = &arguments,
    };
    int fd, lock;

    if ((size_t)snprintf(path, sizeof(path), "%s/" XS_SPACE_SOCKET, folder) >= sizeof(path))
        return -ENAMETOOLONG;
    fd = xs_socket_connect(path, XS_NS_PER_S);
    if (fd >= 0)
        return fd;
    if (xs_own_folder(own, sizeof(own)) < 0 ||
        (size_t)snprintf(program, sizeof(program), "%s/xsched-space", own) >= sizeof(program) ||
        access(program, X_OK) != 0)
        return -ENOSYS;
    snprintf(idle, sizeof(idle), "%u", idle_s);
    lock = xs_daemon_lock(folder, "start.lock", 2 * HELPER_NS);
    if (lock < 0)
        return lock;
    fd = xs_socket_connect(path, XS_NS_PER_S); /* another launcher was faster */
    if (fd < 0) {
        pid_t pid = xs_daemon_spawn(&d, xs_daemon_has_manager());

        fd = pid < 0 ? (int)pid : await_helper(path);
        if (fd < 0 && xs_daemon_has_manager()) /* a manager that refuses or is stuck */
            fd = xs_daemon_spawn(&d, false) < 0 ? fd : await_helper(path);
    }
    close(lock);
    return fd;
}

/* @return the connection, with the daemon's pipe folder and a note for the user; -1 and why */
static int join(const char *folder, const char *device, unsigned idle_s, char *ret_pipe, size_t size, char *ret_why,
                size_t why_size)
{
    char text[XS_SPACE_PACKET], *pipe, *note, *rest = text;
    struct pollfd p = {.events = POLLIN};
    ssize_t n = -1;

    for (int i = 0; i < 2 && n <= 0; i++) {      /* the first one may be about to end */
        int fd = connect_helper(folder, device, idle_s);

        if (fd < 0) {
            snprintf(ret_why, why_size, "its helper does not start (%s)",
                     fd == -ENOSYS ? "xsched-space is not installed" : strerror(-fd));
            return -1;
        }
        p.fd = fd;
        n = send(fd, "join", 4, MSG_NOSIGNAL) == 4 && poll(&p, 1, ANSWER_MS) > 0 ? recv(fd, text, sizeof(text) - 1, 0) : -1;
        if (n <= 0)
            close(fd);
    }
    if (n <= 0) {
        snprintf(ret_why, why_size, "its helper does not answer (see %.400s/helper.log)", folder);
        return -1;
    }
    text[n] = 0;
    if (strcmp(strsep(&rest, "\n"), "ok") != 0 || !rest) {
        xs_str_copy(ret_why, why_size, rest ? rest : "its helper refuses");
        close(p.fd);
        return -1;
    }
    pipe = strsep(&rest, "\n");
    note = rest ? rest : text + n;
    if (!xs_str_copy(ret_pipe, size, pipe)) {
        close(p.fd);
        return -1;
    }
    if (note[0])
        xs_say("%s", note);
    return p.fd;
}

/* $XDG_RUNTIME_DIR/xsched/mps-UUID, or in /tmp/xsched-UID */
static const char *make_folder(const char *device, char *ret, size_t size)
{
    static char why[PATH_MAX + 128];
    char runtime[PATH_MAX];
    int r;

    xs_runtime_folder(runtime, sizeof(runtime));
    if ((size_t)snprintf(ret, size, "%s/mps-%s", runtime, device) >= size)
        return "the name of its folder is too long";
    r = xs_daemon_folder(runtime);
    if (r == 0)
        r = xs_daemon_folder(ret);
    if (r == 0)
        return NULL;
    if (r == -EPERM)
        snprintf(why, sizeof(why), "%s must belong to this user, and nobody else may write there", ret);
    else
        snprintf(why, sizeof(why), "cannot make %s: %s", ret, strerror(-r));
    return why;
}

/* ---- the decision ---- */

/* Root's serves all users. */
static bool is_of_another_user(const char *folder)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%s/control", folder);
    return stat(path, &st) == 0 && st.st_uid != geteuid() && st.st_uid != 0;
}

/* The machine's own daemon, which every program meets that names no other. A folder left by a former daemon
 * does not count. */
static bool use_default(void)
{
    struct device d;

    return xs_mps_has_pipes(XS_MPS_FOLDER) && look("space", &d) && !d.why[0] && d.served;
}

static void set_priority(int priority)
{
    setenv("CUDA_MPS_CLIENT_PRIORITY", priority > 0 ? "0" : "1", 0); /* the user's own value stays */
}

static bool use_named(const char *folder)
{
    struct device d;
    char why[512];

    if (is_of_another_user(folder)) {
        snprintf(why, sizeof(why), "the MPS daemon in %s is another user's", folder);
    } else if (!look("space", &d)) {
        return time_then(d.why);
    } else if (d.why[0]) {
        snprintf(why, sizeof(why), "the MPS daemon in %s does not serve: %s", folder, d.why);
    } else if (!d.served) {
        snprintf(why, sizeof(why), "no MPS daemon works in %s", folder);
    } else {
        return true;
    }
    setenv("CUDA_MPS_PIPE_DIRECTORY", NOWHERE, 1); /* a program would fail there */
    return time_then(why);
}

static void set_or_not(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* @return why the program cannot have this device in space with the value that it would see; NULL: it can */
static const char *against(const struct device *native, const struct device *found)
{
    if (found->why[0])
        return found->why;
    if (!found->served)
        return "the MPS daemon does not serve a trial program";
    if (XS_SPACE_RULES & XS_SPACE_RULE_SAME && (found->count != 1 || strcmp(found->uuid, native->uuid) != 0))
        return "the MPS daemon has another device";
    return NULL;
}

static const char *unlike(const char *visible, const char *uuid, char *ret, size_t size)
{
    snprintf(ret, size, "CUDA_VISIBLE_DEVICES=%.64s would become 0, for NVML a GPU of another kind (%s works)",
             visible, uuid);
    return ret;
}

static bool use_own(unsigned idle_s)
{
    char folder[PATH_MAX], pipe[PATH_MAX], why[512], log[PATH_MAX + 8];
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *wrong, *value;
    char *old = visible ? strdup(visible) : NULL;
    struct device d, found;
    bool renumbers;
    int fd;

    value = xs_space_visible(old);
    renumbers = old && value != old;
    if (!look(renumbers ? "numbers" : "devices", &d) || d.why[0])
        wrong = d.why;
    else if (d.mig || strncmp(d.uuid, "GPU-", 4) != 0)
        wrong = "the device is a part of one (MIG), or has no UUID";
    else if (d.count != 1)
        wrong = "it is for one device, and the program would see more (CUDA_VISIBLE_DEVICES names one)";
    else if (XS_SPACE_RULES & XS_SPACE_RULE_KIND && renumbers && d.unlike_first)
        wrong = unlike(old, d.uuid, why, sizeof(why));
    else
        wrong = make_folder(d.uuid, folder, sizeof(folder));
    if (wrong) {
        free(old);
        return time_then(wrong);
    }
    fd = join(folder, d.uuid, idle_s, pipe, sizeof(pipe), why, sizeof(why));
    if (fd < 0) {
        free(old);
        return time_then(why);
    }
    snprintf(log, sizeof(log), "%s/log", folder);
    setenv("CUDA_MPS_PIPE_DIRECTORY", pipe, 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", log, 1);
    set_or_not("CUDA_VISIBLE_DEVICES", value);
    look("space", &found);
    wrong = against(&d, &found);
    if (!wrong && send(fd, "stays", 5, MSG_NOSIGNAL) != 5)
        wrong = "its helper is gone";
    close(fd);
    if (wrong) {
        unsetenv("CUDA_MPS_PIPE_DIRECTORY");
        unsetenv("CUDA_MPS_LOG_DIRECTORY");
        set_or_not("CUDA_VISIBLE_DEVICES", old);
    }
    free(old);
    return wrong ? time_then(wrong) : true;
}

/* On AMD's driver masks of compute units share the device, without a daemon (decision 0048). @return false: it is not
 * for AMD's driver to share */
static bool use_masks(bool *ret_space)
{
    char why[128];

    if (access("/dev/nvidiactl", F_OK) == 0 || (access("/dev/kfd", R_OK | W_OK) < 0 && errno == ENOENT))
        return false;
    *ret_space = access("/dev/kfd", R_OK | W_OK) == 0;
    if (!*ret_space) {
        snprintf(why, sizeof(why), "/dev/kfd: %s (its group is often render: add the user to it)", strerror(errno));
        time_then(why);
    }
    return true;
}

bool xs_space_begin(int priority, unsigned idle_s)
{
    const char *named = getenv("CUDA_MPS_PIPE_DIRECTORY"), *set = getenv("CUDA_MPS_CLIENT_PRIORITY");
    bool had = set && set[0], space;

    if (!(named && named[0]) && use_masks(&space))
        return space;
    if (!had)
        unsetenv("CUDA_MPS_CLIENT_PRIORITY");
    set_priority(priority);                      /* the trial program starts like the program */
    space = named && named[0] ? use_named(named) : use_default() || use_own(idle_s);
    if (!space && !had)
        unsetenv("CUDA_MPS_CLIENT_PRIORITY");
    return space;
}
