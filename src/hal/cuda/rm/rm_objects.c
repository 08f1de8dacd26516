/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers each client, device, subdevice, channel group and channel that the program makes. Forgets what it
 * frees, with all that hangs below it. */
#include "hal/cuda/rm/rm_objects.h"

#include "base/env.h"
#include "base/log.h"
#include "base/probed_levels.h"
#include "base/str.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct xs_rm_table xs_rm_table;   /* owner: its lock */
static _Atomic(void (*)(void)) s_listener;
static _Atomic bool s_try_newer;  /* writer: the probe, before it calls the driver */

void xs_rm_set_listener(void (*changed)(void))
{
    atomic_store(&s_listener, changed);
}

static void tell(void)
{
    void (*changed)(void) = atomic_load(&s_listener);

    if (changed)
        changed();
}

/* ---- whether there is a level 3 here ---- */

/* Under the lock, after `why`: other threads may read that once the level says so. */
static void end_locked(void)
{
    atomic_store(&xs_rm_table.level, 2);
    atomic_fetch_add(&xs_rm_table.generation, 1);
}

bool xs_rm_refuse_locked(const char *why, uint32_t number)
{
    struct xs_rm_table *t = &xs_rm_table;

    if (atomic_load(&t->level) == 2)
        return false;
    snprintf(t->why, sizeof(t->why), why, number);
    end_locked();
    return true;
}

static bool driver_loaded(void)
{
    char version[32];

    return xs_nvrm_version(version, sizeof(version)) == 0 || access("/dev/dxg", F_OK) == 0; /* Windows' driver, in WSL */
}

void xs_rm_warn(void)
{
    static _Atomic bool said[2];  /* before it saw the driver's objects, and since: then it knows more */
    bool seen = atomic_load(&xs_rm_table.level) != 0; /* by ioctl(2) */

    if (xs_rm_table.asked_for || (!seen && !driver_loaded()))
        return;
    if (!atomic_exchange_explicit(&said[seen], true, memory_order_relaxed))
        XS_WARN("level 3 is not available in this process: %s", xs_rm_why());
}

static void undo(void)
{
    for (int tries = 0; tries < 1000 && !xs_rm_restore(); tries++)
        sched_yield();
    tell();
}

static void say_refused(void)
{
    xs_rm_warn();
    undo();
}

/* @return whether it had not ended before */
static bool end(const char *why)
{
    bool first;

    xs_lock_acquire(&xs_rm_table.lock);
    first = atomic_load(&xs_rm_table.level) != 2;
    if (first) {
        xs_str_copy(xs_rm_table.why, sizeof(xs_rm_table.why), why);
        end_locked();
    }
    xs_lock_release(&xs_rm_table.lock);
    return first;
}

void xs_rm_demote(const char *why)
{
    if (end(why))
        say_refused();
}

void xs_rm_try_newer(void)
{
    atomic_store(&s_try_newer, true);
}

bool xs_rm_by_probe(void)
{
    return xs_rm_table.by_probe;  /* written before the level */
}

void xs_rm_end(const char *why)
{
    if (end(why))
        undo();
}

int xs_rm_level(void)
{
    return atomic_load(&xs_rm_table.level) == 3 ? 3 : 2;
}

const char *xs_rm_why(void)
{
    switch (atomic_load(&xs_rm_table.level)) {
    case 3:
        return "";
    case 2:
        return xs_rm_table.why;
    default:
        return "XSched saw no call of the vendor's library to its driver";
    }
}

/* A newer driver has level 3 if the probe has seen it work under this very one. @return NULL, or the reason
 * against it */
static const char *look_at_newer(const char *version, char *text, size_t size, bool *ret_by_probe)
{
    int level = xs_probed_level(&xs_platforms[XS_PLATFORM_CUDA]);

    *ret_by_probe = level == 3;
    if (level == 3 || atomic_load(&s_try_newer))
        return NULL;
    if (level)
        snprintf(text, size, "it does not work with driver %s, as `xsched doctor --probe` found", version);
    else
        snprintf(text, size, "driver %s is newer than those known; `xsched doctor --probe` tries it", version);
    return text;
}

