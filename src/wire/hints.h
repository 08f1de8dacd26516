/* SPDX-License-Identifier: Apache-2.0 */
/* The hints of a queue in a message, and which of two changes counts. A program and xserver change
 * hints independently. A change that was on its way when the other side made one must not undo that
 * one. */
#ifndef XS_WIRE_HINTS_H
#define XS_WIRE_HINTS_H

#include "wire/wire.h"
#include "xsched/policy.h"

/** The parts that change independently. */
enum xs_hint_part { XS_PART_PRIORITY, XS_PART_UTILIZATION, XS_PART_DEADLINE, XS_PART_LAXITY, XS_PARTS };

/** A queue's hints with the time of each one's last change, by the owner's clock; 0: since the queue's
 *  start. */
struct xs_dated_hints {
    struct xs_hints hints;
    uint64_t changed_ns[XS_PARTS];
};

/** Fills in the fields behind the handle.
 *  @param ahead_ns  how far the caller's clock is ahead of the host's (xs_clock_offset_ns) */
void xs_hints_pack(struct xs_msg_queue_hints *m, const struct xs_dated_hints *h, int64_t ahead_ns);

/** Takes over the parts that changed there after they changed here. A peer of a protocol minor before 5
 *  sends no times: then takes all of its hints. A program sends its hints afterwards, xserver does not.
 *  So if both changed a part at the same time, xserver's change counts.
 *  @param now_ns  by the caller's clock; no change counts as later than that */
void xs_hints_merge(struct xs_dated_hints *h, const struct xs_msg_queue_hints *m, uint32_t peer_minor, int64_t ahead_ns,
                    uint64_t now_ns);

#endif
