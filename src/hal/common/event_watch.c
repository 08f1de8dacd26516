/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/event_watch.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/log.h"
#include "hal/common/worker.h"

#include <unistd.h>

#define WATCH_MAX 4096u           /* marks in flight: a few a queue */
#define LOOK_MIN_NS 20000u        /* pause between two looks: so short at least, */
#define LOOK_MAX_NS 500000u       /* so long at most */

struct watched_event {
    struct xs_watch_place *place; /* NULL: free */
    void *event;                  /* kept for the next mark of this place */
    struct xs_queue *queue;       /* NULL: no mark is in flight */
    uint64_t number;
    bool taken;                   /* between xs_watch_take and xs_watch_set or xs_watch_give_back */
};

static struct watched_event g_watches[WATCH_MAX]; /* under g_lock */
/* Lock 7: events that are marks, where the device cannot write. A thread that puts one or ends a context,
 * and the watcher, hold it. The holder releases it before it asks the vendor. A submit takes it where a
 * mark is an event. */
static struct xs_lock g_lock;
static unsigned g_used;           /* rows below have been in use; under g_lock */
static _Atomic uint32_t g_pending; /* marks in flight, a futex; a mark raises it, its end lowers it */
static _Atomic int32_t g_pid;     /* the process that has the thread */
static _Atomic(const struct xs_watch_place *) g_asking; /* writer: the thread */
static const struct xs_watch_ops *g_ops; /* set before the thread starts */

/* Marks that one look found, of all queues. The thread reports them by falling number, so that the last one of
 * each queue comes first; beyond a full array, within each batch. A thread that had no CPU for a while finds
 * several. If it reported them in the order of their rows, all but the first would seem to have taken no
 * time. */
struct finds {
    unsigned n;
    struct find {
        struct xs_queue *queue;
        uint64_t number;
        bool reached;
    } of[64];
};

static void keep(struct finds *f, const struct find *found)
{
    unsigned i = f->n++;

    for (; i > 0 && f->of[i - 1].number < found->number; i--)
        f->of[i] = f->of[i - 1];
    f->of[i] = *found;
}

static void tell(struct finds *f)
{
    for (unsigned i = 0; i < f->n; i++)
        g_ops->done(f->of[i].queue, f->of[i].number, f->of[i].reached);
    f->n = 0;
}

/* @return the mark is no longer in flight */
static bool look_at(unsigned i, struct finds *finds)
{
    struct watched_event w;
    bool same;
    int r;

    xs_lock_acquire(&g_lock);
    w = g_watches[i];
    xs_lock_release(&g_lock);
    if (!w.queue)
        return false;
    /* seq_cst pairs with xs_watch_hold: stores the place, then looks whether it may ask there. Only then it
     * looks whether the mark is still there: the place may have ended since the first read of the row. */
    atomic_store(&g_asking, w.place);
    same = !atomic_load(&w.place->held);
    if (same) {
        xs_lock_acquire(&g_lock);
        same = g_watches[i].place == w.place && g_watches[i].queue == w.queue && g_watches[i].number == w.number &&
               g_watches[i].event == w.event;
        xs_lock_release(&g_lock);
    }
    if (!same) {
        atomic_store(&g_asking, NULL);
        return false;
    }
    r = g_ops->ask(w.place, w.event);
    if (r <= 0) {
        xs_lock_acquire(&g_lock);
        /* else another thread gave up waiting for us */
        same = g_watches[i].queue == w.queue && g_watches[i].number == w.number;
        if (same && r < 0)
            g_watches[i] = (struct watched_event){0};
        else if (same)
            g_watches[i].queue = NULL;
        xs_lock_release(&g_lock);
    }
    atomic_store(&g_asking, NULL);
    if (r > 0 || !same)
        return false;
    keep(finds, &(struct find){w.queue, w.number, r == 0});
    return true;
}

/* How long to wait after a look that found a mark, and after one that did not. Where marks come each
 * millisecond, looks in the first tenth of it find nothing, and each takes time of a CPU, which may be the
 * device. So the first one comes after a quarter of the time that the last mark took; then the pauses
 * grow. */
static uint64_t next_pause_ns(uint64_t pause_ns, bool found, uint64_t took_ns)
{
    if (found)
        return XS_MIN(XS_MAX(took_ns / 4, (uint64_t)LOOK_MIN_NS), (uint64_t)LOOK_MAX_NS / 2);
    return XS_MIN(pause_ns + pause_ns / 4, (uint64_t)LOOK_MAX_NS);
}

