/* SPDX-License-Identifier: Apache-2.0 */
/* Connections whose question is answered again and again, each period, until they ask another or end (XS_ASK_REPEAT).
 * A subscriber has one answer on its way at most. One that comes due before that has left, or while its user is over the share
 * of the main loop's time, is lost and counted: xserver never waits. Main loop's thread. */
#ifndef XS_XSERVER_SUBSCRIBERS_H
#define XS_XSERVER_SUBSCRIBERS_H

#include "asks/ask_wire.h"

struct xs_server;
struct xs_client;

/** What xserver keeps of a subscription. */
struct xs_subscriber {
    enum xs_request_kind kind;
    struct xs_asker asker;
    struct xs_request_params params; /* of the next question */
    uint64_t period_ns, due_ns;
    uint64_t lost; /* answers */
};

/** The question that came, which has its asker, is to be repeated.
 *  @return NULL, or what is wrong, for users */
const char *xs_subscribers_add(struct xs_server *s, struct xs_client *c, struct xs_request *r);
/** The answer to its question is complete. */
void xs_subscribers_answered(struct xs_client *c, struct xs_request *r);
/** Ends the subscription, if there is one. */
void xs_subscribers_remove(struct xs_client *c);
/** Asks again where it is time, by xs_asks_again(). @return when to look again; UINT64_MAX: there is none */
uint64_t xs_subscribers_look(struct xs_server *s, struct xs_client *c);

#endif
