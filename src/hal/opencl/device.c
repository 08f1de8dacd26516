/* SPDX-License-Identifier: Apache-2.0 */
/* Which physical device a cl_device_id is, the same in every process of the host. */
#include "base/map.h"
#include "base/pci.h"
#include "hal/opencl/hal.h"

#include <string.h>

#define TEXT_BYTES 256

static bool get(const struct xs_ocl_api *api, cl_device_id device, cl_device_info name, void *value,
                size_t size)
{
    size_t got = 0;

    return api->clGetDeviceInfo(device, name, size, value, &got) == CL_SUCCESS && got == size;
}

/* cl_khr_pci_bus_info, cl_nv_device_attribute_query, cl_amd_device_attribute_query, in this order */
static bool pci_address(const struct xs_ocl_api *api, cl_device_id device, XDeviceId *ret_id)
{
    struct {
        cl_uint domain, bus, device, function;
    } khr;
    struct { /* type 1: PCIe, its last three bytes are the address */
        cl_uint type;
        uint8_t unused[17], bus, device, function;
    } amd;
    cl_uint bus, slot;

    _Static_assert(sizeof(amd) == 24, "layout of cl_device_topology_amd");
    if (get(api, device, CL_DEVICE_PCI_BUS_INFO_KHR, &khr, sizeof(khr))) {
        *ret_id = xs_pci_number(khr.domain, khr.bus, khr.device, khr.function);
        return true;
    }
    if (get(api, device, CL_DEVICE_PCI_BUS_ID_NV, &bus, sizeof(bus)) &&
        get(api, device, CL_DEVICE_PCI_SLOT_ID_NV, &slot, sizeof(slot))) {
        cl_uint domain = 0;

        if (!get(api, device, CL_DEVICE_PCI_DOMAIN_ID_NV, &domain, sizeof(domain)))
            domain = 0;
        *ret_id = domain << 16 | (bus & 255) << 8 | (slot & 255);
        return true;
    }
    if (get(api, device, CL_DEVICE_TOPOLOGY_AMD, &amd, sizeof(amd)) && amd.type == 1) {
        *ret_id = xs_pci_number(0, amd.bus, amd.device, amd.function);
        return true;
    }
    return false;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = xs_hash_u64(h * 31 + (unsigned char)*text + 1);
    return h;
}

static XDeviceId named_id(const struct xs_ocl_api *api, cl_device_id device)
{
    char platform_name[TEXT_BYTES] = "", device_name[TEXT_BYTES] = "";
    cl_platform_id platform = NULL;
    uint64_t h;

    if (get(api, device, CL_DEVICE_PLATFORM, &platform, sizeof(platform)) && platform &&
        api->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(platform_name), platform_name, NULL) !=
            CL_SUCCESS)
        platform_name[0] = 0;
    if (api->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(device_name), device_name, NULL) != CL_SUCCESS)
        device_name[0] = 0;
    platform_name[TEXT_BYTES - 1] = device_name[TEXT_BYTES - 1] = 0;
    h = hash_text(hash_text(6, platform_name), device_name);
    return 0xFFFF0000u | (XDeviceId)((h ^ h >> 16 ^ h >> 32 ^ h >> 48) & 0xFFFF);
}

static XDeviceType device_type(const struct xs_ocl_api *api, cl_device_id device)
{
    cl_device_type type = 0;

    if (!get(api, device, CL_DEVICE_TYPE, &type, sizeof(type)))
        return kDeviceTypeUnknown;
    if (type & CL_DEVICE_TYPE_GPU)
        return kDeviceTypeGPU;
    if (type & CL_DEVICE_TYPE_CPU)
        return kDeviceTypeCPU;
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return kDeviceTypeFPGA;
    return type & CL_DEVICE_TYPE_CUSTOM ? kDeviceTypeASIC : kDeviceTypeUnknown;
}

XDevice xs_ocl_device_identity(const struct xs_ocl_api *api, cl_device_id device)
{
    cl_device_id parent = NULL;
    XDeviceId id;

    /* A sub-device is a part of the same hardware. */
    for (int depth = 0; depth < 8; depth++) {
        if (!get(api, device, CL_DEVICE_PARENT_DEVICE, &parent, sizeof(parent)) || !parent)
            break;
        device = parent;
    }
    if (!pci_address(api, device, &id))
        id = named_id(api, device);
    return (XDevice)device_type(api, device) << 32 | id;
}
