/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml.so.1 with two devices. FAKE_NVML: no_driver, crash, hang; FAKE_NVML_LOG: a file with the process id of each
 * process that begins to use it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { UNINITIALIZED = 1, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };
struct nvml_memory {
    unsigned long long total, free, used;
};
struct fake_nvml_device {
    const char *address, *name;
    struct nvml_memory memory;
    unsigned temperature, clocks[4];
};
static struct fake_nvml_device g_devices[] = {
    {"0000:3b:00.0", "NVIDIA Fake 80GB", {80ull << 30, 60ull << 30, 20ull << 30}, 54, {1, 1980, 2, 3}},
    {"0000:5e:00.0", "NVIDIA \"Odd\"", {0}, 0, {0}}, /* supports no question; a name that would end a label */
};
static int g_initialized;

static int is(const char *way)
{
    const char *value = getenv("FAKE_NVML");

    return value && strcmp(value, way) == 0;
}

API int nvmlInit_v2(void);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **ret);
API int nvmlDeviceGetName(void *device, char *ret, unsigned size);
API int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *ret);
API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret);
API int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *ret);

int nvmlInit_v2(void)
{
    const char *path = getenv("FAKE_NVML_LOG");
    FILE *log = path ? fopen(path, "ae") : NULL;

    if (log) {
        fprintf(log, "%d\n", getpid());
        fclose(log);
    }
    fputs("a library that has much to say\n", stderr);
    g_initialized = 1;
    return is("no_driver") ? DRIVER_NOT_LOADED : 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **ret)
{
    if (!g_initialized)
        return UNINITIALIZED;
    for (size_t i = 0; i < sizeof(g_devices) / sizeof(g_devices[0]); i++)
        if (strcmp(g_devices[i].address, address) == 0) {
            *ret = &g_devices[i];
            return 0;
        }
    return NOT_FOUND;
}

int nvmlDeviceGetName(void *device, char *ret, unsigned size)
{
    snprintf(ret, size, "%s", ((struct fake_nvml_device *)device)->name);
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct nvml_memory *ret)
{
    if (is("crash"))
        abort();
    if (is("hang"))
        for (;;)
            pause();
    *ret = ((struct fake_nvml_device *)device)->memory;
    return ret->total ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret)
{
    *ret = ((struct fake_nvml_device *)device)->temperature;
    return *ret && sensor == 0 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *ret)
{
    *ret = ((struct fake_nvml_device *)device)->clocks[clock & 3];
    return *ret ? 0 : NOT_SUPPORTED;
}
