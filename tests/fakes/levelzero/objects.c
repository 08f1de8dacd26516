/* SPDX-License-Identifier: Apache-2.0 */
/* The driver, its device, memory, modules, queues, fences and events; and the functions that the loader asks for tables. */
#include "internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_BYTES (256ull << 20)

static int g_driver, g_device, g_context; /* their addresses are handles */
#define DRIVER ((ze_driver_handle_t)(void *)&g_driver)
#define DEVICE ((ze_device_handle_t)(void *)&g_device)

void fake_say(const char *what, const ze_command_queue_desc_t *desc)
{
    const char *file = getenv("FAKE_ZE_SAID");
    int fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

    if (fd >= 0) {
        dprintf(fd, "%s priority %d mode %d\n", what, (int)desc->priority, (int)desc->mode);
        close(fd);
    }
}

static ze_result_t init(ze_init_flags_t flags)
{
    (void)flags;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t one(void *handle, uint32_t *count, void **ret)
{
    if (ret && *count)
        ret[0] = handle;
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_get(uint32_t *count, ze_driver_handle_t *ret)
{
    return one(DRIVER, count, (void **)ret);
}

static ze_result_t driver_version(ze_driver_handle_t driver, ze_api_version_t *ret)
{
    (void)driver;
    *ret = ZE_API_VERSION_CURRENT;
    return ZE_RESULT_SUCCESS;
}

/* A driver that hands out objects with tables in them says so here. */
static ze_result_t driver_properties(ze_driver_handle_t driver, ze_driver_properties_t *ret)
{
    (void)driver;
    memset(&ret->uuid, 7, sizeof(ret->uuid));
    ret->driverVersion = 1;
    for (ze_base_properties_t *b = ret->pNext; b; b = b->pNext) {
        if ((unsigned)b->stype == 0x20027)
            *(uint32_t *)(void *)(b + 1) = 1;
    }
    return ZE_RESULT_SUCCESS;
}

static ze_result_t driver_extensions(ze_driver_handle_t driver, uint32_t *count, ze_driver_extension_properties_t *ret)
{
    (void)driver, (void)ret;
    *count = 0;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_get(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *ret)
{
    (void)driver;
    return one(DEVICE, count, (void **)ret);
}

static ze_result_t device_properties(ze_device_handle_t device, ze_device_properties_t *ret)
{
    (void)device;
    ret->type = ZE_DEVICE_TYPE_GPU;
    ret->vendorId = 0x8086;
    ret->deviceId = 0x1234;
    ret->flags = 0;
    ret->maxMemAllocSize = MEMORY_BYTES;
    ret->timerResolution = 1;
    strcpy(ret->name, "fake Level Zero device");
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_pci(ze_device_handle_t device, ze_pci_ext_properties_t *ret)
{
    (void)device;
    ret->address = (ze_pci_address_ext_t){0, 0x7a, 3, 0};
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_groups(ze_device_handle_t device, uint32_t *count, ze_command_queue_group_properties_t *ret)
{
    (void)device;
    for (uint32_t i = 0; ret && i < *count && i < 2; i++) {
        ret[i].flags = i ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
                         : ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
        ret[i].maxMemoryFillPatternSize = 16;
        ret[i].numQueues = 4;
    }
    *count = 2;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_memory(ze_device_handle_t device, uint32_t *count, ze_device_memory_properties_t *ret)
{
    (void)device;
    if (ret && *count)
        ret[0].totalSize = MEMORY_BYTES;
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_subdevices(ze_device_handle_t device, uint32_t *count, ze_device_handle_t *ret)
{
    (void)device, (void)ret;
    *count = 0;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_compute(ze_device_handle_t device, ze_device_compute_properties_t *ret)
{
    (void)device;
    ret->maxTotalGroupSize = ret->maxGroupSizeX = ret->maxGroupSizeY = ret->maxGroupSizeZ = 1024;
    ret->maxGroupCountX = ret->maxGroupCountY = ret->maxGroupCountZ = 65535;
    ret->maxSharedLocalMemory = 65536;
    ret->numSubGroupSizes = 1;
    ret->subGroupSizes[0] = 16;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_module(ze_device_handle_t device, ze_device_module_properties_t *ret)
{
    (void)device;
    ret->spirvVersionSupported = ZE_MAKE_VERSION(1, 2);
    ret->flags = 0;
    ret->maxArgumentsSize = 2048;
    ret->printfBufferSize = 1 << 20;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_access(ze_device_handle_t device, ze_device_memory_access_properties_t *ret)
{
    (void)device;
    ret->hostAllocCapabilities = ret->deviceAllocCapabilities = ret->sharedSingleDeviceAllocCapabilities = 1;
    ret->sharedCrossDeviceAllocCapabilities = ret->sharedSystemAllocCapabilities = 0;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_cache(ze_device_handle_t device, uint32_t *count, ze_device_cache_properties_t *ret)
{
    (void)device;
    if (ret && *count)
        ret[0].cacheSize = 1 << 20;
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_images(ze_device_handle_t device, ze_device_image_properties_t *ret)
{
    (void)device, (void)ret; /* none */
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_peer(ze_device_handle_t device, ze_device_handle_t peer, ze_bool_t *ret)
{
    *ret = device == peer;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t device_status(ze_device_handle_t device)
{
    (void)device;
    return fake_lost ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

static ze_result_t driver_ipc(ze_driver_handle_t driver, ze_driver_ipc_properties_t *ret)
{
    (void)driver;
    ret->flags = 0;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t no_function(ze_driver_handle_t driver, const char *name, void **ret)
{
    (void)driver, (void)name;
    *ret = NULL;
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

static ze_result_t context_create(ze_driver_handle_t driver, const ze_context_desc_t *desc, ze_context_handle_t *ret)
{
    (void)driver, (void)desc;
    *ret = (ze_context_handle_t)(void *)&g_context;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t context_destroy(ze_context_handle_t context)
{
    return context ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

/* What was allocated; under fake_lock. */
static struct allocation {
    char *at;
    size_t bytes;
    ze_memory_type_t type;
} g_allocations[4096];

static ze_result_t alloc(size_t bytes, size_t alignment, void **ret, ze_memory_type_t type)
{
    if (alignment < 64 || (alignment & (alignment - 1)))
        alignment = 64; /* an odd one is no error here */
    *ret = NULL;
    if (bytes != REFUSED && !fake_refused("alloc") && !posix_memalign(ret, alignment, bytes ? bytes : 1))
        memset(*ret, 0, bytes);
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; *ret && i < sizeof(g_allocations) / sizeof(g_allocations[0]); i++) {
        if (!g_allocations[i].at) {
            g_allocations[i] = (struct allocation){*ret, bytes, type};
            break;
        }
    }
    pthread_mutex_unlock(&fake_lock);
    return *ret ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

static struct allocation allocation_of(const void *address)
{
    struct allocation found = {NULL, 0, ZE_MEMORY_TYPE_UNKNOWN};
    const char *at = address;

    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < sizeof(g_allocations) / sizeof(g_allocations[0]); i++) {
        const struct allocation *a = &g_allocations[i];

        if (a->at && at >= a->at && at < a->at + (a->bytes ? a->bytes : 1))
            found = *a;
    }
    pthread_mutex_unlock(&fake_lock);
    return found;
}

static ze_result_t alloc_properties(ze_context_handle_t c, const void *at, ze_memory_allocation_properties_t *ret,
                                    ze_device_handle_t *ret_device)
{
    struct allocation a = allocation_of(at);

    (void)c;
    ret->type = a.type;
    ret->id = (uint64_t)(uintptr_t)a.at;
    ret->pageSize = 4096;
    if (ret_device)
        *ret_device = a.type == ZE_MEMORY_TYPE_DEVICE || a.type == ZE_MEMORY_TYPE_SHARED ? DEVICE : NULL;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t alloc_range(ze_context_handle_t c, const void *at, void **ret, size_t *ret_bytes)
{
    struct allocation a = allocation_of(at);

    (void)c;
    if (!a.at)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (ret)
        *ret = a.at;
    if (ret_bytes)
        *ret_bytes = a.bytes;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t alloc_device(ze_context_handle_t c, const ze_device_mem_alloc_desc_t *desc, size_t bytes, size_t alignment,
                                ze_device_handle_t device, void **ret)
{
    (void)c, (void)desc, (void)device;
    return alloc(bytes, alignment, ret, ZE_MEMORY_TYPE_DEVICE);
}

static ze_result_t alloc_shared(ze_context_handle_t c, const ze_device_mem_alloc_desc_t *desc,
                                const ze_host_mem_alloc_desc_t *host, size_t bytes, size_t alignment, ze_device_handle_t device,
                                void **ret)
{
    (void)c, (void)desc, (void)host, (void)device;
    return alloc(bytes, alignment, ret, ZE_MEMORY_TYPE_SHARED);
}

static ze_result_t alloc_host(ze_context_handle_t c, const ze_host_mem_alloc_desc_t *host, size_t bytes, size_t alignment,
                              void **ret)
{
    (void)c, (void)host;
    return alloc(bytes, alignment, ret, ZE_MEMORY_TYPE_HOST);
}

static ze_result_t of_memory(ze_context_handle_t c, ze_device_handle_t device, void *at, size_t bytes)
{
    (void)c, (void)device, (void)at, (void)bytes;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t context_status(ze_context_handle_t c)
{
    return c ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t context_barrier(ze_context_handle_t c, ze_device_handle_t device)
{
    (void)c, (void)device;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_free(ze_context_handle_t c, void *at)
{
    (void)c;
    pthread_mutex_lock(&fake_lock);
    for (size_t i = 0; i < sizeof(g_allocations) / sizeof(g_allocations[0]); i++) {
        if (g_allocations[i].at == at)
            g_allocations[i].at = NULL;
    }
    pthread_mutex_unlock(&fake_lock);
    free(at);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t module_create(ze_context_handle_t c, ze_device_handle_t device, const ze_module_desc_t *desc,
                                 ze_module_handle_t *ret, ze_module_build_log_handle_t *ret_log)
{
    (void)c, (void)device, (void)desc;
    *ret = (ze_module_handle_t)(void *)&g_context;
    if (ret_log)
        *ret_log = NULL;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t module_destroy(ze_module_handle_t module)
{
    return module ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t module_properties(ze_module_handle_t module, ze_module_properties_t *ret)
{
    (void)module;
    ret->flags = 0;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_create(ze_module_handle_t module, const ze_kernel_desc_t *desc, ze_kernel_handle_t *ret)
{
    const struct fake_kernel *what = fake_kernel_by_name(desc->pKernelName);

    (void)module;
    if (!what)
        return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    *ret = calloc(1, sizeof(**ret));
    **ret = (struct _ze_kernel_handle_t){.what = what, .size = {1, 1, 1}};
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t kernel)
{
    free(kernel);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_groups(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
    if (!kernel || !x || !y || !z)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    memcpy(kernel->size, (const uint32_t[]){x, y, z}, sizeof(kernel->size));
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_suggestion(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z,
                                     uint32_t *ret_x, uint32_t *ret_y, uint32_t *ret_z)
{
    (void)kernel, (void)y, (void)z;
    for (*ret_x = 256; x % *ret_x; *ret_x /= 2)
        ;
    *ret_y = *ret_z = 1;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_most_groups(ze_kernel_handle_t kernel, uint32_t *ret)
{
    (void)kernel;
    *ret = 64;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_set_indirect(ze_kernel_handle_t kernel, ze_kernel_indirect_access_flags_t flags)
{
    kernel->indirect = flags;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_indirect(ze_kernel_handle_t kernel, ze_kernel_indirect_access_flags_t *ret)
{
    *ret = kernel->indirect;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_properties(ze_kernel_handle_t kernel, ze_kernel_properties_t *ret)
{
    ret->numKernelArgs = fake_kernel_args(kernel->what);
    ret->maxSubgroupSize = 16;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_name(ze_kernel_handle_t kernel, size_t *bytes, char *ret)
{
    const char *name = fake_kernel_name(kernel->what);

    if (ret)
        memcpy(ret, name, *bytes < strlen(name) + 1 ? *bytes : strlen(name) + 1);
    *bytes = strlen(name) + 1;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_argument(ze_kernel_handle_t kernel, uint32_t index, size_t bytes, const void *value)
{
    if (index >= ARGS_MOST || bytes > sizeof(uint64_t))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    kernel->args[index] = 0;
    if (value)
        memcpy(&kernel->args[index], value, bytes);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_create(ze_context_handle_t c, ze_device_handle_t device, const ze_command_queue_desc_t *desc,
                                ze_command_queue_handle_t *ret)
{
    ze_command_queue_handle_t q = calloc(1, sizeof(*q));

    (void)c, (void)device;
    if (!q || desc->index == REFUSED || fake_refused("queue")) {
        free(q);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    fake_say("queue", desc);
    q->synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    fake_fifo_start(&q->fifo);
    *ret = q;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t queue_destroy(ze_command_queue_handle_t q)
{
    fake_fifo_end(&q->fifo);
    free(q);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t execute(ze_command_queue_handle_t q, uint32_t count, ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
    struct fake_command last = {.kind = FAKE_NOTHING, .fence = fence};

    if (!count || !lists)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (fake_refused("execute"))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    for (uint32_t i = 0; i < count; i++) {
        if (!lists[i]->closed)
            return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
        for (const struct fake_command *command = lists[i]->commands; command; command = command->next) {
            if (command->kind == FAKE_COPY && command->bytes == REFUSED_LATER)
                return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (const struct fake_command *command = lists[i]->commands; command; command = command->next)
            fake_fifo_put(&q->fifo, command);
    }
    fake_fifo_put(&q->fifo, &last);
    return q->synchronous ? fake_fifo_wait(&q->fifo, UINT64_MAX) : ZE_RESULT_SUCCESS;
}

static ze_result_t queue_synchronize(ze_command_queue_handle_t q, uint64_t timeout_ns)
{
    return fake_fifo_wait(&q->fifo, timeout_ns);
}

static ze_result_t fence_create(ze_command_queue_handle_t q, const ze_fence_desc_t *desc, ze_fence_handle_t *ret)
{
    ze_fence_handle_t fence = fake_refused("fence") ? NULL : calloc(1, sizeof(*fence));

    if (!fence)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    fence->fifo = &q->fifo;
    fence->signalled = desc->flags & ZE_FENCE_FLAG_SIGNALED;
    *ret = fence;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t fence_destroy(ze_fence_handle_t fence)
{
    free(fence);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t fence_wait(ze_fence_handle_t fence, uint64_t timeout_ns)
{
    return fake_wait(&fence->signalled, timeout_ns);
}

static ze_result_t fence_query(ze_fence_handle_t fence)
{
    return fake_wait(&fence->signalled, 0);
}

static ze_result_t set(bool *flag, bool to)
{
    pthread_mutex_lock(&fake_lock);
    *flag = to;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t fence_reset(ze_fence_handle_t fence)
{
    return set(&fence->signalled, false);
}

static ze_result_t pool_create(ze_context_handle_t c, const ze_event_pool_desc_t *desc, uint32_t n, ze_device_handle_t *devices,
                               ze_event_pool_handle_t *ret)
{
    (void)c, (void)desc, (void)n, (void)devices;
    if (fake_refused("pool"))
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    *ret = malloc(1);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(ze_event_pool_handle_t pool)
{
    free(pool);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *ret)
{
    (void)pool, (void)desc;
    *ret = fake_refused("event") ? NULL : calloc(1, sizeof(**ret));
    return *ret ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t event_destroy(ze_event_handle_t event)
{
    free(event);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t event_signal(ze_event_handle_t event)
{
    return set(&event->signalled, true);
}

static ze_result_t event_wait(ze_event_handle_t event, uint64_t timeout_ns)
{
    return fake_wait(&event->signalled, timeout_ns);
}

static ze_result_t event_query(ze_event_handle_t event)
{
    return fake_wait(&event->signalled, 0);
}

static ze_result_t event_reset(ze_event_handle_t event)
{
    return set(&event->signalled, false);
}

static ze_result_t event_timestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t *ret)
{
    ze_result_t r;

    pthread_mutex_lock(&fake_lock);
    r = event->signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
    ret->global = ret->context = (ze_kernel_timestamp_data_t){event->begin_ns, event->end_ns};
    pthread_mutex_unlock(&fake_lock);
    return r;
}

static ze_result_t device_times(ze_device_handle_t device, uint64_t *ret_host, uint64_t *ret_device)
{
    (void)device;
    *ret_host = *ret_device = fake_now_ns();
    return ZE_RESULT_SUCCESS;
}

/* A table is filled with what is here; the rest is what a driver without these functions leaves. */
#define TABLE(getter, type, ...)                                                                  \
    API ze_result_t getter(ze_api_version_t version, type *t)                                     \
    {                                                                                             \
        (void)version;                                                                            \
        *t = (type){__VA_ARGS__};                                                                 \
        return ZE_RESULT_SUCCESS;                                                                 \
    }

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t, .pfnInit = init)
TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, .pfnGet = driver_get, .pfnGetApiVersion = driver_version,
      .pfnGetProperties = driver_properties, .pfnGetExtensionProperties = driver_extensions,
      .pfnGetIpcProperties = driver_ipc, .pfnGetExtensionFunctionAddress = no_function)
TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, .pfnGet = device_get,
      .pfnGetProperties = device_properties, .pfnGetCommandQueueGroupProperties = device_groups,
      .pfnGetMemoryProperties = device_memory, .pfnPciGetPropertiesExt = device_pci,
      .pfnGetSubDevices = device_subdevices, .pfnGetComputeProperties = device_compute,
      .pfnGetModuleProperties = device_module, .pfnGetMemoryAccessProperties = device_access,
      .pfnGetCacheProperties = device_cache, .pfnGetImageProperties = device_images,
      .pfnGetGlobalTimestamps = device_times, .pfnCanAccessPeer = device_peer, .pfnGetStatus = device_status)
TABLE(zeGetDeviceExpProcAddrTable, ze_device_exp_dditable_t, 0)
TABLE(zeGetContextProcAddrTable, ze_context_dditable_t, .pfnCreate = context_create,
      .pfnDestroy = context_destroy, .pfnGetStatus = context_status, .pfnSystemBarrier = context_barrier,
      .pfnMakeMemoryResident = of_memory, .pfnEvictMemory = of_memory)
TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t, .pfnCreate = queue_create, .pfnDestroy = queue_destroy,
      .pfnExecuteCommandLists = execute, .pfnSynchronize = queue_synchronize)
TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t, .pfnCreate = fence_create, .pfnDestroy = fence_destroy,
      .pfnHostSynchronize = fence_wait, .pfnQueryStatus = fence_query, .pfnReset = fence_reset)
TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, .pfnCreate = pool_create, .pfnDestroy = pool_destroy)
TABLE(zeGetEventProcAddrTable, ze_event_dditable_t, .pfnCreate = event_create, .pfnDestroy = event_destroy,
      .pfnHostSignal = event_signal, .pfnHostSynchronize = event_wait, .pfnQueryStatus = event_query,
      .pfnHostReset = event_reset, .pfnQueryKernelTimestamp = event_timestamp)
TABLE(zeGetEventExpProcAddrTable, ze_event_exp_dditable_t, 0)
TABLE(zeGetImageProcAddrTable, ze_image_dditable_t, 0)
TABLE(zeGetImageExpProcAddrTable, ze_image_exp_dditable_t, 0)
TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t, .pfnAllocShared = alloc_shared, .pfnAllocDevice = alloc_device,
      .pfnAllocHost = alloc_host, .pfnFree = mem_free, .pfnGetAllocProperties = alloc_properties,
      .pfnGetAddressRange = alloc_range)
TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t, .pfnCreate = module_create,
      .pfnDestroy = module_destroy, .pfnGetProperties = module_properties)
TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t, 0)
TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, .pfnCreate = kernel_create,
      .pfnDestroy = kernel_destroy, .pfnSetGroupSize = kernel_groups, .pfnSetArgumentValue = kernel_argument,
      .pfnSuggestGroupSize = kernel_suggestion, .pfnSuggestMaxCooperativeGroupCount = kernel_most_groups,
      .pfnSetIndirectAccess = kernel_set_indirect, .pfnGetIndirectAccess = kernel_indirect,
      .pfnGetProperties = kernel_properties, .pfnGetName = kernel_name)
TABLE(zeGetKernelExpProcAddrTable, ze_kernel_exp_dditable_t, 0)
TABLE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t, 0)
TABLE(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t, 0)
TABLE(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t, 0)
TABLE(zeGetFabricVertexExpProcAddrTable, ze_fabric_vertex_exp_dditable_t, 0)
TABLE(zeGetFabricEdgeExpProcAddrTable, ze_fabric_edge_exp_dditable_t, 0)

API ze_result_t zeGetCommandListExpProcAddrTable(ze_api_version_t version, void **table)
{
    if (version >= ZE_MAKE_VERSION(1, 9))
        fake_command_list_exp_table(table);
    return ZE_RESULT_SUCCESS;
}

API ze_result_t zeGetCommandListProcAddrTable(ze_api_version_t version, ze_command_list_dditable_t *t)
{
    *t = (ze_command_list_dditable_t){0};
    fake_command_list_table(version, t);
    return ZE_RESULT_SUCCESS;
}
