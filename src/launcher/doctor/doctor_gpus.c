/* SPDX-License-Identifier: Apache-2.0 */
/* The processes on the GPUs of this machine, whoever's they are: of NVIDIA's GPUs by NVML, of AMD's by /sys/class/kfd. Both
 * tell everybody. */
#include "launcher/doctor/doctor.h"

#include "base/pci.h"
#include "base/str.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPU           2ull /* the upper half of xserver's number of a device */
#define PROCESSES_MAX 256u

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

static void add(json_t *list, int64_t pid, uint64_t device)
{
    json_t *o, *one;
    size_t i;

    json_array_foreach(list, i, o) /* a program may compute and draw */
        if (json_integer_value(json_object_get(o, "pid")) == pid &&
            (uint64_t)json_integer_value(json_object_get(o, "device")) == device) return;
    one = json_object();
    json_object_set_new(one, "pid", json_integer(pid));
    json_object_set_new(one, "device", json_integer((json_int_t)device));
    json_array_append_new(list, one);
}

#define FUNCTION(type, name) __typeof__(type) name = (__typeof__(type))(uintptr_t)dlsym(lib, #name)

static void read_nvml(void *ctx, json_t *ret)
{
    static struct nvml_process processes[PROCESSES_MAX];
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *device;
    json_t *list = json_array();
    unsigned count = 0;

    (void)ctx;
    json_object_set_new(ret, "processes", list);
    if (!lib)
        return;
    FUNCTION(int (*)(void), nvmlInit_v2);
    FUNCTION(int (*)(unsigned *), nvmlDeviceGetCount_v2);
    FUNCTION(int (*)(unsigned, void **), nvmlDeviceGetHandleByIndex_v2);
    FUNCTION(int (*)(void *, struct nvml_pci *), nvmlDeviceGetPciInfo_v3);
    FUNCTION(int (*)(void *, unsigned *, struct nvml_process *), nvmlDeviceGetComputeRunningProcesses_v3);
    FUNCTION(int (*)(void *, unsigned *, struct nvml_process *), nvmlDeviceGetGraphicsRunningProcesses_v3);
    int (*const asks[])(void *, unsigned *,
                        struct nvml_process *) = {nvmlDeviceGetComputeRunningProcesses_v3,
                                                  nvmlDeviceGetGraphicsRunningProcesses_v3};

    if (!nvmlInit_v2 || !nvmlDeviceGetCount_v2 || !nvmlDeviceGetHandleByIndex_v2 ||
        !nvmlDeviceGetPciInfo_v3 || nvmlInit_v2() != 0 || nvmlDeviceGetCount_v2(&count) != 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        struct nvml_pci pci;
        uint32_t number;

        memset(&pci, 0, sizeof(pci));
        if (nvmlDeviceGetHandleByIndex_v2(i, &device) != 0 || nvmlDeviceGetPciInfo_v3(device, &pci) != 0)
            continue;
        number = xs_pci_number(pci.domain, pci.bus, pci.device, 0);
        for (size_t k = 0; k < XS_ARRAY_LEN(asks); k++) {
            unsigned n = PROCESSES_MAX;

            if (!asks[k] || asks[k](device, &n, processes) != 0)
                continue;
            for (unsigned m = 0; m < n && m < PROCESSES_MAX; m++)
                add(list, processes[m].pid, GPU << 32 | number);
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

/* The device of a gpu_id of /sys/class/kfd. @return 0: not found */
static uint64_t device_of(const char *gpu_id)
{
    char path[512], id[32];
    DIR *nodes = opendir("/sys/class/kfd/kfd/topology/nodes");
    uint64_t found = 0, location, domain;
    FILE *f;

    for (const struct dirent *e; nodes && !found && (e = readdir(nodes));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%s/gpu_id", e->d_name);
        f = fopen(path, "re");
        if (!f || !fgets(id, sizeof(id), f))
            id[0] = 0;
        if (f)
            fclose(f);
        id[strcspn(id, "\n")] = 0;
        snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%s/properties", e->d_name);
        if (strcmp(id, gpu_id) == 0 && property(path, "location_id", &location) &&
            property(path, "domain", &domain))
            found = GPU << 32 | xs_pci_number((uint32_t)domain, (uint32_t)location >> 8 & 0xff,
                                              (uint32_t)location >> 3 & 0x1f, (uint32_t)location & 7);
    }
    if (nodes)
        closedir(nodes);
    return found;
}

/* The kernel lists the numbers of its first PID namespace. */
static bool has_first_numbers(void)
{
    char link[64];
    ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

    link[n > 0 ? n : 0] = 0;
    return strcmp(link, "pid:[4026531836]") == 0; /* PROC_PID_INIT_INO */
}

/* /sys/class/kfd/kfd/proc/PID/vram_GPUID */
static void read_kfd(json_t *list)
{
    DIR *all = opendir("/sys/class/kfd/kfd/proc"), *one;
    char path[512];
    int64_t pid;

    for (const struct dirent *e; all && (e = readdir(all));) {
        if (xs_str_parse_i64(e->d_name, &pid) < 0)
            continue;
        snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%s", e->d_name);
        one = opendir(path);
        for (const struct dirent *of; one && (of = readdir(one));)
            if (strncmp(of->d_name, "vram_", 5) == 0)
                add(list, pid, device_of(of->d_name + 5));
        if (one)
            closedir(one);
    }
    if (all)
        closedir(all);
}

json_t *xs_doctor_gpu_processes(void)
{
    char end[128];
    json_t *answer = xs_doctor_in_child(read_nvml, NULL, end, sizeof(end)), *list;

    list = answer ? json_incref(json_object_get(answer, "processes")) : NULL;
    json_decref(answer);
    if (!list)
        list = json_array();
    if (has_first_numbers())
        read_kfd(list);
    return list;
}