/* Once, with the first client. @return NULL, or the reason against it */
static const char *look_around(char *text, size_t size, bool *ret_by_probe, bool *ret_asked_for)
{
    char version[32];

    *ret_asked_for = xs_env_is(XS_ENV_XSCHED_CUDA_LV3_IMPL, "OFF");
    if (*ret_asked_for)
        return "XSCHED_CUDA_LV3_IMPL=OFF";
    if (xs_env_is(XS_ENV_XSCHED_CUDA_LV3_IMPL, "CHANNEL"))
        XS_WARN_ONCE("XSCHED_CUDA_LV3_IMPL=CHANNEL means AUTO: level 3 uses time slices and switches no channel off");
    if (xs_nvrm_version(version, sizeof(version)) < 0)
        return "XSched cannot read the driver's version";
    if (xs_mps_has_pipes(xs_env_mps_folder())) { /* other programs' work runs in the channels of its server */
        *ret_asked_for = xs_env_is(XS_ENV_XSCHED_SHARE, "SPACE");
        return "MPS runs on this host";
    }
    if (xs_nvrm_version_known(version))
        return NULL;
    if (xs_nvrm_version_newer(version))
        return look_at_newer(version, text, size, ret_by_probe);
    snprintf(text, size, "XSched does not know the layouts of driver %s", version);
    return text;
}

/* ---- objects ---- */

void xs_rm_check_fork(void)
{
    struct xs_rm_table *t = &xs_rm_table;
    int pid = (int)getpid(), owner = atomic_load(&t->pid);

    if (owner == pid)
        return;
    if (owner == 0) {
        atomic_compare_exchange_strong(&t->pid, &owner, pid);
        return;
    }
    /* A forked child, one thread so far: the objects are its parent's, perhaps the lock too. */
    if (atomic_compare_exchange_strong(&t->pid, &owner, pid))
        xs_rm_reset();
}

void xs_rm_reset(void)
{
    struct xs_rm_table *t = &xs_rm_table;
    int pid = atomic_load(&t->pid);
    uint32_t generation = atomic_load(&t->generation);

    memset(t, 0, sizeof(*t));
    atomic_store(&t->pid, pid);
    atomic_store(&t->generation, generation + 1);
}

static struct xs_rm_object *find(uint32_t client, uint32_t handle)
{
    struct xs_rm_table *t = &xs_rm_table;

    for (uint32_t i = 0; i < t->used; i++) {
        struct xs_rm_object *o = &t->objects[i];

        if (o->kind != XS_RM_NONE && o->handle == handle && o->client == client)
            return o;
    }
    return NULL;
}

static void group_changed(struct xs_rm_tsg *g)
{
    g->changes++;
    atomic_fetch_add(&xs_rm_table.generation, 1);
}

static void forget(struct xs_rm_object *o)
{
    struct xs_rm_table *t = &xs_rm_table;
    uint32_t client = o->client, handle = o->handle;
    bool all = o->kind == XS_RM_CLIENT;
    struct xs_rm_object *parent;

    if (o->kind == XS_RM_TSG) {
        t->groups[o->number].id = 0;
        atomic_fetch_add(&t->generation, 1);
        t->counts.groups--;
    } else if (o->kind == XS_RM_CHANNEL) {
        parent = find(client, o->parent);
        if (parent && parent->kind == XS_RM_TSG)
            group_changed(&t->groups[parent->number]);
        t->counts.channels--;
    }
    o->kind = XS_RM_NONE;
    t->counts.objects--;
    for (uint32_t i = 0; i < t->used; i++) {
        struct xs_rm_object *below = &t->objects[i];

        if (below->kind != XS_RM_NONE && below->client == client && (all || below->parent == handle))
            forget(below); /* at most client, device, group, channel deep */
    }
}

static struct xs_rm_object *add(enum xs_rm_kind kind, int fd, uint32_t client, uint32_t parent, uint32_t handle)
{
    struct xs_rm_table *t = &xs_rm_table;
    struct xs_rm_object *old = find(client, handle), *o = NULL;

    if (old)
        forget(old);              /* we did not see its end */
    for (uint32_t i = 0; i < XS_RM_OBJECTS && !o; i++)
        if (t->objects[i].kind == XS_RM_NONE) {
            o = &t->objects[i];
            t->used = XS_MAX(t->used, i + 1);
        }
    if (!o)
        return NULL;
    *o = (struct xs_rm_object){.kind = (uint8_t)kind, .fd = fd, .client = client, .parent = parent, .handle = handle};
    t->counts.objects++;
    return o;
}

/* ---- groups and channels ---- */

