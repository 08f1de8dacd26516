/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the server up and takes it down; handles the scheduler's hooks. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "host/operators.h"
#include "host/procinfo.h"
#include "host/subuids.h"
#include "sched/policy_load.h"
#include "transport/http_socket.h"
#include "xserver/activation.h"
#include "xserver/handles.h"
#include "xserver/shares/user_quota.h"
#include "config/pod_limits.h"
#include "xserver/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_TRIES        100
#define LOCK_PAUSE_US     10000
#define DESCRIPTORS_AHEAD 65536 /* eight bytes each, in the kernel */

int xs_server_watch(struct xs_server *s, int fd, uint32_t events, struct xs_source *source)
{
    struct epoll_event ev = {.events = events, .data.ptr = source};

    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

void xs_server_note(struct xs_server *s, const struct xs_server_queue *q, enum xs_timeline_kind kind, int32_t value,
                    uint64_t now_ns)
{
    struct xs_timeline_event e = {.time_ns = now_ns, .kind = kind, .value = value};

    if (!s->timeline.ring)
        return;
    if (q) {
        e.handle = q->handle;
        e.pid = q->client->peer.pid;
        e.uid = q->client->peer.uid;
        e.device = kind == XS_TIMELINE_hold ? xs_sched_queue_reason(q->sched) : q->device;
    }
    xs_timeline_add(&s->timeline, &e);
}

static void on_permit(void *ctx, struct xs_sched_queue *sq, bool run, uint64_t now_ns)
{
    struct xs_server *s = ctx;
    struct xs_server_queue *q = xs_sched_queue_user(sq);
    struct xs_sched_queue_status st;

    s->changed = true;
    xs_lv3_touch(s, q->device);
    q->closed = !run;
    if (q->client) { /* else its message is still in progress */
        xs_server_note(s, q, run ? XS_TIMELINE_permit : XS_TIMELINE_hold, !run && q->client->record.held, now_ns);
        xs_prewake_queue(s, q, now_ns);
    }
    if (run)
        return;
    s->held = true;
    if (q->client)
        q->client->held_ns = now_ns;
    xs_sched_queue_status(sq, now_ns, &st);
    if (st.ready && !st.gathers)
        xs_latency_count(&s->counts.preemption, xs_now_ns() - s->now_ns + st.inflight_ns);
}

static void on_ready(void *ctx, struct xs_sched_queue *sq, bool ready, uint64_t now_ns)
{
    struct xs_server *s = ctx;
    struct xs_server_queue *q = xs_sched_queue_user(sq);

    if (!q->client)
        return;
    xs_lv3_touch(s, q->device);
    xs_list_remove(&q->in_device);
    xs_list_add(ready ? q->on->queues.next : &q->on->queues, &q->in_device);
    xs_server_note(s, q, ready ? XS_TIMELINE_ready : XS_TIMELINE_idle, 0, now_ns);
    if (q->ready != ready)
        xs_prewake_changed(s, q->client, ready, now_ns);
    q->ready = ready;
    xs_swaps_worked(s, q->client);
    xs_prewake_queue(s, q, now_ns);
}

static void on_lane(void *ctx, struct xs_sched_queue *sq, uint32_t multiprocessors, uint64_t now_ns)
{
    struct xs_server *s = ctx;
    struct xs_server_queue *q = xs_sched_queue_user(sq);

    if (!q->client)
        return;
    xs_server_note(s, q, XS_TIMELINE_lane, (int32_t)multiprocessors, now_ns);
    xs_lv3_touch(s, q->device);   /* AMD: masks confine the process */
}

static bool is_stopped(void *ctx, struct xs_sched_process *p)
{
    const struct xs_client *c = xs_sched_process_user(p);

    (void)ctx;
    return c && xs_proc_is_stopped(c->peer.pid);
}

static void on_mark_wanted(void *ctx, struct xs_sched_queue *sq)
{
    (void)ctx;
    xs_client_ask_mark(xs_sched_queue_user(sq));
}

static void on_gather(void *ctx, struct xs_sched_process *p)
{
    struct xs_server *s = ctx;
    struct xs_client *c = xs_sched_process_user(p);

    c->gathers = true;
    s->lv3_moved = true;
}

static const struct xs_sched_ops k_ops = {
    .on_permit = on_permit, .on_ready = on_ready, .on_mark_wanted = on_mark_wanted, .on_lane = on_lane,
    .is_stopped = is_stopped, .on_gather = on_gather};

/* Of an NVIDIA GPU, with slices of 2 ms: two closed loops that share an H200 make 0.906 of the work of
 * one alone (docs/results/2026-11-21-h200-suite, D). So the device itself needs 0.19 ms for a switch.
 * The time until the next program notices its turn comes on top. A turn of 20 times this loses less
 * than 2 %. */
#define LV3_SWITCH_US 500u
/* Elsewhere: the time until xserver sees the end of one program's work, and the next one has woken up.
 * Both sides pay alike for a turn, so short turns favour the larger share. */
#define SWITCH_US     200u

static uint64_t switch_ns(const struct xs_options *o, bool level3)
{
    return (o->switch_us ? o->switch_us : level3 ? LV3_SWITCH_US : SWITCH_US) * XS_NS_PER_US;
}

static void params_of(const struct xs_options *o, struct xs_policy_params *p)
{
    p->timeslice_ns = o->timeslice_us == UINT64_MAX ? UINT64_MAX : o->timeslice_us * XS_NS_PER_US;
    p->k = (uint32_t)o->k;
    p->starvation_ns = o->starvation_ms * XS_NS_PER_MS;
}

/* Whether a name that no user or group has is an error. At a start from a file it is none: accounts go, the
 * directory service of a cluster may come up later, and the service must start all the same. On a command line,
 * and at a reload, somebody reads the error. */
static bool is_strict(const struct xs_options *o, enum xs_option_id id, bool reload)
{
    return reload || o->given & 1ull << id;
}

static int find_operators(const struct xs_options *o, bool reload, int64_t *ret, char *ret_error,
                          size_t error_size)
{
    int r = xs_operators_find(o->operator_group, ret);

    if (r == 0)
        return 0;
    snprintf(ret_error, error_size, "operator-group: there is no group '%.40s'", o->operator_group);
    if (is_strict(o, XS_OPT_operator_group, reload))
        return r;
    XS_WARN("%s: until the configuration is read again, nobody is an operator but root", ret_error);
    *ret = -1;
    return 0;
}

static int set_limits(const struct xs_options *o, bool reload, char *ret_error, size_t error_size)
{
    struct xs_limits_text limits = {o->priority_limits, is_strict(o, XS_OPT_priority_limits, reload)};
    struct xs_limits_text exempt = {o->user_share_exempt, is_strict(o, XS_OPT_user_share_exempt, reload)};
    struct xs_limits_text weights = {o->user_shares, is_strict(o, XS_OPT_user_shares, reload)};
    int r = xs_limits_set(&limits, &exempt, &weights, ret_error, error_size);

    if (r == 0)
        xs_pod_limits_set_file(o->pod_limits_file);
    return r;
}

/* One line about a policy whose xsched/policy.h differs from this program's. */
static void log_difference(const struct xs_policy_module *module, const char *path)
{
    char text[256];

    if (module && xs_policy_module_differs(module, text, sizeof(text)))
        XS_WARN("%s belongs to another xsched/policy.h: it %s", path, text);
}

static int make_scheduler(struct xs_server *s, char *ret_error, size_t error_size)
{
    struct xs_sched_config config;
    const struct xs_policy_ops *policy = xs_policy_find(s->options.policy, &s->module, ret_error, error_size);

    if (!policy)
        return -EINVAL;
    log_difference(s->module, s->options.policy);
    xs_sched_config_defaults(&config);
    config.linger_ns = s->options.linger_us * XS_NS_PER_US;
    config.gather = (enum xs_sched_gather)s->options.gather;
    config.stall_ns = s->options.stall_ms * XS_NS_PER_MS;
    config.user_share = s->options.user_share;
    config.inflight_shared_us = s->options.inflight_us;
    config.inflight_alone_us = s->options.inflight_alone_us;
    config.inflight_top_us = s->options.inflight_top_us;
    params_of(&s->options, &config.params);
    config.params.switch_ns = switch_ns(&s->options, false);
    s->sched = xs_sched_new(policy, &config, &k_ops, s);
    return s->sched ? 0 : -ENOMEM;
}

/* Where to listen by default. @return 0 or -errno */
static int default_socket(char *ret_path)
{
    unsigned index = 0;
    char path[XS_SOCKET_PATH_BYTES], dir[XS_SOCKET_PATH_BYTES];

    if (geteuid() == 0 && !xs_env_get(XS_ENV_XSCHED_SOCKET)) {
        xs_str_copy(ret_path, XS_SOCKET_PATH_BYTES, "/run/xsched/xserver.sock");
        return 0;
    }
    /* the first place where a program would look and this user may write */
    for (int r; (r = xs_socket_path(index, path, sizeof(path))) != -ENOENT; index++) {
        if (r < 0)
            continue;
        xs_str_copy(dir, sizeof(dir), path);
        for (int up = 0; up < 2 && strrchr(dir, '/') > dir; up++) {
            *strrchr(dir, '/') = 0;
            if (access(dir, W_OK) == 0) {
                xs_str_copy(ret_path, XS_SOCKET_PATH_BYTES, path);
                return 0;
            }
        }
    }
    return -ENOENT;
}

/* Of the socket that xserver chooses itself. The folder of one that somebody names must be there: a mistyped name would make
 * another folder, with a server that no program finds. */
static int make_folder(const char *socket_path)
{
    char dir[XS_SOCKET_PATH_BYTES];

    xs_str_copy(dir, sizeof(dir), socket_path);
    if (!strrchr(dir, '/') || strrchr(dir, '/') == dir)
        return 0;
    *strrchr(dir, '/') = 0;
    return mkdir(dir, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* One server a socket: the holder of the lock may replace a socket file that an earlier server left.
 * The kernel may keep the lock of a killed server a little longer than the process exists. So this
 * waits for the lock while no server answers on the socket. */
static int take_lock(struct xs_server *s, char *ret_error, size_t error_size)
{
    char path[XS_SOCKET_PATH_BYTES + 8];
    struct stat st;

    snprintf(path, sizeof(path), "%s.lock", s->socket_path);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock_fd < 0) {
        int r = -errno;

        if (r == -EACCES && lstat(path, &st) == 0 && S_ISREG(st.st_mode)) /* it stays when its server ends */
            snprintf(ret_error, error_size,
                     "cannot listen on %s: an xserver of user %u left %s (%s); remove that file if none of his is at work there",
                     s->socket_path, (unsigned)st.st_uid, path, strerror(-r));
        else if (r == -EACCES)
            snprintf(ret_error, error_size, "cannot listen on %s: this user may not write into its folder", s->socket_path);
        return r;
    }
    for (int i = 0; flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0; i++) {
        int other;

        if (errno != EWOULDBLOCK)
            return -errno;
        other = xs_socket_connect(s->socket_path, 100 * XS_NS_PER_MS);
        if (other >= 0)
            close(other);
        if (other >= 0 || i == LOCK_TRIES)
            return -EADDRINUSE;
        usleep(LOCK_PAUSE_US);
    }
    return 0;
}

static int make_listener(struct xs_server *s, char *ret_error, size_t error_size)
{
    bool named = s->options.socket[0] || xs_env_get(XS_ENV_XSCHED_SOCKET);
    int r = 0, fd = xs_activation_socket();
    struct stat st;

    ret_error[0] = 0;
    if (fd >= 0) {
        socklen_t size = sizeof(struct sockaddr_un);
        struct sockaddr_un at = {0};

        s->activated = true;
        if (getsockname(fd, (struct sockaddr *)&at, &size) == 0)
            xs_str_copy(s->socket_path, sizeof(s->socket_path), at.sun_path);
        s->listener = fd;
        return 0;
    }
    if (fd != -ENOENT) {
        snprintf(ret_error, error_size,
                 "the descriptor that the service manager passed is no listening "
                 "SOCK_SEQPACKET Unix socket");
        return fd;
    }
    if (s->options.socket[0]) {
        if (!xs_str_copy(s->socket_path, sizeof(s->socket_path), s->options.socket)) {
            snprintf(ret_error, error_size, "socket: the path is longer than %u bytes",
                     XS_SOCKET_PATH_BYTES - 1);
            return -ENAMETOOLONG;
        }
    } else if ((r = default_socket(s->socket_path)) < 0) {
        snprintf(ret_error, error_size,
                 "no folder for the socket: set XDG_RUNTIME_DIR, or give --socket PATH, and XSCHED_SOCKET=PATH to programs. "
                 "`xsched run` needs neither: it starts an xserver in /tmp/xsched-%u",
                 (unsigned)geteuid());
        return r;
    }
    if (xs_http_socket_reserved(s->socket_path)) {
        snprintf(ret_error, error_size, "socket: %s is the name of an HTTP socket", s->socket_path);
        return -EINVAL;
    }
    if (lstat(s->socket_path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
        snprintf(ret_error, error_size, "socket: %s is there and is no socket", s->socket_path);
        return -EEXIST;
    }
    if (!named)
        r = make_folder(s->socket_path);
    if (r == 0)
        r = take_lock(s, ret_error, error_size);
    if (r == 0) {
        fd = xs_socket_listen(s->socket_path, 0666, XS_SOCKET_BACKLOG);
        r = fd < 0 ? fd : 0;
    }
    if (r == -EADDRINUSE)
        snprintf(ret_error, error_size, "another xserver listens on %s", s->socket_path);
    else if (r == -ENOENT && named)
        snprintf(ret_error, error_size,
                 "cannot listen on %s: its folder is not there; make it, or mend the name", s->socket_path);
    else if (r < 0 && !ret_error[0])
        snprintf(ret_error, error_size, "cannot listen on %s: %s", s->socket_path, strerror(-r));
    s->listener = r < 0 ? -1 : fd;
    return r;
}

static int make_signals(void)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);    /* as the original: Ctrl-\ in its terminal */
    sigaddset(&set, SIGHUP);
    /* before any thread starts: threads inherit the mask */
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

/* Each program takes three descriptors here. */
static void raise_limits(struct xs_server *s)
{
    struct rlimit l = {0};

    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
    }
    (void)getrlimit(RLIMIT_NOFILE, &l);
    s->most_fds = (int)XS_MIN(l.rlim_cur, (rlim_t)INT32_MAX);
}

/* The kernel doubles a process's table of descriptors when it is full. Where threads share the table,
 * the call that needs the space then sleeps for a grace period of RCU: 20 to 100 ms, here in the main
 * loop. A table never shrinks, so this makes it large while there is one thread. */
static void widen_descriptor_table(void)
{
    struct rlimit l;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), high = -1;

    if (fd >= 0 && getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur > 1)
        high = fcntl(fd, F_DUPFD_CLOEXEC, (int)XS_MIN(l.rlim_cur, (rlim_t)DESCRIPTORS_AHEAD) - 1);
    if (high >= 0)
        close(high);
    if (fd >= 0)
        close(fd);
}

