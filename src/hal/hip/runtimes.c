/* SPDX-License-Identifier: Apache-2.0 */
/* The copies of the runtime in this process. */
#include "base/lock.h"
#include "base/log.h"
#include "hal/common/next_symbol.h"
#include "hal/hip/hal.h"

#include <string.h>

XS_EXPORT const struct xs_vendor xsched_priv_hip_vendor = {
    .platform = &xs_platforms[XS_PLATFORM_HIP],
    .probe = "hipGetDeviceCount",
};

static struct xs_hip_api g_apis[XS_HIP_RUNTIMES]; /* each written once under g_lock, before g_count */
/* Lock 7: the functions of each copy of the runtime, until they are complete. */
static struct xs_lock g_lock;
static _Atomic unsigned g_count;

static const struct xs_hip_api *known(void *handle, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (g_apis[i].handle == handle)
            return &g_apis[i];
    return NULL;
}

XS_EXPORT const struct xs_hip_api *xsched_priv_hip_bind(void *handle)
{
    /* acquire pairs with the release below */
    const struct xs_hip_api *found = known(handle, atomic_load_explicit(&g_count, memory_order_acquire));
    struct xs_hip_api api = {.handle = handle};
    unsigned count;

    if (found)
        return found;
    /* through memcpy: a function pointer out of an object pointer */
#define HIP_USED(name, params)                                                                    \
    do {                                                                                          \
        void *p = xs_dlsym(handle, #name);                                                           \
        memcpy(&api.name, &p, sizeof(p));                                                         \
    } while (0);
#include "hal/hip/used.def"
#undef HIP_USED
    xs_lock_acquire(&g_lock);
    count = atomic_load_explicit(&g_count, memory_order_relaxed);
    found = known(handle, count);
    if (!found && count < XS_HIP_RUNTIMES) {
        api.index = count;
        g_apis[count] = api;
        found = &g_apis[count];
        /* release pairs with the acquire loads in this file: the row is complete */
        atomic_store_explicit(&g_count, count + 1, memory_order_release);
    }
    xs_lock_release(&g_lock);
    return found;
}

XS_EXPORT const struct xs_hip_api *xsched_priv_hip_api(const void *caller)
{
    char path[512];
    void *handle;

    if (XS_LIKELY(atomic_load_explicit(&g_count, memory_order_acquire)))
        return &g_apis[0];
    if (xs_vendor_open(&xsched_priv_hip_vendor, caller, &handle, path, sizeof(path)) < 0)
        return NULL;
    return xsched_priv_hip_bind(handle);
}

static bool knows(const struct xs_hip_api *api, hipStream_t stream)
{
    struct xs_hip_entered e;
    unsigned flags;
    int dev = -1;
    bool ok;

    if (!xs_hip_enter(api, -1, &e))
        return false;
    if (api->hipGetStreamDeviceId)
        ok = api->hipGetStreamDeviceId(stream) >= 0;
    else if (api->hipStreamGetDevice)
        ok = api->hipStreamGetDevice(stream, &dev) == XS_HIP_SUCCESS;
    else
        ok = api->hipStreamGetFlags && api->hipStreamGetFlags(stream, &flags) == XS_HIP_SUCCESS;
    xs_hip_leave(&e);
    return ok;
}

/* Copies that no call through us has used yet: a framework may have made the stream with its own copy. */
static void bind_mapped(void)
{
    void *handles[XS_HIP_RUNTIMES];
    size_t n = xs_vendor_mapped(&xsched_priv_hip_vendor, handles, XS_ARRAY_LEN(handles));

    for (size_t i = 0; i < n; i++)
        xsched_priv_hip_bind(handles[i]);
}

const struct xs_hip_api *xs_hip_api_of_stream(hipStream_t stream)
{
    for (int again = 0; again < 2; again++) {
        unsigned count = atomic_load_explicit(&g_count, memory_order_acquire);

        for (unsigned i = 0; i < count; i++)
            if (knows(&g_apis[i], stream))
                return &g_apis[i];
        if (!again)
            bind_mapped();
    }
    return NULL;
}

bool xs_hip_enter(const struct xs_hip_api *api, int dev, struct xs_hip_entered *e)
{
    int current = -1;

    e->api = api;
    e->dev = -1;
    e->mode = XS_HIP_CAPTURE_MODE_RELAXED;
    e->exchanged = false;
    e->error = api->hipPeekAtLastError ? api->hipPeekAtLastError() : XS_HIP_SUCCESS;
    if (api->hipThreadExchangeStreamCaptureMode)
        e->exchanged = api->hipThreadExchangeStreamCaptureMode(&e->mode) == XS_HIP_SUCCESS;
    if (dev < 0)
        return true;
    if (api->hipGetDevice && api->hipGetDevice(&current) == XS_HIP_SUCCESS && current == dev)
        return true;
    if (api->hipSetDevice && api->hipSetDevice(dev) == XS_HIP_SUCCESS) {
        e->dev = current;
        return true;
    }
    xs_hip_leave(e);
    return false;
}

void xs_hip_leave(struct xs_hip_entered *e)
{
    if (e->dev >= 0)
        e->api->hipSetDevice(e->dev);
    if (e->exchanged)
        e->api->hipThreadExchangeStreamCaptureMode(&e->mode);
    if (e->error == XS_HIP_SUCCESS && e->api->hipPeekAtLastError && e->api->hipPeekAtLastError() != XS_HIP_SUCCESS)
        e->api->hipGetLastError();
}
