/* SPDX-License-Identifier: Apache-2.0 */
/* The processes on the GPUs of this machine, whoever's they are, under XSched or not: of NVIDIA's GPUs by NVML, of AMD's by
 * /sys/class/kfd. Both tell everybody. */
#ifndef XS_GPUS_PROCESSES_H
#define XS_GPUS_PROCESSES_H

#include "base/xs_base.h"

#include "xsched/types.h"

#define XS_GPU_PROCESSES 256u /* the most of one list */

struct xs_gpu_process {
    XDevice device;
    int32_t pid;
    int32_t draws; /* 1: it draws, and computes nothing */
};

struct xs_gpu_processes {
    uint32_t n;
    struct xs_gpu_process rows[XS_GPU_PROCESSES];
};

/** Adds those on NVIDIA's GPUs. Loads the vendor's library, which may crash, hang or print: call it in a child. */
void xs_gpu_processes_nvml(struct xs_gpu_processes *list);
/** Adds those on AMD's GPUs. Nothing in a PID namespace other than the first one, whose numbers the kernel lists.
 *  @param kfd  "/sys/class/kfd/kfd" */
void xs_gpu_processes_kfd(struct xs_gpu_processes *list, const char *kfd);

#define XS_GPU_KFD "/sys/class/kfd/kfd"

#endif
