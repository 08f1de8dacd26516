/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: streams that have some of the multiprocessors. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ALIGNMENT 8u   /* multiprocessors come in groups */

API cuDeviceGetDevResource(CUdevice dev, struct xs_cu_resource *ret, int type)
{
    (void)dev;
    if (type != 1)
        return XS_CU_INVALID_VALUE;
    memset(ret, 0, 144); /* as long as it is in the first version */
    ret->type = type;
    ret->multiprocessors = fake_without("no_multiprocessors") ? 16 : MULTIPROCESSORS;
    return fake_without("no_green") ? XS_CU_NOT_SUPPORTED : 0;
}

API cuDevSmResourceSplitByCount(struct xs_cu_resource *ret, unsigned *groups, const struct xs_cu_resource *input,
                                struct xs_cu_resource *rest, unsigned flags, unsigned least)
{
    unsigned n = (least + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    (void)rest, (void)flags;
    if (fake_without("no_split") || n > input->multiprocessors)
        return XS_CU_INVALID_VALUE;
    *groups = 1;
    memcpy(ret, input, 144);
    ret->multiprocessors = n;
    return 0;
}

API cuDevResourceGenerateDesc(void **ret, const struct xs_cu_resource *resources, unsigned n)
{
    if (n != 1)
        return XS_CU_INVALID_VALUE;
    *ret = (void *)(uintptr_t)resources->multiprocessors;
    return 0;
}

API cuGreenCtxCreate(void **ret, void *desc, CUdevice dev, unsigned flags)
{
    if (!(flags & 1))
        return XS_CU_INVALID_VALUE;
    pthread_mutex_lock(&fake_lock);
    if (fake_current())
        fake_context_wait_locked(fake_current());
    *ret = fake_green_new_locked(dev, (unsigned)(uintptr_t)desc);
    pthread_mutex_unlock(&fake_lock);
    return *ret ? 0 : INVALID_CONTEXT;
}

API cuGreenCtxDestroy(void *green)
{
    pthread_mutex_lock(&fake_lock);
    fake_green_end_locked(green);
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API cuCtxFromGreenCtx(CUcontext *ret, void *green)
{
    *ret = green;
    return 0;
}

API cuGreenCtxStreamCreate(CUstream *ret, void *green, unsigned flags, int priority)
{
    if (!(flags & XS_CU_STREAM_NON_BLOCKING))
        return XS_CU_INVALID_VALUE;
    pthread_mutex_lock(&fake_lock);
    *ret = fake_stream_new(green, flags, priority);
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

/* ---- kernels that wait for others ---- */

struct waiting {
    unsigned everywhere, on_lanes; /* multiprocessors that kernels of the kind have at this moment */
};

static struct waiting running(int dev)
{
    struct waiting w = {0, 0};

    for (struct CUctx_st *c = fake_contexts; c; c = c->next)
        for (struct CUstream_st *s = c->dev == dev ? c->streams : NULL; s; s = s->next)
            if (s->running && s->head->meet)
                *(c->green_of ? &w.on_lanes : &w.everywhere) += (unsigned)s->head->blocks;
    return w;
}

/* Blocks of others stand where there is least room for them. */
bool fake_has_room(const struct CUstream_st *s, const struct fake_op *op)
{
    unsigned there = s->ctx->green_of ? s->ctx->multiprocessors : MULTIPROCESSORS;
    struct waiting w;

    if (op->barrier)
        return op->blocks <= there;
    if (!op->meet)
        return true;
    w = running(s->ctx->dev);
    return w.everywhere + w.on_lanes + op->blocks <= there;
}

/* For tests: kernels that were launched into streams of green contexts. */
static _Atomic int g_confined;

int fake_cuda_confined(void) __attribute__((visibility("default")));
int fake_cuda_confined(void)
{
    return g_confined;
}

void fake_count_launch(const struct CUstream_st *s)
{
    g_confined += s->ctx->green_of != NULL;
}
