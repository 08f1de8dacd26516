/* SPDX-License-Identifier: Apache-2.0 */
/* Which physical device that is, the same in every process of the host and on every platform. */
#include "hal/levelzero/hal.h"

#include "base/map.h"
#include "base/pci.h"

#include <string.h>

static uint32_t hash_name(const char *name)
{
    uint64_t h = 7;

    for (; *name; name++)
        h = xs_hash_u64(h * 31 + (unsigned char)*name + 1);
    return 0xFFFF0000u | (uint32_t)((h ^ h >> 16 ^ h >> 32 ^ h >> 48) & 0xFFFF);
}

static XDeviceType type_of(uint32_t kind)
{
    switch (kind) {
    case XS_ZE_DEVICE_GPU:
        return kDeviceTypeGPU;
    case XS_ZE_DEVICE_CPU:
        return kDeviceTypeCPU;
    case XS_ZE_DEVICE_FPGA:
        return kDeviceTypeFPGA;
    case XS_ZE_DEVICE_MCA:
        return kDeviceTypeMCA;
    case XS_ZE_DEVICE_NPU:
        return kDeviceTypeNPU;
    default:
        return kDeviceTypeUnknown;
    }
}

/* A part of a device has the device's address, and counts as the device. */
XDevice xs_ze_device_identity(const struct xs_ze_api *api, xs_ze_handle device)
{
    struct xs_ze_device_properties p = {.type = XS_ZE_TYPE_DEVICE_PROPERTIES};
    struct xs_ze_pci_properties pci = {.type = XS_ZE_TYPE_PCI_PROPERTIES};
    uint32_t id;

    if (!api->zeDeviceGetProperties || api->zeDeviceGetProperties(device, &p) != XS_ZE_SUCCESS)
        memset(&p, 0, sizeof(p));
    p.name[sizeof(p.name) - 1] = 0;
    id = api->zeDevicePciGetPropertiesExt && api->zeDevicePciGetPropertiesExt(device, &pci) == XS_ZE_SUCCESS
             ? xs_pci_number(pci.domain, pci.bus, pci.device, pci.function)
             : hash_name(p.name);
    return (XDevice)type_of(p.kind) << 32 | id;
}
