/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"
#include "engine.h"

#include <stdlib.h>
#include <string.h>

struct commands {
    const void *key;              /* the loader's word */
    uint64_t us;
    struct commands *next;        /* under the lock */
};

static struct commands *g_commands;

static void *object_of(xs_vk_object o)
{
    return (void *)(uintptr_t)o;
}

/* ---- semaphores and fences ---- */

static xs_vk_result create_semaphore(xs_vk_handle device, const struct xs_vk_simple_create *create, const void *allocator,
                                     xs_vk_object *ret)
{
    uint32_t left = atomic_load(&fake_vk_state.semaphores_left);
    struct fake_vk_semaphore *s;

    (void)device, (void)allocator;
    if (left == 1)
        return XS_VK_ERROR_OUT_OF_HOST_MEMORY;
    if (left)
        atomic_store(&fake_vk_state.semaphores_left, left - 1);
    s = calloc(1, sizeof(*s));
    for (const struct xs_vk_base *b = create->next; b; b = b->next) {
        const struct xs_vk_semaphore_kind *k = (const void *)b;

        if (b->type == XS_VK_TYPE_SEMAPHORE_KIND && k->kind == XS_VK_SEMAPHORE_TIMELINE && !fake_vk_state.hide_binary)
            *s = (struct fake_vk_semaphore){true, k->value};
    }
    atomic_fetch_add(&fake_vk_state.semaphores, 1);
    *ret = (uintptr_t)s;
    return XS_VK_SUCCESS;
}

static void destroy_semaphore(xs_vk_handle device, xs_vk_object semaphore, const void *allocator)
{
    (void)device, (void)allocator;
    if (semaphore)
        atomic_fetch_sub(&fake_vk_state.semaphores, 1);
    free(object_of(semaphore));
}

