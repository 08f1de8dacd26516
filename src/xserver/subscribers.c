/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/subscribers.h"

#include "xserver/asks.h"
#include "xserver/server.h"

#include <stdlib.h>

const char *xs_subscribers_add(struct xs_server *s, struct xs_client *c, struct xs_request *r)
{
    uint64_t period_ms = r->params.for_ms;
    struct xs_subscriber *sub;

    if (r->kind != XS_REQ_METRICS && r->kind != XS_REQ_TIMELINE)
        return "only the whole state and the events of queues can be subscribed";
    if (period_ms < XS_ASK_PERIOD_MIN_MS || period_ms > XS_ASK_PERIOD_MAX_MS)
        return "the period of a subscription is 100 to 60000 ms";
    sub = calloc(1, sizeof(*sub));
    if (!sub)
        return "out of memory";
    sub->kind = r->kind;
    sub->asker = r->asker;
    sub->params = r->params;
    sub->params.loads = false; /* the points until now come once */
    sub->period_ns = period_ms * XS_NS_PER_MS;
    sub->due_ns = s->now_ns + sub->period_ns;
    c->asking->subscriber = sub;
    s->house_ns = s->now_ns;
    return NULL;
}

void xs_subscribers_answered(struct xs_client *c, struct xs_request *r)
{
    struct xs_subscriber *sub = c->asking->subscriber;

    if (!sub)
        return;
    if (r->status != 200) {
        xs_subscribers_remove(c);
        return;
    }
    if (r->kind == XS_REQ_TIMELINE)
        sub->params.since = r->events_next; /* xserver's own ring counts those that are lost */
    else
        r->events_lost = sub->lost;
}

void xs_subscribers_remove(struct xs_client *c)
{
    free(c->asking->subscriber);
    c->asking->subscriber = NULL;
}

uint64_t xs_subscribers_look(struct xs_server *s, struct xs_client *c)
{
    struct xs_subscriber *sub = c->asking->subscriber;
    struct xs_request *r;

    if (!sub)
        return UINT64_MAX;
    if (s->now_ns < sub->due_ns)
        return sub->due_ns;
    sub->due_ns = s->now_ns + sub->period_ns;
    r = c->asking->r || xs_rate_is_quiet(&c->rate) ? NULL : xs_request_new(sub->kind);
    if (!r) {
        sub->lost++;
        return sub->due_ns;
    }
    r->asker = sub->asker;
    r->params = sub->params;
    xs_asks_again(s, c, r);
    return s->now_ns + sub->period_ns;
}
