/* SPDX-License-Identifier: Apache-2.0 */
/* The part of Level Zero's binary interface that we use, under names of our own. We repeat it here so that
 * everything builds without its headers; tests/levelzero/abi.c compares every structure and value with the
 * installed ones. */
#ifndef XS_HAL_LEVELZERO_ZE_ABI_H
#define XS_HAL_LEVELZERO_ZE_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct xs_ze_object *xs_ze_handle;   /* of any kind of object */
typedef uint32_t xs_ze_result;

#define XS_ZE_SUCCESS                     0u
#define XS_ZE_NOT_READY                   1u
#define XS_ZE_ERROR_DEVICE_LOST           0x70000001u
#define XS_ZE_ERROR_OUT_OF_HOST_MEMORY    0x70000002u
#define XS_ZE_ERROR_OUT_OF_DEVICE_MEMORY  0x70000003u
#define XS_ZE_ERROR_UNINITIALIZED         0x78000001u
#define XS_ZE_ERROR_UNSUPPORTED_FEATURE   0x78000003u
#define XS_ZE_QUERY_TRUE                  0x78000022u   /* since 1.17 */

#define XS_ZE_TYPE_DEVICE_PROPERTIES      0x3u
#define XS_ZE_TYPE_MEMORY_PROPERTIES      0x7u
#define XS_ZE_TYPE_QUEUE_DESC             0xeu
#define XS_ZE_TYPE_LIST_DESC              0xfu
#define XS_ZE_TYPE_EVENT_POOL_DESC        0x10u
#define XS_ZE_TYPE_EVENT_DESC             0x11u
#define XS_ZE_TYPE_FENCE_DESC             0x12u
#define XS_ZE_TYPE_PCI_PROPERTIES         0x10008u
#define XS_ZE_TYPE_DDI_HANDLES            0x20027u   /* since 1.11 */

#define XS_ZE_DEVICE_GPU                  1u
#define XS_ZE_DEVICE_CPU                  2u
#define XS_ZE_DEVICE_FPGA                 3u
#define XS_ZE_DEVICE_MCA                  4u
#define XS_ZE_DEVICE_NPU                  5u

#define XS_ZE_QUEUE_IN_ORDER              2u         /* since 1.9 */
#define XS_ZE_MODE_SYNCHRONOUS            1u
#define XS_ZE_PRIORITY_NORMAL             0u
#define XS_ZE_PRIORITY_LOW                1u
#define XS_ZE_PRIORITY_HIGH               2u
#define XS_ZE_POOL_HOST_VISIBLE           1u
#define XS_ZE_SCOPE_HOST                  4u
#define XS_ZE_DDI_HANDLES_SUPPORTED       1u
#define XS_ZE_DDI_HANDLES_NAME            "ZE_extension_driver_ddi_handles"
#define XS_ZE_NAME_BYTES                  256

/* The beginning of every extensible structure. */
struct xs_ze_base {
    uint32_t type;
    void *next;
};

struct xs_ze_groups {
    uint32_t x, y, z;
};

struct xs_ze_queue_desc {
    uint32_t type;
    const void *next;
    uint32_t ordinal, index, flags, mode, priority;
};

struct xs_ze_list_desc {
    uint32_t type;
    const void *next;
    uint32_t ordinal, flags;
};

struct xs_ze_fence_desc {
    uint32_t type;
    const void *next;
    uint32_t flags;
};

struct xs_ze_event_pool_desc {
    uint32_t type;
    const void *next;
    uint32_t flags, count;
};

struct xs_ze_event_desc {
    uint32_t type;
    const void *next;
    uint32_t index, signal, wait;
};

struct xs_ze_device_properties {
    uint32_t type;
    void *next;
    uint32_t kind, vendor, device, flags, subdevice, clock;
    uint64_t most_alloc;
    uint32_t most_contexts, most_priority, threads, simd, eus, subslices, slices;
    uint64_t timer;
    uint32_t timestamp_bits, kernel_timestamp_bits;
    uint8_t uuid[16];
    char name[XS_ZE_NAME_BYTES];
};

struct xs_ze_pci_properties {
    uint32_t type;
    void *next;
    uint32_t domain, bus, device, function;
    struct {
        int32_t generation, width;
        int64_t bandwidth;
    } speed;
};

struct xs_ze_memory_properties {
    uint32_t type;
    void *next;
    uint32_t flags, clock, bus_width;
    uint64_t bytes;
    char name[XS_ZE_NAME_BYTES];
};

struct xs_ze_physical_desc {
    uint32_t type;
    const void *next;
    uint32_t flags;
    size_t bytes;
};

struct xs_ze_extension {
    char name[XS_ZE_NAME_BYTES];
    uint32_t version;
};

struct xs_ze_driver_properties {
    uint32_t type;
    void *next;
    uint8_t uuid[16];
    uint32_t version;
};

struct xs_ze_ddi_handles {
    uint32_t type;
    void *next;
    uint32_t flags;
};

#endif
