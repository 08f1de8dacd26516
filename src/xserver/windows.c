/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/windows.h"

#include "base/str.h"
#include "xserver/server.h"

#include <stdlib.h>
#include <string.h>

#define WINDOWS_A_USER 16u

struct window {
    struct xs_list link;
    uint32_t uid; /* of the asker */
    char display[64];
    int32_t pid;
};

static bool has_window(const struct xs_server *s, int32_t pid)
{
    XS_LIST_FOR(w, &s->windows, struct window, link)
        if (w->pid == pid)
            return true;
    return false;
}

static void mark(struct xs_server *s, int32_t pid)
{
    bool active = has_window(s, pid);

    XS_FOR_SESSIONS(c, s, pid) {
        if (active == c->record.window)
            continue;
        c->record.window = active;
        xs_sched_process_set_window(s->sched, c->process, active);
    }
}

static void forget(struct xs_server *s, struct window *w)
{
    int32_t pid = w->pid;

    xs_list_remove(&w->link);
    free(w);
    mark(s, pid);
}

static bool may(struct xs_server *s, const struct xs_asker *asker, int32_t pid)
{
    if (asker->all || !pid)
        return asker->all || asker->known;
    XS_FOR_SESSIONS(c, s, pid)
        if (asker->known && c->peer.uid == asker->uid)
            return true;
    return false;
}

/* The user's window of that display, or with NULL of any: the one that came first. */
static struct window *find(struct xs_server *s, uint32_t uid, const char *display, unsigned *ret_count)
{
    struct window *found = NULL;

    *ret_count = 0;
    XS_LIST_FOR(w, &s->windows, struct window, link) {
        *ret_count += w->uid == uid;
        if (!found && w->uid == uid && (!display || !strcmp(w->display, display)))
            found = w;
    }
    return found;
}

const char *xs_windows_activate(struct xs_server *s, const struct xs_asker *asker, int32_t pid, const char *display)
{
    unsigned count;
    uint32_t uid = asker->known ? asker->uid : 0; /* the token is the operator's */
    struct window *w = find(s, uid, display, &count);
    int32_t before = w ? w->pid : 0;

    if (!may(s, asker, pid))
        return "the process is another user's, or not joined";
    if (!pid) {
        if (w)
            forget(s, w);
        return NULL;
    }
    if (!w) {
        if (count >= WINDOWS_A_USER)
            forget(s, find(s, uid, NULL, &count));
        w = calloc(1, sizeof(*w));
        if (!w)
            return "out of memory";
        w->uid = uid;
        xs_str_copy(w->display, sizeof(w->display), display);
        xs_list_add(&s->windows, &w->link);
    }
    w->pid = pid;
    mark(s, before);
    mark(s, pid);
    return NULL;
}

void xs_windows_joined(struct xs_server *s, struct xs_client *c)
{
    if (!has_window(s, c->peer.pid))
        return;
    c->record.window = true;
    xs_sched_process_set_window(s->sched, c->process, true);
}

void xs_windows_left(struct xs_server *s, int32_t pid)
{
    XS_FOR_SESSIONS(c, s, pid)
        return; /* another session of the same process */
    XS_LIST_FOR_SAFE(w, &s->windows, struct window, link) {
        if (w->pid == pid) {
            xs_list_remove(&w->link);
            free(w);
        }
    }
}

void xs_windows_fini(struct xs_server *s)
{
    XS_LIST_FOR_SAFE(w, &s->windows, struct window, link)
        free(w);
}