/* @return false: the table is full */
static bool add_group(int fd, const struct xs_nvrm_alloc *a)
{
    struct xs_rm_table *t = &xs_rm_table;
    const struct xs_nvrm_group_params *p = (const void *)(uintptr_t)a->params;
    bool compute = p && p->engine >= XS_NVRM_ENGINE_FIRST_COMPUTE && p->engine <= XS_NVRM_ENGINE_LAST_COMPUTE;
    struct xs_rm_object *o = add(compute ? XS_RM_TSG : XS_RM_TSG_OTHER, fd, a->client, a->parent, a->object);

    if (!o)
        return false;
    if (!compute) {
        t->counts.other_groups++;
        return true;
    }
    for (uint32_t i = 0; i < XS_RM_GROUPS; i++) {
        struct xs_rm_tsg *g = &t->groups[i];

        if (g->id)
            continue;
        *g = (struct xs_rm_tsg){.id = ++t->next_id, .object = (uint32_t)(o - t->objects)};
        o->number = i;
        t->counts.groups++;
        group_changed(g);
        return true;
    }
    o->kind = XS_RM_NONE;
    t->counts.objects--;
    return false;
}

static uint32_t count_channels(const struct xs_rm_object *group)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < xs_rm_table.used; i++) {
        const struct xs_rm_object *o = &xs_rm_table.objects[i];

        n += o->kind == XS_RM_CHANNEL && o->client == group->client && o->parent == group->handle;
    }
    return n;
}

/* To do for a new channel's group, after the lock. */
struct after {
    uint32_t group_id;            /* 0: nothing */
    uint64_t slice_us;
};

/* @return true when level 3 ended */
static bool add_channel(int fd, const struct xs_nvrm_alloc *a, struct after *ret)
{
    struct xs_rm_table *t = &xs_rm_table;
    struct xs_rm_object *parent = find(a->client, a->parent), *o;
    struct xs_rm_tsg *g;

    if (!parent)
        return find(a->client, a->client) ? xs_rm_refuse_locked("a channel of class %#x outside of known groups",
                                                                a->object_class) : false;
    if (parent->kind != XS_RM_TSG)
        return false;             /* copies and the like: we do not suspend them */
    if (!xs_nvrm_channel_known(a->object_class)) {
        t->counts.unknown_classes++;
        return xs_rm_refuse_locked("XSched does not know channels of class %#x", a->object_class);
    }
    if (count_channels(parent) >= XS_RM_GROUP_CHANNELS)
        return xs_rm_refuse_locked("more than %u channels in a group", XS_RM_GROUP_CHANNELS);
    o = add(XS_RM_CHANNEL, fd, a->client, a->parent, a->object);
    if (!o)
        return xs_rm_refuse_locked("more than %u objects", XS_RM_OBJECTS);
    g = &t->groups[parent->number];
    t->counts.channels++;
    group_changed(g);
    if (g->slice_us)
        *ret = (struct after){.group_id = g->id, .slice_us = g->slice_us};
    return false;
}

/* @return true when level 3 ended */
static bool added(int fd, const struct xs_nvrm_alloc *a, struct after *ret)
{
    bool room = true;
    struct xs_rm_object *o;

    switch (a->object_class) {
    case XS_NVRM_CLASS_ROOT:
    case XS_NVRM_CLASS_ROOT_NON_PRIV:
    case XS_NVRM_CLASS_CLIENT:
        room = add(XS_RM_CLIENT, fd, a->object, 0, a->object) != NULL;
        break;
    case XS_NVRM_CLASS_DEVICE:
        o = add(XS_RM_DEVICE, fd, a->client, a->parent, a->object);
        if (o && a->params && a->params_bytes >= 4 && !(a->flags & XS_NVRM_ALLOC_SERIALIZED))
            memcpy(&o->number, (const void *)(uintptr_t)a->params, 4);
        room = o != NULL;
        break;
    case XS_NVRM_CLASS_SUBDEVICE:
        room = add(XS_RM_SUBDEVICE, fd, a->client, a->parent, a->object) != NULL;
        break;
    case XS_NVRM_CLASS_GROUP:
        if (a->flags & XS_NVRM_ALLOC_SERIALIZED)
            return xs_rm_refuse_locked("a call to the driver has serialized parameters (%#x)", a->flags);
        if (!a->params || (a->params_bytes && a->params_bytes < sizeof(struct xs_nvrm_group_params)))
            return xs_rm_refuse_locked("a channel group with parameters of %u bytes", a->params_bytes);
        room = add_group(fd, a);
        break;
    default:
        if ((a->object_class & 0xff) == 0x6f && a->object_class > 0xff)
            return add_channel(fd, a, ret);
    }
    return room ? false : xs_rm_refuse_locked("more than %u objects of the driver", XS_RM_OBJECTS);
}

