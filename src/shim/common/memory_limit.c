/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/common/memory_limit.h"

#include "base/env.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/size.h"
#include "xqueue/interface.h"

#include <stdlib.h>

#define DEVICES 64

struct xs_mem_entry {
    struct xs_list link;
    enum xs_mem_kind kind;
    uint64_t key, bytes;
    uint64_t noted;               /* the value of g_noted then */
    const void *owner;
    int device;
    unsigned holds;
};

struct mapping {
    struct xs_list link;
    uint64_t address, bytes, handle;
    uint64_t noted;
};

/* Lock 5: memory counted under a limit, and changes of g_maps. Allocations and frees of the program hold
 * it, under a limit, and release it before the vendor's function. */
static struct xs_lock g_lock;
static struct device {
    uint64_t id, limit, used;
} g_devices[DEVICES];
static int g_n_devices;
static struct xs_map g_maps[XS_MEM_KINDS]; /* to entries; changed under g_lock */
static struct xs_list g_entries, g_mappings;
static uint64_t g_noted;      /* counts notes, and calls that may free something */

/* XSCHED_MEM_LIMIT; constant after the first read. */
static struct xs_size g_limit;
static _Atomic int g_read; /* 0: not yet, 1: no limit, 2: a limit */

bool xs_mem_limited(void)
{
    int seen = atomic_load_explicit(&g_read, memory_order_acquire); /* pairs with the release below */
    struct xs_value limit;
    bool limited;

    if (seen)
        return seen == 2;
    limited = !xs_env_bool(XS_ENV_XSCHED_DISABLE, false) && xs_env_value(XS_ENV_XSCHED_MEM_LIMIT, &limit);
    xs_lock_acquire(&g_lock);
    if (atomic_load_explicit(&g_read, memory_order_relaxed) == 0) {
        if (limited)
            g_limit = limit.size;
        xs_list_init(&g_entries);
        xs_list_init(&g_mappings);
        atomic_store_explicit(&g_read, limited ? 2 : 1, memory_order_release);
    }
    seen = atomic_load_explicit(&g_read, memory_order_relaxed);
    xs_lock_release(&g_lock);
    return seen == 2;
}

/* Tells xserver; stores only. */
static void tell_locked(void)
{
    uint64_t used = 0, limit = 0;

    for (int i = 0; i < g_n_devices; i++) {
        used += g_devices[i].used;
        limit += XS_MIN(g_devices[i].limit, UINT64_MAX / DEVICES);
    }
    xsched_priv_memory(used, limit);
}

static int find_locked(uint64_t id)
{
    for (int i = 0; i < g_n_devices; i++)
        if (g_devices[i].id == id)
            return i;
    return -1;
}

int xs_mem_find(uint64_t id)
{
    int i;

    xs_lock_acquire(&g_lock);
    i = find_locked(id);
    xs_lock_release(&g_lock);
    return i;
}

int xs_mem_add(uint64_t id, uint64_t total)
{
    int i;

    if (g_limit.percent && !total) {
        XS_WARN_ONCE("a device does not say how much memory it has: it is not limited");
        return -1;
    }
    xs_lock_acquire(&g_lock);
    i = find_locked(id);
    if (i < 0 && g_n_devices < DEVICES) {
        i = g_n_devices++;
        g_devices[i] = (struct device){
            .id = id,
            .limit = g_limit.percent ? total / 100 * g_limit.percent + total % 100 * g_limit.percent / 100
                                     : g_limit.bytes,
        };
        tell_locked();
    }
    xs_lock_release(&g_lock);
    return i;
}

bool xs_mem_take(int device, uint64_t bytes)
{
    struct device d;
    bool fits = true;

    if (device < 0)
        return true;
    xs_lock_acquire(&g_lock);
    fits = bytes <= g_devices[device].limit && g_devices[device].used <= g_devices[device].limit - bytes;
    if (fits) {
        g_devices[device].used += bytes;
        tell_locked();
    }
    d = g_devices[device];
    xs_lock_release(&g_lock);
    if (!fits)
        XS_WARN_ONCE("XSCHED_MEM_LIMIT: refused %llu bytes, %llu of %llu are in use",
                     (unsigned long long)bytes, (unsigned long long)d.used, (unsigned long long)d.limit);
    return fits;
}

static void give_locked(int device, uint64_t bytes)
{
    if (device < 0)
        return;
    g_devices[device].used -= XS_MIN(bytes, g_devices[device].used);
    tell_locked();
}

void xs_mem_give(int device, uint64_t bytes)
{
    xs_lock_acquire(&g_lock);
    give_locked(device, bytes);
    xs_lock_release(&g_lock);
}

void xs_mem_count(int device, uint64_t bytes)
{
    xs_lock_acquire(&g_lock);
    g_devices[device].used += bytes;
    tell_locked();
    xs_lock_release(&g_lock);
}

void xs_mem_view(int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct device d;

    if (device < 0)
        return;
    xs_lock_acquire(&g_lock);
    d = g_devices[device];
    xs_lock_release(&g_lock);
    if (total_bytes)
        *total_bytes = XS_MIN(*total_bytes, d.limit);
    if (free_bytes)
        *free_bytes = XS_MIN(*free_bytes, d.limit > d.used ? d.limit - d.used : 0);
}

