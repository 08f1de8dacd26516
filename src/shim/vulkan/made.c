/* SPDX-License-Identifier: Apache-2.0 */
/* Instances, devices and queues as the program makes them. */
#include "shim/vulkan/device_wish.h"
#include "shim/vulkan/vk_layer.h"

#include "base/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EXTENDED "VK_KHR_get_physical_device_properties2"

static struct xs_map g_instances; /* by dispatch key */

struct xs_vk_instance *xs_vk_instance_of(xs_vk_handle object)
{
    return xs_map_get(&g_instances, xs_vk_dispatch_key(object));
}

/* The loader's part in the chain of a create call. NULL: none */
static struct xs_vk_layer_create *link_of(const void *chain, int32_t type)
{
    for (const struct xs_vk_base *b = chain; b; b = b->next) {
        struct xs_vk_layer_create *l = (struct xs_vk_layer_create *)(uintptr_t)b;

        if (b->type == type && l->function == XS_VK_LINK_INFO)
            return l;
    }
    return NULL;
}

xs_vk_result xs_vk_vkCreateInstance(const struct xs_vk_instance_create *create, const void *allocator, xs_vk_handle *ret)
{
    struct xs_vk_layer_create *l = link_of(create->next, XS_VK_TYPE_LAYER_INSTANCE);
    xs_vk_result (*next)(const struct xs_vk_instance_create *, const void *, xs_vk_handle *);
    struct xs_vk_instance *i;
    xs_vk_get_function get;
    xs_vk_function f;
    xs_vk_result r;

    if (!l || !l->link.instance)
        return XS_VK_ERROR_INITIALIZATION_FAILED;
    get = l->link.instance->instance_function;
    l->link.instance = l->link.instance->next;
    f = get(NULL, "vkCreateInstance");
    if (!f)
        return XS_VK_ERROR_INITIALIZATION_FAILED;
    memcpy(&next, &f, sizeof(next));
    i = calloc(1, sizeof(*i));
    r = i ? next(create, allocator, ret) : XS_VK_ERROR_OUT_OF_HOST_MEMORY;
    if (r != XS_VK_SUCCESS) {
        free(i);
        return r;
    }
    i->instance = *ret;
    i->get = get;
    f = get(*ret, "vkDestroyInstance");
    memcpy(&i->destroy, &f, sizeof(f));
    f = get(*ret, "vkCreateDevice");
    memcpy(&i->create_device, &f, sizeof(f));
    i->api = create->application && create->application->api ? create->application->api : XS_VK_API(1, 0);
    i->extended = xs_vk_names(create->extensions, create->extensions_count, EXTENDED);
    xsched_priv_vk_physical_api(get, *ret, i->api, &i->physical);
    if (xs_map_put(&g_instances, xs_vk_dispatch_key(*ret), i) < 0) {
        i->destroy(*ret, allocator);
        free(i);
        return XS_VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    return r;
}

void xs_vk_vkDestroyInstance(xs_vk_handle instance, const void *allocator)
{
    struct xs_vk_instance *i = instance ? xs_vk_instance_of(instance) : NULL;

    if (!i)
        return;
    xs_map_remove(&g_instances, xs_vk_dispatch_key(instance));
    i->destroy(instance, allocator);
    free(i);
}

xs_vk_result xs_vk_vkCreateDevice(xs_vk_handle physical, const struct xs_vk_device_create *create, const void *allocator,
                                  xs_vk_handle *ret)
{
    struct xs_vk_layer_create *l = link_of(create->next, XS_VK_TYPE_LAYER_DEVICE);
    struct xs_vk_instance *i = xs_vk_instance_of(physical);
    xs_vk_get_function get_device;
    struct xs_vk_device_link *behind;
    struct xs_vk_device_wish wish;
    struct xs_vk_physical p;
    xs_vk_result r;
    unsigned more;

    if (!l || !l->link.device || !i)
        return XS_VK_ERROR_INITIALIZATION_FAILED;
    get_device = l->link.device->device_function;
    behind = l->link.device->next;
    xsched_priv_vk_physical(&i->physical, physical, i->api, i->extended, &p);
    l->link.device = behind;
    /* The driver may refuse because of our wishes: then tries with fewer, and last as the program asked. */
    more = xs_shim_disabled ? 0 : xs_vk_wishes(&p, create);
    do {
        more = xs_vk_wish(&p, create, more, &wish);
        l->link.device = behind;  /* the next layer took its part of it */
        r = i->create_device(physical, &wish.create, allocator, ret);
        xs_vk_wish_free(&wish);
    } while (r != XS_VK_SUCCESS && more && (more &= more - 1, true));
    if (r == XS_VK_SUCCESS &&
        !xsched_priv_vk_device_new(*ret, physical, get_device, p.identity, more & XS_VK_WISH_TIMELINE)) {
        void (*destroy)(xs_vk_handle, const void *);
        xs_vk_function f = get_device(*ret, "vkDestroyDevice");

        memcpy(&destroy, &f, sizeof(destroy));
        destroy(*ret, allocator);
        return XS_VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (r == XS_VK_SUCCESS && xs_shim_tracing)
        xs_trace_note("Vulkan: device %" PRIx64 "%s%s", (uint64_t)p.identity,
                      more & XS_VK_WISH_TIMELINE ? "" : ", without timeline semaphores",
                      more & XS_VK_WISH_PRIORITY ? ", with a global priority" : "");
    return r;
}

void xs_vk_vkDestroyDevice(xs_vk_handle device, const void *allocator)
{
    struct xs_vk_device *d = device ? xsched_priv_vk_device_of(device) : NULL;

    if (d) {
        xs_vk_memory_device_ends(device);
        xsched_priv_vk_device_destroy(d, allocator);
    }
}

static void given(struct xs_vk_device *d, xs_vk_handle queue, uint32_t family, uint32_t index)
{
    if (queue)
        xsched_priv_vk_queue_given(d, queue, family, index);
}

void xs_vk_vkGetDeviceQueue(xs_vk_handle device, uint32_t family, uint32_t index, xs_vk_handle *ret)
{
    struct xs_vk_device *d = xsched_priv_vk_device_of(device);

    d->api.vkGetDeviceQueue(device, family, index, ret);
    given(d, *ret, family, index);
}

void xs_vk_vkGetDeviceQueue2(xs_vk_handle device, const struct xs_vk_queue_wanted *wanted, xs_vk_handle *ret)
{
    struct xs_vk_device *d = xsched_priv_vk_device_of(device);

    d->api.vkGetDeviceQueue2(device, wanted, ret);
    given(d, *ret, wanted->family, wanted->index);
}
