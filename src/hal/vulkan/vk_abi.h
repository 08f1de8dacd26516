/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Vulkan's binary interface that we use, under names of our own. We repeat it here so that
 * everything builds without Vulkan's headers; tests/vulkan/abi.c compares every structure and value with the
 * installed ones. */
#ifndef XS_VK_ABI_H
#define XS_VK_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *xs_vk_handle;       /* an instance, physical device, device, queue or command buffer */
typedef uint64_t xs_vk_object;    /* a semaphore or a fence: 64 bits on every machine */
typedef int32_t xs_vk_result;
typedef void (*xs_vk_function)(void);
typedef xs_vk_function (*xs_vk_get_function)(xs_vk_handle object, const char *name);

enum {
    XS_VK_SUCCESS = 0,
    XS_VK_NOT_READY = 1,
    XS_VK_TIMEOUT = 2,
    XS_VK_ERROR_OUT_OF_HOST_MEMORY = -1,
    XS_VK_ERROR_OUT_OF_DEVICE_MEMORY = -2,
    XS_VK_ERROR_INITIALIZATION_FAILED = -3,
    XS_VK_ERROR_NOT_PERMITTED = -1000174001,
};

/* The kind of a structure: its first member. */
enum {
    XS_VK_TYPE_APPLICATION = 0,
    XS_VK_TYPE_INSTANCE_CREATE = 1,
    XS_VK_TYPE_QUEUE_CREATE = 2,
    XS_VK_TYPE_DEVICE_CREATE = 3,
    XS_VK_TYPE_SUBMIT = 4,
    XS_VK_TYPE_FENCE_CREATE = 8,
    XS_VK_TYPE_SEMAPHORE_CREATE = 9,
    XS_VK_TYPE_MEMORY_ALLOCATE = 5,
    XS_VK_TYPE_LAYER_INSTANCE = 47,
    XS_VK_TYPE_LAYER_DEVICE = 48,
    XS_VK_TYPE_FEATURES_12 = 51,
    XS_VK_TYPE_FEATURES_2 = 1000059000,
    XS_VK_TYPE_MEMORY_PROPERTIES_2 = 1000059006,
    XS_VK_TYPE_IMPORT_FD = 1000074000,
    XS_VK_TYPE_GLOBAL_PRIORITY = 1000174000,
    XS_VK_TYPE_IMPORT_HOST = 1000178000,
    XS_VK_TYPE_MEMORY_BUDGET = 1000237000,
    XS_VK_TYPE_PROPERTIES_2 = 1000059001,
    XS_VK_TYPE_TIMELINE_FEATURES = 1000207000,
    XS_VK_TYPE_SEMAPHORE_KIND = 1000207002,
    XS_VK_TYPE_TIMELINE_SUBMIT = 1000207003,
    XS_VK_TYPE_SEMAPHORE_WAIT = 1000207004,
    XS_VK_TYPE_SEMAPHORE_SIGNAL = 1000207005,
    XS_VK_TYPE_PCI_BUS = 1000212000,
    XS_VK_TYPE_SUBMIT_2 = 1000314004,
    XS_VK_TYPE_SEMAPHORE_SUBMIT = 1000314005,
};

#define XS_VK_API(major, minor)   ((uint32_t)(major) << 22 | (uint32_t)(minor) << 12)
#define XS_VK_SEMAPHORE_TIMELINE  1
#define XS_VK_STAGE_ALL           0x00010000u
#define XS_VK_STAGE_2_ALL         0x00010000ull
#define XS_VK_LINK_INFO           0 /* VkLayerFunction */
#define XS_VK_LAYER_VERSION       2 /* of the interface between the loader and layers */
#define XS_VK_LAYER_NEGOTIATE     1 /* VkNegotiateLayerStructType */
/* VkPhysicalDeviceVulkan12Features.timelineSemaphore */
#define XS_VK_FEATURES_12_TIMELINE_AT 164
#define XS_VK_NAME_BYTES          256

/* Global priorities of queues. */
enum { XS_VK_PRIORITY_LOW = 128, XS_VK_PRIORITY_MEDIUM = 256, XS_VK_PRIORITY_HIGH = 512 };

/* Kinds of physical devices. */
enum { XS_VK_INTEGRATED_GPU = 1, XS_VK_DISCRETE_GPU = 2, XS_VK_VIRTUAL_GPU = 3, XS_VK_CPU = 4 };

/* The head of each structure. */
struct xs_vk_base {
    int32_t type;
    const void *next;
};

struct xs_vk_application {
    int32_t type;
    const void *next;
    const char *name;
    uint32_t version;
    const char *engine;
    uint32_t engine_version, api;
};

struct xs_vk_instance_create {
    int32_t type;
    const void *next;
    uint32_t flags;
    const struct xs_vk_application *application;
    uint32_t layers_count;
    const char *const *layers;
    uint32_t extensions_count;
    const char *const *extensions;
};

