/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the xserver that the user means: a named one, or the first that answers. One thread. */
#ifndef XS_QUERY_ASK_XSERVER_H
#define XS_QUERY_ASK_XSERVER_H

#include "query/http_client.h"

#define XS_ASK_PORT 50000

struct xs_ask_where {
    const char *socket;  /* xserver's; its HTTP socket is beside it, for the paths of xsched-http */
    const char *address; /* or a host, 127.0.0.1 when there is only a port, ... */
    uint16_t port;       /* ... and its port; 0: the usual one. An address of this host without a token: the xserver of
                            this user or of the host that has this port, over its socket */
    const char *token; /* goes over TCP only with an address or a port */
    /* none of these: XSCHED_SOCKET and no other; else this user's, the host's, the usual port */
};

/** @param ret_tried  for users, on failure: a line for each place, "\n  PLACE: what happened"
 *  @return 0 whatever the status says, or -errno of the last place: -EHOSTDOWN a server is there and stands still; no
 *          other is asked then, since programs look there, too */
int xs_ask(const struct xs_ask_where *where, const char *method, const char *path, const char *body,
           struct xs_http_answer *ret, char *ret_tried, size_t size);

#endif
