/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3_gates.h"

#include "xserver/server.h"

void xs_lv3_tell_gates(struct xs_server *s, struct xs_client *c, bool cut_short)
{
    if (cut_short == c->lv3_gates && (!cut_short || c->record.queues_ever == c->lv3_gates_ever))
        return;
    c->lv3_gates = cut_short;
    c->lv3_gates_ever = c->record.queues_ever;
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client) {
        q->config.handle = q->handle;
        q->config.gates = cut_short ? XS_GATES_ON : XS_GATES_OFF;
        q->send_config = true;
        xs_client_tell(s, q);
    }
}
