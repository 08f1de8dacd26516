/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a program's session. A program may have thousands of queues. Those beyond one step go first, a step in each round
 * of the main loop, as if the program had removed them. Then it leaves with the rest. The steps count against what its user
 * may tell xserver (shares/rate_limit.h): while the user has spent that, its programs leave later. */
#include "xserver/server.h"

#include "base/futex.h"
#include "base/log.h"
#include "base/static_probe.h"
#include "base/str.h"
#include "xserver/shares/log_share.h"
#include "xserver/shares/user_quota.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define QUEUES_A_STEP XS_LEAVES_A_ROUND
#define LOOKS         16u  /* leaving programs at which it looks for one whose user may go on */

/* A program that lives on without xserver must not wait at a closed word until it looks. */
static void open_words(struct xs_client *c)
{
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client) {
        struct xs_server_cell *cell = &c->server_page->cells[q->cell];

        if (atomic_load_explicit(&cell->permitted, memory_order_relaxed) == XS_PERMIT_OPEN)
            continue;
        atomic_store_explicit(&cell->permitted, XS_PERMIT_OPEN, memory_order_seq_cst);
        xs_futex_wake(xs_futex_low(&cell->permitted), INT_MAX);
    }
}

/* Out of the scheduler, with the queues that it still has. */
static void leave(struct xs_server *s, struct xs_client *c)
{
    xs_client_describe(s, c, &c->record);
    xs_requests_client_goes(s, c);
    c->record.left_s = (int64_t)time(NULL);
    xs_history_add(&s->history, &c->record);
    XS_PROBE2(leave, c->peer.pid, c->session);
    XS_LIST_FOR_SAFE(q, &c->queues, struct xs_server_queue, in_client) {
        xs_server_note(s, q, XS_TIMELINE_remove, 0, s->now_ns);
        xs_handles_remove(s, q);
    }
    s->n_clients--;
    xs_sched_process_remove(s->sched, c->process, s->now_ns);
    c->process = NULL;
    open_words(c);
    if (xs_log_share(c, s->now_ns))
        XS_INFO("pid %d left (%s): %llu commands on %llu queues, suspended %.3f s (%s)", (int)c->peer.pid, c->record.left_why,
                (unsigned long long)c->record.entered, (unsigned long long)c->record.queues_ever,
                (double)c->record.held_ns / (double)XS_NS_PER_S, c->record.cmdline);
    if (s->n_clients == 0)
        s->idle_since_ns = s->now_ns;
    s->house_ns = s->now_ns;
    xs_user_quota_gone(s, c);
    xs_list_add(&s->dead, &c->link);
}

static bool any_ready(const struct xs_client *c)
{
    XS_LIST_FOR(on, &((struct xs_client *)(uintptr_t)c)->devices, struct xs_client_device, in_client)
        if (XS_CONTAINER_OF(on->queues.next, struct xs_server_queue, in_device)->ready)
            return true;
    return false;
}

/* Ready queues first: without those, the program is in nobody's way any more. */
static void forget_queues(struct xs_server *s, struct xs_client *c, unsigned left)
{
    XS_LIST_FOR_SAFE(on, &c->devices, struct xs_client_device, in_client) {
        for (uint32_t n = on->n; n > 0 && left > 0; n--, left--) { /* the device goes with its last queue */
            struct xs_server_queue *q = XS_CONTAINER_OF(on->queues.next, struct xs_server_queue, in_device);

            if (!q->ready)
                break;
            xs_server_queue_forget(s, q);
        }
    }
    for (; left > 0 && !xs_list_empty(&c->queues); left--)
        xs_server_queue_forget(s, XS_CONTAINER_OF(c->queues.next, struct xs_server_queue, in_client));
}

