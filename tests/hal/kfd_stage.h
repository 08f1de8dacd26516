/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of AMD's queues share: the fake driver with two devices, a program's requests as they go behind the exported
 * ioctl, and what xserver wishes. */
#ifndef KFD_STAGE_H
#define KFD_STAGE_H

#include "fake_kfd.h"
#include "hal/hip/kfd/kfd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KFD_FILE  700     /* the descriptor of /dev/kfd */
#define KFD_ADDR  0xc300u /* of the first device */
#define KFD_LATER (uint64_t)INT64_MAX

struct CMUnitTest;

extern unsigned kfd_told; /* changes that the listener was told of since kfd_start */

int kfd_start(void **state);
int kfd_end(void **state);

/* ---- what ROCr does ---- */

uint32_t kfd_make_on(int gpu, uint32_t type, uint64_t ring);
uint32_t kfd_make(uint64_t ring);
int kfd_change(uint32_t id, uint64_t ring, uint32_t percentage, uint32_t priority);
int kfd_mask(uint32_t id, uint32_t bits, const uint32_t *words);
int kfd_finish(uint32_t id);

/* ---- what xserver wishes ---- */

void kfd_want(uint32_t address, bool off, uint64_t until_ns);
void kfd_confine(uint32_t part, bool off, uint64_t until_ns);

/* ---- what the driver has ---- */

void kfd_is(uint32_t id, uint32_t percentage, uint32_t priority, uint64_t ring);
void kfd_has(uint32_t id, uint32_t units, uint32_t masks);

/* Runs the cases, and removes what kfd_start made. */
int kfd_run(const char *name, const struct CMUnitTest *tests, size_t n);

#endif