static void *watcher(void *place)
{
    uint64_t pause_ns = LOOK_MIN_NS, found_ns = xs_now_ns();
    struct finds finds = {0};

    if (g_ops->begin)
        g_ops->begin(place);
    for (;;) {
        uint32_t done = 0;
        uint64_t now_ns;
        unsigned used;

        if (!atomic_load(&g_pending)) {
            xs_futex_wait(&g_pending, 0, UINT64_MAX);
            pause_ns = LOOK_MIN_NS;
            found_ns = xs_now_ns();
            continue;
        }
        xs_lock_acquire(&g_lock);
        used = g_used;
        xs_lock_release(&g_lock);
        for (unsigned i = 0; i < used; i++) {
            done += look_at(i, &finds);
            if (finds.n == XS_ARRAY_LEN(finds.of))
                tell(&finds);
        }
        tell(&finds);
        if (done)
            atomic_fetch_sub(&g_pending, done);
        now_ns = xs_now_ns();
        pause_ns = next_pause_ns(pause_ns, done, now_ns - found_ns);
        if (done)
            found_ns = now_ns;
        xs_futex_pause(pause_ns);
    }
    return NULL;
}

/* If the kernel refuses the thread (a limit of processes), the next mark tries again. Meanwhile another
 * thread may have relied on this attempt and put a mark: xs_watch_set looks whether it failed, and this one
 * whether there is a mark. */
static bool start(const struct xs_watch_ops *ops, struct xs_watch_place *place)
{
    int32_t pid = (int32_t)getpid();

    for (int tries = 0; tries < 2; tries++) {
        int32_t known = atomic_load(&g_pid);
        int r;

        if (XS_LIKELY(known == pid))
            return true;
        if (known != 0 || !atomic_compare_exchange_strong(&g_pid, &known, pid))
            return known == pid;  /* a forked child has no device either */
        g_ops = ops;
        r = xs_worker_start(watcher, place);
        if (r == 0)
            return true;
        XS_WARN_ONCE("%s: no thread to watch events (error %d); nothing bounds the commands in flight", ops->name, r);
        atomic_store(&g_pid, 0);
        if (!atomic_load(&g_pending)) /* seq_cst pairs with xs_watch_set */
            break;
    }
    return false;
}

int xs_watch_take(const struct xs_watch_ops *ops, struct xs_watch_place *place, void **ret_event)
{
    int found = -1, fresh = -1;

    if (!start(ops, place))
        return -1;
    xs_lock_acquire(&g_lock);
    for (unsigned i = 0; i < g_used && found < 0; i++) {
        const struct watched_event *w = &g_watches[i];

        if (w->queue || w->taken)
            continue;
        if (w->place == place)
            found = (int)i;
        else if (!w->place)
            fresh = (int)i;
    }
    if (found < 0 && fresh < 0 && g_used < WATCH_MAX)
        fresh = (int)g_used++;
    if (found < 0)
        found = fresh;
    if (found >= 0) {
        g_watches[found].place = place;
        g_watches[found].taken = true;
        *ret_event = g_watches[found].event;
    }
    xs_lock_release(&g_lock);
    return found;
}

/* @return the place of the row */
static struct xs_watch_place *put(int row, void *event, struct xs_queue *q, uint64_t number)
{
    struct xs_watch_place *place;

    xs_lock_acquire(&g_lock);
    place = g_watches[row].place;
    g_watches[row] = (struct watched_event){event ? place : NULL, event, q, number, false};
    xs_lock_release(&g_lock);
    return place;
}

void xs_watch_set(int row, void *event, struct xs_queue *q, uint64_t number)
{
    struct xs_watch_place *place = put(row, event, q, number);

    if (atomic_fetch_add(&g_pending, 1) == 0)
        xs_futex_wake(&g_pending, 1);
    if (XS_UNLIKELY(!atomic_load(&g_pid))) /* the kernel refused the thread after all */
        start(g_ops, place);
}

void xs_watch_give_back(int row, void *event)
{
    put(row, event, NULL, 0);
}

void xs_watch_hold(struct xs_watch_place *place)
{
    uint64_t until_ns = 0;

    atomic_fetch_add(&place->held, 1);
    while (atomic_load(&g_asking) == place && atomic_load(&g_pid) == (int32_t)getpid()) {
        uint64_t now_ns = xs_now_ns();

        if (!until_ns)
            until_ns = now_ns + XS_NS_PER_S;
        if (now_ns > until_ns)
            break;                /* the vendor does not answer: later calls will not return either */
        xs_futex_pause(LOOK_MIN_NS);
    }
}

void xs_watch_go_on(struct xs_watch_place *place)
{
    atomic_fetch_sub(&place->held, 1);
}

void xs_watch_forget(const struct xs_watch_ops *ops, struct xs_watch_place *place)
{
    for (unsigned i = 0;; i++) {
        struct watched_event w;

        xs_lock_acquire(&g_lock);
        if (i == g_used) {
            xs_lock_release(&g_lock);
            return;
        }
        w = g_watches[i];
        if (w.place == place && !w.taken)
            g_watches[i] = (struct watched_event){0};
        xs_lock_release(&g_lock);
        if (w.place != place || !w.queue)
            continue;
        atomic_fetch_sub(&g_pending, 1);
        ops->done(w.queue, w.number, false);
    }
}
