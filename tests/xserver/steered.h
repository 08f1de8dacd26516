/* SPDX-License-Identifier: Apache-2.0 */
/* A process with channel groups, and xserver's side of it, against the fake driver: groups come as messages with real
 * descriptors. */
#ifndef FAKE_RM_STEERED_H
#define FAKE_RM_STEERED_H

#include "program.h"
#include "xqueue/interface.h"
#include "xserver/level3/lv3.h"

#define DEVICE ((uint64_t)kDeviceTypeGPU << 32 | 0x1b10u)

extern const struct xs_interrupt_ops *steered_ops;
extern struct xs_lv3 *g_lv3;
extern struct xs_lv3_program *g_program;

/** A context through a file of its own. */
void new_context(struct context *c, unsigned channels);
/** Groups but the first are told as this device's; 0: as what they are. */
extern XDevice tell_others_as;
/** All packets of this process, over the wire, to the server. @return how many */
unsigned tell(void);
void want(uint64_t us);
int setup(void **state);
int teardown(void **state);

#endif
