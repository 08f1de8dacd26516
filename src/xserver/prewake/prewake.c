/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/prewake/prewake.h"

#include "xserver/prewake/cpus.h"
#include "xserver/level3/lv3.h"
#include "xserver/server.h"

void xs_prewake_configure(struct xs_server *s)
{
    uint64_t least = s->options.ahead_cpus;

    s->prewake.on = least && s->options.spin_us && xs_cpus_available("") >= least;
}

void xs_prewake_forget(struct xs_server *s, const struct xs_client *c)
{
    for (unsigned i = 0; i < s->prewake.n; i++)
        if (s->prewake.windows[i].client == c) {
            s->prewake.windows[i] = s->prewake.windows[--s->prewake.n];
            return;
        }
}

/* The place at which queues of that device count: its own, else the one without waiters for the
 * longest time.
 * @return XS_PREWAKE_DEVICES: there is none */
static unsigned place_of(const struct xs_prewake *a, XDevice device)
{
    unsigned oldest = XS_PREWAKE_DEVICES;

    for (unsigned i = 0; i < XS_PREWAKE_DEVICES; i++) {
        if (a->waits[i].device == device && (a->waits[i].queues || a->waits[i].ns))
            return i;
        if (!a->waits[i].queues && (oldest == XS_PREWAKE_DEVICES || a->waits[i].ns < a->waits[oldest].ns))
            oldest = i;
    }
    return oldest;
}

void xs_prewake_queue(struct xs_server *s, struct xs_server_queue *q, uint64_t now_ns)
{
    bool waits = q->ready && q->closed && !xs_lv3_cuts_short(q->client, q->device);
    unsigned i;

    if (waits == q->waits)
        return;
    i = place_of(&s->prewake, q->device);
    if (i == XS_PREWAKE_DEVICES)
        return;
    q->waits = waits;
    s->prewake.waits[i].device = q->device;
    s->prewake.waits[i].queues += waits ? 1 : UINT32_MAX;
    s->prewake.waits[i].ns = now_ns;
}

/* Since it came, others waited on a device of it, and nothing suspended it. */
static bool was_served(const struct xs_server *s, const struct xs_client *c)
{
    uint64_t came_ns = c->arrivals.came_ns;

    if (s->spin.contended_ns < came_ns || c->held_ns >= came_ns)
        return false;
    for (unsigned i = 0; i < XS_PREWAKE_DEVICES; i++)
        if ((s->prewake.waits[i].queues || s->prewake.waits[i].ns >= came_ns) &&
            xs_client_device_find(c, s->prewake.waits[i].device))
            return true;
    return false;
}

void xs_prewake_changed(struct xs_server *s, struct xs_client *c, bool ready, uint64_t now_ns)
{
    uint64_t from_ns, until_ns;

    if (c->dead) /* a page that goes needs no look */
        return;
    if (ready) {
        xs_arrivals_ready(&c->arrivals, now_ns);
        xs_prewake_forget(s, c);
        return;
    }
    if (!xs_arrivals_idle(&c->arrivals, now_ns) || !s->prewake.on || s->prewake.n == XS_PREWAKE ||
        !was_served(s, c) || !xs_arrivals_next(&c->arrivals, s->options.spin_cpu, &from_ns, &until_ns))
        return;
    s->prewake.windows[s->prewake.n].client = c;
    s->prewake.windows[s->prewake.n].from_ns = from_ns;
    s->prewake.windows[s->prewake.n++].until_ns = until_ns;
}

uint64_t xs_prewake_next(const struct xs_server *s)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i < s->prewake.n; i++)
        if (s->prewake.windows[i].from_ns > s->now_ns)
            next = XS_MIN(next, s->prewake.windows[i].from_ns);
    return next;
}

uint64_t xs_prewake_until(struct xs_server *s)
{
    uint64_t until = 0;

    for (unsigned i = 0; i < s->prewake.n;) {
        if (s->prewake.windows[i].until_ns <= s->now_ns) { /* it did not come */
            s->prewake.windows[i] = s->prewake.windows[--s->prewake.n];
            continue;
        }
        if (s->prewake.windows[i].from_ns <= s->now_ns) {
            xs_spin_heat(s, s->prewake.windows[i].client);
            until = XS_MAX(until, s->prewake.windows[i].until_ns);
        }
        i++;
    }
    return until;
}
