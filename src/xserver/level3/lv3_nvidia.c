/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3_nvidia.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/log.h"
#include "xserver/realtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct channel_group {
    struct xs_list in_program;
    struct xs_list to_do;         /* in xs_lv3.to_do while a wish is open */
    struct xs_lv3_program *program; /* NULL: the program is gone */
    uint32_t id, flags, round;
    XDevice device;
    uint64_t default_us;
    struct xs_nvrm_group handles;
    uint32_t n_channels;
    uint32_t channels[XS_LV3_CHANNELS];
    uint64_t want_us, has_us;     /* XS_LV3_SLICE_DEFAULT: as the driver gave it */
    bool asked, proved;           /* whether the driver knows it by the descriptor that came with it */
    bool again;                   /* other channels: sets the group's slice once more */
    bool last;                    /* give back, then close */
};

struct xs_lv3_program {
    struct xs_list groups;
    int32_t pid;
    uint32_t round, n_groups;
    bool doubted;                 /* it passed a group that is not its own; the log has it */
    _Atomic bool denied;          /* the driver refused something: level 2 from then on; read without the lock, too */
};

/** Everything of it under `lock`. */
struct xs_lv3 {
    /* Lock: wishes and groups. The threads that call the driver or close its descriptors do so without it. */
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    pthread_cond_t closing;
    pthread_t thread, closer;
    struct xs_list to_do;
    struct xs_list to_close;      /* through to_do */
    bool is_closing;
    struct channel_group *busy;           /* calls are under way on its descriptors */
    bool stop;
    struct xs_lv3_counts counts;
};

/* ---- the thread ---- */

/* Under lock. */
static void close_group(struct xs_lv3 *l, struct channel_group *g)
{
    xs_list_remove(&g->to_do);
    xs_list_add(&l->to_close, &g->to_do);
    pthread_cond_signal(&l->closing);
}

/* The last descriptor of a dead program gives its memory on the device back, inside close(2), for
 * as long as that takes: so a thread of its own. */
