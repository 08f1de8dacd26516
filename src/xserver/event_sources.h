/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors on which the main loop waits. Each brings the function that serves it. Main loop's thread. */
#ifndef XS_XSERVER_EVENT_SOURCES_H
#define XS_XSERVER_EVENT_SOURCES_H

#include "base/xs_base.h"

struct xs_server;
struct xs_client;

/** A descriptor in the epoll set: who acts when it is ready. */
struct xs_source {
    /** @param events  of epoll. NULL: a doorbell; the loop hears all of them before it serves the others */
    void (*ready)(struct xs_server *s, const struct xs_source *source, uint32_t events);
    struct xs_client *client; /* may wait for the next round, where there are many; NULL: the server's own */
};

/** xserver's own descriptors beside its socket. */
struct xs_event_sources {
    int epoll, timer, signals;
    int wake; /* the death watcher and the close workers signal it */
    uint64_t timer_ns; /* the timer's time; UINT64_MAX: off */
    struct xs_source on_listener, on_timer, on_signals, on_wake;
};

/** Makes them all; the server's socket is open. Blocks the signals that end xserver, also in threads to come.
 *  @return 0 or -errno; xs_sources_close() either way */
int xs_sources_open(struct xs_server *s);
void xs_sources_close(struct xs_event_sources *e);
/** @return 0 or -errno */
int xs_sources_add(struct xs_server *s, int fd, uint32_t events, struct xs_source *source);
/** Whether new connections are events. */
void xs_sources_hear_listener(struct xs_server *s, bool on);
/** at_ns: UINT64_MAX: never */
void xs_sources_set_timer(struct xs_event_sources *e, uint64_t at_ns);

#endif
