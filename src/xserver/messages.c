/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of joined programs; join.c has the first one. The decoder has checked each field for its
 * range; this file judges the values. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/static_probe.h"
#include "xserver/shares/user_quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void xs_client_bound_hints(const struct xs_client *c, const struct xs_hints *before, struct xs_hints *h)
{
    if (h->priority != before->priority)
        h->priority = xs_limits_clamp(&c->limits, h->priority);
    if (h->lax_priority != before->lax_priority)
        h->lax_priority = xs_limits_clamp(&c->limits, h->lax_priority);
    if (h->critical_priority != before->critical_priority)
        h->critical_priority = xs_limits_clamp(&c->limits, h->critical_priority);
}

struct xs_dated_hints xs_server_queue_hints(const struct xs_server_queue *q)
{
    struct xs_dated_hints h = {.hints = *xs_sched_queue_hints(q->sched), .later = *xs_sched_queue_later(q->sched)};

    memcpy(h.changed_ns, q->changed_ns, sizeof(h.changed_ns));
    return h;
}

void xs_server_queue_set_hints(struct xs_server *s, struct xs_server_queue *q, const struct xs_dated_hints *h)
{
    memcpy(q->changed_ns, h->changed_ns, sizeof(q->changed_ns));
    xs_sched_queue_set_hints(s->sched, q->sched, &h->hints);
    xs_sched_queue_set_later(q->sched, &h->later);
    xs_lv3_touch(s, q->device);
    xs_server_note(s, q, XS_TIMELINE_hint, h->hints.priority, s->now_ns);
}

static void note_added(struct xs_server *s, struct xs_server_queue *q, int32_t priority)
{
    struct xs_sched_queue_status st;

    XS_PROBE3(queue_add, q->handle, q->client->peer.pid, priority);
    xs_sched_queue_status(q->sched, s->now_ns, &st);
    xs_server_note(s, q, XS_TIMELINE_add, priority, s->now_ns);
    if (!st.permitted)
        xs_server_note(s, q, XS_TIMELINE_hold, 0, s->now_ns);
    if (st.ready) {
        xs_server_note(s, q, XS_TIMELINE_ready, 0, s->now_ns);
        xs_prewake_changed(s, q->client, true, s->now_ns);
    }
    q->ready = st.ready;
    q->closed = !st.permitted;
    xs_prewake_queue(s, q, s->now_ns);
}

static void queue_add(struct xs_server *s, struct xs_client *c, const struct xs_msg_queue_add *m)
{
    struct xs_dated_hints wish;
    struct xs_hints *hints = &wish.hints;
    struct xs_server_queue *q;
    const char *wrong;

    xs_hints_of_add(&wish, m, c->record.protocol_minor);
    hints->priority = c->record.priority_set ? c->record.priority : xs_limits_clamp(&c->limits, hints->priority);
    hints->lax_priority = xs_limits_clamp(&c->limits, hints->lax_priority);
    hints->critical_priority = xs_limits_clamp(&c->limits, hints->critical_priority);
    if (m->handle > INT64_MAX) {
        xs_client_refuse(s, c, XS_REFUSED_MALFORMED, XS_MSG_queue_add, m->handle,
                         "a handle has at most 63 bits");
        return;
    }
    if (xs_handles_get(s, m->handle)) {
        xs_client_refuse(s, c, XS_REFUSED_DUPLICATE, XS_MSG_queue_add, m->handle, "another queue has this handle");
        return;
    }
    if (c->cells[m->cell / 64] & 1ull << m->cell % 64) {
        xs_client_refuse(s, c, XS_REFUSED_DUPLICATE, XS_MSG_queue_add, m->handle, "another queue has this cell");
        return;
    }
    q = calloc(1, sizeof(*q));
    wrong = q ? xs_user_quota_queue(s, c, q, m->device) : "out of memory";
    if (!wrong) {
        q->sched =
            xs_sched_queue_add(s->sched, c->process, m->handle, m->device, m->cell, hints, s->now_ns, q);
        if (!q->sched) {
            xs_user_quota_queue_gone(s, c, q);
            wrong = "out of memory";
        }
    }
    if (wrong) {
        free(q);
        xs_client_refuse(s, c, XS_REFUSED_QUOTA, XS_MSG_queue_add, m->handle, wrong);
        return;
    }
    xs_sched_queue_set_later(q->sched, &wish.later);
    q->client = c;
    xs_list_init(&q->in_unsent);
    q->handle = m->handle;
    q->device = m->device;
    q->cell = m->cell;
    q->level = m->level;
    q->levels = m->levels;
    q->platform = m->platform;
    xs_sched_queue_set_gated(q->sched, xs_client_has_gates(c, q));
    q->threshold = m->threshold;
    q->batch_size = m->batch_size;
    c->cells[m->cell / 64] |= 1ull << m->cell % 64;
    c->record.queues++;
    c->record.queues_ever++;
    xs_list_add(&c->queues, &q->in_client);
    q->order = ++s->queues_ever;
    xs_list_add(&s->queues, &q->in_server);
    xs_handles_add(s, q);
    note_added(s, q, hints->priority);
    if (c->record.priority_set)
        q->changed_ns[XS_PART_PRIORITY] = c->record.priority_ns;
    if (c->record.priority_set && c->record.priority != m->priority) {
        q->send_hints = true;
        xs_client_tell(s, q);
    }
}