static void *close_all(void *arg)
{
    struct xs_lv3 *l = arg;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        struct channel_group *g;

        if (xs_list_empty(&l->to_close)) {
            l->is_closing = false;
            pthread_cond_broadcast(&l->idle);
            if (l->stop && xs_list_empty(&l->to_do) && !l->busy)
                break;
            pthread_cond_wait(&l->closing, &l->lock);
            continue;
        }
        g = XS_CONTAINER_OF(l->to_close.next, struct channel_group, to_do);
        xs_list_remove(&g->to_do);
        l->is_closing = true;
        pthread_mutex_unlock(&l->lock);
        xs_fd_close(&g->handles.group_fd);
        free(g);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static bool open_wish(const struct channel_group *g)
{
    return g->want_us != g->has_us || (g->again && g->has_us);
}

/* Under lock. */
static void plan(struct xs_lv3 *l, struct channel_group *g)
{
    if (g == l->busy || g->to_do.next != &g->to_do)
        return;                   /* looks again when the call is over; planned already */
    if (!g->last && g->asked && !open_wish(g))
        return;
    xs_list_add(&l->to_do, &g->to_do);
    pthread_cond_signal(&l->work);
}

/* The driver knows a client by the open file through which the client came to be. If a program names
 * another program's client beside a descriptor of its own, or a group that does not exist, the driver
 * answers not even a question. This asks when the group arrives, since the first suspension has no
 * time for that. Without the lock. */
static int prove(struct channel_group *c)
{
    uint64_t us;
    int r = c->asked ? 0 : xs_nvrm_get_slice(&c->handles, &us, NULL);

    c->proved = c->proved || (!c->asked && r == 0);
    c->asked = true;
    return r;
}

/* Without the lock, on a copy. */
static int act(struct channel_group *c, struct xs_lv3_counts *counts)
{
    uint64_t us = c->want_us, began_ns;
    int r = prove(c);

    if (r < 0 || (us == c->has_us && !(c->again && us)))
        return r;
    began_ns = xs_now_ns();
    r = xs_nvrm_set_slice(&c->handles, us ? us : c->default_us, NULL);
    counts->slice_ns = xs_now_ns() - began_ns;
    counts->slices++;
    c->has_us = us;
    return r;
}

static void give_back(struct channel_group *c)
{
    if (c->has_us)
        (void)xs_nvrm_set_slice(&c->handles, c->default_us, NULL);
    c->has_us = XS_LV3_SLICE_DEFAULT;
}

/* Under lock. */
static void drop(struct xs_lv3 *l, struct channel_group *g, bool restore)
{
    l->counts.groups--;
    if (g->program)
        g->program->n_groups--;
    g->program = NULL;
    xs_list_remove(&g->in_program);
    if (g != l->busy && (!restore || !g->has_us)) {
        close_group(l, g);
        return;
    }
    if (!restore)
        g->has_us = XS_LV3_SLICE_DEFAULT;
    g->last = true;
    plan(l, g);                   /* for a busy one, work() plans when its call is over */
}

/* Under lock, after a call. */
static void record(struct xs_lv3 *l, struct channel_group *g, const struct channel_group *done, int r)
{
    g->has_us = done->has_us;
    g->asked = done->asked;
    g->proved = done->proved;
    if (r == 0)
        return;
    if (r != -EPERM && !g->proved && g->program) {
        if (!g->program->doubted)
            XS_WARN("pid %d: a channel group that it passed is not its own, or gone: level 3 does without it",
                    (int)g->program->pid);
        g->program->doubted = true;
        drop(l, g, false);
        return;
    }
    if (r == -EPERM) {
        l->counts.denied++;
        if (g->program && !g->program->denied) {
            g->program->denied = true;
            XS_WARN("pid %d: the driver denies level 3; xserver leaves it alone", (int)g->program->pid);
            XS_LIST_FOR(other, &g->program->groups, struct channel_group, in_program) {
                other->want_us = XS_LV3_SLICE_DEFAULT;
                plan(l, other);
            }
            return;               /* work() plans the busy one */
        }
    } else if (r != -ESTALE) {
        l->counts.failed++;
        XS_WARN_ONCE("a control of a channel group failed: %s", strerror(-r));
    }
    /* no second try for this wish */
    g->has_us = g->want_us;
}

static void *work(void *arg)
{
    struct xs_lv3 *l = arg;
    struct channel_group copy;            /* about 1 KiB */

    pthread_mutex_lock(&l->lock);
    for (;;) {
        struct channel_group *g;
        struct xs_lv3_counts counts;
        int r;

        if (xs_list_empty(&l->to_do)) {
            pthread_cond_broadcast(&l->idle);
            if (l->stop) {
                pthread_cond_signal(&l->closing);
                break;
            }
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        g = XS_CONTAINER_OF(l->to_do.next, struct channel_group, to_do);
        xs_list_remove(&g->to_do);
        l->busy = g;
        copy = *g;
        g->again = false;
        counts = l->counts;
        pthread_mutex_unlock(&l->lock);
        r = copy.last ? (give_back(&copy), 0) : act(&copy, &counts);
        pthread_mutex_lock(&l->lock);
        counts.groups = l->counts.groups;
        l->counts = counts;
        l->busy = NULL;
        record(l, g, &copy, r);
        if (copy.last)
            close_group(l, g);
        else
            plan(l, g);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

struct xs_lv3 *xs_lv3_new(void)
{
    struct xs_lv3 *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    xs_list_init(&l->to_do);
    xs_list_init(&l->to_close);
    xs_realtime_mutex_init(&l->lock);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->idle, NULL);
    pthread_cond_init(&l->closing, NULL);
    if (pthread_create(&l->closer, NULL, close_all, l) != 0) {
        free(l);
        return NULL;
    }
    if (pthread_create(&l->thread, NULL, work, l) != 0) {
        pthread_mutex_lock(&l->lock);
        l->stop = true;
        pthread_cond_signal(&l->closing);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->closer, NULL);
        free(l);
        return NULL;
    }
    return l;
}

void xs_lv3_settle(struct xs_lv3 *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->busy || l->is_closing || !xs_list_empty(&l->to_do) || !xs_list_empty(&l->to_close))
        pthread_cond_wait(&l->idle, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void xs_lv3_free(struct xs_lv3 *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    pthread_join(l->closer, NULL);
    pthread_cond_destroy(&l->closing);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->idle);
    free(l);
}

/* ---- programs and groups ---- */

struct xs_lv3_program *xs_lv3_join(struct xs_lv3 *l, int32_t pid)
{
    struct xs_lv3_program *p = calloc(1, sizeof(*p));

    (void)l;
    if (!p)
        return NULL;
    xs_list_init(&p->groups);
    p->pid = pid;
    return p;
}

void xs_lv3_leave(struct xs_lv3 *l, struct xs_lv3_program *p, bool lives)
{
    if (!p)
        return;
    pthread_mutex_lock(&l->lock);
    XS_LIST_FOR_SAFE(g, &p->groups, struct channel_group, in_program)
        drop(l, g, lives);
    pthread_mutex_unlock(&l->lock);
    free(p);
}

static struct channel_group *find(struct xs_lv3_program *p, uint32_t id)
{
    XS_LIST_FOR(g, &p->groups, struct channel_group, in_program)
        if (g->id == id)
            return g;
    return NULL;
}

static bool same_group(const struct channel_group *g, const struct xs_msg_nv_group *m)
{
    return g->handles.group_client == m->client && g->handles.group == m->group && g->device == m->device;
}

static const char *new_group(struct xs_lv3 *l, struct xs_lv3_program *p, const struct xs_msg_nv_group *m, int *fds,
                             struct channel_group **ret)
{
    struct channel_group *g;

    if (p->n_groups >= XS_LV3_GROUPS)
        return "too many channel groups";
    g = calloc(1, sizeof(*g));
    if (!g)
        return "out of memory";
    xs_list_init(&g->to_do);
    xs_list_init(&g->in_program);
    g->program = p;
    g->id = m->group_id;
    g->device = m->device;
    g->handles = (struct xs_nvrm_group){
        .group_fd = fds[0], .subdevice_fd = -1, .group_client = m->client, .group = m->group,
    };
    fds[0] = -1;
    xs_list_add(&p->groups, &g->in_program);
    p->n_groups++;
    l->counts.groups++;
    *ret = g;
    return NULL;
}

/* A newer driver: the program's user has probed it. The program says so of itself, as it says the version. */
static bool version_taken(const struct xs_msg_nv_group *m)
{
    return xs_nvrm_version_known(m->driver) || (m->flags & XS_NV_GROUP_PROBED && xs_nvrm_version_newer(m->driver));
}

const char *xs_lv3_group(struct xs_lv3 *l, struct xs_lv3_program *p, const struct xs_msg_nv_group *m, int *fds,
                         unsigned n_fds)
{
    const char *wrong = NULL;
    struct channel_group *g;

    if (!version_taken(m))
        return "xserver does not know the layouts of this driver";
    if (m->first + m->count > XS_LV3_CHANNELS)
        return "too many channels in a group";
    if (m->first == 0 && (n_fds != 2 || !xs_nvrm_is_control_device(fds[0]) || !xs_nvrm_is_control_device(fds[1])))
        return "a group comes with two descriptors of /dev/nvidiactl";
    pthread_mutex_lock(&l->lock);
    g = find(p, m->group_id);
    if (g && m->first == 0 && !same_group(g, m)) {
        drop(l, g, true);
        g = NULL;
    }
    if (!g && m->first == 0)
        wrong = new_group(l, p, m, fds, &g);
    else if (!g || m->first != g->n_channels * (m->first != 0))
        wrong = "channels of a group that the program has not passed";
    if (!wrong) {
        g->flags = m->flags;
        g->default_us = m->default_slice_us;
        g->round = p->round + 1;
        if (m->first + m->count > g->n_channels ||
            memcmp(g->channels + m->first, m->channels, m->count * sizeof(uint32_t)) != 0)
            g->again = true;
        g->n_channels = m->first + m->count;
        memcpy(g->channels + m->first, m->channels, m->count * sizeof(uint32_t));
        plan(l, g);
    }
    pthread_mutex_unlock(&l->lock);
    return wrong;
}

void xs_lv3_groups_end(struct xs_lv3 *l, struct xs_lv3_program *p)
{
    pthread_mutex_lock(&l->lock);
    p->round++;
    XS_LIST_FOR_SAFE(g, &p->groups, struct channel_group, in_program)
        if (g->round != p->round)
            drop(l, g, false);    /* the driver has freed it */
    pthread_mutex_unlock(&l->lock);
}

size_t xs_lv3_devices(struct xs_lv3 *l, const struct xs_lv3_program *p, XDevice *ret, size_t max)
{
    size_t n = 0;

    pthread_mutex_lock(&l->lock);
    XS_LIST_FOR(g, &((struct xs_lv3_program *)(uintptr_t)p)->groups, struct channel_group, in_program) {
        bool known = p->denied;

        for (size_t i = 0; i < n; i++)
            known = known || ret[i] == g->device;
        if (!known && n < max)
            ret[n++] = g->device;
    }
    pthread_mutex_unlock(&l->lock);
    return n;
}

bool xs_lv3_denied(const struct xs_lv3_program *p)
{
    return atomic_load_explicit(&p->denied, memory_order_relaxed); /* a fact by itself */
}

void xs_lv3_want(struct xs_lv3 *l, struct xs_lv3_program *p, XDevice device, uint64_t slice_us)
{
    pthread_mutex_lock(&l->lock);
    XS_LIST_FOR(g, &p->groups, struct channel_group, in_program) {
        if (g->device != device || p->denied)
            continue;
        g->want_us = g->flags & XS_NV_GROUP_SLICES ? slice_us : XS_LV3_SLICE_DEFAULT;
        plan(l, g);
    }
    pthread_mutex_unlock(&l->lock);
}

void xs_lv3_counts(struct xs_lv3 *l, struct xs_lv3_counts *ret)
{
    pthread_mutex_lock(&l->lock);
    *ret = l->counts;
    pthread_mutex_unlock(&l->lock);
}
