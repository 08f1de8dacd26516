/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: their identity, the streams on them that have hardware queues, and how XSched learns of the
 * completion of commands there. */
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/pci.h"
#include "hal/hip/hal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Lock 7: the list of devices and their pages. */
static struct xs_lock g_lock;
static struct xs_hip_device *g_devices;

static struct xs_hip_device *find_locked(const struct xs_hip_api *api, int dev)
{
    for (struct xs_hip_device *d = g_devices; d; d = d->next)
        if (d->api == api && d->dev == dev)
            return d;
    return NULL;
}

/* By the address: the attributes that say the same have different numbers in different versions. */
static XDevice identity(const struct xs_hip_api *api, int dev)
{
    uint32_t number = 0xffff0000u | (uint32_t)(dev & 0xffff);
    char text[32] = "";

    if (api->hipDeviceGetPCIBusId && api->hipDeviceGetPCIBusId(text, sizeof(text) - 1, dev) == XS_HIP_SUCCESS)
        xs_pci_parse(text, &number);
    return (XDevice)kDeviceTypeGPU << 32 | number;
}

struct xs_hip_device *xs_hip_device_get(const struct xs_hip_api *api, int dev)
{
    struct xs_hip_device *d, *other;

    xs_lock_acquire(&g_lock);
    d = find_locked(api, dev);
    xs_lock_release(&g_lock);
    if (d || dev < 0)
        return d;
    if (posix_memalign((void **)&d, XS_CACHE_LINE, sizeof(*d)) != 0)
        return NULL;
    memset(d, 0, sizeof(*d));
    d->api = api;
    d->dev = dev;
    d->device = identity(api, dev);
    xs_hip_gates_offer(api);
    xs_lock_acquire(&g_lock);
    other = find_locked(api, dev);
    if (!other) {
        d->next = g_devices;
        g_devices = d;
    }
    xs_lock_release(&g_lock);
    if (other)
        free(d);
    return other ? other : d;
}

/* ---- words that the device writes ---- */

/* A registration always stays until the program resets the device: hipHostUnregister waits for all
 * streams, and one of them may wait for this thread. @return 0: the device cannot see it */
static uint64_t map_page(struct xs_hip_device *d, uintptr_t page, uint64_t serial, void *alias)
{
    void *at = NULL;

    if (d->api->hipHostRegister(alias, XS_PAGE_BYTES, XS_HIP_HOST_REGISTER_PORTABLE_MAPPED) != XS_HIP_SUCCESS) {
        munmap(alias, XS_PAGE_BYTES);
        return 0;
    }
    if (d->api->hipHostGetDevicePointer(&at, alias, 0) != XS_HIP_SUCCESS)
        at = NULL;
    /* full, other threads took the last rows meanwhile: the mapping stays too */
    return xs_device_pages_keep(&d->pages, page, serial, alias, (uintptr_t)at) ? (uintptr_t)at : 0;
}

uint64_t xs_hip_device_address(struct xs_hip_device *d, const void *word, uint64_t serial)
{
    uint64_t at = xs_device_pages_find(&d->pages, word, serial);
    uintptr_t page = xs_page_of(word);
    struct xs_hip_entered e;
    void *alias;

    if (at || xs_device_pages_full(&d->pages) || !xs_hip_enter(d->api, d->dev, &e))
        return at;
    alias = xs_page_alias(page);
    at = alias ? map_page(d, page, serial, alias) : 0;
    xs_hip_leave(&e);
    return at ? at + ((uintptr_t)word - page) : 0;
}

/* Whether a write into registered host memory arrives: documented for memory that the device can reach, but
 * nothing says that every device and runtime does it. */
