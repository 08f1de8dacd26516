/* SPDX-License-Identifier: Apache-2.0 */
/* Events that xserver sends by itself, ten times a second, so that nobody asks for them. One thread. */
#ifndef XS_LAUNCHER_RECORD_FEED_H
#define XS_LAUNCHER_RECORD_FEED_H

#include "base/xs_base.h"

#include <jansson.h>

struct xs_socket_feed;

/** All 0 at first. */
struct record_feed {
    struct xs_socket_feed *feed; /* NULL: there is none */
    bool never;                  /* the server does not do that */
    uint64_t fed_ns;             /* when it last brought some */
};

/** From that event on, of the server that a user names, or else of the first that answers. Tries it once.
 *  @param socket  NULL: no name */
void record_feed_begin(struct record_feed *f, const char *socket, uint64_t since);
/** Until that time, or the feed has something, or a signal comes. */
void record_feed_wait(const struct record_feed *f, uint64_t at_ns);
/** @param ret  what it has brought meanwhile, as GET /timeline; the caller frees it
 *  @return 1; 0: nothing yet; -errno: it is over */
int record_feed_take(struct record_feed *f, json_t **ret);
void record_feed_end(struct record_feed *f);

#endif
