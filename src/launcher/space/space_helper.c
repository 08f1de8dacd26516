/* SPDX-License-Identifier: Apache-2.0 */
/* The helper of one user and one device: keeps the MPS daemon there for as long as programs use it. `xsched
 * run` starts it:
 *
 *     xsched-space FOLDER DEVICE IDLE_SECONDS
 *
 * It asks the daemon only when a program comes or goes, and once a second after a fault. If the
 * helper dies, its daemon stays with its programs; the next helper finds it there. */
#include "launcher/space/space.h"

#include "base/clock.h"
#include "base/str.h"
#include "launcher/daemonize.h"
#include "transport/socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ONE_NS      (30 * XS_NS_PER_S)   /* for which one that ends holds its folder at most */
#define FAULT_MS    1000
#define END_MS      5000
#define LAUNCHERS   64u
#define PROGRAMS    256u

struct launcher {
    int fd, pidfd;
    pid_t pid;
};

struct program {
    int pidfd;
    pid_t pid;
};

struct helper {
    const char *folder;
    struct xs_mps mps;
    char pipe[PATH_MAX], log[PATH_MAX], socket[PATH_MAX];
    int listener;
    struct launcher launchers[LAUNCHERS];  /* between "join" and "stays" */
    struct program programs[PROGRAMS];
    unsigned n_launchers, n_programs;
    bool fault;                            /* there was a fault, and no new daemon since */
    char note[256];                        /* of the last fault; for the next program's user */
    uint64_t idle_ns, idle_since_ns;       /* 0: never; 0: in use */
};

static void say(const char *format, ...) XS_PRINTF(1, 2);
static void say(const char *format, ...)
{
    struct tm t;
    time_t now = time(NULL);
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    localtime_r(&now, &t);
    printf("%04d-%02d-%02d %02d:%02d:%02d %s\n", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, text);
}

/* ---- the daemon ---- */

static void end_daemon(struct helper *h)
{
    char text[512];
    pid_t pid = xs_mps_pid(&h->mps);
    struct pollfd ended = {.fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, .events = POLLIN};
    int r = xs_mps_ask(&h->mps, "quit", text, sizeof(text));

    if (r == 0 && ended.fd >= 0)
        poll(&ended, 1, END_MS);         /* it answers before it is gone */
    if (ended.fd >= 0)
        close(ended.fd);
    say("the MPS daemon %s", r == 0 ? "ends" : "does not answer: xsched-space leaves it alone");
}

/* The daemon's own words about the last fault: the last line of its server's log that has the word. */
static void read_cause(const struct helper *h, char *ret, size_t size)
{
    char path[PATH_MAX + 16], line[1024];
    FILE *f;

    xs_str_copy(ret, size, "its log does not say by which program");
    snprintf(path, sizeof(path), "%s/server.log", h->log);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\r\n")] = 0;
        if (strstr(line, "fault") || strstr(line, "Fault") || strstr(line, "exception")) {
            line[XS_MIN(size - 1, sizeof(line) - 1)] = 0;
            xs_str_copy(ret, size, line);
        }
    }
    if (f)
        fclose(f);
}

/* @param programs  that MPS serves now; @param fault  from the daemon's answer */
static void judge(struct helper *h, int programs, bool fault)
{
    char cause[192];

    if (fault && !h->fault) {
        read_cause(h, cause, sizeof(cause));
        snprintf(h->note, sizeof(h->note), "a fault of one program ended the others: %s", cause);
        say("%s", h->note);
    }
    h->fault = fault;
    if (!fault || programs > 0 || !(XS_SPACE_RULES & XS_SPACE_RULE_FAULT))
        return;
    say("all programs of the fault are gone: the MPS daemon ends, and the next program gets a new one");
    end_daemon(h);
    h->fault = false;
}

static void look_for_fault(struct helper *h)
{
    bool fault;
    int n = xs_mps_programs(&h->mps, &fault);

    if (n >= 0)
        judge(h, n, fault);
}

