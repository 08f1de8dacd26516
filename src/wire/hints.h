/* SPDX-License-Identifier: Apache-2.0 */
/* The hints of a queue in messages, and which of two changes counts. A program and xserver change
 * hints independently. A change that was on its way when the other side made one must not undo that
 * one. */
#ifndef XS_WIRE_HINTS_H
#define XS_WIRE_HINTS_H

#include "base/settings/hint_rows.h"
#include "wire/wire.h"
#include "xsched/policy.h"

/** A queue's hints with the time of each one's last change, by the owner's clock; 0: since the queue's
 *  start. */
struct xs_dated_hints {
    struct xs_hints hints;
    struct xs_hints_later later;
    uint64_t changed_ns[XS_PARTS];
};

/** The hints in the message that adds a queue. */
void xs_hints_pack_add(struct xs_msg_queue_add *m, const struct xs_dated_hints *h);
/** @param peer_minor  the sender's: a program that does not know a hint has none
 *  @param ret  changed_ns: 0 */
void xs_hints_of_add(struct xs_dated_hints *ret, const struct xs_msg_queue_add *m, uint32_t peer_minor);

/** Fills in the fields behind the handle.
 *  @param ahead_ns  how far the caller's clock is ahead of the host's (xs_clock_offset_ns) */
void xs_hints_pack(struct xs_msg_queue_hints *m, const struct xs_dated_hints *h, int64_t ahead_ns);

/** Takes over the parts that changed there after they changed here. A peer of a protocol minor before 5
 *  sends no times: then takes all of its hints. A program sends its hints afterwards, xserver does not.
 *  So if both changed a part at the same time, xserver's change counts. A part that the peer does not
 *  know stays.
 *  @param now_ns  by the caller's clock; no change counts as later than that */
void xs_hints_merge(struct xs_dated_hints *h, const struct xs_msg_queue_hints *m, uint32_t peer_minor, int64_t ahead_ns,
                    uint64_t now_ns);

#endif
