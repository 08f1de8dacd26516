/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that the process itself confines to a part of a device (xs_interrupt_ops.lanes): what the scheduler knows of
 * them, and an eye on kernels that do not end there. The control thread. */
#ifndef XS_XQUEUE_CONFINED_H
#define XS_XQUEUE_CONFINED_H

#include "base/xs_base.h"

struct xs_state;

/** The number by which the server knows who shares a device with this process at one time (hello.space); 0: in time. */
uint64_t xs_confined_space(const struct xs_state *st);

/** Tells the server the lanes of the queues that it knows. Where kernels of a confined process end nothing for
 *  a second, ends its lanes: a kernel whose blocks wait for each other may need more of the device.
 *  @param steered  the server says how the queues are confined (XS_WELCOME_MASKS)
 *  @return when to call again at the latest; UINT64_MAX: no need */
uint64_t xs_confined_tick(struct xs_state *st, bool steered);

#endif
