/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the main loop. */
#ifndef XS_XSERVER_HTTP_ASK_MAIN_H
#define XS_XSERVER_HTTP_ASK_MAIN_H

#include "xserver/request.h"

/** xs_mailbox_ask, with space for the answer: if the answer needs more space, makes it and asks again.
 *  @return as xs_mailbox_ask; -ENOMEM (r is gone) */
int xs_ask(struct xs_mailbox *m, struct xs_request *r, uint64_t timeout_ns);

#endif