static xs_vk_result counter(xs_vk_handle device, xs_vk_object semaphore, uint64_t *ret)
{
    xs_vk_result r = XS_VK_SUCCESS;

    (void)device;
    pthread_mutex_lock(&fake_vk_lock);
    *ret = ((struct fake_vk_semaphore *)object_of(semaphore))->value;
    if (fake_vk_is_lost())
        r = FAKE_VK_LOST;
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static xs_vk_result signal_semaphore(xs_vk_handle device, const struct xs_vk_semaphore_signal *signal)
{
    struct fake_vk_semaphore *s = object_of(signal->semaphore);

    (void)device;
    pthread_mutex_lock(&fake_vk_lock);
    if (!fake_vk_state.lose_signals && signal->value > s->value)
        s->value = signal->value;
    fake_vk_step_locked();
    pthread_mutex_unlock(&fake_vk_lock);
    return XS_VK_SUCCESS;
}

static bool all_reached(const void *arg)
{
    const struct xs_vk_semaphore_wait *w = arg;

    for (uint32_t i = 0; i < w->count; i++) {
        if (((struct fake_vk_semaphore *)object_of(w->semaphores[i]))->value < w->values[i])
            return false;
    }
    return true;
}

static xs_vk_result wait_semaphores(xs_vk_handle device, const struct xs_vk_semaphore_wait *wait, uint64_t timeout_ns)
{
    xs_vk_result r;

    (void)device;
    pthread_mutex_lock(&fake_vk_lock);
    r = fake_vk_wait_locked(all_reached, wait, timeout_ns);
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static xs_vk_result create_fence(xs_vk_handle device, const struct xs_vk_simple_create *create, const void *allocator,
                                 xs_vk_object *ret)
{
    struct fake_vk_fence *f = calloc(1, sizeof(*f));

    (void)device, (void)allocator;
    f->signalled = create->flags & 1;
    atomic_fetch_add(&fake_vk_state.fences, 1);
    *ret = (uintptr_t)f;
    return XS_VK_SUCCESS;
}

static void destroy_fence(xs_vk_handle device, xs_vk_object fence, const void *allocator)
{
    (void)device, (void)allocator;
    if (fence)
        atomic_fetch_sub(&fake_vk_state.fences, 1);
    free(object_of(fence));
}

static xs_vk_result fence_status(xs_vk_handle device, xs_vk_object fence)
{
    xs_vk_result r;

    (void)device;
    pthread_mutex_lock(&fake_vk_lock);
    r = fake_vk_is_lost() ? FAKE_VK_LOST
                          : ((struct fake_vk_fence *)object_of(fence))->signalled ? XS_VK_SUCCESS : XS_VK_NOT_READY;
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static xs_vk_result reset_fences(xs_vk_handle device, uint32_t count, const xs_vk_object *fences)
{
    (void)device;
    pthread_mutex_lock(&fake_vk_lock);
    for (uint32_t i = 0; i < count; i++)
        ((struct fake_vk_fence *)object_of(fences[i]))->signalled = false;
    pthread_mutex_unlock(&fake_vk_lock);
    return XS_VK_SUCCESS;
}

struct some_fences {
    const xs_vk_object *fences;
    uint32_t count;
    bool all;
};

static bool fences_done(const void *arg)
{
    const struct some_fences *f = arg;
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->count; i++)
        n += ((struct fake_vk_fence *)object_of(f->fences[i]))->signalled;
    return n == f->count || (n && !f->all);
}

static xs_vk_result wait_fences(xs_vk_handle device, uint32_t count, const xs_vk_object *fences, uint32_t all,
                                uint64_t timeout_ns)
{
    struct some_fences f = {fences, count, all};
    xs_vk_result r;

    (void)device;
    pthread_mutex_lock(&fake_vk_lock);
    r = fake_vk_wait_locked(fences_done, &f, timeout_ns);
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

/* ---- command buffers ---- */

struct commands_allocate {        /* VkCommandBufferAllocateInfo */
    int32_t type;
    const void *next;
    xs_vk_object pool;
    int32_t level;
    uint32_t count;
};

static xs_vk_result allocate_commands(xs_vk_handle device, const struct commands_allocate *a, xs_vk_handle *ret)
{
    for (uint32_t i = 0; i < a->count; i++) {
        struct commands *c = calloc(1, sizeof(*c));

        c->key = *(const void *const *)device;
        pthread_mutex_lock(&fake_vk_lock);
        c->next = g_commands;
        g_commands = c;
        pthread_mutex_unlock(&fake_vk_lock);
        ret[i] = c;
    }
    return XS_VK_SUCCESS;
}

static void free_commands(xs_vk_handle device, xs_vk_object pool, uint32_t count, const xs_vk_handle *commands)
{
    (void)device, (void)pool;
    pthread_mutex_lock(&fake_vk_lock);
    for (uint32_t i = 0; i < count; i++) {
        struct commands **at = &g_commands;

        while (*at && *at != commands[i])
            at = &(*at)->next;
        if (*at)
            *at = (*at)->next;
        free(commands[i]);
    }
    pthread_mutex_unlock(&fake_vk_lock);
}

void fake_vk_free_commands(void)
{
    pthread_mutex_lock(&fake_vk_lock);
    while (g_commands) {
        struct commands *c = g_commands;

        g_commands = c->next;
        free(c);
    }
    pthread_mutex_unlock(&fake_vk_lock);
}

static xs_vk_result begin_commands(xs_vk_handle commands, const void *begin)
{
    (void)begin;
    ((struct commands *)commands)->us = 0;
    return XS_VK_SUCCESS;
}

static xs_vk_result end_commands(xs_vk_handle commands)
{
    (void)commands;
    return XS_VK_SUCCESS;
}

static void dispatch(xs_vk_handle commands, uint32_t x, uint32_t y, uint32_t z)
{
    ((struct commands *)commands)->us += (uint64_t)x * y * z;
}

/* ---- queues ---- */

static struct fake_vk_batch *batch_new(xs_vk_handle queue, uint32_t waits, uint32_t signals)
{
    struct fake_vk_batch *b = calloc(1, sizeof(*b));

    b->queue = fake_vk_queue_index(queue);
    b->waits = calloc(waits + 1, sizeof(*b->waits));
    b->signals = calloc(signals + 1, sizeof(*b->signals));
    b->waits_count = waits;
    b->signals_count = signals;
    return b;
}

/* @return what every submission is answered with; XS_VK_SUCCESS: it is taken */
static xs_vk_result answer(void)
{
    return fake_vk_is_lost() ? FAKE_VK_LOST : atomic_load(&fake_vk_state.answer);
}

static void submit_fence_locked(xs_vk_handle queue, xs_vk_object fence)
{
    struct fake_vk_batch *b;

    if (!fence)
        return;
    b = batch_new(queue, 0, 0);
    b->fence = object_of(fence);
    fake_vk_submit_locked(b);
}

static xs_vk_result submit(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit *batches, xs_vk_object fence)
{
    xs_vk_result r;

    pthread_mutex_lock(&fake_vk_lock);
    r = answer();
    for (uint32_t i = 0; r == XS_VK_SUCCESS && i < count; i++) {
        const struct xs_vk_timeline_submit *t = NULL;
        struct fake_vk_batch *b = batch_new(queue, batches[i].waits_count, batches[i].signals_count);

        for (const struct xs_vk_base *n = batches[i].next; n; n = n->next) {
            if (n->type == XS_VK_TYPE_TIMELINE_SUBMIT)
                t = (const void *)n;
        }
        for (uint32_t k = 0; k < b->waits_count; k++)
            b->waits[k] = (struct fake_vk_op){object_of(batches[i].waits[k]), t && k < t->waits_count ? t->waits[k] : 0};
        for (uint32_t k = 0; k < b->signals_count; k++)
            b->signals[k] = (struct fake_vk_op){object_of(batches[i].signals[k]), t && k < t->signals_count ? t->signals[k] : 0};
        for (uint32_t k = 0; k < batches[i].commands_count; k++)
            b->us += ((struct commands *)batches[i].commands[k])->us;
        b->has_commands = batches[i].commands_count != 0;
        fake_vk_submit_locked(b);
    }
    if (r == XS_VK_SUCCESS)
        submit_fence_locked(queue, fence);
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static void take_2(struct fake_vk_op *to, uint32_t count, const struct xs_vk_semaphore_submit *from)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = (struct fake_vk_op){object_of(from[i].semaphore), from[i].value};
}

static xs_vk_result submit_2(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit_2 *batches, xs_vk_object fence)
{
    xs_vk_result r;

    pthread_mutex_lock(&fake_vk_lock);
    r = answer();
    for (uint32_t i = 0; r == XS_VK_SUCCESS && i < count; i++) {
        struct fake_vk_batch *b = batch_new(queue, batches[i].waits_count, batches[i].signals_count);

        take_2(b->waits, b->waits_count, batches[i].waits);
        take_2(b->signals, b->signals_count, batches[i].signals);
        for (uint32_t k = 0; k < batches[i].commands_count; k++)
            b->us += ((struct commands *)batches[i].commands[k].command)->us;
        b->has_commands = batches[i].commands_count != 0;
        fake_vk_submit_locked(b);
    }
    if (r == XS_VK_SUCCESS)
        submit_fence_locked(queue, fence);
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static xs_vk_result bind_sparse(xs_vk_handle queue, uint32_t count, const struct fake_vk_bind_sparse *binds, xs_vk_object fence)
{
    xs_vk_result r;

    pthread_mutex_lock(&fake_vk_lock);
    r = answer();
    for (uint32_t i = 0; r == XS_VK_SUCCESS && i < count; i++) {
        struct fake_vk_batch *b = batch_new(queue, binds[i].waits_count, binds[i].signals_count);

        for (uint32_t k = 0; k < b->waits_count; k++)
            b->waits[k].semaphore = object_of(binds[i].waits[k]);
        for (uint32_t k = 0; k < b->signals_count; k++)
            b->signals[k].semaphore = object_of(binds[i].signals[k]);
        b->has_commands = true;
        fake_vk_submit_locked(b);
    }
    if (r == XS_VK_SUCCESS)
        submit_fence_locked(queue, fence);
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static xs_vk_result present(xs_vk_handle queue, const struct fake_vk_present *p)
{
    struct fake_vk_batch *b;
    xs_vk_result r;

    pthread_mutex_lock(&fake_vk_lock);
    r = answer();
    if (r == XS_VK_SUCCESS) {
        b = batch_new(queue, p->waits_count, 0);
        for (uint32_t k = 0; k < b->waits_count; k++)
            b->waits[k].semaphore = object_of(p->waits[k]);
        b->has_commands = true;
        fake_vk_submit_locked(b);
    }
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static bool queue_idle(const void *arg)
{
    return fake_vk_idle_locked(*(const unsigned *)arg);
}

static xs_vk_result wait_idle(unsigned queue)
{
    xs_vk_result r;

    pthread_mutex_lock(&fake_vk_lock);
    r = fake_vk_is_lost() ? FAKE_VK_LOST : fake_vk_wait_locked(queue_idle, &queue, UINT64_MAX);
    pthread_mutex_unlock(&fake_vk_lock);
    return r;
}

static xs_vk_result queue_wait_idle(xs_vk_handle queue)
{
    return wait_idle(fake_vk_queue_index(queue));
}

static xs_vk_result device_wait_idle(xs_vk_handle device)
{
    (void)device;
    return wait_idle(FAKE_VK_QUEUES);
}

xs_vk_function fake_vk_call(const char *name)
{
    static const struct {
        const char *name;
        xs_vk_function f;
    } k[] = {
#define F(name, f) {#name, (xs_vk_function)f}
        F(vkCreateSemaphore, create_semaphore), F(vkDestroySemaphore, destroy_semaphore),
        F(vkGetSemaphoreCounterValue, counter), F(vkSignalSemaphore, signal_semaphore), F(vkWaitSemaphores, wait_semaphores),
        F(vkCreateFence, create_fence), F(vkDestroyFence, destroy_fence), F(vkGetFenceStatus, fence_status),
        F(vkResetFences, reset_fences), F(vkWaitForFences, wait_fences),
        F(vkAllocateCommandBuffers, allocate_commands), F(vkFreeCommandBuffers, free_commands),
        F(vkBeginCommandBuffer, begin_commands), F(vkEndCommandBuffer, end_commands), F(vkCmdDispatch, dispatch),
        F(vkQueueSubmit, submit), F(vkQueueSubmit2, submit_2), F(vkQueueBindSparse, bind_sparse),
        F(vkQueuePresentKHR, present), F(vkQueueWaitIdle, queue_wait_idle), F(vkDeviceWaitIdle, device_wait_idle),
#undef F
    };

    for (size_t i = 0; i < sizeof(k) / sizeof(k[0]); i++) {
        if (strcmp(k[i].name, name) == 0)
            return k[i].f;
    }
    return NULL;
}