/* @return NULL, or why it did not start */
static const char *start_daemon(struct helper *h)
{
    static char why[512];
    char text[512];
    int r;

    if ((r = xs_daemon_folder(h->pipe)) < 0 || (r = xs_daemon_folder(h->log)) < 0) {
        snprintf(why, sizeof(why), "%.400s: %s", h->pipe, strerror(-r));
        return why;
    }
    if (xs_mps_start(&h->mps, why, sizeof(why)) < 0)
        return why;
    for (int i = 0; i < 300; i++) {
        if (xs_mps_ask(&h->mps, "get_server_list", text, sizeof(text)) == 0) {
            say("started the MPS daemon of %s, pid %d", h->mps.device, (int)xs_mps_pid(&h->mps));
            return NULL;
        }
        usleep(10000);
    }
    return "the MPS daemon started and does not answer";
}

/* @return NULL, or why the program cannot join */
static const char *admit(struct helper *h)
{
    bool fault = false;
    int n = XS_SPACE_RULES & XS_SPACE_RULE_ONE ? xs_mps_programs(&h->mps, &fault) : -ENOENT;

    if (n >= 0) {
        bool was = h->fault || fault;

        judge(h, n, fault);
        if (h->fault)
            return "a fault ended programs here, and MPS takes no new ones until all of those are gone";
        if (was)
            n = xs_mps_programs(&h->mps, NULL);
    }
    if (n < 0)
        return start_daemon(h);
    if (XS_SPACE_RULES & XS_SPACE_RULE_MOST &&
        (n >= (int)XS_SPACE_MOST || h->n_programs >= XS_SPACE_MOST || h->n_launchers > XS_SPACE_MOST))
        return "MPS serves no more than 60 programs at one time";
    return NULL;
}

/* ---- programs ---- */

