/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/http_process.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "transport/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM     "xsched-http"
#define AGAIN_MS    1000   /* after it has ended; twice as long each time that it has not lived for LIVED_NS */
#define AGAIN_MOST  32000
#define LIVED_NS    (10 * XS_NS_PER_S)
#define END_MS      1000   /* it has so long to end */
#define TAKEN_TRIES 100u   /* the port may still be that of an xserver that was killed a moment ago */
#define TAKEN_US    10000u
#define STACK_BYTES 65536u

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

struct xs_http_process {
    char program[PATH_MAX], server_socket[XS_SOCKET_PATH_BYTES], unix_path[XS_SOCKET_PATH_BYTES], log_level[16];
    int tcp, unix_; /* they listen; -1: there is none */
    uint16_t port;  /* of tcp */
    int orders[2];  /* a byte each, to the thread */
    pthread_t thread;
};

enum { ORDER_RELOAD = 'r', ORDER_END = 'e' };

/* Above those that the process gets. @return the descriptor, which is another one now, or -errno */
static int above(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 10), r = -errno;

    close(fd);
    return high < 0 ? r : high;
}

static int listen_tcp(uint16_t port, uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof(at);
    int one = 1, r, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        listen(fd, XS_SOCKET_BACKLOG) == 0 && getsockname(fd, (struct sockaddr *)&at, &size) == 0) {
        *ret_port = ntohs(at.sin_port);
        return above(fd);
    }
    r = -errno;
    close(fd);
    return r;
}

/* The holder of the other socket's lock may replace this one's file. */
static int listen_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat st;
    int fd, r, off = 0;

    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(path);
    xs_str_copy(at.sun_path, sizeof(at.sun_path), path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    /* where the kernel can (Linux 6.16), no client sends descriptors through it */
    (void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && chmod(path, 0666) == 0 && listen(fd, XS_SOCKET_BACKLOG) == 0)
        return above(fd);
    r = -errno;
    close(fd);
    return r;
}

/* Beside this program. */
static bool find_program(char ret[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - sizeof(PROGRAM));
    char *slash;

    ret[n > 0 ? n : 0] = 0;
    slash = strrchr(ret, '/');
    if (!slash)
        return false;
    memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
    return access(ret, X_OK) == 0;
}

/* Descriptor 0 of the process is the end by which it hears of us; the others are numbers in its arguments.
 * @return 0 or an errno */
static int spawn_with(struct xs_http_process *p, int lifeline, posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes,
                      pid_t *ret)
{
    char name[] = PROGRAM, socket_option[] = "--socket", tcp_option[] = "--tcp-fd=3", unix_option[] = "--unix-fd=4",
         started_option[] = "--started", level_option[] = "--log-level";
    char *argv[10];
    struct sched_param ordinary = {0};
    sigset_t none, all;
    int r, n = 0;

    argv[n++] = name;
    argv[n++] = started_option;
    argv[n++] = socket_option;
    argv[n++] = p->server_socket;
    if (p->log_level[0]) {
        argv[n++] = level_option;
        argv[n++] = p->log_level;
    }
    if (p->tcp >= 0)
        argv[n++] = tcp_option;
    if (p->unix_ >= 0)
        argv[n++] = unix_option;
    argv[n] = NULL;
    sigemptyset(&none);
    sigfillset(&all);
    r = posix_spawn_file_actions_adddup2(files, lifeline, STDIN_FILENO);
    if (r == 0 && p->tcp >= 0)
        r = posix_spawn_file_actions_adddup2(files, p->tcp, 3);
    if (r == 0 && p->unix_ >= 0)
        r = posix_spawn_file_actions_adddup2(files, p->unix_, 4);
    if (r == 0)
        r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setschedparam(attributes, &ordinary); /* never xserver's real-time class */
    if (r == 0)
        r = posix_spawnattr_setschedpolicy(attributes, SCHED_OTHER);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSCHEDULER);
    return r ? r : posix_spawn(ret, p->program, files, attributes, argv, environ);
}

/* @return our end of the line to it, or -errno */
static int spawn(struct xs_http_process *p, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    ends[0] = above(ends[0]);
    ends[1] = above(ends[1]);
    r = ends[0] < 0 || ends[1] < 0 ? EMFILE : posix_spawn_file_actions_init(&files);
    if (r == 0) {
        r = posix_spawnattr_init(&attributes);
        if (r == 0) {
            r = spawn_with(p, ends[1], &files, &attributes, ret);
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&files);
    }
    xs_fd_close(&ends[1]);
    if (r)
        xs_fd_close(&ends[0]);
    return r ? -r : ends[0];
}

/* Its end shows as the end of the line. @return the order that came; 0: it has ended, or the time is up */
static char wait_on(struct xs_http_process *p, int line, int timeout_ms)
{
    struct pollfd in[2] = {{.fd = p->orders[0], .events = POLLIN}, {.fd = line, .events = 0}};
    char order = 0;

    while (poll(in, 2, timeout_ms) < 0 && errno == EINTR)
        ;
    if (in[0].revents && read(p->orders[0], &order, 1) != 1)
        order = ORDER_END;
    return order;
}

