/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a physical device, and its features. */
#include "hal/vulkan/hal.h"

#include "base/map.h"
#include "base/pci.h"

#include <stdlib.h>
#include <string.h>

#define PCI_EXTENSION          "VK_EXT_pci_bus_info"
#define PRIORITY_EXTENSION     "VK_KHR_global_priority"
#define PRIORITY_EXTENSION_EXT "VK_EXT_global_priority"

static void get(xs_vk_get_function from, xs_vk_handle instance, const char *name, void *ret)
{
    xs_vk_function f = from(instance, name);

    memcpy(ret, &f, sizeof(f));   /* the types differ */
}

XS_EXPORT void xsched_priv_vk_physical_api(xs_vk_get_function from, xs_vk_handle instance, uint32_t api,
                                           struct xs_vk_physical_api *ret)
{
    bool core = api >= XS_VK_API(1, 1);

    get(from, instance, "vkGetPhysicalDeviceProperties", &ret->properties);
    get(from, instance, "vkEnumerateDeviceExtensionProperties", &ret->extensions);
    get(from, instance, "vkGetPhysicalDeviceMemoryProperties", &ret->memory);
    get(from, instance, core ? "vkGetPhysicalDeviceMemoryProperties2" : "vkGetPhysicalDeviceMemoryProperties2KHR",
        &ret->memory_2);
    get(from, instance, core ? "vkGetPhysicalDeviceProperties2" : "vkGetPhysicalDeviceProperties2KHR", &ret->properties_2);
    get(from, instance, core ? "vkGetPhysicalDeviceFeatures2" : "vkGetPhysicalDeviceFeatures2KHR", &ret->features_2);
}

/* Bits for the device extensions that XSched uses. */
enum { HAS_TIMELINE = 1, HAS_PCI = 2, HAS_PRIORITY = 4, HAS_PRIORITY_EXT = 8 };

static unsigned extensions_of(const struct xs_vk_physical_api *api, xs_vk_handle physical)
{
    struct xs_vk_extension *list;
    unsigned found = 0;
    uint32_t count = 0;

    if (!api->extensions || api->extensions(physical, NULL, &count, NULL) != XS_VK_SUCCESS || !count)
        return 0;
    list = malloc(count * sizeof(*list));
    if (!list)
        return 0;
    if (api->extensions(physical, NULL, &count, list) < 0)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, XS_VK_TIMELINE_EXTENSION) == 0)
            found |= HAS_TIMELINE;
        else if (strcmp(list[i].name, PCI_EXTENSION) == 0)
            found |= HAS_PCI;
        else if (strcmp(list[i].name, PRIORITY_EXTENSION) == 0)
            found |= HAS_PRIORITY;
        else if (strcmp(list[i].name, PRIORITY_EXTENSION_EXT) == 0)
            found |= HAS_PRIORITY_EXT;
    }
    free(list);
    return found;
}

static uint32_t hash_name(const char *name)
{
    uint64_t h = 11;

    for (; *name; name++)
        h = xs_hash_u64(h * 31 + (unsigned char)*name + 1);
    return 0xFFFF0000u | (uint32_t)((h ^ h >> 16 ^ h >> 32 ^ h >> 48) & 0xFFFF);
}

static XDeviceType type_of(int32_t kind)
{
    switch (kind) {
    case XS_VK_INTEGRATED_GPU:
    case XS_VK_DISCRETE_GPU:
    case XS_VK_VIRTUAL_GPU:
        return kDeviceTypeGPU;
    case XS_VK_CPU:
        return kDeviceTypeCPU;
    default:
        return kDeviceTypeUnknown;
    }
}

XS_EXPORT void xsched_priv_vk_physical(const struct xs_vk_physical_api *f, xs_vk_handle physical, uint32_t api,
                                       bool extended, struct xs_vk_physical *ret)
{
    struct xs_vk_timeline_features timeline = {.type = XS_VK_TYPE_TIMELINE_FEATURES};
    struct xs_vk_features_2 features = {.type = XS_VK_TYPE_FEATURES_2, .next = &timeline};
    struct xs_vk_pci_bus bus = {.type = XS_VK_TYPE_PCI_BUS};
    struct xs_vk_properties_2 more = {.type = XS_VK_TYPE_PROPERTIES_2, .next = &bus};
    struct xs_vk_properties plain;
    unsigned extensions;
    uint32_t id;
    bool core;

    memset(ret, 0, sizeof(*ret));
    memset(&plain, 0, sizeof(plain));
    if (f->properties)
        f->properties(physical, &plain);
    plain.name[sizeof(plain.name) - 1] = 0;
    ret->api = XS_MIN(api, plain.api);
    ret->identity = (XDevice)type_of(plain.kind) << 32 | hash_name(plain.name);
    /* a program that speaks 1.0 without that extension may not ask for more */
    if ((ret->api < XS_VK_API(1, 1) && !extended) || !f->properties_2 || !f->features_2)
        return;
    extensions = extensions_of(f, physical);
    if (extensions & (HAS_PRIORITY | HAS_PRIORITY_EXT))
        ret->priority_extension = extensions & HAS_PRIORITY ? PRIORITY_EXTENSION : PRIORITY_EXTENSION_EXT;
    if (extensions & HAS_PCI) {
        f->properties_2(physical, &more);
        id = xs_pci_number(bus.domain, bus.bus, bus.device, bus.function);
        ret->identity = (XDevice)type_of(plain.kind) << 32 | id;
    }
    core = ret->api >= XS_VK_API(1, 2);
    if (!core && !(extensions & HAS_TIMELINE))
        return;
    f->features_2(physical, &features);
    ret->timeline = timeline.timeline;
    ret->timeline_extension = !core;
}