struct xs_vk_device_create {
    int32_t type;
    const void *next;
    uint32_t flags, queues_count;
    const void *queues;
    uint32_t layers_count;
    const char *const *layers;
    uint32_t extensions_count;
    const char *const *extensions;
    const void *features;
};

struct xs_vk_queue_create {       /* VkDeviceQueueCreateInfo */
    int32_t type;
    const void *next;
    uint32_t flags, family, count;
    const float *priorities;
};

struct xs_vk_global_priority {    /* VkDeviceQueueGlobalPriorityCreateInfoKHR */
    int32_t type;
    const void *next;
    int32_t priority;
};

/* The loader's record for a layer: the next functions to call. */
struct xs_vk_instance_link {
    struct xs_vk_instance_link *next;
    xs_vk_get_function instance_function, physical_function;
};

struct xs_vk_device_link {
    struct xs_vk_device_link *next;
    xs_vk_get_function instance_function, device_function;
};

struct xs_vk_layer_create {       /* VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo */
    int32_t type;
    const void *next;
    int32_t function;             /* XS_VK_LINK_INFO, or something else that we leave alone */
    union {
        struct xs_vk_instance_link *instance;
        struct xs_vk_device_link *device;
    } link;
};

struct xs_vk_negotiate {
    int32_t type;
    void *next;
    uint32_t version;
    xs_vk_get_function instance_function, device_function, physical_function;
};

struct xs_vk_submit {
    int32_t type;
    const void *next;
    uint32_t waits_count;
    const xs_vk_object *waits;
    const uint32_t *wait_stages;
    uint32_t commands_count;
    const xs_vk_handle *commands;
    uint32_t signals_count;
    const xs_vk_object *signals;
};

struct xs_vk_timeline_submit {
    int32_t type;
    const void *next;
    uint32_t waits_count;
    const uint64_t *waits;
    uint32_t signals_count;
    const uint64_t *signals;
};

struct xs_vk_semaphore_submit {
    int32_t type;
    const void *next;
    xs_vk_object semaphore;
    uint64_t value, stages;
    uint32_t device;
};

struct xs_vk_command_submit {
    int32_t type;
    const void *next;
    xs_vk_handle command;
    uint32_t devices;
};

struct xs_vk_submit_2 {
    int32_t type;
    const void *next;
    uint32_t flags, waits_count;
    const struct xs_vk_semaphore_submit *waits;
    uint32_t commands_count;
    const struct xs_vk_command_submit *commands;
    uint32_t signals_count;
    const struct xs_vk_semaphore_submit *signals;
};

struct xs_vk_semaphore_kind {     /* VkSemaphoreTypeCreateInfo */
    int32_t type;
    const void *next;
    int32_t kind;
    uint64_t value;
};

struct xs_vk_simple_create {      /* VkSemaphoreCreateInfo, VkFenceCreateInfo */
    int32_t type;
    const void *next;
    uint32_t flags;
};

struct xs_vk_semaphore_wait {
    int32_t type;
    const void *next;
    uint32_t flags, count;
    const xs_vk_object *semaphores;
    const uint64_t *values;
};

struct xs_vk_semaphore_signal {   /* VkSemaphoreSignalInfo */
    int32_t type;
    const void *next;
    xs_vk_object semaphore;
    uint64_t value;
};

struct xs_vk_queue_wanted {       /* VkDeviceQueueInfo2 */
    int32_t type;
    const void *next;
    uint32_t flags, family, index;
};

struct xs_vk_timeline_features {
    int32_t type;
    void *next;
    uint32_t timeline;
};

struct xs_vk_features_2 {
    int32_t type;
    void *next;
    uint32_t features[55];
};

struct xs_vk_properties {
    uint32_t api, driver, vendor, device;
    int32_t kind;
    char name[XS_VK_NAME_BYTES];
    uint8_t cache_id[16];
    uint64_t rest[66];            /* limits and more */
};

struct xs_vk_properties_2 {
    int32_t type;
    void *next;
    struct xs_vk_properties properties;
};

struct xs_vk_pci_bus {
    int32_t type;
    void *next;
    uint32_t domain, bus, device, function;
};

struct xs_vk_memory_allocate {
    int32_t type;
    const void *next;
    uint64_t bytes;
    uint32_t memory_type;
};

#define XS_VK_MEMORY_HEAPS      16
#define XS_VK_HEAP_DEVICE_LOCAL 1u

struct xs_vk_memory_properties {
    uint32_t types_count;
    struct {
        uint32_t flags, heap;
    } types[32];
    uint32_t heaps_count;
    struct {
        uint64_t bytes;
        uint32_t flags;
    } heaps[XS_VK_MEMORY_HEAPS];
};

struct xs_vk_memory_properties_2 {
    int32_t type;
    void *next;
    struct xs_vk_memory_properties properties;
};

struct xs_vk_memory_budget {
    int32_t type;
    void *next;
    uint64_t budget[XS_VK_MEMORY_HEAPS], usage[XS_VK_MEMORY_HEAPS];
};

struct xs_vk_extension {
    char name[XS_VK_NAME_BYTES];
    uint32_t version;
};

#endif
