/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of xsched-window. One thread. */
#ifndef XS_WINDOW_H
#define XS_WINDOW_H

#include "base/xs_base.h"
#include "query/ask_xserver.h"

#include <sys/types.h>

/* -- focus.c: which process has the active window of a display */
struct xs_focus;

/** @param display  NULL: DISPLAY
 *  @return 0, or -ENOTCONN: no X server answers there */
int xs_focus_open(const char *display, struct xs_focus **ret);
void xs_focus_close(struct xs_focus *f);
/** The name of this display in reports, ":0". */
const char *xs_focus_display(const struct xs_focus *f);
/** Readable when something may have changed. */
int xs_focus_fd(const struct xs_focus *f);
/** Takes the events that have come in. @return 0, or -ENOTCONN: the X server is gone */
int xs_focus_drain(struct xs_focus *f);
/** @param ret_pid  0: no window, one that does not name its process, or one of another machine
 *  @return 0, or -ENOTCONN */
int xs_focus_pid(struct xs_focus *f, pid_t *ret_pid);
/** No window manager shows the active window: the caller must look again and again. */
bool xs_focus_must_poll(const struct xs_focus *f);

/* -- report.c: reports to xserver */
#define XS_REPORT_PIDS 16

struct xs_report {
    struct xs_ask_where where;
    const char *display;
    pid_t told[XS_REPORT_PIDS]; /* as xserver has them: the first under display, more under display+N */
    size_t n_told;
    bool reached;     /* xserver answered the last question */
    bool exact;       /* the window's own process has joined: no need to look again */
    bool only_joined; /* we are no operator of that xserver: a process that has not joined counts as none */
    size_t clients;   /* joined programs */
};

/** Reports the active window of `pid`: as the process itself if that has joined, else as joined processes
 *  that it started (a terminal's, say), else as itself. Sends nothing that xserver has already.
 *  @param ret_why  for users, on failure
 *  @return 0, -ECONNREFUSED or another of xs_ask: no server, -EPERM: it refused */
int xs_report_active(struct xs_report *r, pid_t pid, char *ret_why, size_t size);
/** Policy AWF. @return as above */
int xs_report_set_policy(const struct xs_report *r, char *ret_why, size_t size);

/* -- monitor.c, launch.c: the commands */
struct xs_window_options {
    struct xs_ask_where where;
    const char *display;
    bool set_policy, quiet, once;
    bool plain; /* run: the program itself, without `xsched run` */
    unsigned idle_s; /* end after this long without joined programs; 0: never */
    char **program;
};

/** One monitor a user and display: it keeps a lock on a file as long as it lives.
 *  @return the descriptor to keep; -EWOULDBLOCK: another monitor watches the display; -errno */
int xs_window_lock(const char *display);
int xs_window_monitor(const struct xs_window_options *o);
int xs_window_run(const struct xs_window_options *o);

#endif
