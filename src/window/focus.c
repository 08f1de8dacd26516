/* SPDX-License-Identifier: Apache-2.0 */
/* The active window: the one that the window manager writes into _NET_ACTIVE_WINDOW of the root
 * window. Without such a manager, the window that has the input focus. _NET_WM_PID names its process. */
#include "window/window.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xcb/xcb.h>

#define DEPTH_MAX 16 /* windows between the one with the focus and the root */

struct xs_focus {
    xcb_connection_t *c;
    xcb_window_t root;
    xcb_atom_t active, pid, machine;
    char display[64], host[256];
    bool managed;
};

static xcb_atom_t atom(xcb_connection_t *c, const char *name)
{
    xcb_intern_atom_reply_t *r =
        xcb_intern_atom_reply(c, xcb_intern_atom(c, 0, (uint16_t)strlen(name), name), NULL);
    xcb_atom_t a = r ? r->atom : XCB_ATOM_NONE;

    free(r);
    return a;
}

/* A property of 32 bits. */
static bool number(struct xs_focus *f, xcb_window_t w, xcb_atom_t name, xcb_atom_t type, uint32_t *ret)
{
    xcb_get_property_reply_t *r =
        xcb_get_property_reply(f->c, xcb_get_property(f->c, 0, w, name, type, 0, 1), NULL);
    bool ok = r && r->format == 32 && xcb_get_property_value_length(r) >= 4;

    if (ok)
        memcpy(ret, xcb_get_property_value(r), 4);
    free(r);
    return ok;
}

static bool other_machine(struct xs_focus *f, xcb_window_t w)
{
    xcb_get_property_reply_t *r = xcb_get_property_reply(
        f->c, xcb_get_property(f->c, 0, w, f->machine, XCB_ATOM_STRING, 0, sizeof(f->host) / 4), NULL);
    size_t n = r && r->format == 8 ? (size_t)xcb_get_property_value_length(r) : 0;
    bool other = n && (n != strlen(f->host) || memcmp(xcb_get_property_value(r), f->host, n) != 0);

    free(r);
    return other;
}

int xs_focus_open(const char *display, struct xs_focus **ret)
{
    const uint32_t events = XCB_EVENT_MASK_PROPERTY_CHANGE;
    const char *name = display ? display : getenv("DISPLAY");
    struct xs_focus *f = calloc(1, sizeof(*f));
    uint32_t window;
    int screen;

    if (!f)
        return -ENOMEM;
    f->c = xcb_connect(display, &screen);
    if (xcb_connection_has_error(f->c)) {
        xs_focus_close(f);
        return -ENOTCONN;
    }
    xcb_screen_iterator_t it = xcb_setup_roots_iterator(xcb_get_setup(f->c));
    for (; screen > 0 && it.rem > 1; screen--)
        xcb_screen_next(&it);
    f->root = it.data->root;
    xs_str_copy(f->display, sizeof(f->display), name ? name : ":0");
    gethostname(f->host, sizeof(f->host) - 1);
    f->active = atom(f->c, "_NET_ACTIVE_WINDOW");
    f->pid = atom(f->c, "_NET_WM_PID");
    f->machine = atom(f->c, "WM_CLIENT_MACHINE");
    xcb_change_window_attributes(f->c, f->root, XCB_CW_EVENT_MASK, &events);
    xcb_flush(f->c);
    f->managed = number(f, f->root, f->active, XCB_ATOM_WINDOW, &window);
    *ret = f;
    return 0;
}

void xs_focus_close(struct xs_focus *f)
{
    if (f)
        xcb_disconnect(f->c);
    free(f);
}

const char *xs_focus_display(const struct xs_focus *f)
{
    return f->display;
}

int xs_focus_fd(const struct xs_focus *f)
{
    return xcb_get_file_descriptor(f->c);
}

bool xs_focus_must_poll(const struct xs_focus *f)
{
    return !f->managed;
}

int xs_focus_drain(struct xs_focus *f)
{
    xcb_generic_event_t *e;

    while ((e = xcb_poll_for_event(f->c)))
        free(e); /* after any event, the next step reads the window anew */
    return xcb_connection_has_error(f->c) ? -ENOTCONN : 0;
}

static xcb_window_t focused(struct xs_focus *f)
{
    xcb_get_input_focus_reply_t *r = xcb_get_input_focus_reply(f->c, xcb_get_input_focus(f->c), NULL);
    xcb_window_t w = r ? r->focus : XCB_WINDOW_NONE;

    free(r);
    return w == XCB_INPUT_FOCUS_POINTER_ROOT ? XCB_WINDOW_NONE : w;
}

static xcb_window_t parent(struct xs_focus *f, xcb_window_t w)
{
    xcb_query_tree_reply_t *r = xcb_query_tree_reply(f->c, xcb_query_tree(f->c, w), NULL);
    xcb_window_t up = r ? r->parent : XCB_WINDOW_NONE;

    free(r);
    return up;
}

int xs_focus_pid(struct xs_focus *f, pid_t *ret_pid)
{
    uint32_t w = XCB_WINDOW_NONE, pid = 0;

    f->managed = number(f, f->root, f->active, XCB_ATOM_WINDOW, &w);
    if (!f->managed)
        w = focused(f);
    for (int i = 0; i < DEPTH_MAX && w != XCB_WINDOW_NONE && w != f->root && !pid; i++) {
        if (number(f, w, f->pid, XCB_ATOM_CARDINAL, &pid) && other_machine(f, w))
            pid = 0, w = XCB_WINDOW_NONE;
        else if (!pid)
            w = parent(f, w);
    }
    if (xcb_connection_has_error(f->c))
        return -ENOTCONN;
    *ret_pid = (pid_t)pid;
    return 0;
}
