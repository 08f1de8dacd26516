/* SPDX-License-Identifier: Apache-2.0 */
#include "query/device_text.h"

#include <stdio.h>

static const char *text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));

    return text ? text : "";
}

bool xs_device_text(uint64_t device, const json_t *answer, char *ret, size_t size)
{
    static const char *const k_kinds[] = {"device", "CPU", "GPU", "NPU", "FPGA", "ASIC", "MCA"};
    const char *kind = device >> 32 < XS_ARRAY_LEN(k_kinds) ? k_kinds[device >> 32] : k_kinds[0];
    uint32_t id = (uint32_t)device;
    size_t i;
    json_t *o;

    json_array_foreach(json_object_get(answer, "devices"), i, o)
    {
        if ((uint64_t)json_integer_value(json_object_get(o, "device")) != device || !text_of(o, "gpu")[0])
            continue;
        snprintf(ret, size, "%s %s%s%s", kind, text_of(o, "gpu"), text_of(o, "model")[0] ? " " : "", text_of(o, "model"));
        return true;
    }
    if (id >> 16 == 0xffff) /* a hash of its name */
        snprintf(ret, size, "%s %04x", kind, id & 0xffff);
    else
        snprintf(ret, size, "%s %04x:%02x:%02x.%x", kind, id >> 16, id >> 8 & 0xff, id >> 3 & 0x1f, id & 7);
    return false;
}
