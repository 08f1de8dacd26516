/* SPDX-License-Identifier: Apache-2.0 */
/* hal/levelzero/ze_abi.h, and the places of functions in levelzero_api.def and used.def, against Level Zero's own headers.
 * Compiling is the test. What is younger than the headers here is compared by check_surface.py with newer ones. */
#include "hal/levelzero/ze_abi.h"

#include <level_zero/ze_api.h>
#include <level_zero/ze_ddi.h>

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)
#define SAME(ours, member, theirs, name)                                                          \
    _Static_assert(offsetof(struct ours, member) == offsetof(theirs, name), #theirs "." #name);   \
    _Static_assert(sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->name), "size of " #theirs "." #name)
#define VALUE(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

_Static_assert(sizeof(xs_ze_handle) == sizeof(ze_command_queue_handle_t), "handles");
_Static_assert(sizeof(xs_ze_result) == sizeof(ze_result_t), "results");

VALUE(XS_ZE_SUCCESS, ZE_RESULT_SUCCESS);
VALUE(XS_ZE_NOT_READY, ZE_RESULT_NOT_READY);
VALUE(XS_ZE_ERROR_DEVICE_LOST, ZE_RESULT_ERROR_DEVICE_LOST);
VALUE(XS_ZE_ERROR_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
VALUE(XS_ZE_ERROR_OUT_OF_DEVICE_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
VALUE(XS_ZE_ERROR_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
VALUE(XS_ZE_ERROR_UNSUPPORTED_FEATURE, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
VALUE(XS_ZE_TYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
VALUE(XS_ZE_TYPE_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
VALUE(XS_ZE_TYPE_QUEUE_DESC, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
VALUE(XS_ZE_TYPE_LIST_DESC, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
VALUE(XS_ZE_TYPE_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
VALUE(XS_ZE_TYPE_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
VALUE(XS_ZE_TYPE_FENCE_DESC, ZE_STRUCTURE_TYPE_FENCE_DESC);
VALUE(XS_ZE_TYPE_PCI_PROPERTIES, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
VALUE(XS_ZE_DEVICE_GPU, ZE_DEVICE_TYPE_GPU);
VALUE(XS_ZE_DEVICE_CPU, ZE_DEVICE_TYPE_CPU);
VALUE(XS_ZE_DEVICE_FPGA, ZE_DEVICE_TYPE_FPGA);
VALUE(XS_ZE_DEVICE_MCA, ZE_DEVICE_TYPE_MCA);
VALUE(XS_ZE_DEVICE_NPU, ZE_DEVICE_TYPE_VPU);
VALUE(XS_ZE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
VALUE(XS_ZE_PRIORITY_NORMAL, ZE_COMMAND_QUEUE_PRIORITY_NORMAL);
VALUE(XS_ZE_PRIORITY_LOW, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
VALUE(XS_ZE_PRIORITY_HIGH, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
VALUE(XS_ZE_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
VALUE(XS_ZE_SCOPE_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
VALUE(XS_ZE_NAME_BYTES, ZE_MAX_DEVICE_NAME);
VALUE(XS_ZE_NAME_BYTES, ZE_MAX_EXTENSION_NAME);

SAME_SIZE(xs_ze_groups, ze_group_count_t);
SAME_SIZE(xs_ze_base, ze_base_properties_t);
SAME_SIZE(xs_ze_queue_desc, ze_command_queue_desc_t);
SAME(xs_ze_queue_desc, ordinal, ze_command_queue_desc_t, ordinal);
SAME(xs_ze_queue_desc, flags, ze_command_queue_desc_t, flags);
SAME(xs_ze_queue_desc, mode, ze_command_queue_desc_t, mode);
SAME(xs_ze_queue_desc, priority, ze_command_queue_desc_t, priority);
SAME_SIZE(xs_ze_list_desc, ze_command_list_desc_t);
SAME(xs_ze_list_desc, ordinal, ze_command_list_desc_t, commandQueueGroupOrdinal);
SAME_SIZE(xs_ze_fence_desc, ze_fence_desc_t);
SAME_SIZE(xs_ze_event_pool_desc, ze_event_pool_desc_t);
SAME(xs_ze_event_pool_desc, count, ze_event_pool_desc_t, count);
SAME_SIZE(xs_ze_event_desc, ze_event_desc_t);
SAME(xs_ze_event_desc, index, ze_event_desc_t, index);
SAME(xs_ze_event_desc, signal, ze_event_desc_t, signal);
SAME_SIZE(xs_ze_device_properties, ze_device_properties_t);
SAME(xs_ze_device_properties, kind, ze_device_properties_t, type);
SAME(xs_ze_device_properties, uuid, ze_device_properties_t, uuid);
SAME(xs_ze_device_properties, name, ze_device_properties_t, name);
SAME_SIZE(xs_ze_pci_properties, ze_pci_ext_properties_t);
SAME(xs_ze_pci_properties, domain, ze_pci_ext_properties_t, address.domain);
SAME(xs_ze_pci_properties, function, ze_pci_ext_properties_t, address.function);
SAME_SIZE(xs_ze_memory_properties, ze_device_memory_properties_t);
SAME(xs_ze_memory_properties, bytes, ze_device_memory_properties_t, totalSize);
SAME_SIZE(xs_ze_physical_desc, ze_physical_mem_desc_t);
SAME(xs_ze_physical_desc, bytes, ze_physical_mem_desc_t, size);
SAME_SIZE(xs_ze_extension, ze_driver_extension_properties_t);
SAME_SIZE(xs_ze_driver_properties, ze_driver_properties_t);