static void answer(const struct launcher *l, const char *format, ...) XS_PRINTF(2, 3);
static void answer(const struct launcher *l, const char *format, ...)
{
    char text[XS_SPACE_PACKET];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (send(l->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        say("pid %d: %s", (int)l->pid, strerror(errno));
}

static void leave(struct helper *h, unsigned i)
{
    struct launcher *l = &h->launchers[i];

    close(l->fd);
    if (l->pidfd >= 0)
        close(l->pidfd);
    *l = h->launchers[--h->n_launchers];
}

static void stays(struct helper *h, unsigned i)
{
    struct launcher *l = &h->launchers[i];

    if (l->pidfd >= 0 && h->n_programs < PROGRAMS) {
        h->programs[h->n_programs++] = (struct program){.pidfd = l->pidfd, .pid = l->pid};
        l->pidfd = -1;
    }
    say("pid %d uses the daemon", (int)l->pid);
    leave(h, i);
}

static void take_packet(struct helper *h, unsigned i)
{
    struct launcher *l = &h->launchers[i];
    char text[XS_SPACE_PACKET];
    ssize_t n = recv(l->fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    const char *why;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    text[XS_MAX(n, (ssize_t)0)] = 0;
    if (strcmp(text, "join") == 0) {
        why = admit(h);
        if (why)
            say("refused pid %d: %s", (int)l->pid, why);
        if (why)
            answer(l, "no\n%s", why);
        else
            answer(l, "ok\n%s\n%s", h->pipe, h->note);
        h->note[0] = why ? h->note[0] : 0;
    } else if (strcmp(text, "stays") == 0) {
        stays(h, i);
    } else {
        leave(h, i);
    }
}

static void take_connection(struct helper *h)
{
    struct xs_socket_peer peer = {.pidfd = -1};
    int fd = xs_socket_accept(h->listener, &peer);

    if (fd < 0)
        return;
    if (peer.uid != geteuid() || h->n_launchers >= LAUNCHERS) {
        close(fd);
        if (peer.pidfd >= 0)
            close(peer.pidfd);
        return;
    }
    h->launchers[h->n_launchers++] = (struct launcher){.fd = fd, .pidfd = peer.pidfd, .pid = peer.pid};
}

static void program_ends(struct helper *h, unsigned i)
{
    say("pid %d has ended", (int)h->programs[i].pid);
    close(h->programs[i].pidfd);
    h->programs[i] = h->programs[--h->n_programs];
    look_for_fault(h);
}

/* ---- the end ---- */

static bool in_use(struct helper *h)
{
    bool used = h->n_launchers > 0 || h->n_programs > 0;

    return used && XS_SPACE_RULES & XS_SPACE_RULE_LAST;
}

/* @return ms to wait at most, -1: until something happens, -2: end */
static int plan(struct helper *h)
{
    uint64_t now = xs_now_ns();

    if (in_use(h)) {
        h->idle_since_ns = 0;
        return h->fault ? FAULT_MS : -1;
    }
    if (!h->idle_ns)
        return h->fault ? FAULT_MS : -1;
    if (!h->idle_since_ns)
        h->idle_since_ns = now;
    if (now - h->idle_since_ns < h->idle_ns) {
        uint64_t left_ms = (h->idle_ns - (now - h->idle_since_ns)) / XS_NS_PER_MS;

        return XS_MAX((int)XS_MIN(left_ms, h->fault ? FAULT_MS : 3600000ull), 1); /* children of a fault may be there */
    }
    if (XS_SPACE_RULES & XS_SPACE_RULE_LAST && xs_mps_programs(&h->mps, NULL) > 0) {
        h->idle_since_ns = now;          /* programs that others started: children, or of before this helper */
        return 1;
    }
    return -2;
}

static void wait_and_act(struct helper *h, int ms)
{
    struct pollfd p[1 + LAUNCHERS + PROGRAMS];
    unsigned launchers = h->n_launchers, programs = h->n_programs;

    p[0] = (struct pollfd){.fd = h->listener, .events = POLLIN};
    for (unsigned i = 0; i < launchers; i++)
        p[1 + i] = (struct pollfd){.fd = h->launchers[i].fd, .events = POLLIN};
    for (unsigned i = 0; i < programs; i++)
        p[1 + launchers + i] = (struct pollfd){.fd = h->programs[i].pidfd, .events = POLLIN};
    if (poll(p, 1 + launchers + programs, ms) == 0 && h->fault)
        look_for_fault(h);
    for (unsigned i = programs; i-- > 0;)  /* backwards: the last takes the place of one that goes */
        if (p[1 + launchers + i].revents)
            program_ends(h, i);
    for (unsigned i = launchers; i-- > 0;)
        if (p[1 + i].revents)
            take_packet(h, i);
    if (p[0].revents)
        take_connection(h);
}

static bool prepare(struct helper *h)
{
    char path[XS_SOCKET_PATH_BYTES];

    if ((size_t)snprintf(path, sizeof(path), "%s/" XS_SPACE_SOCKET, h->folder) >= sizeof(path)) {
        say("%s: too long a path for a socket", h->folder);
        return false;
    }
    xs_str_copy(h->socket, sizeof(h->socket), path);
    snprintf(h->pipe, sizeof(h->pipe), "%s/mps", h->folder);
    snprintf(h->log, sizeof(h->log), "%s/log", h->folder);
    h->mps.pipe = h->pipe;
    h->mps.log = h->log;
    h->listener = xs_socket_listen(h->socket, 0600, 64);
    if (h->listener < 0)
        say("%s: %s", h->socket, strerror(-h->listener));
    return h->listener >= 0;
}

int main(int argc, char **argv)
{
    static struct helper h;
    int64_t idle_s;
    int r, ms;

    if (argc != 4 || argv[1][0] != '/' || xs_str_parse_i64(argv[3], &idle_s) < 0 || idle_s < 0 || idle_s > 86400000) {
        fputs("usage: xsched-space FOLDER DEVICE IDLE_SECONDS (`xsched run --share=space` starts it)\n", stderr);
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    h.folder = argv[1];
    h.mps.device = argv[2];
    h.idle_ns = (uint64_t)idle_s * XS_NS_PER_S;
    r = xs_daemon_folder(h.folder);
    if (r >= 0)
        r = xs_daemon_lock(h.folder, "helper.lock", ONE_NS); /* until this process ends */
    if (r < 0) {
        say("%s: %s", h.folder, strerror(-r));
        return 1;
    }
    if (!prepare(&h))
        return 1;
    while ((ms = plan(&h)) != -2)
        wait_and_act(&h, ms);
    unlink(h.socket);
    say("no program has used the MPS daemon of %s for %lld s", h.mps.device, (long long)idle_s);
    end_daemon(&h);
    return 0;
}
