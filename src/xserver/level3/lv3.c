/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3.h"

#include "xserver/level3/lv3_facts.h"
#include "xserver/server.h"

#define MAX_SEATS 1024u           /* programs of one device */

/* ---- carrying wishes out ---- */

/* @return when to say it again */
static uint64_t carry_out(struct xs_server *s, struct xs_client *c, XDevice device, const struct xs_lv3_wish *w)
{
    struct xs_lv3_kfd *k = xs_lv3_kfd_of(c, device);

    if (k)                        /* AMD's driver: done by the program */
        return xs_lv3_kfd_want(s, c, k, w->off);
    xs_lv3_want(s->lv3, c->lv3, device, w->slice_us);
    return UINT64_MAX;
}

static void keep(struct xs_server *s, struct xs_client *c, struct xs_lv3_on_device *kept, const struct xs_lv3_seat *seat)
{
    bool changed = kept->in_force.cut_short != seat->wish.cut_short;

    kept->in_force = seat->wish;
    kept->memory = seat->memory;
    if (!changed)
        return;
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client)
        if (q->device == kept->device)
            xs_prewake_queue(s, q, s->now_ns);
}

static uint64_t decide_device(struct xs_server *s, XDevice device)
{
    static struct xs_lv3_seat seats[MAX_SEATS]; /* owner: the main loop's thread */
    static struct xs_lv3_place places[MAX_SEATS];
    size_t n = xs_lv3_take_facts(s, device, seats, places, MAX_SEATS);
    struct xs_lv3_rules rules = xs_lv3_take_rules(s, n && seats[0].own_queues); /* a device is of one vendor */
    uint64_t next = xs_lv3_judge(seats, n, &rules), again;

    for (size_t i = 0; i < n; i++) {
        keep(s, places[i].client, places[i].kept, &seats[i]);
        again = carry_out(s, places[i].client, device, &seats[i].wish);
        next = XS_MIN(next, again);
    }
    return next;
}

/* ---- what is in flight ---- */

static bool is_default(const struct xs_options *o, enum xs_option_id id)
{
    const struct xs_option_row *row = &xs_option_rows[id];

    return *(const uint64_t *)(const void *)((const char *)o + row->offset) == row->def;
}

/* An operator who bounds what is in flight means programs at level 3, too. @return 0: as for others */
static uint64_t inflight_us(const struct xs_options *o)
{
    bool own = !is_default(o, XS_OPT_lv3_inflight_us) || is_default(o, XS_OPT_inflight_us);

    return own ? o->lv3_inflight_us : 0;
}

/* Gates beside short slices (decision 0024): without them, what a program has in flight when it is suspended runs in the
 * gaps of the urgent program. Behind a gate in its stream, as at level 2, it stays. Tells the program's queues where that
 * is a change, or where it has made more of them. */
static void tell_gates(struct xs_server *s, struct xs_client *c, bool cut_short)
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

/* Where the device takes turns by itself, what is in flight need not be short: a process has one bound for all its
 * devices. */
static void bound_inflight(struct xs_server *s, struct xs_client *c, const XDevice *devices, size_t n)
{
    bool cut_short = false;

    if (!c->lv3)
        return;
    for (size_t i = 0; i < XS_ARRAY_LEN(c->lv3_on); i++)
        for (size_t k = 0; k < n; k++)  /* else nobody has groups there any more */
            cut_short = cut_short || (c->lv3_on[i].in_force.cut_short && c->lv3_on[i].device == devices[k]);
    cut_short = cut_short && !xs_lv3_denied(c->lv3);
    xs_sched_process_set_inflight(s->sched, c->process, cut_short ? inflight_us(&s->options) : 0);
    tell_gates(s, c, cut_short);
}

bool xs_lv3_cuts_short(const struct xs_client *c, XDevice device)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(c->lv3_on); i++)
        if (c->lv3_on[i].device == device)
            return c->lv3 && c->lv3_on[i].in_force.cut_short && !xs_lv3_denied(c->lv3);
    return false;
}

/* ---- all devices ---- */

static size_t add_devices(XDevice *all, size_t n, size_t most, const XDevice *more, size_t n_more)
{
    for (size_t i = 0; i < n_more; i++) {
        bool known = more[i] == 0;

        for (size_t k = 0; k < n; k++)
            known = known || all[k] == more[i];
        if (!known && n < most)
            all[n++] = more[i];
    }
    return n;
}

/* @return how many devices there are that a program has channel groups or own queues on */
static size_t steered_devices(struct xs_server *s, XDevice *ret, size_t most)
{
    size_t n = 0;

    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        XDevice of_client[XS_LV3_DEVICES];
        size_t m = c->lv3 ? xs_lv3_devices(s->lv3, c->lv3, of_client, XS_LV3_DEVICES) : 0;

        n = add_devices(ret, n, most, of_client, m);
        for (size_t i = 0; i < XS_LV3_KFD_DEVICES; i++)
            n = add_devices(ret, n, most, &c->kfd[i].device, 1);
    }
    return n;
}

uint64_t xs_lv3_update(struct xs_server *s)
{
    XDevice devices[64];
    uint64_t next = UINT64_MAX, of_device;
    size_t n;

    if ((!s->n_lv3 && !s->n_kfd) || (!s->lv3_changed && s->now_ns < s->lv3_ns))
        return s->lv3_ns;
    s->lv3_changed = false;
    n = steered_devices(s, devices, XS_ARRAY_LEN(devices));
    for (size_t i = 0; i < n; i++) {
        of_device = decide_device(s, devices[i]);
        next = XS_MIN(next, of_device);
    }
    XS_LIST_FOR(c, &s->clients, struct xs_client, link)
        bound_inflight(s, c, devices, n);
    s->lv3_ns = next;
    return next;
}

void xs_lv3_forget(struct xs_server *s, struct xs_client *c)
{
    xs_lv3_kfd_forget(s, c);
    if (!c->lv3)
        return;
    /* a process that is gone needs nothing back, and a call would only delay its end */
    xs_lv3_leave(s->lv3, c->lv3, !(atomic_load_explicit(&c->page->h.owner_tid, memory_order_relaxed) & XS_OWNER_DIED));
    c->lv3 = NULL;
    s->n_lv3--;
    if (s->n_lv3 == 0)
        xs_server_update_switch(s);
    s->lv3_changed = true;
}
