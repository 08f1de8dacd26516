/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/vulkan/device_wish.h"

#include "base/env.h"
#include "xsched/types.h"

#include <stdlib.h>
#include <string.h>

bool xs_vk_names(const char *const *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i], name) == 0)
            return true;
    }
    return false;
}

/* The global priority of a program's queues. @return 0: the driver's default */
static int32_t global_priority(void)
{
    int64_t priority;

    if (!xsched_priv_auto())
        return 0;
    priority = xs_env_i64(XS_ENV_XSCHED_PRIORITY, 0);
    priority = xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_PRIORITY, priority);
    return priority > 0 ? XS_VK_PRIORITY_HIGH : priority < 0 ? XS_VK_PRIORITY_LOW : 0;
}

/* Whether the program sets the priority of one of its queues itself. */
static bool has_priorities(const struct xs_vk_device_create *create)
{
    const struct xs_vk_queue_create *queues = create->queues;

    for (uint32_t i = 0; i < create->queues_count; i++) {
        for (const struct xs_vk_base *b = queues[i].next; b; b = b->next) {
            if (b->type == XS_VK_TYPE_GLOBAL_PRIORITY)
                return true;
        }
    }
    return false;
}

unsigned xs_vk_wishes(const struct xs_vk_physical *p, const struct xs_vk_device_create *create)
{
    unsigned wishes = p->timeline ? XS_VK_WISH_TIMELINE : 0;

    if (p->priority_extension && create->queues_count && global_priority() && !has_priorities(create))
        wishes |= XS_VK_WISH_PRIORITY;
    return wishes;
}

/* @return 0: unknown */
static size_t bytes_of(int32_t type)
{
    switch (type) {
    case XS_VK_TYPE_LAYER_DEVICE:
        return sizeof(struct xs_vk_layer_create);
#define VK_FEATURES(number, bytes, name, type_name) case number: return bytes;
#define VK_FEATURES_14(number, bytes, name, type_name) case number: return bytes;
#define VK_SIZED(number, bytes, name, type_name) case number: return bytes;
#include "shim/vulkan/create_chain.def"
    default:
        return 0;
    }
}

static bool is_timeline(const struct xs_vk_base *b)
{
    return b->type == XS_VK_TYPE_FEATURES_12 || b->type == XS_VK_TYPE_TIMELINE_FEATURES;
}

static uint32_t *timeline_of(struct xs_vk_base *b)
{
    return b->type == XS_VK_TYPE_FEATURES_12 ? (uint32_t *)((uintptr_t)b + XS_VK_FEATURES_12_TIMELINE_AT)
                                             : &((struct xs_vk_timeline_features *)(void *)b)->timeline;
}

/* Copies the chain as far as `last`, whose copy is the program's with timeline semaphores; the rest is the
 * program's own.
 * @return NULL: no memory, or a structure before it is unknown */
static void *copy_chain(const struct xs_vk_base *first, const struct xs_vk_base *last)
{
    size_t bytes = 0, at = 0;
    struct xs_vk_base *copy = NULL;
    char *all;

    for (const struct xs_vk_base *b = first; b; b = b == last ? NULL : b->next) {
        if (!bytes_of(b->type))
            return NULL;
        bytes += bytes_of(b->type);
    }
    all = malloc(bytes);
    for (const struct xs_vk_base *b = first; all && b; b = b == last ? NULL : b->next) {
        memcpy(all + at, b, bytes_of(b->type));
        if (copy)
            copy->next = all + at;
        copy = (struct xs_vk_base *)(void *)(all + at);
        at += bytes_of(b->type);
    }
    if (all)
        *timeline_of(copy) = 1;
    return all;
}

static bool wish_timeline(const struct xs_vk_device_create *create, struct xs_vk_device_wish *w)
{
    for (const struct xs_vk_base *b = create->next; b; b = b->next) {
        if (!is_timeline(b))
            continue;
        if (*timeline_of((struct xs_vk_base *)(uintptr_t)b))
            return true;          /* the program has it */
        w->chain = copy_chain(create->next, b);
        if (w->chain)
            w->create.next = w->chain;
        return w->chain != NULL;
    }
    w->timeline = (struct xs_vk_timeline_features){XS_VK_TYPE_TIMELINE_FEATURES, (void *)(uintptr_t)create->next, 1};
    w->create.next = &w->timeline;
    return true;
}

static bool wish_priority(const struct xs_vk_device_create *create, struct xs_vk_device_wish *w)
{
    w->queues = malloc(create->queues_count * sizeof(*w->queues));
    w->priorities = malloc(create->queues_count * sizeof(*w->priorities));
    if (!w->queues || !w->priorities)
        return false;
    memcpy(w->queues, create->queues, create->queues_count * sizeof(*w->queues));
    for (uint32_t i = 0; i < create->queues_count; i++) {
        w->priorities[i] = (struct xs_vk_global_priority){XS_VK_TYPE_GLOBAL_PRIORITY, w->queues[i].next, global_priority()};
        w->queues[i].next = &w->priorities[i];
    }
    w->create.queues = w->queues;
    return true;
}

/* Names an extension. */
static void name(struct xs_vk_device_wish *w, const char *extension)
{
    if (extension && !xs_vk_names(w->extensions, w->create.extensions_count, extension))
        w->extensions[w->create.extensions_count++] = extension;
}

unsigned xs_vk_wish(const struct xs_vk_physical *p, const struct xs_vk_device_create *create, unsigned wishes,
                    struct xs_vk_device_wish *ret)
{
    uint32_t n = create->extensions_count;

    *ret = (struct xs_vk_device_wish){.create = *create};
    if (wishes)
        ret->extensions = malloc((n + XS_VK_WISH_NAMES) * sizeof(*ret->extensions));
    if (!ret->extensions)
        return 0;
    if (n)
        memcpy(ret->extensions, create->extensions, n * sizeof(*ret->extensions));
    ret->create.extensions = ret->extensions;
    if (wishes & XS_VK_WISH_TIMELINE && !wish_timeline(create, ret))
        wishes &= ~XS_VK_WISH_TIMELINE;
    if (wishes & XS_VK_WISH_PRIORITY && !wish_priority(create, ret))
        wishes &= ~XS_VK_WISH_PRIORITY;
    if (wishes & XS_VK_WISH_TIMELINE)
        name(ret, p->timeline_extension ? XS_VK_TIMELINE_EXTENSION : NULL);
    if (wishes & XS_VK_WISH_PRIORITY)
        name(ret, p->priority_extension);
    return wishes;
}

void xs_vk_wish_free(struct xs_vk_device_wish *w)
{
    free(w->priorities);
    free(w->queues);
    free(w->extensions);
    free(w->chain);
}
