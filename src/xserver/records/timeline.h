/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of scheduling events (a queue joined, became ready, began to wait, ...) for `xsched record`.
 * It fills only while a client asks for it. Main loop's thread. */
#ifndef XS_XSERVER_TIMELINE_H
#define XS_XSERVER_TIMELINE_H

#include "asks/records.h"

#define XS_TIMELINE_LENGTH 65536u /* events; new ones overwrite the oldest */

struct xs_timeline {
    struct xs_timeline_event *ring; /* NULL: no client asks */
    uint64_t first, count;          /* numbers of the first event of this ring and of the next one */
    uint64_t asked_ns;
};

void xs_timeline_add(struct xs_timeline *t, const struct xs_timeline_event *e);
/** Keeps events from now on. @return 0 or -ENOMEM */
int xs_timeline_want(struct xs_timeline *t, uint64_t now_ns);
/** Frees the ring when no client asked for a while. @return when to look again; UINT64_MAX: never */
uint64_t xs_timeline_housekeeping(struct xs_timeline *t, uint64_t now_ns);
/** Copies events from number `since` on: of the next XS_TIMELINE_ANSWER those that the filter accepts.
 *  @param ret_next  the number to go on from
 *  @param ret_lost  how many events later ones have overwritten
 *  @return how many; at most XS_TIMELINE_ANSWER */
size_t xs_timeline_copy(const struct xs_timeline *t, uint64_t since, bool (*passes)(void *ctx, uint32_t uid),
                        void *ctx, struct xs_timeline_event *ret, uint64_t *ret_next, uint64_t *ret_lost);
/** Enciphers a number, together with a salt of which 20 bits count. For a client that may not know how
 *  many events there were, nor whether there were any. */
uint64_t xs_timeline_veil(uint64_t secret, uint64_t number, uint64_t salt);
uint64_t xs_timeline_unveil(uint64_t secret, uint64_t veiled);

#endif
