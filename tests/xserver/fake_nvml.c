/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml.so.1 with two devices. FAKE_NVML: no_driver, crash, hang; FAKE_NVML_PIDS: a file with lines "DEVICE PID KIND"
 * (0 or 1, compute or graphics) of the processes there; FAKE_NVML_LOG: a file with the process id of each
 * process that begins to use it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fakes/nvml.h"

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

API int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *n, struct process *ret);

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = sizeof(g_devices) / sizeof(g_devices[0]);
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **ret)
{
    *ret = &g_devices[i];
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *ret)
{
    const char *address = ((struct fake_nvml_device *)device)->address;

    memset(ret, 0, sizeof(*ret));
    ret->bus = (unsigned)strtoul(address + 5, NULL, 16);
    return 0;
}

static int processes(const void *device, const char *kind, unsigned *n, struct process *ret)
{
    const char *path = getenv("FAKE_NVML_PIDS");
    FILE *f = path ? fopen(path, "re") : NULL;
    unsigned most = *n, of, pid;
    char its[16];

    *n = 0;
    while (f && *n < most && fscanf(f, "%u %u %15s", &of, &pid, its) == 3)
        if (device == &g_devices[of] && strcmp(its, kind) == 0)
            ret[(*n)++] = (struct process){.pid = pid};
    if (f)
        fclose(f);
    return f ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *ret)
{
    return processes(device, "compute", n, ret);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *n, struct process *ret)
{
    return processes(device, "graphics", n, ret);
}
