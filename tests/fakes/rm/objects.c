/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the resource manager, and what requests do to them. */
#include "state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void complain(struct fake_rm_state *r, const char *what)
{
    r->complaints++;
    fprintf(stderr, "fake rm: %s\n", what);
}

struct object *fake_rm_find(struct fake_rm_state *r, uint32_t client, uint32_t handle)
{
    for (int i = 0; i < OBJECTS; i++)
        if (r->objects[i].used && r->objects[i].client == client && r->objects[i].handle == handle)
            return &r->objects[i];
    return NULL;
}

/* A client may be used through its own file only. */
static uint32_t check_client(struct fake_rm_state *r, int file, uint32_t client)
{
    struct object *c = fake_rm_find(r, client, client);

    if (!c)
        return XS_NVRM_ERR_INVALID_CLIENT;
    return r->any_file || c->file == file ? XS_NVRM_OK : XS_NVRM_ERR_INVALID_CLIENT;
}

void fake_rm_destroy(struct fake_rm_state *r, struct object *o)
{
    uint32_t client = o->client, handle = o->handle;

    o->used = false;
    for (int i = 0; i < OBJECTS; i++) {
        struct object *b = &r->objects[i];

        if (b->used && b->client == client && (b->parent == handle || handle == client))
            fake_rm_destroy(r, b);
    }
}

static struct object *create(struct fake_rm_state *r, uint32_t client, uint32_t parent, uint32_t handle,
                             uint32_t object_class)
{
    for (int i = 0; i < OBJECTS; i++) {
        struct object *o = &r->objects[i];

        if (o->used)
            continue;
        *o = (struct object){.used = true, .client = client, .parent = parent, .handle = handle,
                             .object_class = object_class, .slice_us = FAKE_RM_DEFAULT_SLICE_US};
        return o;
    }
    return NULL;
}

static uint32_t do_alloc(struct fake_rm_state *r, int file, struct xs_nvrm_alloc *a)
{
    struct object *o, *parent;
    uint32_t e;

    if (a->object_class == XS_NVRM_CLASS_CLIENT || a->object_class == XS_NVRM_CLASS_ROOT) {
        a->object = a->object ? a->object : 0xc1d00000u + ++r->next_client;
        o = create(r, a->object, 0, a->object, XS_NVRM_CLASS_CLIENT);
        o->file = file;
        return XS_NVRM_OK;
    }
    e = check_client(r, file, a->client);
    if (e)
        return e;
    parent = fake_rm_find(r, a->client, a->parent);
    if (!parent)
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (!a->object)
        a->object = 0x5c000000u + ++r->next_handle;
    if (fake_rm_find(r, a->client, a->object))
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (a->object_class == XS_NVRM_CLASS_GROUP && !a->params)
        return XS_NVRM_ERR_INVALID_ARGUMENT;
    o = create(r, a->client, a->parent, a->object, a->object_class);
    if (a->object_class == XS_NVRM_CLASS_GROUP)
        o->engine = ((struct xs_nvrm_group_params *)(uintptr_t)a->params)->engine;
    return XS_NVRM_OK;
}

static uint32_t do_free(struct fake_rm_state *r, int file, const struct xs_nvrm_free *f)
{
    struct object *o = fake_rm_find(r, f->client, f->object);
    uint32_t e = check_client(r, file, f->client);

    if (e)
        return e;
    if (!o)
        return XS_NVRM_ERR_INVALID_HANDLE;
    fake_rm_destroy(r, o);
    return XS_NVRM_OK;
}

static uint32_t do_dup(struct fake_rm_state *r, int file, struct xs_nvrm_dup *d)
{
    struct object *s = fake_rm_find(r, d->source_client, d->source_object), *o;

    if (check_client(r, file, d->client) || !s || !fake_rm_find(r, d->client, d->parent))
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (!d->object)
        d->object = 0x5d000000u + ++r->next_handle;
    o = create(r, d->client, d->parent, d->object, s->object_class);
    o->engine = s->engine;
    return XS_NVRM_OK;
}

static uint32_t do_slice(struct fake_rm_state *r, struct object *o, const struct xs_nvrm_control *c,
                         struct fake_rm_call *call)
{
    struct xs_nvrm_timeslice *p = (void *)(uintptr_t)c->params;