static bool write_arrives(struct xs_hip_device *d)
{
    static const uint64_t k_number = 0x5853434845440001ull;
    const struct xs_hip_api *api = d->api;
    volatile uint64_t *word = mmap(NULL, XS_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    hipStream_t stream = NULL;
    bool arrived = false;
    uint64_t at;

    if (word == MAP_FAILED)
        return false;
    madvise((void *)(uintptr_t)word, XS_PAGE_BYTES, MADV_DONTFORK);
    at = map_page(d, (uintptr_t)word, 0, (void *)(uintptr_t)word);
    if (at && api->hipStreamCreateWithFlags(&stream, XS_HIP_STREAM_NONBLOCKING) == XS_HIP_SUCCESS) {
        arrived = api->hipStreamWriteValue64(stream, (void *)(uintptr_t)at, k_number, 0) == XS_HIP_SUCCESS &&
                  api->hipStreamSynchronize(stream) == XS_HIP_SUCCESS && *word == k_number;
        api->hipStreamDestroy(stream);
    }
    return arrived;
}

enum xs_hip_marks xs_hip_device_marks(struct xs_hip_device *d)
{
    const struct xs_hip_api *api = d->api;
    const char *wish = xs_env_get(XS_ENV_XSCHED_HIP_MARKS);
    int marks = __atomic_load_n(&d->marks, __ATOMIC_RELAXED); /* any thread's answer is the same */
    struct xs_hip_entered e;

    if (marks != XS_HIP_MARKS_UNKNOWN)
        return (enum xs_hip_marks)marks;
    if ((!wish || strcmp(wish, "EVENT") != 0) && api->hipStreamWriteValue64 && api->hipHostRegister &&
        api->hipHostUnregister && api->hipHostGetDevicePointer && api->hipStreamCreateWithFlags &&
        api->hipStreamDestroy && api->hipStreamSynchronize && xs_hip_enter(api, d->dev, &e)) {
        if (write_arrives(d))
            marks = XS_HIP_MARKS_WRITE;
        xs_hip_leave(&e);
    }
    if (marks == XS_HIP_MARKS_UNKNOWN && api->hipEventCreateWithFlags && api->hipEventRecord && api->hipEventQuery)
        marks = XS_HIP_MARKS_EVENT;
    if (marks == XS_HIP_MARKS_UNKNOWN) {
        marks = XS_HIP_MARKS_NONE;
        XS_WARN_ONCE("HIP: this runtime has neither stream writes nor events; nothing bounds the commands in flight");
    }
    __atomic_store_n(&d->marks, marks, __ATOMIC_RELAXED);
    XS_INFO("HIP: device %d: completion is learnt from %s", d->dev,
            marks == XS_HIP_MARKS_WRITE ? "writes of the device" : marks == XS_HIP_MARKS_EVENT ? "events" : "waits only");
    return (enum xs_hip_marks)marks;
}

/* ---- streams of a device ---- */

static struct xs_hip_device *current(const struct xs_hip_api *api)
{
    struct xs_hip_device *d;
    int dev = -1;

    if (!api || !api->hipGetDevice)
        return NULL;
    /* Repeats the query if need be: a thread that does not learn which device the program resets asks for
     * events that are gone. */
    for (int tries = 0; api->hipGetDevice(&dev) != XS_HIP_SUCCESS; tries++)
        if (tries)
            return NULL;
    xs_lock_acquire(&g_lock);
    d = find_locked(api, dev);
    xs_lock_release(&g_lock);
    return d;
}

XS_EXPORT void xsched_priv_hip_each_queue(const struct xs_hip_api *api, void (*fn)(struct xs_queue *q, void *arg),
                                          void *arg)
{
    struct xs_hip_device *d = current(api);

    if (d)
        xs_group_each_queue(&xs_hip_streams, &d->group, fn, arg);
}

/* ---- reset ---- */

XS_EXPORT struct xs_hip_device *xsched_priv_hip_reset(const struct xs_hip_api *api)
{
    struct xs_hip_device *d = current(api);

    if (!d)
        return NULL;
    xs_group_take(&xs_hip_streams, &d->group);
    xs_watch_hold(&d->watch);
    return d;
}

static void unregister(void *alias, void *api)
{
    ((const struct xs_hip_api *)api)->hipHostUnregister(alias);
}

/* Some resets succeed and end nothing (hipDevicePrimaryCtxReset of ROCm's runtime): streams go on, and the
 * device writes the marks that stand in them. The unregistration waits for those. If the reset ended the
 * registrations, it fails, which does no harm. */
static void pages_end(struct xs_hip_device *d)
{
    struct xs_hip_entered e;

    if (d->api->hipHostUnregister && xs_hip_enter(d->api, d->dev, &e)) {
        xs_device_pages_drop(&d->pages, unregister, (void *)(uintptr_t)d->api);
        xs_hip_leave(&e);
    } else {
        xs_device_pages_drop(&d->pages, NULL, NULL);
    }
}

XS_EXPORT void xsched_priv_hip_reset_done(struct xs_hip_device *d, bool destroyed)
{
    if (!d)
        return;
    if (destroyed)
        xs_watch_forget(&xs_hip_watch, &d->watch);
    xs_watch_go_on(&d->watch);
    if (destroyed) {
        pages_end(d);
        xs_hip_mark_stream_gone(d);
        xsched_priv_marks_void(&d->ctx_entries); /* the device writes there no more */
    }
}
