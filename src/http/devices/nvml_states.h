/* SPDX-License-Identifier: Apache-2.0 */
/* The last states of NVIDIA's devices, which the reader (nvml_reader.h) tells. Threads of HTTP. */
#ifndef XS_HTTP_NVML_STATES_H
#define XS_HTTP_NVML_STATES_H

#include "http/devices/nvml_reader.h"

/** Asks again when the last state is older than a second; waits 0.3 s at most in all for a reader that does not
 *  answer.
 *  @param pci  address, "0000:3b:00.0"
 *  @param ret  all unknown where the reader, the library or the driver is missing, hangs or fails */
void xs_nvml_state_get(const char *pci, struct xs_nvml_answer *ret);
/** Processes on NVIDIA's devices, joined or not; likewise. */
void xs_nvml_processes_get(struct xs_gpu_processes *ret);
/** For tests: the program that is the reader. NULL: this one. */
void xs_nvml_reader_set(const char *program);

#endif