static void listener_ready(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    (void)source;
    (void)events;
    xs_client_accept(s);
}

/* The death watcher saw something, or a close worker has command lines. */
static void wake_ready(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    (void)source;
    (void)events;
    xs_fd_eventfd_drain(s->wake);
    if (!xs_client_reap(s, s->now_ns + XS_CONTROL_NS))
        xs_fd_eventfd_signal(s->wake);
    xs_client_take_cmdlines(s);
}

static void timer_ready(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    uint64_t expired;

    (void)source;
    (void)events;
    while (read(s->timer, &expired, sizeof(expired)) > 0)
        ;
    s->timer_ns = UINT64_MAX;
}

static void signals_ready(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    struct signalfd_siginfo info;

    (void)source;
    (void)events;
    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            s->reload = true;
        } else {
            XS_INFO("signal %u, ending", info.ssi_signo);
            s->stop = true;
        }
    }
}

static int make_descriptors(struct xs_server *s)
{
    int r = 0;

    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    s->wake = xs_fd_eventfd();
    if (s->epoll < 0 || s->timer < 0 || s->wake < 0)
        return -errno;
    s->signals = make_signals();
    if (s->signals < 0)
        return s->signals;
    s->listener_source.ready = listener_ready;
    s->timer_source.ready = timer_ready;
    s->signals_source.ready = signals_ready;
    s->death_source.ready = wake_ready;
    if ((r = xs_server_watch(s, s->listener, EPOLLIN, &s->listener_source)) < 0 ||
        (r = xs_server_watch(s, s->timer, EPOLLIN, &s->timer_source)) < 0 ||
        (r = xs_server_watch(s, s->signals, EPOLLIN, &s->signals_source)) < 0 ||
        (r = xs_server_watch(s, s->wake, EPOLLIN, &s->death_source)) < 0)
        return r;
    return 0;
}

