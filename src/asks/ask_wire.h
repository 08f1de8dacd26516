/* SPDX-License-Identifier: Apache-2.0 */
/* A request as a message, and its answer as a message with packets of records behind it (decision 0045). */
#ifndef XS_ASK_WIRE_H
#define XS_ASK_WIRE_H

#include "asks/request.h"
#include "wire/wire.h"

#define XS_ASK_PERIOD_MIN_MS 100u /* of a subscription */
#define XS_ASK_PERIOD_MAX_MS 60000u
#define XS_ASK_PACKET        32768u /* bytes of records in one packet, at most; no record is longer */

/** The layout of this build's records. Both sides have the same, or xserver sends no records. */
uint32_t xs_ask_layout(void);

/** @param for_other  asks for r->asker; else for the process itself */
void xs_ask_pack(const struct xs_request *r, bool for_other, union xs_msg *ret);
/** Checks what the message's own ranges leave open. Takes the asker only from a message that asks for another.
 *  @return NULL, or what is wrong, for users */
const char *xs_ask_unpack(const struct xs_msg_ask *m, struct xs_request *ret);

void xs_answer_pack(const struct xs_request *r, bool records, union xs_msg *ret);
/** Makes room for the records. @return 0, -EBADMSG or -ENOMEM */
int xs_answer_unpack(const struct xs_msg_answer *m, struct xs_request *r);

/** One kind of an answer's records. */
struct xs_answer_part {
    void *records;
    size_t bytes; /* of one */
    size_t n;
};
#define XS_ANSWER_PARTS 7u

/** The parts in the order in which they come. @param flags  of the answer */
void xs_answer_parts(struct xs_request *r, uint32_t flags, struct xs_answer_part ret[XS_ANSWER_PARTS]);
/** Which single records an answer of that kind has: XS_ANSWER_STATE, XS_ANSWER_SETTINGS. */
uint32_t xs_answer_flags(enum xs_request_kind kind);
/** The next packet of records: at byte *ret_at of part *ret_part on, which have reached so far.
 *  @return its bytes; 0: there are no more */
size_t xs_answer_next(const struct xs_answer_part parts[XS_ANSWER_PARTS], unsigned *part, size_t *at, char **ret);

#endif
