/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/event_sources.h"

#include "base/fd.h"
#include "base/log.h"
#include "xserver/server.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

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
    xs_fd_eventfd_drain(s->sources.wake);
    if (!xs_client_reap(s, s->now_ns + XS_CONTROL_NS))
        xs_fd_eventfd_signal(s->sources.wake);
    xs_client_take_cmdlines(s);
}

static void timer_ready(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    uint64_t expired;

    (void)source;
    (void)events;
    while (read(s->sources.timer, &expired, sizeof(expired)) > 0)
        ;
    s->sources.timer_ns = UINT64_MAX;
}

static void signals_ready(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    struct signalfd_siginfo info;

    (void)source;
    (void)events;
    while (read(s->sources.signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            s->reload = true;
        } else {
            XS_INFO("signal %u, ending", info.ssi_signo);
            s->stop = true;
        }
    }
}

int xs_sources_open(struct xs_server *s)
{
    struct xs_event_sources *e = &s->sources;
    int r;

    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    e->wake = xs_fd_eventfd();
    if (e->epoll < 0 || e->timer < 0 || e->wake < 0)
        return -errno;
    e->signals = make_signals();
    if (e->signals < 0)
        return e->signals;
    e->on_listener.ready = listener_ready;
    e->on_timer.ready = timer_ready;
    e->on_signals.ready = signals_ready;
    e->on_wake.ready = wake_ready;
    if ((r = xs_sources_add(s, s->socket.fd, EPOLLIN, &e->on_listener)) < 0 ||
        (r = xs_sources_add(s, e->timer, EPOLLIN, &e->on_timer)) < 0 ||
        (r = xs_sources_add(s, e->signals, EPOLLIN, &e->on_signals)) < 0 ||
        (r = xs_sources_add(s, e->wake, EPOLLIN, &e->on_wake)) < 0)
        return r;
    return 0;
}

void xs_sources_close(struct xs_event_sources *e)
{
    xs_fd_close(&e->epoll);
    xs_fd_close(&e->timer);
    xs_fd_close(&e->signals);
    xs_fd_close(&e->wake);
}

int xs_sources_add(struct xs_server *s, int fd, uint32_t events, struct xs_source *source)
{
    struct epoll_event ev = {.events = events, .data.ptr = source};

    return epoll_ctl(s->sources.epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

void xs_sources_hear_listener(struct xs_server *s, bool on)
{
    struct epoll_event ev = {.events = on ? EPOLLIN : 0, .data.ptr = &s->sources.on_listener};

    epoll_ctl(s->sources.epoll, EPOLL_CTL_MOD, s->socket.fd, &ev);
}

void xs_sources_set_timer(struct xs_event_sources *e, uint64_t at_ns)
{
    struct itimerspec spec = {0};

    if (at_ns == e->timer_ns)
        return;
    if (at_ns != UINT64_MAX) {
        at_ns = XS_MAX(at_ns, 1ull); /* 0 would switch it off */
        spec.it_value.tv_sec = (time_t)XS_MIN(at_ns / XS_NS_PER_S, (uint64_t)INT32_MAX);
        spec.it_value.tv_nsec = (long)(at_ns % XS_NS_PER_S);
    }
    timerfd_settime(e->timer, TFD_TIMER_ABSTIME, &spec, NULL);
    e->timer_ns = at_ns;
}
