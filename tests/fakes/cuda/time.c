/* SPDX-License-Identifier: Apache-2.0 */
/* Where time comes from, and the channel group of a context: of this process alone, or of a world. */
#include "internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "nvrm/nvrm_layout.h"

/* fakes/world, if that is preloaded */
bool fake_world_virtual(void) __attribute__((weak));
int fake_world_slot(uint32_t client, uint32_t group) __attribute__((weak));
void fake_world_slot_ends(int slot) __attribute__((weak));
void fake_world_run(int slot, uint64_t ns) __attribute__((weak));
void fake_world_turn(void) __attribute__((weak));
void fake_world_polls(int dev, bool on, void (*poke)(void)) __attribute__((weak));

#define CHANNELS 8 /* of a group */

static bool in_world(void)
{
    return fake_world_virtual && fake_world_virtual();
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

void fake_time_take(struct CUctx_st *c, uint64_t ns)
{
    uint64_t end, now, next;

    if (c->slot >= 0) {
        fake_world_run(c->slot, ns);
        fake_world_turn();
        return;
    }
    now = now_ns();
    end = now + ns;
    while (now < end) {
        bool paused = fake_paused && fake_paused(c->dev);
        unsigned speed = paused ? 0 : fake_speed ? fake_speed(c->dev) : 1000;

        if (paused || end - now > 200000)
            nanosleep(&(struct timespec){0, 100000}, NULL);
        next = now_ns();
        if (speed < 1000)
            end += (next - now) * (1000 - speed) / 1000;
        now = next;
    }
}

void fake_time_slow(struct CUctx_st *c, uint64_t ns)
{
    uint64_t speed = fake_speed(c->dev);

    if (speed < 1000)
        fake_time_take(c, ns * (1000 - speed) / 1000); /* at that speed */
}

static void poke(void)
{
    pthread_mutex_lock(&fake_lock);
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

void fake_time_idle_locked(int dev, bool for_memory)
{
    struct timespec t;

    if (in_world()) {
        fake_world_polls(dev, for_memory, poke);
        pthread_cond_wait(&fake_changed, &fake_lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 200000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_cond_timedwait(&fake_changed, &fake_lock, &t);
}

bool fake_time_turn_locked(void)
{
    static _Thread_local bool waited;

    if (!in_world() || waited) {
        waited = false;
        return true;
    }
    pthread_mutex_unlock(&fake_lock);
    fake_world_turn();
    pthread_mutex_lock(&fake_lock);
    waited = true;
    return false;
}

/* ---- channel groups, as the driver's library asks the kernel driver for them ---- */

static int g_control = -1;
static uint32_t g_client, g_device, g_subdevice; /* under fake_lock */

static uint32_t alloc(uint32_t client, uint32_t parent, uint32_t object_class, void *params, uint32_t bytes)
{
    struct xs_nvrm_alloc a = {.client = client, .parent = parent, .object_class = object_class,
                              .params = (uint64_t)(uintptr_t)params, .params_bytes = bytes};

    return ioctl(g_control, XS_NVRM_IOC_ALLOC, &a) == 0 && a.status == 0 ? a.object : 0;
}

void fake_group_new(struct CUctx_st *c)
{
    struct xs_nvrm_group_params p = {.engine = 1};

    c->slot = -1;
    if (!getenv("FAKE_WORLD") || c->dev != 0) /* the world has one GPU */
        return;
    if (g_control < 0) {
        g_control = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
        g_client = alloc(0, 0, XS_NVRM_CLASS_CLIENT, NULL, 0);
        g_device = alloc(g_client, g_client, XS_NVRM_CLASS_DEVICE, NULL, 0);
        g_subdevice = alloc(g_client, g_device, XS_NVRM_CLASS_SUBDEVICE, NULL, 0);
    }
    if (g_subdevice)
        c->group = alloc(g_client, g_device, XS_NVRM_CLASS_GROUP, &p, sizeof(p));
    for (int i = 0; c->group && i < CHANNELS; i++)
        alloc(g_client, c->group, 0xc86f, NULL, 0);
    if (in_world())
        c->slot = fake_world_slot(g_client, c->group);
}

void fake_group_ends(struct CUctx_st *c)
{
    struct xs_nvrm_free f = {.client = g_client, .parent = g_device, .object = c->group};

    if (c->slot >= 0)
        fake_world_slot_ends(c->slot);
    if (c->group)
        ioctl(g_control, XS_NVRM_IOC_FREE, &f);
    c->slot = -1;
    c->group = 0;
}