static void end(int *line, pid_t pid)
{
    struct pollfd in = {.fd = *line, .events = 0};
    static const char k_end = ORDER_END;

    (void)send(*line, &k_end, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (poll(&in, 1, END_MS) < 0 && errno == EINTR)
        ;
    if (!in.revents)
        kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    xs_fd_close(line);
}

static void *keep(void *arg)
{
    struct xs_http_process *p = arg;
    int again_ms = AGAIN_MS / 2;
    char order = 0;

    while (order != ORDER_END) {
        uint64_t began_ns = xs_now_ns();
        pid_t pid = 0;
        int line = spawn(p, &pid);

        if (line < 0)
            XS_WARN("cannot start %s: %s", p->program, strerror(-line));
        while (line >= 0 && (order = wait_on(p, line, -1)) == ORDER_RELOAD)
            (void)send(line, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (order == ORDER_END) {
            end(&line, pid);
            break;
        }
        if (line >= 0) {
            XS_WARN("%s (pid %d) has ended: xserver starts it again", PROGRAM, (int)pid);
            kill(pid, SIGKILL); /* it may have closed the line alone */
            waitpid(pid, NULL, 0);
            close(line);
        }
        again_ms = xs_now_ns() - began_ns < LIVED_NS ? XS_MIN(again_ms * 2, AGAIN_MOST) : AGAIN_MS;
        while ((order = wait_on(p, -1, again_ms)) == ORDER_RELOAD)
            ;
    }
    return NULL;
}

static int start_thread(struct xs_http_process *p)
{
    pthread_attr_t attr;
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->orders) < 0)
        return -errno;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    r = -pthread_create(&p->thread, &attr, keep, p);
    pthread_attr_destroy(&attr);
    return r;
}

static void forget(struct xs_http_process *p)
{
    if (p->unix_ >= 0)
        unlink(p->unix_path);
    xs_fd_close(&p->tcp);
    xs_fd_close(&p->unix_);
    xs_fd_close(&p->orders[0]);
    xs_fd_close(&p->orders[1]);
    free(p);
}

static int listen_both(struct xs_http_process *p, const struct xs_http_wanted *wanted, char *ret_error, size_t error_size)
{
    bool named = wanted->port_is_named;
    uint16_t port = 0;

    p->tcp = listen_tcp(wanted->port, &port);
    for (unsigned i = 0; p->tcp == -EADDRINUSE && named && i < TAKEN_TRIES; i++) {
        usleep(TAKEN_US);
        p->tcp = listen_tcp(wanted->port, &port);
    }
    if (p->tcp == -EADDRINUSE && !named) {
        XS_WARN("another program has port %u: HTTP only on %s", (unsigned)wanted->port, p->unix_path);
    } else if (p->tcp < 0) {
        snprintf(ret_error, error_size, "cannot answer HTTP on 127.0.0.1:%u: %s", (unsigned)wanted->port, strerror(-p->tcp));
        return p->tcp;
    }
    p->unix_ = p->unix_path[0] ? listen_unix(p->unix_path) : -1;
    if (p->unix_path[0] && p->unix_ < 0) {
        snprintf(ret_error, error_size, "cannot answer HTTP on %s: %s", p->unix_path, strerror(-p->unix_));
        return p->unix_;
    }
    if (p->tcp >= 0)
        XS_INFO("HTTP on 127.0.0.1:%u and %s", port, p->unix_path);
    p->port = port;
    return 0;
}

int xs_http_process_start(const struct xs_http_wanted *wanted, struct xs_http_process **ret, char *ret_error, size_t error_size)
{
    struct xs_http_process *p = calloc(1, sizeof(*p));
    int r;

    if (!p) {
        snprintf(ret_error, error_size, "out of memory");
        return -ENOMEM;
    }
    p->tcp = p->unix_ = p->orders[0] = p->orders[1] = -1;
    xs_str_copy(p->server_socket, sizeof(p->server_socket), wanted->server_socket);
    xs_str_copy(p->unix_path, sizeof(p->unix_path), wanted->unix_path);
    xs_str_copy(p->log_level, sizeof(p->log_level), wanted->log_level);
    if (!find_program(p->program)) {
        XS_WARN("%s is not installed beside xserver: there is no HTTP", PROGRAM);
        forget(p);
        return 0;
    }
    r = listen_both(p, wanted, ret_error, error_size);
    if (r == 0 && (r = start_thread(p)) < 0)
        snprintf(ret_error, error_size, "cannot start a thread for HTTP: %s", strerror(-r));
    if (r < 0) {
        p->tcp = XS_MAX(p->tcp, -1);
        p->unix_ = XS_MAX(p->unix_, -1);
        forget(p);
        return r;
    }
    *ret = p;
    return 0;
}

uint16_t xs_http_process_port(const struct xs_http_process *p)
{
    return p ? p->port : 0;
}

static void order(struct xs_http_process *p, char what)
{
    (void)send(p->orders[1], &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void xs_http_process_reload(struct xs_http_process *p)
{
    if (p)
        order(p, ORDER_RELOAD);
}

void xs_http_process_stop(struct xs_http_process *p)
{
    if (!p)
        return;
    if (p->unix_ >= 0)
        unlink(p->unix_path);
    order(p, ORDER_END);
    pthread_join(p->thread, NULL);
    forget(p);
}