    if (!o || o->object_class != XS_NVRM_CLASS_GROUP)
        return XS_NVRM_ERR_INVALID_HANDLE;
    if (c->params_bytes != sizeof(*p)) {
        complain(r, "size of a time slice");
        return XS_NVRM_ERR_INVALID_ARGUMENT;
    }
    if (c->command == XS_NVRM_CMD_GET_TIMESLICE) {
        p->us = o->slice_us;
        return XS_NVRM_OK;
    }
    call->us = p->us;
    if (p->us == 0)
        complain(r, "a time slice of zero does not stop anything");
    o->slice_us = p->us;
    return XS_NVRM_OK;
}

static uint32_t do_control(struct fake_rm_state *r, int file, struct xs_nvrm_control *c)
{
    struct object *o = fake_rm_find(r, c->client, c->object);
    struct fake_rm_call *call = &r->calls[r->n_calls < CALLS ? r->n_calls++ : CALLS - 1];

    *call = (struct fake_rm_call){.command = c->command, .client = c->client, .object = c->object};
    call->status = check_client(r, file, c->client);
    if (!call->status && r->deny_times && r->deny_command == c->command && r->deny_skip-- == 0) {
        r->deny_skip = 0;
        r->deny_times--;
        call->status = r->deny_status;
    } else if (!call->status) {
        switch (c->command) {
        case XS_NVRM_CMD_SET_TIMESLICE:
        case XS_NVRM_CMD_GET_TIMESLICE:
            call->status = do_slice(r, o, c, call);
            break;
        case XS_NVRM_CMD_GPU_ID:
            ((struct xs_nvrm_gpu_id *)(uintptr_t)c->params)->gpu_id = r->gpu_id;
            call->status = o && o->object_class == XS_NVRM_CLASS_SUBDEVICE ? 0 : XS_NVRM_ERR_INVALID_HANDLE;
            break;
        default:
            call->status = XS_NVRM_ERR_NOT_SUPPORTED;
        }
    }
    return call->status;
}

int fake_rm_request(struct fake_rm_state *r, int file, unsigned long request, void *arg)
{
    unsigned long escape = request & 0xff, bytes = _IOC_SIZE(request);
    struct xs_nvrm_alloc a = {0};

    if (escape == XS_NVRM_ESC_WRAPPED) {
        const struct xs_nvrm_wrapped *w = arg;

        escape = w->escape;
        bytes = w->bytes;
        arg = (void *)(uintptr_t)w->address;
    }
    pthread_mutex_lock(&r->lock);
    if (escape == XS_NVRM_ESC_ALLOC && bytes == sizeof(struct xs_nvrm_alloc)) {
        ((struct xs_nvrm_alloc *)arg)->status = do_alloc(r, file, arg);
    } else if (escape == XS_NVRM_ESC_ALLOC && bytes == sizeof(struct xs_nvrm_alloc_short)) {
        struct xs_nvrm_alloc_short *s = arg;

        memcpy(&a, s, offsetof(struct xs_nvrm_alloc_short, params_bytes));
        a.params_bytes = s->params_bytes;
        s->status = do_alloc(r, file, &a);
        s->object = a.object;
    } else if (escape == XS_NVRM_ESC_FREE && bytes == sizeof(struct xs_nvrm_free)) {
        ((struct xs_nvrm_free *)arg)->status = do_free(r, file, arg);
    } else if (escape == XS_NVRM_ESC_DUP && bytes == sizeof(struct xs_nvrm_dup)) {
        ((struct xs_nvrm_dup *)arg)->status = do_dup(r, file, arg);
    } else if (escape == XS_NVRM_ESC_CONTROL && bytes == sizeof(struct xs_nvrm_control)) {
        ((struct xs_nvrm_control *)arg)->status = do_control(r, file, arg);
    } else {
        complain(r, "size of a request");
        pthread_mutex_unlock(&r->lock);
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_unlock(&r->lock);
    return 0;
}

void fake_rm_file_ends(struct fake_rm_state *r, int file)
{
    for (int i = 0; i < OBJECTS; i++)
        if (r->objects[i].used && r->objects[i].file == file)
            fake_rm_destroy(r, &r->objects[i]);
}