void xs_server_queue_forget(struct xs_server *s, struct xs_server_queue *q)
{
    struct xs_client *c = q->client;

    XS_PROBE2(queue_remove, q->handle, c->peer.pid);
    xs_client_counts_of_queue(s, q, &c->record);
    xs_requests_queue_goes(s, q);
    xs_changes_queue_goes(s, q);
    xs_server_note(s, q, XS_TIMELINE_remove, 0, s->now_ns);
    xs_sched_queue_remove(s->sched, q->sched, s->now_ns);
    if (q->ready)
        xs_prewake_changed(s, c, false, s->now_ns);
    xs_handles_remove(s, q);
    c->cells[q->cell / 64] &= ~(1ull << q->cell % 64);
    c->record.queues--;
    xs_user_quota_queue_gone(s, c, q);
    xs_list_remove(&q->in_client);
    xs_list_remove(&q->in_server);
    xs_list_remove(&q->in_unsent);
    free(q);
}

static void sched_hints(struct xs_server *s, struct xs_client *c, const struct xs_msg_sched_hints *m)
{
    struct xs_policy_params params = *xs_sched_params(s->sched);

    if (m->utilization >= 0) {
        c->record.utilization = m->utilization;
        c->record.utilization_set = false;
        xs_sched_process_set_utilization(s->sched, c->process, m->utilization);
    }
    if (!m->timeslice_us && !m->k)
        return;
    if (!c->operates) {
        xs_client_refuse(s, c, XS_REFUSED_DENIED, XS_MSG_sched_hints, 0,
                         "only an operator may change the slice and k for everybody");
        return;
    }
    if (m->timeslice_us && m->timeslice_us != TIMESLICE_UNLIMITED &&
        (m->timeslice_us < TIMESLICE_MIN || m->timeslice_us > TIMESLICE_MAX)) {
        xs_client_refuse(s, c, XS_REFUSED_MALFORMED, XS_MSG_sched_hints, 0, "the slice is out of range");
        return;
    }
    if (m->timeslice_us)
        params.timeslice_ns =
            m->timeslice_us == TIMESLICE_UNLIMITED ? UINT64_MAX : m->timeslice_us * XS_NS_PER_US;
    if (m->k)
        params.k = m->k;
    xs_sched_set_params(s->sched, &params);
}

/* A queue of this program, or NULL after a refusal. */
static struct xs_server_queue *own_queue(struct xs_server *s, struct xs_client *c, unsigned of, uint64_t handle)
{
    struct xs_server_queue *q = xs_handles_get(s, handle);

    if (q && q->client == c)
        return q;
    xs_client_refuse(s, c, XS_REFUSED_UNKNOWN, of, handle, "this program has no such queue");
    return NULL;
}

static void nv_group(struct xs_server *s, struct xs_client *c, const struct xs_msg_nv_group *m, int *fds,
                     unsigned n_fds)
{
    const char *wrong;

    if (!s->options.lv3_slices)
        return;
    if (!s->level3.nvidia)
        s->level3.nvidia = xs_lv3_new();
    if (s->level3.nvidia && !c->level3.nvidia && !xs_lv3_steer(s, c)) {
        xs_client_refuse(s, c, XS_REFUSED_QUOTA, XS_MSG_nv_group, 0,
                         "too many programs at level 3, of which each user gets a share");
        return;
    }
    if (s->level3.nvidia && !c->level3.nvidia) {
        c->level3.nvidia = xs_lv3_join(s->level3.nvidia, c->peer.pid);
        s->level3.n_programs += c->level3.nvidia != NULL;
        if (s->level3.n_programs == 1)
            xs_server_update_switch(s);
    }
    wrong = c->level3.nvidia ? xs_lv3_group(s->level3.nvidia, c->level3.nvidia, m, fds, n_fds) : "out of memory";
    if (wrong)
        xs_client_refuse(s, c, XS_REFUSED_MALFORMED, XS_MSG_nv_group, 0, wrong);
}

