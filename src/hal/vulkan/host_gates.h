/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: gates in a queue, which the host opens. */
#ifndef XS_VK_HOST_GATES_H
#define XS_VK_HOST_GATES_H

#include "base/xs_base.h"
#include "hal/vulkan/vk_abi.h"

struct xs_queue;
struct xs_vk_device;
struct xs_vk_gates;
struct xs_vk_hw;

/** As ops.gate; `word` and `serial` have no use here. The gate stands before the thread's next submission:
 *  xsched_priv_vk_gate_take. */
int xs_vk_gate(void *hw, _Atomic uint64_t *word, uint64_t serial, uint64_t number);
struct xs_ctx_entries *xs_vk_ctx_entries(void *hw);

/** Takes the gate that xs_vk_gate has set up: the value for which the present submission must wait. Only inside a
 *  submission to this queue.
 *  @param ret_semaphore  a timeline semaphore  @return the value; 0: nothing */
uint64_t xsched_priv_vk_gate_take(struct xs_vk_hw *hw, xs_vk_object *ret_semaphore);
/** Opens every gate in all queues of the device, in this thread. The caller has made sure that they may open
 *  (xsched_priv_inside_begin). */
void xsched_priv_vk_gates_open(struct xs_vk_device *d);

/** Before the end of the device: when this returns, no thread of ours calls the driver for the queue. */
void xs_vk_gates_end(struct xs_vk_hw *hw);

#endif
