/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/level3/lv3.h"

#include "xserver/level3/lv3_facts.h"
#include "xserver/server.h"

#include <string.h>

#define MAX_SEATS 1024u           /* programs of one device */

static struct xs_lv3_device *find_device(struct xs_server *s, XDevice device)
{
    for (size_t i = 0; i < s->level3.n_devices; i++)
        if (s->level3.devices[i].device == device)
            return &s->level3.devices[i];
    return NULL;
}

/* ---- carrying wishes out ---- */

/* @return when to say it again */
static uint64_t carry_out(struct xs_server *s, struct xs_client *c, XDevice device, const struct xs_lv3_wish *w)
{
    struct xs_lv3_kfd *k = xs_lv3_kfd_of(c, device);

    if (k)                        /* AMD's driver: the program does it */
        return xs_lv3_kfd_want(s, c, k, w->off, xs_lv3_kfd_part(c, k));
    if (!c->level3.nvidia)                  /* AMD's, and it has no queues there any more, or the driver refused */
        return UINT64_MAX;
    xs_lv3_want(s->level3.nvidia, c->level3.nvidia, device, w->slice_us);
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

static void bound_inflight(struct xs_server *s, struct xs_client *c);

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
        bound_inflight(s, places[i].client);
    }
    return next;
}

/* ---- bounds in flight ---- */

/* If an operator bounds the device time in flight, that holds for programs at level 3, too. @return 0:
 * as for others */
static uint64_t inflight_us(const struct xs_options *o)
{
    bool own = !xs_options_is_default(o, XS_OPT_lv3_inflight_us) || xs_options_is_default(o, XS_OPT_inflight_us);

    return own ? o->lv3_inflight_us : 0;
}

/* Gates beside short slices (decision 0024). Without them, a suspended program's commands in flight
 * run in the gaps of the urgent program. Behind a gate in its stream, as at level 2, they stay. Sends
 * the program's queues their configuration where that changes, or where the program has made more
 * queues. */
static void tell_gates(struct xs_server *s, struct xs_client *c, bool gates)
{
    uint64_t told = gates == c->level3.gates ? c->level3.gates_order : 0;

    if (!gates && !c->level3.gates)
        return;
    c->level3.gates = gates;
    c->level3.gates_order = s->queues_ever;
    for (struct xs_list *at = c->queues.prev; at != &c->queues; at = at->prev) {
        struct xs_server_queue *q = XS_CONTAINER_OF(at, struct xs_server_queue, in_client);

        if (q->order <= told && told)
            break; /* those before it came sooner still */
        q->config.handle = q->handle;
        q->config.gates = gates ? XS_GATES_ON : XS_GATES_OFF;
        xs_sched_queue_set_gated(q->sched, xs_client_has_gates(c, q));
        q->send_config = true;
        xs_client_tell(s, q);
    }
}

/* Where the device takes turns by itself, the time in flight need not be short: a process has one
 * bound for all its devices. */
static void bound_inflight(struct xs_server *s, struct xs_client *c)
{
    bool cut_short = false;

    if (!c->level3.nvidia)
        return;
    for (size_t i = 0; i < XS_ARRAY_LEN(c->level3.on); i++)
        if (c->level3.on[i].device && c->level3.on[i].in_force.cut_short) /* else no program has groups there any
                                                                       more */
            cut_short = cut_short || find_device(s, c->level3.on[i].device);
    cut_short = cut_short && !xs_lv3_denied(c->level3.nvidia);
    xs_sched_process_set_inflight(s->sched, c->process, cut_short ? inflight_us(&s->options) : 0);
    tell_gates(s, c, cut_short || (c->level3.gathers && !xs_lv3_denied(c->level3.nvidia)));
}

bool xs_lv3_cuts_short(const struct xs_client *c, XDevice device)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(c->level3.on); i++)
        if (c->level3.on[i].device == device)
            return c->level3.nvidia && c->level3.on[i].in_force.cut_short && !xs_lv3_denied(c->level3.nvidia);
    return false;
}

/* ---- all devices ---- */

static void add_device(struct xs_lv3_device *all, size_t *n, XDevice device)
{
    for (size_t k = 0; k < *n; k++)
        if (all[k].device == device)
            return;
    if (*n < XS_LV3_ALL_DEVICES)
        all[(*n)++] = (struct xs_lv3_device){.device = device, .changed = true, .next_ns = UINT64_MAX};
}

static bool has_groups(const XDevice *devices, size_t n, XDevice device)
{
    for (size_t i = 0; i < n; i++)
        if (devices[i] == device)
            return true;
    return false;
}

/* Finds the devices on which a program has channel groups or own queues. A program's word counts for a
 * device on which it has XQueues, or for which a wish is in force. */
