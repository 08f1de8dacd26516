/* SPDX-License-Identifier: Apache-2.0 */
/* Events whose completion is a completion mark. */
#include "hal/opencl/hal.h"

/* A watched event carries the index of one of these. Enough for marks in flight (a few a queue); only records
 * in use take memory. */
#define WATCH_MAX 16384u

struct event_mark {
    struct xs_queue *queue;       /* owner: the thread that took the record, then the callback */
    uint64_t number;
    const struct xs_ocl_api *api;
    cl_event own;                 /* our reference, given back after completion; NULL: the program's event */
    _Atomic uint32_t next;        /* index + 1 of the next one in its list */
};

static struct event_mark g_watches[WATCH_MAX];
static _Atomic uint64_t g_free;   /* tag << 32 | index + 1; any thread; the tag keeps an old head from fitting */
static _Atomic uint32_t g_fresh;  /* how many have been in use; any thread */

static struct event_mark *watch_take(void)
{
    uint64_t head = atomic_load_explicit(&g_free, memory_order_acquire);
    uint32_t fresh;

    while ((uint32_t)head) {
        struct event_mark *w = &g_watches[(uint32_t)head - 1];
        uint64_t next = ((head >> 32) + 1) << 32 | atomic_load_explicit(&w->next, memory_order_relaxed);

        /* acquire pairs with the release in watch_give */
        if (atomic_compare_exchange_weak_explicit(&g_free, &head, next, memory_order_acquire,
                                                  memory_order_acquire))
            return w;
    }
    fresh = atomic_load_explicit(&g_fresh, memory_order_relaxed);
    do {
        if (fresh >= WATCH_MAX)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&g_fresh, &fresh, fresh + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return &g_watches[fresh];
}

static void watch_give(struct event_mark *w)
{
    uint64_t head = atomic_load_explicit(&g_free, memory_order_relaxed), mine;

    do {
        atomic_store_explicit(&w->next, (uint32_t)head, memory_order_relaxed);
        mine = ((head >> 32) + 1) << 32 | ((uint64_t)(w - g_watches) + 1);
    } while (!atomic_compare_exchange_weak_explicit(&g_free, &head, mine, memory_order_release,
                                                    memory_order_relaxed));
}

/* Failed events of ours. The next mark releases them: PoCL 3.1 goes on using an event of a failed command
 * after its callbacks, also when it has no other reference. */
static _Atomic uint32_t g_failed; /* index + 1 of the first; any thread pushes, one takes all */

static void failed_push(struct event_mark *w)
{
    uint32_t head = atomic_load_explicit(&g_failed, memory_order_relaxed);

    do {
        atomic_store_explicit(&w->next, head, memory_order_relaxed);
        /* release pairs with the acquire in failed_release */
    } while (!atomic_compare_exchange_weak_explicit(&g_failed, &head, (uint32_t)(w - g_watches) + 1,
                                                    memory_order_release, memory_order_relaxed));
}

static void failed_release(void)
{
    uint32_t at;

    if (XS_LIKELY(atomic_load_explicit(&g_failed, memory_order_relaxed) == 0))
        return;
    at = atomic_exchange_explicit(&g_failed, 0, memory_order_acquire);
    while (at) {
        struct event_mark *w = &g_watches[at - 1];

        at = atomic_load_explicit(&w->next, memory_order_relaxed);
        w->api->clReleaseEvent(w->own);
        watch_give(w);
    }
}

/* In a thread of the vendor, or in the one that registered it. */
static void on_complete(cl_event event, cl_int status, void *data)
{
    struct event_mark *w = data;
    struct xs_queue *q = w->queue;
    uint64_t number = w->number;
    const struct xs_ocl_api *api = w->api;
    cl_event own = w->own;

    (void)event;
    if (status == CL_COMPLETE || !own)
        watch_give(w);
    else
        failed_push(w);
    if (status == CL_COMPLETE && own) {
        xsched_priv_depth_add(1);
        api->clReleaseEvent(own);
        xsched_priv_depth_add(-1);
    }
    if (status == CL_COMPLETE)
        xsched_priv_completed(q, number);
    else
        /* The command was terminated, perhaps by a failed event that it waited for. That says nothing about
         * the commands before it. */
        xsched_priv_mark_lost(q, number);
}

XS_EXPORT bool xsched_priv_ocl_watch(const struct xs_ocl_api *api, cl_event event, bool own, struct xs_queue *q,
                                     uint64_t number)
{
    struct event_mark *w = api->clSetEventCallback ? watch_take() : NULL;

    failed_release();
    if (!w)
        return false;
    w->api = api;
    w->queue = q;
    w->number = number;
    w->own = own ? event : NULL;
    if (api->clSetEventCallback(event, CL_COMPLETE, on_complete, w) == CL_SUCCESS)
        return true;
    watch_give(w);
    return false;
}