int xs_server_start(struct xs_server *s, const struct xs_options *o, char *ret_error, size_t error_size)
{
    int64_t operators;
    int r;

    memset(s, 0, sizeof(*s));
    s->epoll = s->timer = s->signals = s->listener = s->wake = s->lock_fd = -1;
    s->options = *o;
    s->own_uid = (uint32_t)geteuid();
    xs_list_init(&s->unjoined);
    xs_list_init(&s->askers);
    xs_list_init(&s->clients);
    xs_list_init(&s->leaving);
    xs_list_init(&s->dead);
    xs_list_init(&s->queues);
    xs_list_init(&s->steered);
    xs_swaps_init(s);
    xs_list_init(&s->muted);
    xs_list_init(&s->quiet);
    xs_list_init(&s->windows);
    s->changes.last = &s->changes.first;
    xs_pids_init(s);
    s->muted_ns = s->leave_ns = UINT64_MAX;
    s->timer_ns = s->lease_ns = s->house_ns = s->lv3_ns = s->held_due_ns = UINT64_MAX;
    s->started_ns = s->idle_since_ns = s->now_ns = xs_now_ns();
    s->clock_offset_ns = xs_clock_offset_ns();
    s->counts.session_next = 1;
    s->watchdog_ns = xs_activation_watchdog_ns();
    raise_limits(s);
    widen_descriptor_table();
    xs_user_quota_configure(s);
    xs_subuids_load();
    r = find_operators(o, false, &operators, ret_error, error_size);
    if (r < 0)
        return r;
    xs_operators_set(operators);
    r = set_limits(o, false, ret_error, error_size);
    if (r < 0)
        return r;

    r = make_listener(s, ret_error, error_size);
    if (r < 0)
        return r;
    r = make_descriptors(s);
    if (r == 0)
        r = xs_handles_init(s);
    ret_error[0] = 0;
    xs_prewake_configure(s);
    if (r == 0)
        r = make_scheduler(s, ret_error, error_size);
    if (r < 0) {
        if (!ret_error[0])
            snprintf(ret_error, error_size, "cannot start: %s", strerror(-r));
        return r;
    }
    s->death_watch = xs_death_watch_new(s->wake);
    s->close_worker = xs_close_worker_new(s->wake);
    if (!s->close_worker) {
        snprintf(ret_error, error_size, "out of memory");
        return -ENOMEM;
    }
    s->counts.early_death = s->death_watch != NULL;
    if (!xs_http_socket(s->socket_path, s->http_path, sizeof(s->http_path)))
        XS_WARN("the path %s leaves no room for the name of an HTTP socket beside it: there is none", s->socket_path);
    if (s->options.idle_exit_s || s->watchdog_ns)
        s->house_ns = s->now_ns;
    return 0;
}

