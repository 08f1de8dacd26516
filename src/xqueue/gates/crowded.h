/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that stand behind one another on the way to the device.
 *
 * A device serves the streams of a context by a few connections (CUDA: eight by default). A stream that stands at a
 * gate holds one. As long as each stream has a connection to itself, that stops nobody else. Where there are more
 * streams than connections, commands of other streams may stand behind that gate: copies and fills of memory behind
 * the first stream that waits. So such a context has no gates where a scheduler or the program may suspend single
 * queues. Its commands wait before the driver, as at level 1. */
#ifndef XS_XQUEUE_CROWDED_H
#define XS_XQUEUE_CROWDED_H

struct xs_queue;

/** The queue has its context's entries, or leaves the tables. The first queue too many opens the gates of the others for
 *  the commands that stand there. Under state.lock. */
void xs_crowded_join(struct xs_queue *q);
void xs_crowded_leave(struct xs_queue *q);

#endif