/* @return whether it has left */
static bool step(struct xs_server *s, struct xs_client *c)
{
    if (c->record.queues > QUEUES_A_STEP) {
        forget_queues(s, c, QUEUES_A_STEP);
        if (!c->privileged)
            (void)xs_rate_spend(&c->user->messages, QUEUES_A_STEP, 0, s->now_ns);
    }
    if (c->record.queues > QUEUES_A_STEP)
        return false;
    xs_list_remove(&c->link);
    leave(s, c);
    return true;
}

void xs_client_leave(struct xs_server *s, struct xs_client *c, const char *why)
{
    if (s->death_watch)
        xs_death_watch_remove(s->death_watch, c->death_slot);
    xs_changes_client_goes(s, c);
    xs_str_copy(c->record.left_why, sizeof(c->record.left_why), why);
    xs_spin_forget(s, c);
    xs_prewake_forget(s, c);
    xs_lv3_forget(s, c);
    if (c->record.queues > QUEUES_A_STEP)
        xs_sched_process_end(s->sched, c->process);
    while (!step(s, c)) {
        if (s->stop)
            continue;
        xs_list_add(&s->leaving, &c->link);
        s->leave_ns = s->now_ns;
        return;
    }
}

void xs_client_leave_on(struct xs_server *s)
{
    if (s->now_ns < s->leave_ns)
        return;
    s->leave_ns = s->now_ns + XS_RATE_LOOK_NS;
    for (unsigned i = 0; i < LOOKS && !xs_list_empty(&s->leaving); i++) {
        struct xs_client *c = XS_CONTAINER_OF(s->leaving.next, struct xs_client, link);

        xs_list_remove(&c->link); /* in turn */
        xs_list_add(&s->leaving, &c->link);
        /* the program's end frees the device for others at once, whatever its user has spent */
        if (!c->privileged && !any_ready(c) && !xs_rate_recovered(&c->user->messages, 0, s->now_ns))
            continue;
        (void)step(s, c);
        s->leave_ns = s->now_ns;
        break;
    }
    if (xs_list_empty(&s->leaving))
        s->leave_ns = UINT64_MAX;
}

void xs_client_leave_all(struct xs_server *s)
{
    XS_LIST_FOR_SAFE(c, &s->leaving, struct xs_client, link) {
        while (!step(s, c))
            ;
    }
    s->leave_ns = UINT64_MAX;
}

const struct xs_client_record *xs_client_last_record(const struct xs_server *s, const struct xs_client *c)
{
    for (struct xs_list *at = s->leaving.prev; at != &s->leaving; at = at->prev) {
        const struct xs_client *o = XS_CONTAINER_OF(at, struct xs_client, link);

        if (o->record.handle_prefix == c->record.handle_prefix && o->peer.pid == c->peer.pid && o->peer.uid == c->peer.uid)
            return &o->record;
    }
    return xs_history_of(&s->history, c->record.handle_prefix, c->peer.pid, c->peer.uid);
}

/* The kernel may free the memory of the whole page, and the program decided how much that is. @return false: not in this round */
static bool unmap(void *page, size_t bytes, unsigned *limit)
{
    if (!page)
        return true;
    if (*limit < XS_FREES_A_ROUND)
        return false;
    *limit -= *limit == UINT_MAX ? 0 : XS_FREES_A_ROUND;
    munmap(page, bytes);
    return true;
}

void xs_client_free_dead(struct xs_server *s, unsigned limit)
{
    XS_LIST_FOR_SAFE(c, &s->dead, struct xs_client, link) {
        XS_LIST_FOR_SAFE(q, &c->queues, struct xs_server_queue, in_client) {
            if (limit == 0)
                return;
            limit -= limit != UINT_MAX;
            xs_list_remove(&q->in_client);
            xs_list_remove(&q->in_server);
            free(q);
        }
        if (!unmap(c->page, sizeof(*c->page), &limit))
            return;
        c->page = NULL;
        if (!unmap(c->server_page, sizeof(*c->server_page), &limit))
            return;
        xs_list_remove(&c->link);
        xs_user_quota_free_devices(c);
        free(c->asking);
        free(c);
    }
}