void xs_server_leave(struct xs_server *s)
{
    if (s->listener >= 0 && !s->activated && s->socket_path[0] && s->lock_fd >= 0)
        unlink(s->socket_path);
    xs_fd_close(&s->listener);
    s->stop = true; /* programs leave at once */
    XS_LIST_FOR_SAFE(c, &s->clients, struct xs_client, link)
        xs_client_drop(s, c, "server ends");
    XS_LIST_FOR_SAFE(c, &s->unjoined, struct xs_client, link)
        xs_client_drop(s, c, "server ends");
    xs_client_leave_all(s);
    xs_requests_walk_end(s);
    xs_changes_end(s);
    XS_LIST_FOR_SAFE(c, &s->askers, struct xs_client, link)
        xs_client_drop(s, c, "server ends");
    xs_client_free_dead(s, UINT_MAX);
}

void xs_server_stop(struct xs_server *s)
{
    xs_server_leave(s);
    xs_announced_fini(&s->expected);
    xs_lv3_free(s->lv3);
    free(s->timeline.ring);
    free(s->loads.ring);
    xs_death_watch_free(s->death_watch);
    xs_close_worker_free(s->close_worker);
    s->close_worker = NULL;
    if (s->sched)
        xs_sched_free(s->sched);
    xs_policy_unload(s->module);
    xs_windows_fini(s);
    xs_quota_fini(&s->quota);
    xs_subuids_unload();
    free(s->handles);
    xs_fd_close(&s->epoll);
    xs_fd_close(&s->timer);
    xs_fd_close(&s->signals);
    xs_fd_close(&s->wake);
    /* the lock file stays: removing it would let two servers each lock a file of that name */
    xs_fd_close(&s->lock_fd);
}

