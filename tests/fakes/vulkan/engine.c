/* SPDX-License-Identifier: Apache-2.0 */
/* How the device gets on, and what may be submitted. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HUNG_NS 10000000000ull

struct fake_vk fake_vk_state = {.automatic = true, .bus = 0xc3};
pthread_mutex_t fake_vk_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static struct fake_vk_batch *g_rings[FAKE_VK_QUEUES]; /* by queue, or all in the first one */
static uint64_t g_now_us;
static bool g_lost;

struct fake_vk *fake_vk(void)
{
    return &fake_vk_state;
}

bool fake_vk_is_lost(void)
{
    return g_lost;
}

static void free_batch(struct fake_vk_batch *b)
{
    free(b->waits);
    free(b->signals);
    free(b);
}

void fake_vk_reset(void)
{
    pthread_mutex_lock(&fake_vk_lock);
    for (unsigned i = 0; i < FAKE_VK_QUEUES; i++) {
        while (g_rings[i]) {
            struct fake_vk_batch *b = g_rings[i];

            g_rings[i] = b->next;
            free_batch(b);
        }
    }
    memset(&fake_vk_state, 0, sizeof(fake_vk_state));
    fake_vk_state.bus = 0xc3;
    fake_vk_state.slot = 0;
    g_lost = false;
    pthread_mutex_unlock(&fake_vk_lock);
}

static bool is_met(const struct fake_vk_op *o)
{
    return o->semaphore->value >= (o->semaphore->timeline ? o->value : 1);
}

static bool can_start(const struct fake_vk_batch *b)
{
    for (unsigned i = 0; i < b->waits_count; i++) {
        if (!is_met(&b->waits[i]))
            return false;
    }
    return true;
}

static void start(struct fake_vk_batch *b)
{
    for (unsigned i = 0; i < b->waits_count; i++) {
        if (!b->waits[i].semaphore->timeline)
            b->waits[i].semaphore->value = 0;
    }
    b->started = true;
    b->end_us = g_now_us + b->us;
}

static void finish(struct fake_vk_batch *b)
{
    for (unsigned i = 0; i < b->signals_count; i++)
        b->signals[i].semaphore->value = b->signals[i].semaphore->timeline ? b->signals[i].value : 1;
    if (b->fence)
        b->fence->signalled = true;
    if (b->has_commands)
        atomic_fetch_add(&fake_vk_state.completed[b->queue], 1);
    free_batch(b);
    pthread_cond_broadcast(&g_changed);
}

void fake_vk_step_locked(void)
{
    for (bool any = !g_lost; any;) {
        any = false;
        for (unsigned i = 0; i < FAKE_VK_QUEUES; i++) {
            struct fake_vk_batch *b = g_rings[i];

            if (b && !b->started && can_start(b))
                start(b);
            if (b && b->started && b->end_us <= g_now_us) {
                g_rings[i] = b->next;
                finish(b);
                any = true;
            }
        }
    }
}

/* @return UINT64_MAX: nothing happens by itself */
static uint64_t next_locked(void)
{
    uint64_t next_us = UINT64_MAX;

    for (unsigned i = 0; i < FAKE_VK_QUEUES && !g_lost; i++) {
        if (g_rings[i] && g_rings[i]->started && g_rings[i]->end_us < next_us)
            next_us = g_rings[i]->end_us;
    }
    return next_us;
}

void fake_vk_advance(uint64_t us)
{
    uint64_t until_us, next_us;

    pthread_mutex_lock(&fake_vk_lock);
    until_us = g_now_us + us;
    fake_vk_step_locked();
    while ((next_us = next_locked()) <= until_us) {
        g_now_us = next_us;
        fake_vk_step_locked();
    }
    g_now_us = until_us;
    pthread_mutex_unlock(&fake_vk_lock);
}

void fake_vk_lose(void)
{
    pthread_mutex_lock(&fake_vk_lock);
    g_lost = true;
    pthread_cond_broadcast(&g_changed);
    pthread_mutex_unlock(&fake_vk_lock);
}

static bool comes(struct fake_vk_batch *b, unsigned ring);

/* Whether the wait ends by what was submitted. */
static bool is_submitted(const struct fake_vk_op *o)
{
    if (is_met(o))
        return true;
    for (unsigned i = 0; i < FAKE_VK_QUEUES; i++) {
        for (struct fake_vk_batch *b = g_rings[i]; b; b = b->next) {
            for (unsigned k = 0; k < b->signals_count; k++) {
                if (b->signals[k].semaphore == o->semaphore && (!o->semaphore->timeline || b->signals[k].value >= o->value) &&
                    comes(b, i))
                    return true;
            }
        }
    }
    return false;
}

/* Whether the batch, and so all before it, becomes complete by what was submitted. */
static bool comes(struct fake_vk_batch *b, unsigned ring)
{
    bool all = true;

    for (struct fake_vk_batch *before = g_rings[ring]; all && before; before = before == b ? NULL : before->next) {
        if (before->started || before->looked_at)
            continue;
        before->looked_at = true; /* it is looked at already, further up */
        for (unsigned i = 0; all && i < before->waits_count; i++)
            all = is_submitted(&before->waits[i]);
        before->looked_at = false;
    }
    return all;
}

void fake_vk_submit_locked(struct fake_vk_batch *b)
{
    struct fake_vk_batch **at = &g_rings[fake_vk_state.aliased ? 0 : b->queue];

    for (unsigned i = 0; i < b->waits_count; i++) {
        if (!b->waits[i].semaphore->timeline && !is_submitted(&b->waits[i]))
            atomic_fetch_add(&fake_vk_state.illegal, 1);
    }
    if (b->waits_count && !b->has_commands)
        atomic_fetch_add(&fake_vk_state.gates, 1);
    if (b->has_commands)
        atomic_fetch_add(&fake_vk_state.submits[b->queue], 1);
    while (*at)
        at = &(*at)->next;
    *at = b;
    fake_vk_step_locked();
}

bool fake_vk_idle_locked(unsigned queue)
{
    for (unsigned i = 0; i < FAKE_VK_QUEUES; i++) {
        for (const struct fake_vk_batch *b = g_rings[i]; b; b = b->next) {
            if (queue == FAKE_VK_QUEUES || b->queue == queue)
                return false;
        }
    }
    return true;
}

xs_vk_result fake_vk_wait_locked(bool (*done)(const void *arg), const void *arg, uint64_t timeout_ns)
{
    uint64_t most_ns = timeout_ns < HUNG_NS ? timeout_ns : HUNG_NS, next_us;
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += (time_t)((most_ns + (uint64_t)t.tv_nsec) / 1000000000ull);
    t.tv_nsec = (long)((most_ns + (uint64_t)t.tv_nsec) % 1000000000ull);
    while (!done(arg)) {
        if (g_lost)
            return FAKE_VK_LOST;
        if (fake_vk_state.automatic && (next_us = next_locked()) != UINT64_MAX) {
            g_now_us = next_us;
            fake_vk_step_locked();
        } else if (!timeout_ns || pthread_cond_timedwait(&g_changed, &fake_vk_lock, &t) == ETIMEDOUT) {
            if (timeout_ns > HUNG_NS)
                atomic_fetch_add(&fake_vk_state.hung, 1);
            return timeout_ns > HUNG_NS ? FAKE_VK_LOST : XS_VK_TIMEOUT;
        }
    }
    return XS_VK_SUCCESS;
}
