/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cuda_numbers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 96 /* NVML_DEVICE_UUID_V2_BUFFER_SIZE and NVML_DEVICE_NAME_V2_BUFFER_SIZE */

/* As nvml.h, which NVIDIA's documentation prints, declares it. */
struct nvml_memory_info {
    unsigned long long total, free, used;
};

#define FUNCTIONS(X)                                                  \
    X(nvmlInit_v2, (void))                                            \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **))             \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **))      \
    X(nvmlDeviceGetUUID, (void *, char *, unsigned))                  \
    X(nvmlDeviceGetName, (void *, char *, unsigned))                  \
    X(nvmlDeviceGetMemoryInfo, (void *, struct nvml_memory_info *))
#define X(name, params) static int (*name) params;
FUNCTIONS(X)
#undef X

struct facts {
    char uuid[TEXT_BYTES], name[TEXT_BYTES];
    struct nvml_memory_info memory;
};

static int get_facts(void *device, struct facts *ret)
{
    memset(ret, 0, sizeof(*ret));
    return nvmlDeviceGetUUID(device, ret->uuid, TEXT_BYTES) || nvmlDeviceGetName(device, ret->name, TEXT_BYTES) ||
           nvmlDeviceGetMemoryInfo(device, &ret->memory);
}

const char *compare_first(uint32_t address)
{
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *p, *first, *ours;
    struct facts of_first, of_ours;
    char text[32];

    if (!lib)
        return "unknown";
#define X(name, params)       \
    p = dlsym(lib, #name);    \
    if (!p)                   \
        return "unknown";     \
    memcpy(&name, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
    snprintf(text, sizeof(text), "%08x:%02x:%02x.0", address >> 16, address >> 8 & 0xff, address >> 3 & 0x1f);
    if (nvmlInit_v2() || nvmlDeviceGetHandleByIndex_v2(0, &first) || nvmlDeviceGetHandleByPciBusId_v2(text, &ours) ||
        get_facts(first, &of_first) || get_facts(ours, &of_ours))
        return "unknown";
    if (strcmp(of_first.uuid, of_ours.uuid) == 0)
        return "same";
    return strcmp(of_first.name, of_ours.name) == 0 && of_first.memory.total == of_ours.memory.total ? "alike" : "unlike";
}