void xs_server_update_switch(struct xs_server *s)
{
    struct xs_policy_params params = *xs_sched_params(s->sched);

    params.switch_ns = switch_ns(&s->options, s->n_lv3 > 0);
    xs_sched_set_params(s->sched, &params);
}

void xs_server_set_policy(struct xs_server *s, const struct xs_policy_ops *policy)
{
    xs_sched_set_policy(s->sched, policy);
    s->class_session = 0;
    s->house_ns = s->now_ns;
    xs_server_note(s, NULL, XS_TIMELINE_policy, policy->type, s->now_ns);
    XS_INFO("policy %s", policy->name);
}

static int check_rules(enum xs_option_id id, const char *rules, char *ret_error, size_t error_size)
{
    struct xs_limits_list list;
    char why[160];
    enum xs_limits_values values = id == XS_OPT_priority_limits ? XS_LIMITS_RANGES
                                     : id == XS_OPT_user_shares  ? XS_LIMITS_WEIGHTS
                                                                 : XS_LIMITS_NAMES;
    int r = xs_limits_parse(&list, rules, values, false, why, sizeof(why));

    if (r < 0)
        snprintf(ret_error, error_size, "%s: %s", xs_option_rows[id].name, why);
    return r;
}

int xs_server_check_option(enum xs_option_id id, const char *value, char *ret_error, size_t error_size)
{
    struct xs_policy_module *module;
    bool found;

    switch (id) {
    case XS_OPT_priority_limits:
    case XS_OPT_user_share_exempt:
    case XS_OPT_user_shares:
        return check_rules(id, value, ret_error, error_size);
    case XS_OPT_policy:
        found = xs_policy_find(value, &module, ret_error, error_size) != NULL;
        xs_policy_unload(module);
        return found ? 0 : -EINVAL;
    default:
        return 0;
    }
}

