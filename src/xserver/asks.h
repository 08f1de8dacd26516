/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over which users and tools ask (src/asks). One asks one thing at a time: xserver reads the next question when the
 * answer has left. A subscription (subscribers.h) ends with the next question.
 * Each user has a share of such connections, of the memory for answers and of the main loop's time
 * (decision 0030). Main loop's thread. */
#ifndef XS_XSERVER_ASKS_H
#define XS_XSERVER_ASKS_H

#include "xserver/subscribers.h"

struct xs_server;
struct xs_client;

#define XS_ASKERS       128u           /* connections that ask */
#define XS_ASKS_ANSWERS (64ull << 20)  /* bytes of answers that are not sent yet */
#define XS_ASKS_WORK_NS 312u           /* of the main loop's time, which count as a part of a ring: 5 % of a core for each user */

/** What xserver keeps of such a connection. */
struct xs_asking {
    struct xs_request *r; /* in progress, or its answer on its way; NULL: none */
    bool sending, head_sent;
    struct xs_answer_part parts[XS_ANSWER_PARTS];
    unsigned part;
    size_t at;
    uint32_t layout;      /* of the asker's records */
    uint64_t bytes;       /* of the pool of answers */
    struct xs_subscriber *subscriber; /* NULL: it gets one answer for each question */
    uint64_t moved_ns;    /* when a question came, or a packet of the answer left */
};

/** A question came. @return false when it dropped the connection */
bool xs_asks_take(struct xs_server *s, struct xs_client *c, const struct xs_msg_ask *m);
/** The question of a subscription once more. The connection has no other in progress. */
void xs_asks_again(struct xs_server *s, struct xs_client *c, struct xs_request *r);
/** Its answer is complete: sends what the socket takes. */
void xs_asks_answer(struct xs_server *s, struct xs_request *r);
/** The socket takes more. */
void xs_asks_writable(struct xs_server *s, struct xs_client *c);
/** The events of its socket. */
uint32_t xs_asks_events(const struct xs_client *c);
/** The connection ends. */
void xs_asks_gone(struct xs_server *s, struct xs_client *c);
/** Ends connections that say nothing, or do not read. @return when to look again; UINT64_MAX: there is none */
uint64_t xs_asks_housekeeping(struct xs_server *s);

#endif
