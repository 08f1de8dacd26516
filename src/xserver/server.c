/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the server up and takes it down. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "host/subuids.h"
#include "sched/policy_load.h"
#include "transport/http_socket.h"
#include "xserver/activation.h"
#include "xserver/shares/user_quota.h"
#include "xserver/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTORS_AHEAD 65536 /* eight bytes each, in the kernel */

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

int xs_server_start(struct xs_server *s, const struct xs_options *o, char *ret_error, size_t error_size)
{
    int r;

    memset(s, 0, sizeof(*s));
    s->socket.fd = s->socket.lock_fd = s->sources.epoll = s->sources.timer = s->sources.signals = s->sources.wake = -1;
    s->options = *o;
    s->own_uid = (uint32_t)geteuid();
    xs_list_init(&s->unjoined);
    xs_list_init(&s->askers);
    xs_list_init(&s->clients);
    xs_list_init(&s->leaving);
    xs_list_init(&s->dead);
    xs_list_init(&s->queues);
    xs_list_init(&s->level3.steered);
    xs_swaps_init(s);
    xs_rates_init(&s->rates);
    xs_list_init(&s->windows);
    s->changes.last = &s->changes.first;
    s->sources.timer_ns = s->leave_ns = s->lease_ns = s->house_ns = s->level3.next_ns = s->changes.due_ns = UINT64_MAX;
    s->started_ns = s->idle_since_ns = s->now_ns = xs_now_ns();
    s->clock_offset_ns = xs_clock_offset_ns();
    s->counts.session_next = 1;
    xs_watchdog_init(&s->watchdog);
    raise_limits(s);
    widen_descriptor_table();
    xs_user_quota_configure(s);
    xs_subuids_load();
    r = xs_server_take_rules(s, ret_error, error_size);
    if (r == 0)
        r = xs_server_socket_open(&s->socket, o->socket, ret_error, error_size);
    if (r < 0)
        return r;
    r = xs_sources_open(s);
    if (r == 0)
        r = xs_handles_init(&s->handles);
    ret_error[0] = 0;
    xs_prewake_configure(s);
    if (r == 0)
        r = xs_server_make_scheduler(s, ret_error, error_size);
    if (r < 0) {
        if (!ret_error[0])
            snprintf(ret_error, error_size, "cannot start: %s", strerror(-r));
        return r;
    }
    s->death_watch = xs_death_watch_new(s->sources.wake);
    s->close_worker = xs_close_worker_new(s->sources.wake);
    if (!s->close_worker) {
        snprintf(ret_error, error_size, "out of memory");
        return -ENOMEM;
    }
    s->counts.early_death = s->death_watch != NULL;
    if (!xs_http_socket(s->socket.path, s->http_path, sizeof(s->http_path)))
        XS_WARN("the path %s leaves no room for the name of an HTTP socket beside it: there is none", s->socket.path);
    if (s->options.idle_exit_s || s->watchdog.period_ns)
        s->house_ns = s->now_ns;
    return 0;
}

void xs_server_leave(struct xs_server *s)
{
    xs_server_socket_unlink(&s->socket);
    xs_fd_close(&s->socket.fd);
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
    xs_lv3_free(s->level3.nvidia);
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
    xs_handles_fini(&s->handles);
    xs_sources_close(&s->sources);
    xs_server_socket_close(&s->socket);
}

bool xs_server_retire(struct xs_server *s)
{
    if (s->socket.activated)
        return true; /* the service manager keeps the socket and starts us again */
    /* No program can connect any more. If one did in the last moment, accepts it and makes the socket
     * anew. */
    xs_server_socket_unlink(&s->socket);
    xs_client_accept(s);
    if (xs_list_empty(&s->unjoined) && xs_list_empty(&s->clients))
        return true;
    if (xs_server_socket_renew(&s->socket))
        xs_sources_add(s, s->socket.fd, EPOLLIN, &s->sources.on_listener);
    return false;
}
