/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events, where the device cannot write: an event behind the command, and a thread that looks
 * which events are reached. It sleeps while there is none, calls nothing but hipEventQuery, and waits
 * for nobody; a callback of the runtime's would stop the stream until a thread of the host has run. */
#include "base/futex.h"
#include "base/lock.h"
#include "base/log.h"
#include "hal/hip/hal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define WATCH_MAX 4096u           /* marks in flight: a few a queue */
#define LOOK_MIN_NS 20000u        /* pause between two looks: so short while marks complete, */
#define LOOK_MAX_NS 500000u       /* so long while none does */

struct watch {
    const struct xs_hip_api *api;
    hipEvent_t event;
    int dev;                      /* of the event */
    struct xs_queue *queue;       /* NULL: free; the event is kept for the next mark on this device */
    uint64_t number;
};

static struct watch g_watches[WATCH_MAX]; /* under g_lock; while in use, the thread reads a row that nobody changes */
static struct xs_lock g_lock;     /* nothing is called under it */
static unsigned g_used;           /* rows below were ever used; under g_lock */
static _Atomic uint32_t g_pending; /* marks in flight: futex of the thread; raised by marks, lowered by the thread */
static _Atomic int32_t g_pid;     /* the process that has the thread */

static int take(const struct xs_hip_api *api, int dev)
{
    int found = -1, fresh = -1;

    xs_lock_acquire(&g_lock);
    for (unsigned i = 0; i < g_used && found < 0; i++) {
        struct watch *w = &g_watches[i];

        if (w->queue || w->number)
            continue;
        if (w->api == api && w->dev == dev && w->event)
            found = (int)i;
        else if (!w->event)
            fresh = (int)i;
    }
    if (found < 0 && fresh < 0 && g_used < WATCH_MAX)
        fresh = (int)g_used++;
    if (found < 0)
        found = fresh;
    if (found >= 0)
        g_watches[found].number = 1; /* ours until it is watched or given back */
    xs_lock_release(&g_lock);
    return found;
}

static void give_back(int i, bool keep_event)
{
    xs_lock_acquire(&g_lock);
    g_watches[i].queue = NULL;
    g_watches[i].number = 0;
    if (!keep_event)
        g_watches[i].event = NULL;
    xs_lock_release(&g_lock);
}

/* @return marks that are no longer in flight */
static unsigned look(unsigned used)
{
    unsigned done = 0;

    for (unsigned i = 0; i < used; i++) {
        struct watch w;
        hipError_t r;

        xs_lock_acquire(&g_lock);
        w = g_watches[i];
        xs_lock_release(&g_lock);
        if (!w.queue)
            continue;
        r = w.api->hipEventQuery(w.event);
        if (r == XS_HIP_NOT_READY)
            continue;
        /* an event that its device lost (reset) is not used again */
        give_back((int)i, r == XS_HIP_SUCCESS);
        done++;
        if (r == XS_HIP_SUCCESS)
            xsched_priv_completed(w.queue, w.number);
        else
            xsched_priv_mark_lost(w.queue, w.number);
    }
    return done;
}

static void *watcher(void *opaque)
{
    const struct xs_hip_api *api = opaque;
    int mode = XS_HIP_CAPTURE_MODE_RELAXED;
    static _Atomic uint32_t never; /* nobody wakes it: a pause */
    uint64_t pause_ns = LOOK_MIN_NS;

    if (api->hipThreadExchangeStreamCaptureMode) /* else a query may spoil a capture elsewhere */
        api->hipThreadExchangeStreamCaptureMode(&mode);
    for (;;) {
        uint32_t pending = atomic_load(&g_pending);
        unsigned used, done;

        if (!pending) {
            xs_futex_wait(&g_pending, 0, UINT64_MAX);
            pause_ns = LOOK_MIN_NS;
            continue;
        }
        xs_lock_acquire(&g_lock);
        used = g_used;
        xs_lock_release(&g_lock);
        done = look(used);
        if (done)
            atomic_fetch_sub(&g_pending, done);
        pause_ns = done ? LOOK_MIN_NS : XS_MIN(pause_ns + pause_ns / 4, (uint64_t)LOOK_MAX_NS);
        xs_futex_wait(&never, 0, pause_ns);
    }
    return NULL;
}

static bool start(const struct xs_hip_api *api)
{
    int32_t pid = (int32_t)getpid(), known = atomic_load(&g_pid);
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;
    int r;

    if (XS_LIKELY(known == pid))
        return true;
    if (known != 0 || !atomic_compare_exchange_strong(&g_pid, &known, pid))
        return known == pid; /* a forked child has no HIP either */
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&thread, &attr, watcher, (void *)(uintptr_t)api);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (r)
        XS_WARN_ONCE("HIP: no thread to watch events (error %d); what is in flight is not bounded", r);
    return r == 0;
}

bool xs_hip_mark_event(struct xs_hip_hw *hw, struct xs_queue *q, uint64_t number)
{
    const struct xs_hip_api *api = hw->api;
    int i = start(api) ? take(api, hw->device->dev) : -1;
    hipEvent_t event;
    bool ok;

    if (i < 0)
        return false;
    event = g_watches[i].event;
    if (!event && api->hipEventCreateWithFlags(&event, XS_HIP_EVENT_NO_TIMING) != XS_HIP_SUCCESS) {
        give_back(i, false);
        return false;
    }
    ok = api->hipEventRecord(event, hw->stream) == XS_HIP_SUCCESS;
    xs_lock_acquire(&g_lock);
    g_watches[i] = (struct watch){api, event, hw->device->dev, ok ? q : NULL, ok ? number : 0};
    xs_lock_release(&g_lock);
    if (!ok)
        return false;
    if (atomic_fetch_add(&g_pending, 1) == 0)
        xs_futex_wake(&g_pending, 1);
    return true;
}