/* The same object once more: a copy of a group has no channels of its own and is not in any list. */
static void duplicated(int fd, const struct xs_nvrm_dup *d)
{
    struct xs_rm_object *source = find(d->source_client, d->source_object), *o;
    uint32_t number;
    enum xs_rm_kind kind;

    if (!source || source->kind == XS_RM_CLIENT || source->kind == XS_RM_CHANNEL)
        return;
    kind = source->kind == XS_RM_TSG ? XS_RM_TSG_OTHER : (enum xs_rm_kind)source->kind;
    number = source->number;
    o = add(kind, fd, d->client, d->parent, d->object);
    if (o)
        o->number = number;
}

/* ---- watching ---- */

/* The structure behind a request, or NULL when it is none of ours. */
static const void *unwrap(unsigned long request, const void *arg, uint32_t *ret_escape, uint32_t *ret_bytes)
{
    const struct xs_nvrm_wrapped *w = arg;

    if (!arg)
        return NULL;
    if (request != XS_NVRM_IOC_WRAPPED) {
        *ret_escape = request & 0xff;
        *ret_bytes = (uint32_t)_IOC_SIZE(request);
        return arg;
    }
    *ret_escape = w->escape;
    *ret_bytes = w->bytes;
    return (const void *)(uintptr_t)w->address;
}

void xs_rm_observe_before(int fd, unsigned long request, const void *arg)
{
    uint32_t escape, bytes, generation;
    const struct xs_nvrm_free *f = unwrap(request, arg, &escape, &bytes);
    struct xs_rm_object *o;

    (void)fd;
    if (!f || escape != XS_NVRM_ESC_FREE || bytes != sizeof(*f))
        return;
    xs_rm_check_fork();
    if (atomic_load(&xs_rm_table.level) == 0) /* the program has made nothing yet */
        return;
    xs_lock_acquire(&xs_rm_table.lock);
    generation = atomic_load(&xs_rm_table.generation);
    o = find(f->client, f->object);
    if (o)
        forget(o);
    generation = atomic_load(&xs_rm_table.generation) - generation;
    xs_lock_release(&xs_rm_table.lock);
    if (generation)
        tell();
}

/* The first client decides the level. */
static void begin(int fd)
{
    bool by_probe = false, asked_for = false;
    const char *against;
    char text[128];

    if (atomic_load(&xs_rm_table.level) != 0 || !xs_nvrm_is_control_device(fd))
        return;
    against = look_around(text, sizeof(text), &by_probe, &asked_for); /* opens files: not under the lock */
    xs_lock_acquire(&xs_rm_table.lock);
    if (atomic_load(&xs_rm_table.level) == 0) {
        if (against)
            xs_str_copy(xs_rm_table.why, sizeof(xs_rm_table.why), against);
        xs_rm_table.by_probe = by_probe;
        xs_rm_table.asked_for = asked_for;
        atomic_store(&xs_rm_table.level, against ? 2 : 3);
    }
    xs_lock_release(&xs_rm_table.lock);
    if (against)                  /* xs_rm_warn says it, with the first queue that could use level 3 */
        XS_INFO("the driver's first client: no level 3: %s", against);
}

static void act_on_new_channel(const struct after *after)
{
    struct xs_rm_tsg *t;
    struct xs_rm_group g;

    xs_lock_acquire(&xs_rm_table.lock);
    t = xs_rm_tsg_by_id(after->group_id);
    if (t)
        xs_rm_fill(t, &g);
    xs_lock_release(&xs_rm_table.lock);
    if (!t)
        return;
    if (xs_nvrm_set_slice(&g.handles, after->slice_us, NULL) == -EPERM)
        xs_rm_demote("the driver denied a control of a new channel");
}

