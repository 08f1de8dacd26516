/* SPDX-License-Identifier: Apache-2.0 */
/* Instances, devices and what they are asked; the way in. */
#include "engine.h"
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#define LOADER_MAGIC 0x01CDC0DEul /* ICD_LOADER_MAGIC: the loader puts its own word there */

/* A dispatchable object: the loader owns the first word. Where a test plays the loader, it stays as it is made. */
struct object {
    const void *key;
    unsigned index;
};

static struct object g_instance, g_physical, g_device;
static struct object g_queues[FAKE_VK_QUEUES];

unsigned fake_vk_queue_index(xs_vk_handle queue)
{
    return ((struct object *)queue)->index;
}

xs_vk_handle fake_vk_physical(void)
{
    return &g_physical;
}

static xs_vk_result create_instance(const struct xs_vk_instance_create *create, const void *allocator, xs_vk_handle *ret)
{
    (void)create, (void)allocator;
    g_instance.key = g_physical.key = (const void *)LOADER_MAGIC;
    *ret = &g_instance;
    return XS_VK_SUCCESS;
}

static void destroy(xs_vk_handle object, const void *allocator)
{
    (void)object, (void)allocator;
}

static void destroy_device(xs_vk_handle device, const void *allocator)
{
    (void)device, (void)allocator;
    fake_vk_free_commands();
}

static xs_vk_result enumerate(xs_vk_handle instance, uint32_t *count, xs_vk_handle *ret)
{
    (void)instance;
    if (ret && *count)
        ret[0] = &g_physical;
    *count = 1;
    return XS_VK_SUCCESS;
}

static void properties(xs_vk_handle physical, struct xs_vk_properties *ret)
{
    (void)physical;
    memset(ret, 0, sizeof(*ret));
    ret->api = XS_VK_API(1, 3);
    ret->kind = XS_VK_DISCRETE_GPU;
    strcpy(ret->name, "fake device");
}

static void properties_2(xs_vk_handle physical, struct xs_vk_properties_2 *ret)
{
    properties(physical, &ret->properties);
    for (struct xs_vk_base *b = ret->next; b; b = (struct xs_vk_base *)(uintptr_t)b->next) {
        if (b->type == XS_VK_TYPE_PCI_BUS) {
            struct xs_vk_pci_bus *bus = (struct xs_vk_pci_bus *)(void *)b;

            bus->domain = bus->function = 0;
            bus->device = fake_vk_state.slot;
            bus->bus = fake_vk_state.bus;
        }
    }
}

static void features(xs_vk_handle physical, uint32_t *ret)
{
    (void)physical;
    memset(ret, 0, sizeof(((struct xs_vk_features_2 *)0)->features));
}

static void features_2(xs_vk_handle physical, struct xs_vk_features_2 *ret)
{
    features(physical, ret->features);
    for (struct xs_vk_base *b = ret->next; b; b = (struct xs_vk_base *)(uintptr_t)b->next) {
        if (b->type == XS_VK_TYPE_TIMELINE_FEATURES)
            ((struct xs_vk_timeline_features *)(void *)b)->timeline = !fake_vk_state.no_timeline;
    }
}

static void memory_properties(xs_vk_handle physical, struct xs_vk_memory_properties *ret)
{
    (void)physical;
    memset(ret, 0, sizeof(*ret));
    ret->types_count = ret->heaps_count = 1;
    ret->types[0].flags = 7;      /* of the device, visible and coherent */
    ret->heaps[0].bytes = 1ull << 30;
    ret->heaps[0].flags = XS_VK_HEAP_DEVICE_LOCAL;
}

static void memory_properties_2(xs_vk_handle physical, struct xs_vk_memory_properties_2 *ret)
{
    memory_properties(physical, &ret->properties);
}

struct family {
    uint32_t flags, queues, timestamp_bits, granularity[3];
};

static void families(xs_vk_handle physical, uint32_t *count, struct family *ret)
{
    (void)physical;
    for (uint32_t i = 0; ret && i < *count && i < FAKE_VK_FAMILIES; i++)
        ret[i] = (struct family){i ? 6 : 7, FAKE_VK_PER_FAMILY, 64, {1, 1, 1}}; /* all, or compute and copies */
    *count = FAKE_VK_FAMILIES;
}

static xs_vk_result extensions(xs_vk_handle physical, const char *layer, uint32_t *count, struct xs_vk_extension *ret)
{
    static const char *const names[] = {"VK_EXT_pci_bus_info", "VK_KHR_swapchain", "VK_KHR_global_priority"};
    uint32_t n = fake_vk_state.highest_priority ? 3 : 2;

    (void)physical, (void)layer;
    for (uint32_t i = 0; ret && i < *count && i < n; i++)
        ret[i] = (struct xs_vk_extension){.version = 1};
    for (uint32_t i = 0; ret && i < *count && i < n; i++)
        strcpy(ret[i].name, names[i]);
    *count = n;
    return XS_VK_SUCCESS;
}

