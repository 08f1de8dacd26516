/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, temperature and clock of a device, where its kernel driver shows them in sysfs (amdgpu, i915,
 * xe; each shows some of them). Any thread. */
#ifndef XS_HTTP_DEVICE_STATE_H
#define XS_HTTP_DEVICE_STATE_H

#include "base/xs_base.h"

#define XS_DEVICE_UNKNOWN (-1)

struct xs_device_state {
    int64_t memory_bytes, memory_used_bytes; /* XS_DEVICE_UNKNOWN, as all here: not shown */
    int64_t temperature_c, clock_mhz;
};

#define XS_DEVICE_STATE_UNKNOWN                                                                              \
    ((struct xs_device_state){XS_DEVICE_UNKNOWN, XS_DEVICE_UNKNOWN, XS_DEVICE_UNKNOWN, XS_DEVICE_UNKNOWN})

/** @param folder  of the device in sysfs; "/sys/bus/pci/devices/0000:3b:00.0" */
void xs_device_state_get(const char *folder, struct xs_device_state *ret);
/** Whether it is NVIDIA's, whose driver shows nothing of this in sysfs (nvml_states.h has it). */
bool xs_device_is_nvidia(const char *folder);

#endif