bool xs_rm_observe(int fd, unsigned long request, const void *arg, int result)
{
    uint32_t escape, bytes, generation;
    const void *p = result < 0 ? NULL : unwrap(request, arg, &escape, &bytes);
    struct xs_nvrm_alloc a = {0};
    struct after after = {0};
    bool refused = false, group;
    int saved = errno;

    if (!p || (escape != XS_NVRM_ESC_ALLOC && escape != XS_NVRM_ESC_DUP))
        return false;
    if (escape == XS_NVRM_ESC_ALLOC && bytes == sizeof(a)) {
        memcpy(&a, p, sizeof(a));
    } else if (escape == XS_NVRM_ESC_ALLOC && bytes == sizeof(struct xs_nvrm_alloc_short)) {
        memcpy(&a, p, offsetof(struct xs_nvrm_alloc_short, params_bytes));
        a.params_bytes = ((const struct xs_nvrm_alloc_short *)p)->params_bytes;
        a.status = ((const struct xs_nvrm_alloc_short *)p)->status;
        a.rights = 0;
    } else if (escape == XS_NVRM_ESC_DUP && bytes == sizeof(struct xs_nvrm_dup)) {
        a.status = ((const struct xs_nvrm_dup *)p)->status;
    } else {
        return false;
    }
    if (a.status != XS_NVRM_OK)
        return false;
    group = escape == XS_NVRM_ESC_ALLOC && a.object_class == XS_NVRM_CLASS_GROUP;
    xs_rm_check_fork();
    if (atomic_load(&xs_rm_table.level) == 0) {
        begin(fd);
        if (atomic_load(&xs_rm_table.level) == 0)
            return group;         /* not the driver's, or we did not see its start */
    }
    if (atomic_load(&xs_rm_table.level) == 2)
        return group;
    xs_lock_acquire(&xs_rm_table.lock);
    generation = atomic_load(&xs_rm_table.generation);
    xs_rm_table.counts.observed++;
    if (escape == XS_NVRM_ESC_DUP)
        duplicated(fd, p);
    else
        refused = added(fd, &a, &after);
    generation = atomic_load(&xs_rm_table.generation) - generation;
    xs_lock_release(&xs_rm_table.lock);
    if (refused)
        say_refused();
    else if (after.group_id)
        act_on_new_channel(&after);
    if (generation)
        tell();
    errno = saved;
    return group;
}

void xs_rm_closed(int fd)
{
    struct xs_rm_table *t = &xs_rm_table;
    uint32_t generation;
    bool again;

    /* Also in the control thread: if another thread has the lock, the rows stay for the next look. */
    if (atomic_load(&t->level) == 0 || atomic_load(&t->pid) != (int)getpid() || !xs_lock_try(&t->lock))
        return;
    generation = atomic_load(&t->generation);
    again = xs_nvrm_is_control_device(fd); /* opened again, and the table may have objects made since */
    for (uint32_t i = 0; i < t->used && !again; i++)
        if (t->objects[i].kind == XS_RM_CLIENT && t->objects[i].fd == fd)
            forget(&t->objects[i]);
    generation = atomic_load(&t->generation) - generation;
    xs_lock_release(&t->lock);
    if (generation)
        tell();
}

/* ---- reading ---- */

uint32_t xs_rm_generation(void)
{
    return atomic_load(&xs_rm_table.generation);
}

struct xs_rm_tsg *xs_rm_tsg_by_id(uint32_t id)
{
    for (uint32_t i = 0; i < XS_RM_GROUPS; i++)
        if (xs_rm_table.groups[i].id == id)
            return &xs_rm_table.groups[i];
    return NULL;
}

void xs_rm_fill(const struct xs_rm_tsg *g, struct xs_rm_group *ret)
{
    struct xs_rm_table *t = &xs_rm_table;
    const struct xs_rm_object *group = &t->objects[g->object], *sub = NULL, *device;

    *ret = (struct xs_rm_group){.id = g->id, .changes = g->changes};
    device = find(group->client, group->parent);
    ret->device_instance = device ? device->number : 0;
    for (uint32_t i = 0; i < t->used; i++) {
        const struct xs_rm_object *o = &t->objects[i];

        if (o->client != group->client)
            continue;
        if (o->kind == XS_RM_SUBDEVICE && o->parent == group->parent)
            sub = o;
        if (o->kind == XS_RM_CHANNEL && o->parent == group->handle && ret->n_channels < XS_RM_GROUP_CHANNELS)
            ret->channels[ret->n_channels++] = o->handle;
    }
    ret->handles = (struct xs_nvrm_group){.group_fd = group->fd, .group_client = group->client,
                                          .group = group->handle, .subdevice_fd = -1};
    if (sub) {
        ret->handles.subdevice_fd = sub->fd;
        ret->handles.subdevice_client = sub->client;
        ret->handles.subdevice = sub->handle;
    }
}

int xs_rm_group_get(uint32_t index, struct xs_rm_group *ret)
{
    struct xs_rm_table *t = &xs_rm_table;
    int r = -ENOENT;

    if (atomic_load(&t->level) != 3 || atomic_load(&t->pid) != (int)getpid())
        return -ENOENT;
    if (!xs_lock_try(&t->lock))
        return -EAGAIN;
    for (uint32_t i = 0; i < XS_RM_GROUPS && r; i++) {
        if (!t->groups[i].id || index-- > 0)
            continue;
        xs_rm_fill(&t->groups[i], ret);
        r = 0;
    }
    xs_lock_release(&t->lock);
    return r;
}

void xs_rm_counts(struct xs_rm_counts *ret)
{
    xs_lock_acquire(&xs_rm_table.lock);
    *ret = xs_rm_table.counts;
    xs_lock_release(&xs_rm_table.lock);
}
