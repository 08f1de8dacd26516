/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the main loop something. */
#ifndef XS_XSERVER_HTTP_ASK_MAIN_H
#define XS_XSERVER_HTTP_ASK_MAIN_H

#include "xserver/request.h"

/** xs_mailbox_ask, with room for the answer: where there is more to see than it has room for, it makes room and asks again.
 *  @return as xs_mailbox_ask; -ENOMEM (r is freed) */
int xs_ask(struct xs_mailbox *m, struct xs_request *r, uint64_t timeout_ns);

#endif
