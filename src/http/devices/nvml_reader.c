/* SPDX-License-Identifier: Apache-2.0 */
#include "http/devices/nvml_reader.h"

#include "base/str.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IDLE_MS 10000
#define NO_NVML 3 /* exit status: there is no library, or it finds no driver */

/* As nvml.h, which NVIDIA's documentation prints, declares them. */
enum { NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1 };
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml {
    int (*nvmlInit_v2)(void);
    int (*nvmlDeviceGetHandleByPciBusId_v2)(const char *address, void **ret);
    int (*nvmlDeviceGetName)(void *device, char *ret, unsigned size);
    int (*nvmlDeviceGetMemoryInfo)(void *device, struct nvml_memory *ret);
    int (*nvmlDeviceGetTemperature)(void *device, int sensor, unsigned *ret);
    int (*nvmlDeviceGetClockInfo)(void *device, int clock, unsigned *ret);
};

static bool load(struct nvml *ret)
{
    static const struct {
        const char *name;
        size_t offset;
    } k_functions[] = {
#define ROW(name) {#name, offsetof(struct nvml, name)}
        ROW(nvmlInit_v2),
        ROW(nvmlDeviceGetHandleByPciBusId_v2),
        ROW(nvmlDeviceGetName),
        ROW(nvmlDeviceGetMemoryInfo),
        ROW(nvmlDeviceGetTemperature),
        ROW(nvmlDeviceGetClockInfo),
#undef ROW
    };
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return false;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_functions); i++) {
        void *function = dlsym(library, k_functions[i].name);

        if (!function)
            return false;
        memcpy((char *)ret + k_functions[i].offset, &function, sizeof(function));
    }
    return true;
}

/* What a function tells by a number that chooses the sensor or the clock. */
static int64_t ask(int (*function)(void *, int, unsigned *), void *device, int which)
{
    unsigned value = 0;

    return function(device, which, &value) == 0 ? (int64_t)value : XS_DEVICE_UNKNOWN;
}

static void answer(const struct nvml *nvml, const char *pci, struct xs_nvml_answer *ret)
{
    struct nvml_memory memory = {0};
    void *device = NULL;

    memset(ret, 0, sizeof(*ret));
    xs_str_copy(ret->pci, sizeof(ret->pci), pci);
    ret->state = XS_DEVICE_STATE_UNKNOWN;
    if (nvml->nvmlDeviceGetHandleByPciBusId_v2(pci, &device) != 0)
        return;
    if (nvml->nvmlDeviceGetName(device, ret->model, sizeof(ret->model)) != 0)
        ret->model[0] = 0;
    ret->model[sizeof(ret->model) - 1] = 0;
    if (nvml->nvmlDeviceGetMemoryInfo(device, &memory) == 0) {
        ret->state.memory_bytes = (int64_t)memory.total;
        ret->state.memory_used_bytes = (int64_t)memory.used;
    }
    ret->state.temperature_c = ask(nvml->nvmlDeviceGetTemperature, device, NVML_TEMPERATURE_GPU);
    ret->state.clock_mhz = ask(nvml->nvmlDeviceGetClockInfo, device, NVML_CLOCK_SM);
}

/* @return whether the answer is on its way */
static bool answer_question(const struct nvml *nvml, const struct xs_nvml_question *q)
{
    static struct xs_gpu_processes list;
    struct xs_nvml_answer a;

    if (strcmp(q->pci, XS_NVML_ALL) != 0) {
        answer(nvml, q->pci, &a);
        return send(STDIN_FILENO, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a);
    }
    memset(&list, 0, sizeof(list));
    xs_gpu_processes_nvml(&list);
    return send(STDIN_FILENO, &list, sizeof(list), MSG_NOSIGNAL) == sizeof(list);
}

int xs_nvml_reader_run(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    struct xs_nvml_question q;
    struct nvml nvml;
    int n;

#ifdef SYS_close_range
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0); /* the library has no use for xserver's descriptors */
#endif
    if (!load(&nvml) || nvml.nvmlInit_v2() != 0)
        return NO_NVML;
    while ((n = poll(&in, 1, IDLE_MS)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        if (recv(STDIN_FILENO, &q, sizeof(q), 0) != sizeof(q))
            break;
        q.pci[sizeof(q.pci) - 1] = 0;
        if (!answer_question(&nvml, &q))
            break;
    }
    return 0;
}
