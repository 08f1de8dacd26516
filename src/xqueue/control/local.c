/* SPDX-License-Identifier: Apache-2.0 */
/* The local scheduler: the same decision driver as xserver's, on pages of this process. */
#include "xqueue/control/local.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/tune.h"
#include "xqueue/control/announce_queues.h"
#include "xqueue/control/server_page.h"
#include "xqueue/inherit.h"
#include "xqueue/marker.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

#include <sys/mman.h>
#include <unistd.h>

struct local {
    struct xs_state *st;
    struct xs_sched *sched;
    struct xs_sched_process *process;
};

static bool local_add(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w)
{
    struct local *l = ctx;

    q->control.sq = xs_sched_queue_add(l->sched, l->process, q->handle, q->hwq_device, q->cell, &w->dated.hints, xs_now_ns(), q);
    if (q->control.sq) {
        xs_sched_queue_set_later(q->control.sq, &w->dated.later);
        xs_sched_queue_set_gated(q->control.sq, w->level == 2);
    } else {
        XS_WARN_ONCE("out of memory: an XQueue stays unscheduled");
    }
    return true;
}

static void local_remove(void *ctx, struct xs_queue *q)
{
    struct local *l = ctx;

    if (q->control.sq)
        xs_sched_queue_remove(l->sched, q->control.sq, xs_now_ns());
    q->control.sq = NULL;
}

static bool local_change(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w, bool config_too)
{
    struct local *l = ctx;

    (void)config_too;
    if (!q->control.sq)
        return true;
    xs_sched_queue_set_gated(q->control.sq, w->level == 2);
    xs_sched_queue_set_hints(l->sched, q->control.sq, &w->dated.hints);
    xs_sched_queue_set_later(q->control.sq, &w->dated.later);
    return true;
}

static const struct xs_listener k_listener = {local_add, local_remove, local_change};

static void local_mark_wanted(void *ctx, struct xs_sched_queue *sq)
{
    (void)ctx;
    xs_marker_end_missed(xs_sched_queue_user(sq)); /* its storage stays until local_remove() */
}

static const struct xs_sched_ops k_ops = {.on_mark_wanted = local_mark_wanted};

static enum xs_sched_lanes lanes(void)
{
    static const enum xs_sched_lanes of[] = {XS_SCHED_LANES_NEVER, XS_SCHED_LANES_ALWAYS, XS_SCHED_LANES_CHANGING};
    int64_t tuned = xs_tune_i64(XS_TUNE_LANES, -1);

    return tuned < 0 ? XS_SCHED_LANES_BY_LOAD : of[tuned];
}

static void take_sched_hints(struct xs_state *st, struct xs_sched *s)
{
    struct xs_policy_params p = *xs_sched_params(s);
    uint64_t us = atomic_load(&st->timeslice_us);
    uint32_t k = atomic_load(&st->k);

    if (us)
        p.timeslice_ns = us == UINT64_MAX ? UINT64_MAX : us * XS_NS_PER_US;
    if (k)
        p.k = k;
    xs_sched_set_params(s, &p);
}

/* Sleeps until a queue rings, another thread kicks, or it is time. */
static void local_sleep(struct xs_state *st, struct local *l, uint64_t wake_ns)
{
    struct pollfd p[2] = {{.fd = st->bell_fd, .events = POLLIN}, {.fd = st->kick_fd, .events = POLLIN}};
    struct timespec ts;
    uint64_t now, wait_ns;

    /* seq_cst pairs with xs_page_ring: bell, then asleep */
    atomic_store(&st->local_page->h.asleep, 1);
    now = xs_now_ns();
    if (!xs_sched_process_poll(l->sched, l->process, now) && wake_ns > now) {
        wait_ns = wake_ns - now;
        ts.tv_sec = (time_t)(wait_ns / XS_NS_PER_S);
        ts.tv_nsec = (long)(wait_ns % XS_NS_PER_S);
        xs_sys_ppoll(p, 2, wake_ns == UINT64_MAX ? NULL : &ts);
    }
    atomic_store(&st->local_page->h.asleep, 0);
    xs_fd_eventfd_drain(st->bell_fd);
    xs_fd_eventfd_drain(st->kick_fd);
}

void xs_local_run(struct xs_state *st, uint32_t changes)
{
    struct xs_sched_config config;
    struct local l = {.st = st};
    struct xs_sched_process_info info = {.id = 1, .intra = true, .drain = st->drain, .client = st->client,
                                         .uid = (uint32_t)getuid()};

    if (!st->local_page) {
        void *map = mmap(NULL, sizeof(*st->local_page), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); /* shared: with devices */

        if (map != MAP_FAILED) {
            madvise(map, sizeof(*st->local_page), MADV_DONTFORK);
            st->local_page = map;
        }
    }
    xs_sched_config_defaults(&config);
    config.pages = &st->tables;
    config.lanes = lanes();
    if (st->local_page)
        l.sched = xs_sched_new(xs_policy_by_type(atomic_load(&st->local_policy)), &config, &k_ops, NULL);
    info.server = st->local_page;
    if (l.sched)
        l.process = xs_sched_process_add(l.sched, &info, NULL);
    if (!l.process) {
        XS_WARN_ONCE("out of memory: no local scheduler");
        if (l.sched)
            xs_sched_free(l.sched);
        atomic_store(&st->mode, XS_MODE_APP);
        xs_state_update_intra(st);
        return;
    }
    xs_control_open_cells(st, st->local_page);
    xs_control_announce_all(st);
    xs_control_announce(st, &k_listener, &l);
    if (xs_control_engage(st, st->local_page)) {
        /* a thread that fails open past this session ends it, as with xserver's; then another session
         * begins */
        while (atomic_load(&st->mode_changes) == changes && atomic_load(&st->server) == st->local_page) {
            uint64_t now = xs_now_ns(), wake_ns;
            bool again = !xs_control_announce(st, &k_listener, &l);

            take_sched_hints(st, l.sched);
            xs_sched_process_poll(l.sched, l.process, now);
            wake_ns = xs_sched_run(l.sched, now);
            if (xs_sched_renew_leases(l.sched, now) || xs_control_retired_tick(st))
                wake_ns = XS_MIN(wake_ns, now + XS_LEASE_TICK_NS);
            if (again)
                wake_ns = XS_MIN(wake_ns, now + XS_NS_PER_MS);
            local_sleep(st, &l, wake_ns);
        }
    }
    xs_state_fail_open(st, st->local_page);
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        q->control.sq = NULL;
    xs_sched_free(l.sched);
}
