/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler tells what it decided: level 3, prewake, swaps and the records follow. */
#include "xserver/server.h"

#include "base/clock.h"
#include "host/procinfo.h"

void xs_server_note(struct xs_server *s, const struct xs_server_queue *q, enum xs_timeline_kind kind, int32_t value,
                    uint64_t now_ns)
{
    struct xs_timeline_event e = {.time_ns = now_ns, .kind = kind, .value = value};

    if (!s->timeline.ring)
        return;
    if (q) {
        e.handle = q->handle;
        e.pid = q->client->peer.pid;
        e.uid = q->client->peer.uid;
        e.device = kind == XS_TIMELINE_hold ? xs_sched_queue_reason(q->sched) : q->device;
    }
    xs_timeline_add(&s->timeline, &e);
}

static void on_permit(void *ctx, struct xs_sched_queue *sq, bool run, uint64_t now_ns)
{
    struct xs_server *s = ctx;
    struct xs_server_queue *q = xs_sched_queue_user(sq);
    struct xs_sched_queue_status st;

    s->changed = true;
    xs_lv3_touch(s, q->device);
    q->closed = !run;
    if (q->client) { /* else its message is still in progress */
        xs_server_note(s, q, run ? XS_TIMELINE_permit : XS_TIMELINE_hold, !run && q->client->record.held, now_ns);
        xs_prewake_queue(s, q, now_ns);
    }
    if (run)
        return;
    s->held = true;
    if (q->client)
        q->client->held_ns = now_ns;
    xs_sched_queue_status(sq, now_ns, &st);
    if (st.ready && !st.gathers)
        xs_latency_count(&s->counts.preemption, xs_now_ns() - s->now_ns + st.inflight_ns);
}

static void on_ready(void *ctx, struct xs_sched_queue *sq, bool ready, uint64_t now_ns)
{
    struct xs_server *s = ctx;
    struct xs_server_queue *q = xs_sched_queue_user(sq);

    if (!q->client)
        return;
    xs_lv3_touch(s, q->device);
    xs_list_remove(&q->in_device);
    xs_list_add(ready ? q->on->queues.next : &q->on->queues, &q->in_device);
    xs_server_note(s, q, ready ? XS_TIMELINE_ready : XS_TIMELINE_idle, 0, now_ns);
    if (q->ready != ready)
        xs_prewake_changed(s, q->client, ready, now_ns);
    q->ready = ready;
    xs_swaps_worked(s, q->client);
    xs_prewake_queue(s, q, now_ns);
}

static void on_lane(void *ctx, struct xs_sched_queue *sq, uint32_t multiprocessors, uint64_t now_ns)
{
    struct xs_server *s = ctx;
    struct xs_server_queue *q = xs_sched_queue_user(sq);

    if (!q->client)
        return;
    xs_server_note(s, q, XS_TIMELINE_lane, (int32_t)multiprocessors, now_ns);
    xs_lv3_touch(s, q->device);   /* AMD: masks confine the process */
}

static bool is_stopped(void *ctx, struct xs_sched_process *p)
{
    const struct xs_client *c = xs_sched_process_user(p);

    (void)ctx;
    return c && xs_proc_is_stopped(c->peer.pid);
}

static void on_mark_wanted(void *ctx, struct xs_sched_queue *sq)
{
    (void)ctx;
    xs_client_ask_mark(xs_sched_queue_user(sq));
}

static void on_gather(void *ctx, struct xs_sched_process *p)
{
    struct xs_server *s = ctx;
    struct xs_client *c = xs_sched_process_user(p);

    c->level3.gathers = true;
    s->level3.moved = true;
}

const struct xs_sched_ops xs_scheduler_hooks = {
    .on_permit = on_permit, .on_ready = on_ready, .on_mark_wanted = on_mark_wanted, .on_lane = on_lane,
    .is_stopped = is_stopped, .on_gather = on_gather};