static bool dispatch(struct xs_server *s, struct xs_client *c, const union xs_msg *m, int *fds,
                     unsigned n_fds)
{
    const char *wrong;
    struct xs_server_queue *q;
    struct xs_dated_hints hints;
    struct xs_hints before;

    if (m->head.id == XS_MSG_hello && !c->asking)
        return xs_client_join(s, c, &m->hello, fds, n_fds);
    if (m->head.id == XS_MSG_expect && !c->joined && !c->asking) {
        c->expected = true;
        return true;
    }
    if (m->head.id == XS_MSG_ask && !c->joined)
        return xs_asks_take(s, c, &m->ask);
    if (c->asking) {
        xs_client_drop(s, c, "asks, and is no program");
        return false;
    }
    if (!c->joined) {
        xs_client_refuse(s, c, XS_REFUSED_ORDER, m->head.id, 0, "hello comes first");
        xs_client_drop(s, c, "refused");
        return false;
    }
    switch (m->head.id) {
    case XS_MSG_queue_add:
        queue_add(s, c, &m->queue_add);
        return true;
    case XS_MSG_queue_remove:
        q = own_queue(s, c, XS_MSG_queue_remove, m->queue_remove.handle);
        if (q)
            xs_server_queue_forget(s, q);
        return true;
    case XS_MSG_queue_hints:
        q = own_queue(s, c, XS_MSG_queue_hints, m->queue_hints.handle);
        if (q) {
            hints = xs_server_queue_hints(q);
            before = hints.hints;
            xs_hints_merge(&hints, &m->queue_hints, c->record.protocol_minor, s->clock_offset_ns, xs_now_ns());
            xs_client_bound_hints(c, &before, &hints.hints);
            xs_server_queue_set_hints(s, q, &hints);
        }
        return true;
    case XS_MSG_queue_config:
        q = own_queue(s, c, XS_MSG_queue_config, m->queue_config.handle);
        if (q) {
            q->level = m->queue_config.level ? m->queue_config.level : q->level;
            xs_sched_queue_set_gated(q->sched, xs_client_has_gates(c, q));
            q->threshold = m->queue_config.threshold ? m->queue_config.threshold : q->threshold;
            q->batch_size = m->queue_config.batch_size ? m->queue_config.batch_size : q->batch_size;
        }
        return true;
    case XS_MSG_sched_hints:
        sched_hints(s, c, &m->sched_hints);
        return true;
    case XS_MSG_nv_group:
        nv_group(s, c, &m->nv_group, fds, n_fds);
        return true;
    case XS_MSG_nv_groups_end:
        if (c->level3.nvidia)
            xs_lv3_groups_end(s->level3.nvidia, c->level3.nvidia);
        return true;
    case XS_MSG_kfd_device:
        wrong = xs_lv3_kfd_device(s, c, &m->kfd_device);
        if (wrong)
            xs_client_refuse(s, c, XS_REFUSED_MALFORMED, XS_MSG_kfd_device, 0, wrong);
        return true;
    case XS_MSG_memory:
        xs_swaps_told(s, c, &m->memory);
        return true;
    case XS_MSG_memory_want:
        wrong = xs_swaps_want(s, c, &m->memory_want);
        if (wrong)
            xs_client_refuse(s, c, XS_REFUSED_MALFORMED, XS_MSG_memory_want, 0, wrong);
        return true;
    case XS_MSG_kfd_held:
        xs_lv3_kfd_held(s, c, &m->kfd_held);
        return true;
    default: /* only a server sends it */
        xs_client_refuse(s, c, XS_REFUSED_MALFORMED, m->head.id, 0, "a program does not send this");
        xs_client_drop(s, c, "malformed message");
        return false;
    }
}

/* Such a hello needs an answer, though this build cannot read it, because it is of another major version. */
static bool is_other_major(const void *packet, size_t bytes, uint32_t *ret_major)
{
    struct xs_wire_head head;

    if (bytes < sizeof(head) + sizeof(*ret_major))
        return false;
    memcpy(&head, packet, sizeof(head));
    memcpy(ret_major, (const char *)packet + sizeof(head), sizeof(*ret_major));
    return head.id == XS_MSG_hello && head.bytes == bytes && *ret_major != XS_WIRE_MAJOR;
}

bool xs_message_handle(struct xs_server *s, struct xs_client *c, const void *packet, size_t bytes, int *fds,
                       unsigned n_fds)
{
    struct xs_wire_head head = {0};
    union xs_msg m;
    const char *wrong = "?";
    char text[128];
    uint32_t major;
    bool alive = true;
    int r = xs_wire_open(packet, bytes, &m, &wrong);

    if (r == -EBADMSG) {
        memcpy(&head, packet, XS_MIN(bytes, sizeof(head)));
        s->counts.malformed++;
        if (!c->joined && is_other_major(packet, bytes, &major)) {
            snprintf(text, sizeof(text), "this xserver speaks protocol %u, the program speaks %u",
                     XS_WIRE_MAJOR, major);
            xs_client_refuse(s, c, XS_REFUSED_VERSION, XS_MSG_hello, 0, text);
            xs_client_drop(s, c, "refused");
        } else {
            snprintf(text, sizeof(text), "malformed: %s", wrong);
            xs_client_refuse(s, c, XS_REFUSED_MALFORMED, head.id, 0, text);
            xs_client_drop(s, c, "malformed message");
        }
        alive = false;
    } else if (r == 0) {
        alive = dispatch(s, c, &m, fds, n_fds);
        if (alive && c->joined)
            xs_lv3_touch_program(s, c); /* levels, priorities, groups */
    } /* else a message that a newer program knows: skipped */
    return alive;
}
