/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml.so.1 for the devices of the fake CUDA driver, counted by their place on the bus. FAKE_NVML_KINDS: a letter for
 * each, of its model; "AA" without it, an upper and a lower one differ in memory alone. "-": there is no driver for it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../nvml.h"

struct nvml_memory {
    unsigned long long total, free, used;
};
API int nvmlInit_v2(void);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **ret);
API int nvmlDeviceGetUUID(void *device, char *ret, unsigned size);
API int nvmlDeviceGetName(void *device, char *ret, unsigned size);
API int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *ret);

static char g_devices[2];

static const char *kinds(void)
{
    const char *kinds = getenv("FAKE_NVML_KINDS");

    return kinds ? kinds : "AA";
}

static char kind_of(void *device)
{
    return kinds()[(char *)device - g_devices];
}

int nvmlInit_v2(void)
{
    puts("a library that has much to say");
    return *kinds() == '-' ? 9 : 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **ret)
{
    *ret = &g_devices[i & 1];
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **ret)
{
    unsigned domain, bus;

    if (sscanf(address, "%x:%x:00.0", &domain, &bus) != 2 || domain || bus < 0x10 || bus > 0x11)
        return 6;
    *ret = &g_devices[bus - 0x10];
    return 0;
}

int nvmlDeviceGetUUID(void *device, char *ret, unsigned size)
{
    snprintf(ret, size, "GPU-%d", (int)((char *)device - g_devices));
    return 0;
}

int nvmlDeviceGetName(void *device, char *ret, unsigned size)
{
    snprintf(ret, size, "NVIDIA Fake %c", toupper((unsigned char)kind_of(device)));
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *ret)
{
    ret->total = isupper((unsigned char)kind_of(device)) ? 80ull << 30 : 40ull << 30;
    return 0;
}