/* What a reload takes over and what may be wrong about it. */
struct prepared {
    const struct xs_policy_ops *policy;
    struct xs_policy_module *module;
    int64_t operators;
};

/* Rules are the last: xs_limits_set takes both over, or none. @return 0 or -errno with the reason */
static int prepare(struct xs_server *s, const struct xs_options *o, struct prepared *ret, char *ret_error,
                   size_t error_size)
{
    int r = find_operators(o, true, &ret->operators, ret_error, error_size);

    if (r < 0)
        return r;
    ret->policy = xs_sched_policy(s->sched);
    ret->module = NULL;
    if (strcmp(o->policy, s->options.policy) != 0) /* else keeps a policy that a request has set since */
        ret->policy = xs_policy_find(o->policy, &ret->module, ret_error, error_size);
    if (!ret->policy)
        return -EINVAL;
    r = set_limits(o, true, ret_error, error_size);
    if (r < 0)
        xs_policy_unload(ret->module);
    return r;
}

static void take_policy(struct xs_server *s, const struct prepared *p)
{
    if (p->policy == xs_sched_policy(s->sched)) {
        xs_policy_unload(p->module);
        return;
    }
    xs_server_set_policy(s, p->policy);
    xs_policy_unload(s->module);
    s->module = p->module;
    log_difference(s->module, s->options.policy);
}

int xs_server_apply_options(struct xs_server *s, const struct xs_options *o, char *ret_error,
                            size_t error_size)
{
    struct xs_policy_params params = *xs_sched_params(s->sched);
    enum xs_log_level level;
    struct prepared p;
    int r = prepare(s, o, &p, ret_error, error_size);

    if (r < 0)
        return r;
    xs_options_take_live(&s->options, o);
    xs_operators_set(p.operators);
    xs_subuids_load();
    xs_user_quota_configure(s);
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        c->operates = xs_client_operates(s, c);
        xs_client_take_limits(s, c);
    }
    xs_sched_set_user_share(s->sched, s->options.user_share);
    xs_prewake_configure(s);
    params_of(&s->options, &params);
    params.switch_ns = switch_ns(&s->options, s->n_lv3 > 0);
    xs_sched_set_params(s->sched, &params);
    take_policy(s, &p);
    if (xs_log_level_parse(s->options.log_level, &level))
        xs_log_set_level(level);
    return 0;
}

bool xs_server_retire(struct xs_server *s)
{
    int fd;

    if (s->activated)
        return true; /* the service manager keeps the socket and starts us again */
    /* No program can connect any more. If one did in the last moment, accepts it and makes the socket
     * anew. */
    unlink(s->socket_path);
    xs_client_accept(s);
    if (xs_list_empty(&s->unjoined) && xs_list_empty(&s->clients))
        return true;
    fd = xs_socket_listen(s->socket_path, 0666, XS_SOCKET_BACKLOG);
    if (fd < 0) {
        XS_ERRO("cannot listen on %s again: %s", s->socket_path, strerror(-fd));
        return false;
    }
    close(s->listener);
    s->listener = fd;
    xs_server_watch(s, fd, EPOLLIN, &s->listener_source);
    return false;
}
