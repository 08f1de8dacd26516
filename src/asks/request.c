/* SPDX-License-Identifier: Apache-2.0 */
#include "asks/request.h"

#include <stdlib.h>

struct xs_request *xs_request_new(enum xs_request_kind kind)
{
    struct xs_request *r = calloc(1, sizeof(*r));

    if (r)
        r->kind = kind;
    return r;
}

void xs_request_free(struct xs_request *r)
{
    if (!r)
        return;
    free(r->queues);
    free(r->clients);
    free(r->ended);
    free(r->events);
    free(r->loads);
    free(r);
}

/* The kernel gives the memory page by page, as the main loop fills it. @return NULL: out of memory */
static void *room_for(size_t n, size_t bytes)
{
    return calloc(XS_MAX(n, (size_t)1), bytes);
}

bool xs_request_make_room(struct xs_request *r, size_t queues, size_t clients)
{
    free(r->queues);
    free(r->clients);
    r->room_queues = queues;
    r->room_clients = clients;
    r->queues = room_for(queues, sizeof(*r->queues));
    r->clients = room_for(clients, sizeof(*r->clients));
    if (r->kind == XS_REQ_CLIENTS && !r->ended)
        r->ended = room_for(XS_HISTORY_LENGTH, sizeof(*r->ended));
    if (r->kind == XS_REQ_TIMELINE && !r->events)
        r->events = room_for(XS_TIMELINE_ANSWER, sizeof(*r->events));
    if (r->params.loads && !r->loads)
        r->loads = room_for(XS_LOADS_LENGTH, sizeof(*r->loads));
    return r->queues && r->clients && (r->loads || !r->params.loads) && (r->ended || r->kind != XS_REQ_CLIENTS) &&
           (r->events || r->kind != XS_REQ_TIMELINE);
}

struct xs_client_record *xs_request_client(const struct xs_request *r, uint64_t session)
{
    size_t lo = 0, hi = r->n_clients;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (r->clients[mid].session == session)
            return &r->clients[mid];
        if (r->clients[mid].session < session)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}
