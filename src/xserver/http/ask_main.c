/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/http/ask_main.h"

#include <errno.h>

/* Enough for most hosts. One more question costs less than space for nothing. */
#define QUEUES  256u
#define CLIENTS 32u
#define TRIES   4

int xs_ask(struct xs_mailbox *m, struct xs_request *r, uint64_t timeout_ns)
{
    size_t queues = QUEUES, clients = CLIENTS;

    for (int i = 0;; i++) {
        int wrong;

        if (!xs_request_make_room(r, queues, clients)) {
            xs_request_free(r);
            return -ENOMEM;
        }
        r->done = false;
        wrong = xs_mailbox_ask(m, r, timeout_ns);
        if (wrong || r->status != XS_REQ_NEEDS_ROOM)
            return wrong;
        if (i == TRIES) {
            r->status = 503;
            return 0;
        }
        queues = r->need_queues + r->need_queues / 8; /* some may come meanwhile */
        clients = r->need_clients + r->need_clients / 8;
    }
}
