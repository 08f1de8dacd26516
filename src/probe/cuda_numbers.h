/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU a program finds that takes a number of CUDA_VISIBLE_DEVICES for one of NVML's, as vLLM and PyTorch's
 * monitoring do (decision 0043). */
#ifndef XS_PROBE_CUDA_NUMBERS_H
#define XS_PROBE_CUDA_NUMBERS_H

#include <stdint.h>

/** Compares NVML's number 0 with the device at this address (xs_pci_number).
 *  @return "same"; "alike": of the same model, with as much memory; "unlike"; "unknown": without NVML a program
 *          finds no device by a number */
const char *compare_first(uint32_t address);

#endif