/* ---- the objects that have the bytes ---- */

static void remove_locked(struct xs_mem_entry *e)
{
    xs_map_remove(&g_maps[e->kind], e->key);
    xs_list_remove(&e->link);
}

static void forget_locked(struct xs_mem_entry *e)
{
    remove_locked(e);
    give_locked(e->device, e->bytes);
    free(e);
}

/* @return false when there is no memory */
static bool insert_locked(struct xs_mem_entry *e)
{
    struct xs_mem_entry *old = xs_map_get(&g_maps[e->kind], e->key);

    if (old) /* the vendor freed it in a way that we did not see */
        forget_locked(old);
    if (xs_map_put(&g_maps[e->kind], e->key, e) < 0)
        return false;
    xs_list_add(&g_entries, &e->link);
    return true;
}

void xs_mem_note(enum xs_mem_kind kind, uint64_t key, int device, uint64_t bytes, const void *owner)
{
    struct xs_mem_entry *e = device < 0 || !key ? NULL : calloc(1, sizeof(*e));

    xs_lock_acquire(&g_lock);
    if (e) {
        e->noted = ++g_noted;
        xs_list_init(&e->link);
        e->kind = kind;
        e->key = key;
        e->bytes = bytes;
        e->owner = owner;
        e->device = device;
        e->holds = 1;
    }
    if (!e || !insert_locked(e)) {
        give_locked(device, bytes);
        free(e);
    }
    xs_lock_release(&g_lock);
}

struct xs_mem_entry *xs_mem_out(enum xs_mem_kind kind, uint64_t key)
{
    struct xs_mem_entry *e;

    if (!key)
        return NULL;
    xs_lock_acquire(&g_lock);
    e = xs_map_get(&g_maps[kind], key);
    if (e)
        remove_locked(e);
    xs_lock_release(&g_lock);
    return e;
}

void xs_mem_settle(struct xs_mem_entry *e, bool freed)
{
    if (!e)
        return;
    xs_lock_acquire(&g_lock);
    if (freed || xs_map_get(&g_maps[e->kind], e->key) || !insert_locked(e)) {
        give_locked(e->device, e->bytes);
        free(e);
    }
    xs_lock_release(&g_lock);
}

uint64_t xs_mem_before(void)
{
    uint64_t before;

    xs_lock_acquire(&g_lock);
    before = ++g_noted;
    xs_lock_release(&g_lock);
    return before;
}

static bool hold_locked(enum xs_mem_kind kind, uint64_t key)
{
    struct xs_mem_entry *e = key ? xs_map_get(&g_maps[kind], key) : NULL;

    if (e)
        e->holds++;
    return e != NULL;
}

static void unhold_locked(enum xs_mem_kind kind, uint64_t key, uint64_t before)
{
    struct xs_mem_entry *e = key ? xs_map_get(&g_maps[kind], key) : NULL;

    if (e && e->noted < before && --e->holds == 0)
        forget_locked(e);
}

bool xs_mem_hold(enum xs_mem_kind kind, uint64_t key)
{
    bool known;

    xs_lock_acquire(&g_lock);
    known = hold_locked(kind, key);
    xs_lock_release(&g_lock);
    return known;
}

void xs_mem_unhold(enum xs_mem_kind kind, uint64_t key, uint64_t before)
{
    xs_lock_acquire(&g_lock);
    unhold_locked(kind, key, before);
    xs_lock_release(&g_lock);
}

void xs_mem_map(uint64_t address, uint64_t bytes, uint64_t handle)
{
    struct mapping *m = calloc(1, sizeof(*m));

    if (!m)
        return;
    *m = (struct mapping){.address = address, .bytes = bytes, .handle = handle};
    xs_lock_acquire(&g_lock);
    if (hold_locked(XS_MEM_HANDLE, handle)) {
        m->noted = ++g_noted;
        xs_list_init(&m->link);
        xs_list_add(&g_mappings, &m->link);
        m = NULL;
    }
    xs_lock_release(&g_lock);
    free(m);
}

void xs_mem_unmap(uint64_t address, uint64_t bytes, uint64_t before)
{
    xs_lock_acquire(&g_lock);
    XS_LIST_FOR_SAFE (m, &g_mappings, struct mapping, link) {
        if (m->noted >= before || m->address < address || m->address - address >= bytes)
            continue;
        unhold_locked(XS_MEM_HANDLE, m->handle, before);
        xs_list_remove(&m->link);
        free(m);
    }
    xs_lock_release(&g_lock);
}

void xs_mem_owner_gone(const void *owner, uint64_t before)
{
    if (!owner)
        return;
    xs_lock_acquire(&g_lock);
    XS_LIST_FOR_SAFE (e, &g_entries, struct xs_mem_entry, link) {
        if (e->owner == owner && e->noted < before)
            forget_locked(e);
    }
    xs_lock_release(&g_lock);
}
