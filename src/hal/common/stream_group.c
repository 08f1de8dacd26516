/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of one context or device: the streams that end with it, and the waits there that the program
 * does not state. The null stream waits for the blocking ones, these wait for the null stream, and calls such
 * as freeing memory and synchronous copies wait for all. */
#include "hal/common/stream_queues.h"

#include <stdlib.h>

void xs_group_add(struct xs_stream_group *g, struct xs_stream *st)
{
    bool ordered = atomic_load(&st->blocking) || xs_native_is_null(xs_stream_native(st));
    size_t i = 0;

    xs_lock_acquire(&g->lock);
    st->next = g->streams;
    g->streams = st;
    while (ordered && i < XS_GROUP_ORDERED && atomic_load(&g->ordered[i]))
        i++;
    if (i < XS_GROUP_ORDERED && ordered)
        atomic_store(&g->ordered[i], st);
    else if (ordered)
        g->more = true;
    xs_lock_release(&g->lock);
}

static void unorder_locked(struct xs_stream_group *g, const struct xs_stream *st)
{
    for (size_t i = 0; i < XS_GROUP_ORDERED; i++)
        if (atomic_load(&g->ordered[i]) == st)
            atomic_store(&g->ordered[i], NULL);
}

void xs_group_remove(struct xs_stream_group *g, struct xs_stream *st)
{
    struct xs_stream **at;

    xs_lock_acquire(&g->lock);
    for (at = &g->streams; *at; at = &(*at)->next) {
        if (*at == st) {
            *at = st->next;
            break;
        }
    }
    unorder_locked(g, st);
    xs_lock_release(&g->lock);
}

void xs_group_each_queue(struct xs_streams *s, struct xs_stream_group *g, void (*fn)(struct xs_queue *q, void *arg),
                         void *arg)
{
    uint64_t natives[64];
    size_t n = 0;

    xs_lock_acquire(&g->lock);
    for (struct xs_stream *st = g->streams; st && n < XS_ARRAY_LEN(natives); st = st->next)
        natives[n++] = xs_stream_native(st);
    xs_lock_release(&g->lock);
    for (size_t i = 0; i < n; i++) {
        struct xs_queue *q = xsched_priv_queue_pin(s->platform, natives[i]); /* another thread may destroy it */

        if (!q)
            continue;
        fn(q, arg);
        xsched_priv_queue_let_go(q);
    }
}

void xs_group_implicit(struct xs_streams *s, uint64_t native, struct xs_queue *q)
{
    struct xs_stream *st = xs_stream_find(s, native);
    bool null = xs_native_is_null(native);

    if (!st || (!null && !atomic_load(&st->blocking)))
        return;
    for (size_t i = 0; i < XS_GROUP_ORDERED; i++) {
        /* one that has gone meanwhile is not found, or its number is another stream's by now, which inherits
         * in vain */
        struct xs_stream *other = atomic_load(&st->group->ordered[i]);
        struct xs_queue *p;

        if (!other || other == st || xs_native_is_null(xs_stream_native(other)) == null)
            continue;
        p = xsched_priv_queue_find(s->platform, xs_stream_native(other));
        if (p)
            xsched_priv_waits_for(q, p, xsched_priv_returned(p));
    }
}

/* One number for the amount that each blocking stream has submitted; two different amounts give equal numbers
 * once in 2^64. */
static uint64_t submitted_now(struct xs_streams *s, struct xs_stream_group *g)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < XS_GROUP_ORDERED; i++) {
        struct xs_stream *st = atomic_load(&g->ordered[i]); /* one that goes meanwhile gives another sum */
        struct xs_queue *q;

        if (!st || xs_native_is_null(xs_stream_native(st)))
            continue;
        q = xsched_priv_queue_find(s->platform, xs_stream_native(st));
        if (q)
            sum += xs_hash_u64(xs_stream_native(st) ^ xs_hash_u64(xsched_priv_entered(q)));
    }
    return sum;
}

/* We do not keep the time of the null stream's last command, since that would cost time at each one.
 * Commands submitted between the last mark and that command count as if they came after it. */
bool xs_group_submitted(struct xs_streams *s, struct xs_stream_group *g, uint64_t number)
{
    uint64_t sum = submitted_now(s, g);
    bool since;

    xs_lock_acquire(&g->lock);
    since = g->more || sum != g->submitted || (g->had_submitted && number == g->marked_number);
    g->submitted = sum;
    g->marked_number = number;
    g->had_submitted = since;
    xs_lock_release(&g->lock);
    return since;
}

void xs_group_inherit(struct xs_queue *q, void *none)
{
    (void)none;
    xsched_priv_lend(q, xsched_priv_returned(q), xsched_priv_thread_priority());
}

bool xs_group_take(struct xs_streams *s, struct xs_stream_group *g)
{
    size_t room = 0, n = 0;
    uint64_t *natives;

    xs_lock_acquire(&g->lock);
    for (struct xs_stream *st = g->streams; st; st = st->next)
        room++;
    xs_lock_release(&g->lock);
    natives = malloc((room + 1) * sizeof(*natives));
    if (!natives)
        return false;
    xs_lock_acquire(&g->lock);
    /* No thread adds to a context that is about to end. From here on xs_stream_release may put
     * the storage to a new use. */
    for (struct xs_stream *st = g->streams; st && n < room; st = st->next) {
        atomic_store(&st->gone, true);
        unorder_locked(g, st);
        natives[n++] = xs_stream_native(st);
    }
    g->streams = NULL;
    xs_lock_release(&g->lock);
    while (n > 0)
        xs_stream_forget(s, natives[--n]);
    free(natives);
    return true;
}
