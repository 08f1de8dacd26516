/* SPDX-License-Identifier: Apache-2.0 */
/* How long commands take on the device, by key (kernel and size), learnt from completions. A
 * fixed table without locks: an entry that is lost or torn costs one more measurement. */
#ifndef XS_ESTIMATE_H
#define XS_ESTIMATE_H

#include <stdint.h>

/** Nanoseconds, or 0: never timed. Any thread. */
uint32_t xs_estimate_get(uint64_t key);
/** A measured duration. Any thread. */
void xs_estimate_learn(uint64_t key, uint64_t measured_ns);

#endif
