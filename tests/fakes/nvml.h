/* SPDX-License-Identifier: Apache-2.0 */
/* What the fakes of libnvidia-ml.so.1 have in common: the processes on a device. Layouts as NVIDIA's documentation of NVML
 * prints them, and not by the product's own structures. */
#ifndef XS_FAKES_NVML_H
#define XS_FAKES_NVML_H

#define API __attribute__((visibility("default")))

struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};
struct pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};
API int nvmlDeviceGetCount_v2(unsigned *ret);
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **ret);
API int nvmlDeviceGetPciInfo_v3(void *device, struct pci *ret);
API int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *ret);

#endif