static xs_vk_result no_extensions(const char *layer, uint32_t *count, struct xs_vk_extension *ret)
{
    (void)layer, (void)ret;
    *count = 0;
    return XS_VK_SUCCESS;
}

static xs_vk_result create_device(xs_vk_handle physical, const struct xs_vk_device_create *create, const void *allocator,
                                  xs_vk_handle *ret)
{
    const struct xs_vk_queue_create *q = create->queues;
    int32_t priority = 0;

    (void)physical, (void)allocator;
    for (const struct xs_vk_base *b = create->queues_count ? q->next : NULL; b; b = b->next) {
        if (b->type == XS_VK_TYPE_GLOBAL_PRIORITY)
            priority = ((const struct xs_vk_global_priority *)(const void *)b)->priority;
    }
    if (priority > fake_vk_state.highest_priority)
        return XS_VK_ERROR_NOT_PERMITTED;
    fake_vk_state.priority = priority;
    g_device.key = (const void *)LOADER_MAGIC;
    for (unsigned i = 0; i < FAKE_VK_QUEUES; i++)
        g_queues[i] = (struct object){g_device.key, i};
    *ret = &g_device;
    return XS_VK_SUCCESS;
}

static void get_queue(xs_vk_handle device, uint32_t family, uint32_t index, xs_vk_handle *ret)
{
    (void)device;
    *ret = &g_queues[family * FAKE_VK_PER_FAMILY + index];
}

static void get_queue_2(xs_vk_handle device, const struct xs_vk_queue_wanted *wanted, xs_vk_handle *ret)
{
    get_queue(device, wanted->family, wanted->index, ret);
}

/* What is made and not used by the device. */
static xs_vk_result make(xs_vk_handle device, const void *create, const void *allocator, xs_vk_object *ret)
{
    static _Atomic xs_vk_object last = 1000000;

    (void)device, (void)create, (void)allocator;
    *ret = atomic_fetch_add(&last, 1);
    return XS_VK_SUCCESS;
}

static xs_vk_result succeed(void)
{
    return XS_VK_SUCCESS;
}

static void nothing(void)
{
}

xs_vk_function fake_vk_function(xs_vk_handle object, const char *name)
{
    static const struct {
        const char *name;
        xs_vk_function f;
    } k[] = {
#define F(name, f) {#name, (xs_vk_function)f}
        F(vkCreateInstance, create_instance), F(vkDestroyInstance, destroy), F(vkEnumeratePhysicalDevices, enumerate),
        F(vkEnumerateInstanceExtensionProperties, no_extensions), F(vkEnumerateDeviceExtensionProperties, extensions),
        F(vkGetPhysicalDeviceProperties, properties), F(vkGetPhysicalDeviceProperties2, properties_2),
        F(vkGetPhysicalDeviceFeatures, features), F(vkGetPhysicalDeviceFeatures2, features_2),
        F(vkGetPhysicalDeviceMemoryProperties, memory_properties),
        F(vkGetPhysicalDeviceMemoryProperties2, memory_properties_2),
        F(vkGetPhysicalDeviceQueueFamilyProperties, families), F(vkGetPhysicalDeviceFormatProperties, nothing),
        F(vkGetPhysicalDeviceImageFormatProperties, succeed), F(vkGetInstanceProcAddr, fake_vk_function),
        F(vkGetPhysicalDeviceSparseImageFormatProperties, nothing),
        F(vkCreateDevice, create_device), F(vkDestroyDevice, destroy_device), F(vkGetDeviceProcAddr, fake_vk_function),
        F(vkGetDeviceQueue, get_queue), F(vkGetDeviceQueue2, get_queue_2),
        F(vkCreateCommandPool, make), F(vkDestroyCommandPool, nothing), F(vkCreateBuffer, make), F(vkDestroyBuffer, nothing),
        F(vkAllocateMemory, make), F(vkFreeMemory, nothing),
#undef F
    };
    xs_vk_function f = fake_vk_call(name);

    (void)object;
    for (size_t i = 0; !f && i < sizeof(k) / sizeof(k[0]); i++) {
        if (strcmp(k[i].name, name) == 0)
            f = k[i].f;
    }
    return f;
}

__attribute__((visibility("default"))) xs_vk_result vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
__attribute__((visibility("default"))) xs_vk_function vk_icdGetInstanceProcAddr(xs_vk_handle instance, const char *name);

xs_vk_result vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    if (*version > 5)
        *version = 5;
    return XS_VK_SUCCESS;
}

xs_vk_function vk_icdGetInstanceProcAddr(xs_vk_handle instance, const char *name)
{
    return fake_vk_function(instance, name);
}
