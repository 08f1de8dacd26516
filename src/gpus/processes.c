/* SPDX-License-Identifier: Apache-2.0 */
#include "gpus/processes.h"

#include "base/pci.h"
#include "base/str.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPU 2ull /* the upper half of an XDevice */

/* As nvml.h, which NVIDIA's documentation prints, declares them. */
struct nvml_process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

static void add(struct xs_gpu_processes *list, int32_t pid, XDevice device, bool draws)
{
    for (uint32_t i = 0; i < list->n; i++) /* a program may compute and draw */
        if (list->rows[i].pid == pid && list->rows[i].device == device)
            return;
    if (list->n < XS_GPU_PROCESSES)
        list->rows[list->n++] = (struct xs_gpu_process){.device = device, .pid = pid, .draws = draws};
}

#define FUNCTION(type, name) __typeof__(type) name = (__typeof__(type))(uintptr_t)dlsym(lib, #name)

void xs_gpu_processes_nvml(struct xs_gpu_processes *list)
{
    static struct nvml_process processes[XS_GPU_PROCESSES];
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *device;
    unsigned count = 0;

    if (!lib)
        return;
    FUNCTION(int (*)(void), nvmlInit_v2);
    FUNCTION(int (*)(unsigned *), nvmlDeviceGetCount_v2);
    FUNCTION(int (*)(unsigned, void **), nvmlDeviceGetHandleByIndex_v2);
    FUNCTION(int (*)(void *, struct nvml_pci *), nvmlDeviceGetPciInfo_v3);
    FUNCTION(int (*)(void *, unsigned *, struct nvml_process *), nvmlDeviceGetComputeRunningProcesses_v3);
    FUNCTION(int (*)(void *, unsigned *, struct nvml_process *), nvmlDeviceGetGraphicsRunningProcesses_v3);
    int (*const asks[])(void *, unsigned *, struct nvml_process *) = {nvmlDeviceGetComputeRunningProcesses_v3,
                                                                      nvmlDeviceGetGraphicsRunningProcesses_v3};

    if (!nvmlInit_v2 || !nvmlDeviceGetCount_v2 || !nvmlDeviceGetHandleByIndex_v2 || !nvmlDeviceGetPciInfo_v3 ||
        nvmlInit_v2() != 0 || nvmlDeviceGetCount_v2(&count) != 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        struct nvml_pci pci;
        uint32_t number;

        memset(&pci, 0, sizeof(pci));
        if (nvmlDeviceGetHandleByIndex_v2(i, &device) != 0 || nvmlDeviceGetPciInfo_v3(device, &pci) != 0)
            continue;
        number = xs_pci_number(pci.domain, pci.bus, pci.device, 0);
        for (size_t k = 0; k < XS_ARRAY_LEN(asks); k++) {
            unsigned n = XS_GPU_PROCESSES;

            if (!asks[k] || asks[k](device, &n, processes) != 0)
                continue;
            for (unsigned m = 0; m < n && m < XS_GPU_PROCESSES; m++)
                add(list, (int32_t)processes[m].pid, GPU << 32 | number, k > 0);
        }
    }
}

/* One line of a file of the form "name value". */
static bool property(const char *path, const char *name, uint64_t *ret)
{
    FILE *f = fopen(path, "re");
    char line[128];
    bool found = false;

    while (f && !found && fgets(line, sizeof(line), f)) {
        const char *value = line + strlen(name);
        char *end = line;

        if (strncmp(line, name, strlen(name)) == 0)
            *ret = strtoull(value, &end, 10);
        found = end > value;
    }
    if (f)
        fclose(f);
    return found;
}

/* The device of a gpu_id of kfd. @return 0: not found */
static XDevice device_of(const char *kfd, const char *gpu_id)
{
    char path[512], id[32];
    uint64_t found = 0, location, domain;
    DIR *nodes;
    FILE *f;

    snprintf(path, sizeof(path), "%s/topology/nodes", kfd);
    nodes = opendir(path);
    for (const struct dirent *e; nodes && !found && (e = readdir(nodes));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%.128s/topology/nodes/%.64s/gpu_id", kfd, e->d_name);
        f = fopen(path, "re");
        if (!f || !fgets(id, sizeof(id), f))
            id[0] = 0;
        if (f)
            fclose(f);
        id[strcspn(id, "\n")] = 0;
        snprintf(path, sizeof(path), "%.128s/topology/nodes/%.64s/properties", kfd, e->d_name);
        if (strcmp(id, gpu_id) == 0 && property(path, "location_id", &location) && property(path, "domain", &domain))
            found = GPU << 32 | xs_pci_number((uint32_t)domain, (uint32_t)location >> 8 & 0xff,
                                              (uint32_t)location >> 3 & 0x1f, (uint32_t)location & 7);
    }
    if (nodes)
        closedir(nodes);
    return found;
}

static bool has_first_numbers(void)
{
    char link[64];
    ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

    link[n > 0 ? n : 0] = 0;
    return strcmp(link, "pid:[4026531836]") == 0; /* PROC_PID_INIT_INO */
}

/* proc/PID/vram_GPUID */
void xs_gpu_processes_kfd(struct xs_gpu_processes *list, const char *kfd)
{
    char path[512];
    DIR *all, *one;
    int64_t pid;

    snprintf(path, sizeof(path), "%.128s/proc", kfd);
    all = has_first_numbers() || strcmp(kfd, XS_GPU_KFD) != 0 ? opendir(path) : NULL;
    for (const struct dirent *e; all && (e = readdir(all));) {
        if (xs_str_parse_i64(e->d_name, &pid) < 0)
            continue;
        snprintf(path, sizeof(path), "%.128s/proc/%.64s", kfd, e->d_name);
        one = opendir(path);
        for (const struct dirent *of; one && (of = readdir(one));)
            if (strncmp(of->d_name, "vram_", 5) == 0)
                add(list, (int32_t)pid, device_of(kfd, of->d_name + 5), false);
        if (one)
            closedir(one);
    }
    if (all)
        closedir(all);
}