static void find_devices(struct xs_server *s)
{
    struct xs_lv3_device now[XS_LV3_ALL_DEVICES] = {0};
    size_t n = 0;

    XS_LIST_FOR(c, &s->level3.steered, struct xs_client, level3.steered_link) {
        XDevice of_client[XS_LV3_DEVICES];
        size_t m = c->level3.nvidia ? xs_lv3_devices(s->level3.nvidia, c->level3.nvidia, of_client, XS_LV3_DEVICES) : 0;

        for (size_t i = 0; i < m; i++)
            if (xs_client_device_find(c, of_client[i]))
                add_device(now, &n, of_client[i]);
        for (size_t i = 0; i < XS_ARRAY_LEN(c->level3.on); i++)
            if (c->level3.on[i].device && has_groups(of_client, m, c->level3.on[i].device))
                add_device(now, &n, c->level3.on[i].device);
        for (size_t i = 0; i < XS_LV3_KFD_DEVICES; i++)
            if (c->level3.kfd[i].device && (c->level3.kfd[i].on || c->level3.kfd[i].off || c->level3.kfd[i].part))
                add_device(now, &n, c->level3.kfd[i].device);
    }
    for (size_t i = 0; i < n; i++) {
        const struct xs_lv3_device *before = find_device(s, now[i].device);

        if (before)
            now[i] = *before;
    }
    memcpy(s->level3.devices, now, n * sizeof(*now));
    s->level3.n_devices = n;
}

bool xs_lv3_steer(struct xs_server *s, struct xs_client *c)
{
    if (!xs_list_empty(&c->level3.steered_link))
        return true;
    if (!xs_quota_take(&s->quota, c->user, XS_POOL_LEVEL3, 1, c->privileged))
        return false;
    xs_list_add(&s->level3.steered, &c->level3.steered_link);
    s->level3.moved = true;
    return true;
}

void xs_lv3_touch(struct xs_server *s, XDevice device)
{
    struct xs_lv3_device *d = find_device(s, device);

    if (d)
        d->changed = true;
}

/* Channel groups may come when the program's queues are ready already: no change of a queue would follow. */
static void touch_groups(struct xs_server *s, struct xs_client *c)
{
    XDevice devices[XS_LV3_DEVICES];
    size_t n = c->level3.nvidia ? xs_lv3_devices(s->level3.nvidia, c->level3.nvidia, devices, XS_LV3_DEVICES) : 0;

    for (size_t i = 0; i < n; i++)
        if (xs_client_device_find(c, devices[i]))
            xs_lv3_touch(s, devices[i]);
}

void xs_lv3_touch_program(struct xs_server *s, struct xs_client *c)
{
    if (xs_list_empty(&c->level3.steered_link))
        return;
    s->level3.moved = true;
    touch_groups(s, c);
    for (size_t i = 0; i < XS_LV3_KFD_DEVICES; i++)
        if (c->level3.kfd[i].on)
            xs_lv3_touch(s, c->level3.kfd[i].device);
    for (size_t i = 0; i < XS_ARRAY_LEN(c->level3.on); i++)
        if (c->level3.on[i].device)
            xs_lv3_touch(s, c->level3.on[i].device);
}

uint64_t xs_lv3_update(struct xs_server *s)
{
    bool all = s->level3.changed, moved = all || s->level3.moved;

    if (!s->level3.n_programs && !s->level3.n_kfd)
        return s->level3.next_ns;
    if (moved)
        find_devices(s);
    s->level3.changed = s->level3.moved = false;
    s->level3.next_ns = UINT64_MAX;
    for (size_t i = 0; i < s->level3.n_devices; i++) {
        struct xs_lv3_device *d = &s->level3.devices[i];

        if (all || d->changed || s->now_ns >= d->next_ns) {
            d->changed = false;
            d->next_ns = decide_device(s, d->device);
        }
        s->level3.next_ns = XS_MIN(s->level3.next_ns, d->next_ns);
    }
    if (moved)
        XS_LIST_FOR(c, &s->level3.steered, struct xs_client, level3.steered_link)
            bound_inflight(s, c);
    return s->level3.next_ns;
}

void xs_lv3_forget(struct xs_server *s, struct xs_client *c)
{
    bool dead;

    xs_lv3_touch_program(s, c);
    xs_lv3_kfd_forget(s, c);
    if (!xs_list_empty(&c->level3.steered_link)) {
        xs_list_remove(&c->level3.steered_link);
        xs_quota_give(&s->quota, c->user, XS_POOL_LEVEL3, 1);
        s->level3.moved = true;
    }
    if (!c->level3.nvidia)
        return;
    /* a dead process needs nothing back, and a call would only delay its end */
    dead = atomic_load_explicit(&c->page->h.owner_tid, memory_order_relaxed) & XS_OWNER_DIED;
    xs_lv3_leave(s->level3.nvidia, c->level3.nvidia, !dead);
    c->level3.nvidia = NULL;
    s->level3.n_programs--;
    if (s->level3.n_programs == 0)
        xs_server_update_switch(s);
}
