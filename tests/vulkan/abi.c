/* SPDX-License-Identifier: Apache-2.0 */
/* hal/vulkan/vk_abi.h against Vulkan's own headers. Compiling is the test. */
#include "hal/vulkan/vk_abi.h"

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)
#define SAME(ours, member, theirs, name)                                                          \
    _Static_assert(offsetof(struct ours, member) == offsetof(theirs, name), #theirs "." #name);   \
    _Static_assert(sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->name), "size of " #theirs "." #name)
#define VALUE(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

_Static_assert(sizeof(xs_vk_object) == sizeof(VkSemaphore) && sizeof(xs_vk_object) == sizeof(VkFence), "objects");
_Static_assert(sizeof(xs_vk_handle) == sizeof(VkQueue), "handles");

VALUE(XS_VK_SUCCESS, VK_SUCCESS);
VALUE(XS_VK_NOT_READY, VK_NOT_READY);
VALUE(XS_VK_TIMEOUT, VK_TIMEOUT);
VALUE(XS_VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY);
VALUE(XS_VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY);
VALUE(XS_VK_ERROR_NOT_PERMITTED, VK_ERROR_NOT_PERMITTED_KHR);
VALUE(XS_VK_TYPE_QUEUE_CREATE, VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
VALUE(XS_VK_TYPE_GLOBAL_PRIORITY, VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR);
VALUE(XS_VK_PRIORITY_LOW, VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR);
VALUE(XS_VK_PRIORITY_MEDIUM, VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR);
VALUE(XS_VK_PRIORITY_HIGH, VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR);
VALUE(XS_VK_TYPE_MEMORY_ALLOCATE, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
VALUE(XS_VK_TYPE_MEMORY_PROPERTIES_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
VALUE(XS_VK_TYPE_IMPORT_FD, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
VALUE(XS_VK_TYPE_IMPORT_HOST, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
VALUE(XS_VK_TYPE_MEMORY_BUDGET, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
VALUE(XS_VK_MEMORY_HEAPS, VK_MAX_MEMORY_HEAPS);
VALUE(XS_VK_HEAP_DEVICE_LOCAL, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
VALUE(XS_VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_INITIALIZATION_FAILED);
VALUE(XS_VK_TYPE_APPLICATION, VK_STRUCTURE_TYPE_APPLICATION_INFO);
VALUE(XS_VK_TYPE_INSTANCE_CREATE, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
VALUE(XS_VK_TYPE_DEVICE_CREATE, VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
VALUE(XS_VK_TYPE_SUBMIT, VK_STRUCTURE_TYPE_SUBMIT_INFO);
VALUE(XS_VK_TYPE_FENCE_CREATE, VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
VALUE(XS_VK_TYPE_SEMAPHORE_CREATE, VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
VALUE(XS_VK_TYPE_LAYER_INSTANCE, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
VALUE(XS_VK_TYPE_LAYER_DEVICE, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
VALUE(XS_VK_TYPE_FEATURES_12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
VALUE(XS_VK_TYPE_FEATURES_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
VALUE(XS_VK_TYPE_PROPERTIES_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
VALUE(XS_VK_TYPE_TIMELINE_FEATURES, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
VALUE(XS_VK_TYPE_SEMAPHORE_KIND, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
VALUE(XS_VK_TYPE_TIMELINE_SUBMIT, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
VALUE(XS_VK_TYPE_SEMAPHORE_WAIT, VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
VALUE(XS_VK_TYPE_SEMAPHORE_SIGNAL, VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO);
VALUE(XS_VK_STAGE_ALL, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
VALUE(XS_VK_TYPE_PCI_BUS, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
VALUE(XS_VK_TYPE_SUBMIT_2, VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
VALUE(XS_VK_TYPE_SEMAPHORE_SUBMIT, VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
VALUE(XS_VK_API(1, 2), VK_API_VERSION_1_2);
VALUE(XS_VK_SEMAPHORE_TIMELINE, VK_SEMAPHORE_TYPE_TIMELINE);
VALUE(XS_VK_STAGE_2_ALL, 0x00010000ull); /* VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, no constant expression in C */
VALUE(XS_VK_LINK_INFO, VK_LAYER_LINK_INFO);
VALUE(XS_VK_LAYER_NEGOTIATE, LAYER_NEGOTIATE_INTERFACE_STRUCT);
VALUE(XS_VK_LAYER_VERSION, CURRENT_LOADER_LAYER_INTERFACE_VERSION);
VALUE(XS_VK_FEATURES_12_TIMELINE_AT, offsetof(VkPhysicalDeviceVulkan12Features, timelineSemaphore));
VALUE(XS_VK_NAME_BYTES, VK_MAX_PHYSICAL_DEVICE_NAME_SIZE);
VALUE(XS_VK_NAME_BYTES, VK_MAX_EXTENSION_NAME_SIZE);
VALUE(XS_VK_INTEGRATED_GPU, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
VALUE(XS_VK_DISCRETE_GPU, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
VALUE(XS_VK_VIRTUAL_GPU, VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU);
VALUE(XS_VK_CPU, VK_PHYSICAL_DEVICE_TYPE_CPU);

SAME_SIZE(xs_vk_base, VkBaseInStructure);
SAME(xs_vk_base, next, VkBaseInStructure, pNext);
SAME_SIZE(xs_vk_application, VkApplicationInfo);
SAME(xs_vk_application, api, VkApplicationInfo, apiVersion);
SAME_SIZE(xs_vk_instance_create, VkInstanceCreateInfo);
SAME(xs_vk_instance_create, application, VkInstanceCreateInfo, pApplicationInfo);
SAME(xs_vk_instance_create, extensions_count, VkInstanceCreateInfo, enabledExtensionCount);
SAME(xs_vk_instance_create, extensions, VkInstanceCreateInfo, ppEnabledExtensionNames);
SAME_SIZE(xs_vk_device_create, VkDeviceCreateInfo);
SAME(xs_vk_device_create, queues_count, VkDeviceCreateInfo, queueCreateInfoCount);
SAME(xs_vk_device_create, queues, VkDeviceCreateInfo, pQueueCreateInfos);
SAME(xs_vk_device_create, extensions_count, VkDeviceCreateInfo, enabledExtensionCount);
SAME(xs_vk_device_create, extensions, VkDeviceCreateInfo, ppEnabledExtensionNames);
SAME(xs_vk_device_create, features, VkDeviceCreateInfo, pEnabledFeatures);
SAME_SIZE(xs_vk_queue_create, VkDeviceQueueCreateInfo);
SAME(xs_vk_queue_create, count, VkDeviceQueueCreateInfo, queueCount);
SAME(xs_vk_queue_create, priorities, VkDeviceQueueCreateInfo, pQueuePriorities);
SAME_SIZE(xs_vk_global_priority, VkDeviceQueueGlobalPriorityCreateInfoKHR);
SAME(xs_vk_global_priority, priority, VkDeviceQueueGlobalPriorityCreateInfoKHR, globalPriority);
SAME_SIZE(xs_vk_instance_link, VkLayerInstanceLink);
SAME(xs_vk_instance_link, instance_function, VkLayerInstanceLink, pfnNextGetInstanceProcAddr);
SAME(xs_vk_instance_link, physical_function, VkLayerInstanceLink, pfnNextGetPhysicalDeviceProcAddr);
SAME_SIZE(xs_vk_device_link, VkLayerDeviceLink);
SAME(xs_vk_device_link, instance_function, VkLayerDeviceLink, pfnNextGetInstanceProcAddr);
SAME(xs_vk_device_link, device_function, VkLayerDeviceLink, pfnNextGetDeviceProcAddr);
SAME(xs_vk_layer_create, function, VkLayerInstanceCreateInfo, function);
SAME(xs_vk_layer_create, link.instance, VkLayerInstanceCreateInfo, u.pLayerInfo);
SAME(xs_vk_layer_create, function, VkLayerDeviceCreateInfo, function);
SAME(xs_vk_layer_create, link.device, VkLayerDeviceCreateInfo, u.pLayerInfo);
SAME_SIZE(xs_vk_negotiate, VkNegotiateLayerInterface);
SAME(xs_vk_negotiate, version, VkNegotiateLayerInterface, loaderLayerInterfaceVersion);
SAME(xs_vk_negotiate, instance_function, VkNegotiateLayerInterface, pfnGetInstanceProcAddr);
SAME(xs_vk_negotiate, device_function, VkNegotiateLayerInterface, pfnGetDeviceProcAddr);
SAME(xs_vk_negotiate, physical_function, VkNegotiateLayerInterface, pfnGetPhysicalDeviceProcAddr);
SAME_SIZE(xs_vk_submit, VkSubmitInfo);
SAME(xs_vk_submit, waits_count, VkSubmitInfo, waitSemaphoreCount);
SAME(xs_vk_submit, waits, VkSubmitInfo, pWaitSemaphores);
SAME(xs_vk_submit, wait_stages, VkSubmitInfo, pWaitDstStageMask);
SAME(xs_vk_submit, commands_count, VkSubmitInfo, commandBufferCount);
SAME(xs_vk_submit, commands, VkSubmitInfo, pCommandBuffers);
SAME(xs_vk_submit, signals_count, VkSubmitInfo, signalSemaphoreCount);
SAME(xs_vk_submit, signals, VkSubmitInfo, pSignalSemaphores);
SAME_SIZE(xs_vk_timeline_submit, VkTimelineSemaphoreSubmitInfo);
SAME(xs_vk_timeline_submit, waits_count, VkTimelineSemaphoreSubmitInfo, waitSemaphoreValueCount);
SAME(xs_vk_timeline_submit, waits, VkTimelineSemaphoreSubmitInfo, pWaitSemaphoreValues);
SAME(xs_vk_timeline_submit, signals_count, VkTimelineSemaphoreSubmitInfo, signalSemaphoreValueCount);
SAME(xs_vk_timeline_submit, signals, VkTimelineSemaphoreSubmitInfo, pSignalSemaphoreValues);
SAME_SIZE(xs_vk_semaphore_submit, VkSemaphoreSubmitInfo);
SAME(xs_vk_semaphore_submit, semaphore, VkSemaphoreSubmitInfo, semaphore);
SAME(xs_vk_semaphore_submit, value, VkSemaphoreSubmitInfo, value);
SAME(xs_vk_semaphore_submit, stages, VkSemaphoreSubmitInfo, stageMask);
SAME(xs_vk_semaphore_submit, device, VkSemaphoreSubmitInfo, deviceIndex);
SAME_SIZE(xs_vk_command_submit, VkCommandBufferSubmitInfo);
SAME(xs_vk_command_submit, command, VkCommandBufferSubmitInfo, commandBuffer);
SAME_SIZE(xs_vk_submit_2, VkSubmitInfo2);
SAME(xs_vk_submit_2, waits_count, VkSubmitInfo2, waitSemaphoreInfoCount);
SAME(xs_vk_submit_2, waits, VkSubmitInfo2, pWaitSemaphoreInfos);
SAME(xs_vk_submit_2, commands_count, VkSubmitInfo2, commandBufferInfoCount);
SAME(xs_vk_submit_2, commands, VkSubmitInfo2, pCommandBufferInfos);
SAME(xs_vk_submit_2, signals_count, VkSubmitInfo2, signalSemaphoreInfoCount);
SAME(xs_vk_submit_2, signals, VkSubmitInfo2, pSignalSemaphoreInfos);
SAME_SIZE(xs_vk_semaphore_kind, VkSemaphoreTypeCreateInfo);
SAME(xs_vk_semaphore_kind, kind, VkSemaphoreTypeCreateInfo, semaphoreType);
SAME(xs_vk_semaphore_kind, value, VkSemaphoreTypeCreateInfo, initialValue);
SAME_SIZE(xs_vk_simple_create, VkSemaphoreCreateInfo);
SAME_SIZE(xs_vk_simple_create, VkFenceCreateInfo);
SAME_SIZE(xs_vk_semaphore_wait, VkSemaphoreWaitInfo);
SAME(xs_vk_semaphore_wait, count, VkSemaphoreWaitInfo, semaphoreCount);
SAME(xs_vk_semaphore_wait, semaphores, VkSemaphoreWaitInfo, pSemaphores);
SAME(xs_vk_semaphore_wait, values, VkSemaphoreWaitInfo, pValues);
SAME_SIZE(xs_vk_semaphore_signal, VkSemaphoreSignalInfo);
SAME(xs_vk_semaphore_signal, semaphore, VkSemaphoreSignalInfo, semaphore);
SAME(xs_vk_semaphore_signal, value, VkSemaphoreSignalInfo, value);
SAME_SIZE(xs_vk_queue_wanted, VkDeviceQueueInfo2);
SAME(xs_vk_queue_wanted, family, VkDeviceQueueInfo2, queueFamilyIndex);
SAME(xs_vk_queue_wanted, index, VkDeviceQueueInfo2, queueIndex);
SAME_SIZE(xs_vk_timeline_features, VkPhysicalDeviceTimelineSemaphoreFeatures);
SAME(xs_vk_timeline_features, timeline, VkPhysicalDeviceTimelineSemaphoreFeatures, timelineSemaphore);
SAME_SIZE(xs_vk_features_2, VkPhysicalDeviceFeatures2);
SAME(xs_vk_features_2, features, VkPhysicalDeviceFeatures2, features);
SAME_SIZE(xs_vk_properties, VkPhysicalDeviceProperties);
SAME(xs_vk_properties, api, VkPhysicalDeviceProperties, apiVersion);
SAME(xs_vk_properties, kind, VkPhysicalDeviceProperties, deviceType);
SAME(xs_vk_properties, name, VkPhysicalDeviceProperties, deviceName);
SAME(xs_vk_properties, cache_id, VkPhysicalDeviceProperties, pipelineCacheUUID);
SAME_SIZE(xs_vk_properties_2, VkPhysicalDeviceProperties2);
SAME(xs_vk_properties_2, properties, VkPhysicalDeviceProperties2, properties);
SAME_SIZE(xs_vk_pci_bus, VkPhysicalDevicePCIBusInfoPropertiesEXT);
SAME(xs_vk_pci_bus, domain, VkPhysicalDevicePCIBusInfoPropertiesEXT, pciDomain);
SAME(xs_vk_pci_bus, bus, VkPhysicalDevicePCIBusInfoPropertiesEXT, pciBus);
SAME(xs_vk_pci_bus, device, VkPhysicalDevicePCIBusInfoPropertiesEXT, pciDevice);
SAME(xs_vk_pci_bus, function, VkPhysicalDevicePCIBusInfoPropertiesEXT, pciFunction);
SAME_SIZE(xs_vk_memory_allocate, VkMemoryAllocateInfo);
SAME(xs_vk_memory_allocate, bytes, VkMemoryAllocateInfo, allocationSize);
SAME(xs_vk_memory_allocate, memory_type, VkMemoryAllocateInfo, memoryTypeIndex);
SAME_SIZE(xs_vk_memory_properties, VkPhysicalDeviceMemoryProperties);
SAME(xs_vk_memory_properties, types, VkPhysicalDeviceMemoryProperties, memoryTypes);
SAME(xs_vk_memory_properties, types[1].heap, VkPhysicalDeviceMemoryProperties, memoryTypes[1].heapIndex);
SAME(xs_vk_memory_properties, heaps_count, VkPhysicalDeviceMemoryProperties, memoryHeapCount);
SAME(xs_vk_memory_properties, heaps, VkPhysicalDeviceMemoryProperties, memoryHeaps);
SAME(xs_vk_memory_properties, heaps[1].flags, VkPhysicalDeviceMemoryProperties, memoryHeaps[1].flags);
SAME_SIZE(xs_vk_memory_properties_2, VkPhysicalDeviceMemoryProperties2);
SAME_SIZE(xs_vk_memory_budget, VkPhysicalDeviceMemoryBudgetPropertiesEXT);
SAME(xs_vk_memory_budget, budget, VkPhysicalDeviceMemoryBudgetPropertiesEXT, heapBudget);
SAME(xs_vk_memory_budget, usage, VkPhysicalDeviceMemoryBudgetPropertiesEXT, heapUsage);
SAME_SIZE(xs_vk_extension, VkExtensionProperties);
SAME(xs_vk_extension, name, VkExtensionProperties, extensionName);

#define VK_FEATURES(number, bytes, name, type_name)                                               \
    VALUE(number, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type_name);                                 \
    VALUE(bytes, sizeof(VkPhysicalDevice##name));
#ifdef VK_VERSION_1_4
#define VK_FEATURES_14 VK_FEATURES
#else
#define VK_FEATURES_14(number, bytes, name, type_name)
#endif
#define VK_SIZED(number, bytes, name, type_name)                                                  \
    VALUE(number, VK_STRUCTURE_TYPE_##type_name);                                                 \
    VALUE(bytes, sizeof(Vk##name));
#include "shim/vulkan/create_chain.def"
