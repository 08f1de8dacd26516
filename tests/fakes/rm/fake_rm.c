/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_rm.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define OBJECTS 4096
#define CALLS   4096
#define FDS     1024

struct object {
    bool used, on;
    uint32_t client, parent, handle, object_class, engine;
    uint64_t slice_us;
    int file;
};

static struct {
    pthread_mutex_t lock;
    struct object objects[OBJECTS];
    struct fake_rm_call calls[CALLS];
    size_t n_calls;
    int files[FDS];               /* 0: not ours */
    int next_file;
    uint32_t next_client, next_handle;
    uint32_t deny_command, deny_status;
    unsigned deny_skip, deny_times, complaints;
    void (*hook)(int fd, unsigned long request, void *arg);
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void complain(const char *what)
{
    g.complaints++;
    fprintf(stderr, "fake rm: %s\n", what);
}

static struct object *find(uint32_t client, uint32_t handle)
{
    for (int i = 0; i < OBJECTS; i++)
        if (g.objects[i].used && g.objects[i].client == client && g.objects[i].handle == handle)
            return &g.objects[i];
    return NULL;
}

/* A client may be used through its own file only. */
static uint32_t check_client(int fd, uint32_t client)
{
    struct object *c = find(client, client);

    if (!c)
        return XS_NVRM_ERR_INVALID_CLIENT;
    return c->file == g.files[fd] ? XS_NVRM_OK : XS_NVRM_ERR_INVALID_CLIENT;
}

static void destroy(struct object *o)
{
    uint32_t client = o->client, handle = o->handle;

    o->used = false;
    for (int i = 0; i < OBJECTS; i++) {
        struct object *b = &g.objects[i];

        if (b->used && b->client == client && (b->parent == handle || handle == client))
            destroy(b);
    }
}

static struct object *create(uint32_t client, uint32_t parent, uint32_t handle, uint32_t object_class)
{
    for (int i = 0; i < OBJECTS; i++) {
        struct object *o = &g.objects[i];

        if (o->used)
            continue;
        *o = (struct object){.used = true, .on = true, .client = client, .parent = parent, .handle = handle,
                             .object_class = object_class, .slice_us = FAKE_RM_DEFAULT_SLICE_US};
        return o;
    }
    return NULL;
}

static uint32_t do_alloc(int fd, struct xs_nvrm_alloc *a)
{
    struct object *o, *parent;
    uint32_t r;

    if (a->object_class == XS_NVRM_CLASS_CLIENT || a->object_class == XS_NVRM_CLASS_ROOT) {
        a->object = a->object ? a->object : 0xc1d00000u + ++g.next_client;
        o = create(a->object, 0, a->object, XS_NVRM_CLASS_CLIENT);
        o->file = g.files[fd];
        return XS_NVRM_OK;
    }
    r = check_client(fd, a->client);
    if (r)
        return r;
    parent = find(a->client, a->parent);
    if (!parent)
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (!a->object)
        a->object = 0x5c000000u + ++g.next_handle;
    if (find(a->client, a->object))
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (a->object_class == XS_NVRM_CLASS_GROUP && !a->params)
        return XS_NVRM_ERR_INVALID_ARGUMENT;
    o = create(a->client, a->parent, a->object, a->object_class);
    if (a->object_class == XS_NVRM_CLASS_GROUP)
        o->engine = ((struct xs_nvrm_group_params *)(uintptr_t)a->params)->engine;
    return XS_NVRM_OK;
}

static uint32_t do_free(int fd, const struct xs_nvrm_free *f)
{
    struct object *o = find(f->client, f->object);
    uint32_t r = check_client(fd, f->client);

    if (r)
        return r;
    if (!o)
        return XS_NVRM_ERR_INVALID_HANDLE;
    destroy(o);
    return XS_NVRM_OK;
}

static uint32_t do_dup(int fd, struct xs_nvrm_dup *d)
{
    struct object *s = find(d->source_client, d->source_object), *o;

    if (check_client(fd, d->client) || !s || !find(d->client, d->parent))
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (!d->object)
        d->object = 0x5d000000u + ++g.next_handle;
    o = create(d->client, d->parent, d->object, s->object_class);
    o->engine = s->engine;
    return XS_NVRM_OK;
}

static uint32_t do_slice(struct object *o, const struct xs_nvrm_control *c, struct fake_rm_call *call)
{
    struct xs_nvrm_timeslice *p = (void *)(uintptr_t)c->params;

    if (!o || o->object_class != XS_NVRM_CLASS_GROUP)
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (c->params_bytes != sizeof(*p)) {
        complain("size of a time slice");
        return XS_NVRM_ERR_INVALID_ARGUMENT;
    }
    if (c->command == XS_NVRM_CMD_GET_TIMESLICE) {
        p->us = o->slice_us;
        return XS_NVRM_OK;
    }
    call->us = p->us;
    if (p->us == 0)
        complain("a time slice of zero does not stop anything");
    o->slice_us = p->us;
    return XS_NVRM_OK;
}

static uint32_t do_disable(struct object *o, const struct xs_nvrm_control *c, struct fake_rm_call *call)
{
    const struct xs_nvrm_disable *p = (void *)(uintptr_t)c->params;

    if (!o || o->object_class != XS_NVRM_CLASS_SUBDEVICE)
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (c->params_bytes != 536 || p->channels > 64) {
        complain("size or count of a switching off");
        return XS_NVRM_ERR_INVALID_ARGUMENT;
    }
    if (p->only_scheduling || p->rewind || p->event || p->disable > 1)
        complain("a switching off that does not stop, or forgets work");
    call->disable = p->disable;
    call->channels = p->channels;
    for (uint32_t i = 0; i < p->channels; i++) {
        struct object *ch = find(p->clients[i], p->handles[i]);

        if (!ch || (ch->object_class & 0xff) != 0x6f)
            return XS_NVRM_ERR_INVALID_HANDLE;
    }
    for (uint32_t i = 0; i < p->channels; i++)
        find(p->clients[i], p->handles[i])->on = !p->disable;
    return XS_NVRM_OK;
}

static uint32_t do_control(int fd, struct xs_nvrm_control *c)
{
    struct object *o = find(c->client, c->object);
    struct fake_rm_call *call = &g.calls[g.n_calls < CALLS ? g.n_calls++ : CALLS - 1];

    *call = (struct fake_rm_call){.command = c->command, .client = c->client, .object = c->object};
    call->status = check_client(fd, c->client);
    if (!call->status && g.deny_times && g.deny_command == c->command && g.deny_skip-- == 0) {
        g.deny_skip = 0;
        g.deny_times--;
        call->status = g.deny_status;
    } else if (!call->status) {
        switch (c->command) {
        case XS_NVRM_CMD_SET_TIMESLICE:
        case XS_NVRM_CMD_GET_TIMESLICE:
            call->status = do_slice(o, c, call);
            break;
        case XS_NVRM_CMD_DISABLE_CHANNELS:
            call->status = do_disable(o, c, call);
            break;
        case XS_NVRM_CMD_GPU_ID:
            ((struct xs_nvrm_gpu_id *)(uintptr_t)c->params)->gpu_id = 0x00001b02; /* 0000:1b:02 */
            call->status = o && o->object_class == XS_NVRM_CLASS_SUBDEVICE ? 0 : XS_NVRM_ERR_INVALID_HANDLE;
            break;
        default:
            call->status = XS_NVRM_ERR_NOT_SUPPORTED;
        }
    }
    return call->status;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
    unsigned long escape = request & 0xff, bytes = _IOC_SIZE(request);
    struct xs_nvrm_alloc a = {0};

    if (g.hook)
        g.hook(fd, request, arg);
    if (fd < 0 || fd >= FDS || !g.files[fd] || ((request >> 8) & 0xff) != 'F') {
        errno = fd < 0 || fd >= FDS ? EBADF : ENOTTY;
        return -1;
    }
    if (escape == XS_NVRM_ESC_WRAPPED) {
        const struct xs_nvrm_wrapped *w = arg;

        escape = w->escape;
        bytes = w->bytes;
        arg = (void *)(uintptr_t)w->address;
    }
    pthread_mutex_lock(&g.lock);
    if (escape == XS_NVRM_ESC_ALLOC && bytes == sizeof(struct xs_nvrm_alloc)) {
        ((struct xs_nvrm_alloc *)arg)->status = do_alloc(fd, arg);
    } else if (escape == XS_NVRM_ESC_ALLOC && bytes == sizeof(struct xs_nvrm_alloc_short)) {
        struct xs_nvrm_alloc_short *s = arg;

        memcpy(&a, s, offsetof(struct xs_nvrm_alloc_short, params_bytes));
        a.params_bytes = s->params_bytes;
        s->status = do_alloc(fd, &a);
        s->object = a.object;
    } else if (escape == XS_NVRM_ESC_FREE && bytes == sizeof(struct xs_nvrm_free)) {
        ((struct xs_nvrm_free *)arg)->status = do_free(fd, arg);
    } else if (escape == XS_NVRM_ESC_DUP && bytes == sizeof(struct xs_nvrm_dup)) {
        ((struct xs_nvrm_dup *)arg)->status = do_dup(fd, arg);
    } else if (escape == XS_NVRM_ESC_CONTROL && bytes == sizeof(struct xs_nvrm_control)) {
        ((struct xs_nvrm_control *)arg)->status = do_control(fd, arg);
    } else {
        complain("size of a request");
        pthread_mutex_unlock(&g.lock);
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_unlock(&g.lock);
    return 0;
}

static bool fake_is_control(int fd)
{
    return fd >= 0 && fd < FDS && g.files[fd];
}

static struct xs_nvrm_fake s_fake = {.ioctl = fake_ioctl, .is_control_device = fake_is_control};

void fake_rm_reset(void)
{
    memset(g.objects, 0, sizeof(g.objects));
    memset(g.files, 0, sizeof(g.files));
    g.n_calls = 0;
    g.complaints = g.deny_times = 0;
    g.hook = NULL;
    s_fake.version = "580.159.04\n";
    xs_nvrm_set_fake(&s_fake);
}

void fake_rm_remove(void)
{
    xs_nvrm_set_fake(NULL);
}

void fake_rm_open(int fd)
{
    g.files[fd] = ++g.next_file;
}

void fake_rm_dup_fd(int fd, int of)
{
    g.files[fd] = g.files[of];
}

void fake_rm_close(int fd)
{
    int file = g.files[fd];

    g.files[fd] = 0;
    for (int i = 0; i < FDS; i++)
        if (g.files[i] == file)
            return;
    for (int i = 0; i < OBJECTS; i++)
        if (g.objects[i].used && g.objects[i].file == file)
            destroy(&g.objects[i]);
}

void fake_rm_set_version(const char *version)
{
    s_fake.version = version;
}

void fake_rm_deny(uint32_t command, uint32_t status, unsigned skip, unsigned times)
{
    g.deny_command = command;
    g.deny_skip = skip;
    g.deny_status = status;
    g.deny_times = times;
}

void fake_rm_set_hook(void (*hook)(int fd, unsigned long request, void *arg))
{
    g.hook = hook;
}

size_t fake_rm_calls(const struct fake_rm_call **ret)
{
    *ret = g.calls;
    return g.n_calls;
}

uint64_t fake_rm_slice(uint32_t client, uint32_t group)
{
    struct object *o = find(client, group);

    return o ? o->slice_us : 0;
}

bool fake_rm_channel_on(uint32_t client, uint32_t channel)
{
    struct object *o = find(client, channel);

    return o && o->on;
}

unsigned fake_rm_objects(void)
{
    unsigned n = 0;

    for (int i = 0; i < OBJECTS; i++)
        n += g.objects[i].used;
    return n;
}

unsigned fake_rm_complaints(void)
{
    return g.complaints;
}
