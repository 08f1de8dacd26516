/* SPDX-License-Identifier: Apache-2.0 */
/* xsched-window monitor: follows the active window of one display. */
#include "window/window.h"

#include "base/clock.h"
#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_FOCUS_MS 200  /* no window manager: looks at the focus so often */
#define LOOK_AGAIN_MS 1000 /* the server may come and go, and programs may join */

static void say(const struct xs_window_options *o, const char *text)
{
    if (!o->quiet)
        fprintf(stderr, "xsched-window: %s\n", text);
}

int xs_window_monitor(const struct xs_window_options *o)
{
    struct xs_report report = {.where = o->where};
    char why[1200], said[1200] = "";
    uint64_t busy_ns = xs_now_ns(), asked_ns = 0;
    struct xs_focus *f;
    pid_t pid, last = -1;
    bool policy_set = !o->set_policy;

    if (xs_focus_open(o->display, &f) < 0) {
        const char *at = o->display ? o->display : getenv("DISPLAY");

        fprintf(stderr, "xsched-window: %s%s; set DISPLAY or --display\n",
                at && *at ? "no X server answers at " : "DISPLAY names no X server", at && *at ? at : "");
        return 1;
    }
    report.display = xs_focus_display(f);
    while (xs_focus_drain(f) == 0 && xs_focus_pid(f, &pid) == 0) {
        struct pollfd p = {xs_focus_fd(f), POLLIN, 0};
        uint64_t now = xs_now_ns();

        if (pid != last || !report.exact || now - asked_ns >= LOOK_AGAIN_MS * XS_NS_PER_MS) {
            int err = policy_set ? 0 : xs_report_set_policy(&report, why, sizeof(why));

            policy_set |= err == 0;
            if (err == 0)
                err = xs_report_active(&report, pid, why, sizeof(why));
            if (err < 0 && strcmp(why, said) != 0) {
                xs_str_copy(said, sizeof(said), why);
                say(o, said);
            }
            if (err == 0 && pid != last && !o->quiet)
                printf("active: %d\n", (int)(report.n_told ? report.told[0] : pid)), fflush(stdout);
            if (err == 0)
                said[0] = 0;
            last = err == 0 ? pid : -1;
            asked_ns = now;
        }
        if (o->once)
            break;
        if (report.reached && report.clients)
            busy_ns = now;
        if (o->idle_s && now - busy_ns > o->idle_s * XS_NS_PER_S)
            break;
        if (poll(&p, 1, xs_focus_must_poll(f) ? POLL_FOCUS_MS : LOOK_AGAIN_MS) < 0 && errno != EINTR)
            break;
    }
    xs_focus_close(f);
    return o->once && last == -1 ? 1 : 0;
}
