/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2 on Vulkan: a gate is a batch without commands that waits for a value of a timeline semaphore of
 * ours. The host signals it, because a device cannot read a permit in our memory.
 *
 * A signal is final, so the host opens a gate late: when all commands before the previous gate are complete.
 * Then at most two spacings of work (gate.c) are behind open gates when a suspension comes. The device
 * has one spacing to do while the host opens the next gate. A thread for each queue does that, the opener. It
 * sleeps on the permit as a submitting thread does at level 1, so a resumption and a lease that runs out
 * reach it in the same way.
 *
 * Three things of which level 1 need not take care:
 * - A wait for a binary semaphore is legal only when the program has submitted all on which its signal
 *   depends, the host's signals included. The layer has such a submission take its turn first, and opens the
 *   gates of the device before the call.
 * - The driver may put several queues into one. Then work that may run can stand behind a closed gate of
 *   another queue. The opener notices that nothing of it completes and opens its gates. If that helps, the
 *   device has none from then on.
 * - Nothing in the queue before a gate needs anything behind it, so a gate that opens late delays nothing
 *   else. */
#include "hal/vulkan/host_gates.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/map.h"
#include "base/platforms.h"
#include "hal/common/stream_queues.h"
#include "hal/common/worker.h"
#include "hal/vulkan/hal.h"

#include <stdlib.h>

#define GATES_MOST   64           /* closed or not opened yet, of one queue */
#define CALL_MOST_NS (10 * XS_NS_PER_MS)  /* of a wait in the driver, which delays a device's end */
#define LOOK_NS      (100 * XS_NS_PER_MS) /* between two looks at the other queues of the device */
#define LOOKS_STUCK  2            /* after so many without progress comes a trial: look_at_others */
#define LOOKS_MOST   128
#define TRIAL_NS     (50 * XS_NS_PER_MS)
#define TRIAL_LOOKS  10

/* Atomic: a thread that opens gates early may free a place while the opener reads it; the opener then does
 * not use the values. */
struct gate {
    _Atomic uint64_t number;      /* of the command behind it */
    _Atomic uint64_t before;      /* value of the queue's own semaphore when all before it is complete */
    _Atomic uint64_t queue_id;
    _Atomic(struct xs_queue *) queue;
};

/* The opener's view of the other queues while it waits at closed gates. */
struct others {
    uint64_t seen;                /* how far they were at the last look */
    unsigned looks, patience;     /* looks without progress of work that may run; how many are too many */
};

/* The gates of one queue, numbered from 1: the number is the value of the semaphore that opens it. The end of
 * the device or the opener's end frees them, whichever is later. */
struct xs_vk_gates {
    struct xs_vk_hw *hw;          /* constant; the opener uses it while `inside` only */
    xs_vk_object semaphore;       /* constant */
    uint64_t pending;             /* for the submission under way to take; the thread that submits */
    _Atomic uint64_t put;         /* the last one; writer: the thread that submits */
    _Atomic uint64_t opened;      /* the last signalled one; writer: the thread that has `signalling` */
    _Atomic uint64_t wanted;      /* the last one that may open */
    _Atomic uint32_t signalling;  /* a thread is inside vkSignalSemaphore, which waits for nothing */
    _Atomic uint32_t news;        /* the opener sleeps on it where there is no gate */
    _Atomic uint32_t inside;      /* the opener calls the driver now, or next */
    _Atomic uint32_t dead;        /* the device ends now, or next */
    _Atomic uint32_t refs;
    struct others others;         /* the opener */
    struct gate of[GATES_MOST];   /* by number; written before `put` */
};

static void let_go(struct xs_vk_gates *g)
{
    if (atomic_fetch_sub(&g->refs, 1) == 1)
        free(g);
}

static bool enter(struct xs_vk_gates *g)
{
    atomic_store(&g->inside, 1);  /* seq_cst pairs with xs_vk_gates_end: stores dead, then reads inside */
    if (!atomic_load(&g->dead))
        return true;
    atomic_store(&g->inside, 0);
    return false;
}

static void leave(struct xs_vk_gates *g)
{
    atomic_store(&g->inside, 0);
}

/* Opens all gates up to `value`. Values of a semaphore must grow, so one thread at a time signals, and takes
 * the others' wishes along. */
static void open_to(struct xs_vk_hw *hw, struct xs_vk_gates *g, uint64_t value)
{
    uint64_t wanted = atomic_load(&g->wanted);

    while (value > wanted && !atomic_compare_exchange_weak(&g->wanted, &wanted, value))
        ;
    while (atomic_load(&g->opened) < value) {
        if (atomic_exchange(&g->signalling, 1)) {
            xs_cpu_relax();
            continue;
        }
        wanted = atomic_load(&g->wanted);
        if (atomic_load(&g->opened) < wanted) {
            struct xs_vk_semaphore_signal s = {.type = XS_VK_TYPE_SEMAPHORE_SIGNAL, .semaphore = g->semaphore,
                                               .value = wanted};

            /* if it fails, the device has failed, and its queues have stopped anyway */
            hw->device->api.vkSignalSemaphore(hw->device->device, &s);
            atomic_store(&g->opened, wanted);
        }
        atomic_store(&g->signalling, 0);
    }
}

/* The progress of the other queues, as one number. @param ret_stuck  one of them has work that may run; NULL:
 * not wanted */
static uint64_t progress_of_others(struct xs_vk_hw *hw, bool *ret_stuck)
{
    uint64_t seen = 0;

    for (const struct xs_vk_hw *o = atomic_load(&hw->device->queues); o; o = o->next) {
        struct xs_queue *q = o == hw ? NULL : xsched_priv_queue_find(XS_PLATFORM_NUMBER_VULKAN, xs_vk_key(o->queue));
        uint64_t reached;

        if (!q || !o->semaphore || !xsched_priv_may_run(q, 0) ||
            hw->device->api.vkGetSemaphoreCounterValue(hw->device->device, o->semaphore, &reached) != XS_VK_SUCCESS)
            continue;
        seen = xs_hash_u64(seen ^ xs_vk_key(o->queue)) + reached;
        if (ret_stuck)
            *ret_stuck |= reached < atomic_load(&o->signalled);
    }
    return seen;
}

/* Work of another queue may run and makes no progress: it takes long, or it stands behind this gate. The
 * opening of the gate shows which. @return false: the device ends */
static bool look_at_others(struct xs_vk_gates *g)
{
    struct others *o = &g->others;
    struct xs_vk_hw *hw = g->hw;
    bool stuck = false, moved = false;
    uint64_t seen;

    if (!enter(g))
        return false;
    seen = progress_of_others(hw, &stuck);
    o->looks = stuck && seen == o->seen ? o->looks + 1 : 0;
    o->seen = seen;
    leave(g);
    if (o->looks < o->patience)
        return true;
    o->looks = 0;
    o->patience = XS_MIN(o->patience * 2, LOOKS_MOST); /* each trial lets some work run */
    for (unsigned i = 0; i < TRIAL_LOOKS && !moved; i++) {
        if (!enter(g))
            return false;
        open_to(hw, g, atomic_load(&g->put));
        leave(g);
        xs_futex_pause(TRIAL_NS / TRIAL_LOOKS);
        if (!enter(g))
            return false;
        moved = progress_of_others(hw, NULL) != seen;
        leave(g);
    }
    if (moved && !atomic_exchange(&hw->device->no_gates, true))
        XS_INFO("Vulkan: work of one queue stood behind a closed gate of another; level 1 takes the place of level 2 "
                "on this device");
    return true;
}

/* Waits until the command behind the gate has its permit. @return false: the device ends */
static bool wait_for_permit(struct xs_vk_gates *g, uint64_t value)
{
    const struct gate *at = &g->of[value % GATES_MOST];
    while (atomic_load(&g->opened) < value &&
           !xsched_priv_gate_wait(at->queue, at->queue_id, at->number, LOOK_NS)) {
        if (!look_at_others(g))
            return false;
    }
    return !atomic_load(&g->dead);
}

/* Waits until the device comes near the gate. @return false: the device ends */
static bool wait_for_device(struct xs_vk_gates *g, uint64_t value)
{
    uint64_t before = value > 1 ? g->of[(value - 1) % GATES_MOST].before : 0;
    struct xs_vk_semaphore_wait wait = {.type = XS_VK_TYPE_SEMAPHORE_WAIT, .count = 1, .values = &before};
    xs_vk_result r = XS_VK_TIMEOUT;

    while (before && r == XS_VK_TIMEOUT && atomic_load(&g->opened) < value) {
        if (!enter(g))
            return false;
        wait.semaphores = &g->hw->semaphore;
        r = g->hw->device->api.vkWaitSemaphores(g->hw->device->device, &wait, CALL_MOST_NS);
        leave(g);
    }
    return true;
}

static void *opener(void *arg)
{
    struct xs_vk_gates *g = arg;

    for (;;) {
        uint32_t news = atomic_load(&g->news);
        uint64_t value = atomic_load(&g->opened) + 1;

        if (atomic_load(&g->dead))
            break;
        if (value > atomic_load(&g->put)) {
            xs_futex_wait(&g->news, news, UINT64_MAX);
            continue;
        }
        /* the permit last: a suspension may have come while the device came near */
        if (!wait_for_permit(g, value) || !wait_for_device(g, value) || !wait_for_permit(g, value) || !enter(g))
            break;
        open_to(g->hw, g, value);
        leave(g);
    }
    let_go(g);
    return NULL;
}

static struct xs_vk_gates *gates_new(struct xs_vk_hw *hw)
{
    struct xs_vk_gates *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->hw = hw;
    g->refs = 2;
    g->others.patience = LOOKS_STUCK;
    if (xs_vk_timeline_new(hw->device, &g->semaphore)) {
        if (xs_worker_start(opener, g) == 0)
            return g;
        hw->device->api.vkDestroySemaphore(hw->device->device, g->semaphore, NULL);
    }
    free(g);
    return NULL;
}

struct xs_ctx_entries *xs_vk_ctx_entries(void *opaque)
{
    return &((struct xs_vk_hw *)opaque)->device->ctx_entries;
}

static int never(struct xs_vk_device *d)
{
    if (!atomic_exchange(&d->no_gates, true))
        XS_INFO("Vulkan: this device cannot wait for permission; level 1 takes the place of level 2");
    return -1;
}

/* Does not look at the words: the opener asks for both permits by the queue's own. */
int xs_vk_gate(void *opaque, _Atomic uint64_t *word, uint64_t serial, uint64_t number)
{
    struct xs_vk_hw *hw = opaque;
    struct xs_vk_device *d = hw->device;
    struct xs_vk_gates *g = atomic_load(&hw->gates);
    struct gate *at;
    uint64_t value;

    (void)word, (void)serial;
    if (atomic_load_explicit(&d->no_gates, memory_order_relaxed)) /* a hint */
        return -1;
    /* relaxed: its own number, or another thread's */
    if (atomic_load_explicit(&hw->submitter, memory_order_relaxed) != xs_thread_id())
        return 0;                 /* no submission of the layer, which alone can put it there */
    if (g && g->pending) {        /* it stands there for the other word already */
        return 1;
    }
    if (!g) {
        if (!hw->semaphore || !d->api.vkSignalSemaphore || !d->api.vkWaitSemaphores || !(g = gates_new(hw)))
            return never(d);
        atomic_store(&hw->gates, g);
        atomic_fetch_or(&d->waits_matter, XS_VK_GATED);
    }
    value = atomic_load(&g->put) + 1;
    if (value > atomic_load(&g->opened) + GATES_MOST - 1) /* the one before the first closed one, too */
        return 0;
    at = &g->of[value % GATES_MOST];
    at->queue = xsched_priv_queue_find(XS_PLATFORM_NUMBER_VULKAN, xs_vk_key(hw->queue));
    if (!at->queue)
        return 0;
    at->queue_id = xsched_priv_queue_id(at->queue);
    at->number = number;
    at->before = atomic_load(&hw->signalled);
    g->pending = value;
    return 1;
}

XS_EXPORT uint64_t xsched_priv_vk_gate_take(struct xs_vk_hw *hw, xs_vk_object *ret_semaphore)
{
    struct xs_vk_gates *g = atomic_load(&hw->gates);
    uint64_t value = g ? g->pending : 0;

    if (!value)
        return 0;
    g->pending = 0;
    *ret_semaphore = g->semaphore;
    atomic_store(&g->put, value);
    atomic_fetch_add(&g->news, 1);
    xs_futex_wake(&g->news, 1);
    return value;
}

XS_EXPORT void xsched_priv_vk_gates_open(struct xs_vk_device *d)
{
    for (struct xs_vk_hw *hw = atomic_load(&d->queues); hw; hw = hw->next) {
        struct xs_vk_gates *g = atomic_load(&hw->gates);

        if (g)
            open_to(hw, g, atomic_load(&g->put));
    }
}

void xs_vk_gates_end(struct xs_vk_hw *hw)
{
    struct xs_vk_gates *g = atomic_load(&hw->gates);

    if (!g)
        return;
    atomic_store(&g->dead, 1);
    atomic_fetch_add(&g->news, 1);
    xs_futex_wake(&g->news, 1);
    while (atomic_load(&g->inside)) /* at most CALL_MOST_NS, and its queues are idle */
        xs_futex_pause(50 * XS_NS_PER_US);
    hw->device->api.vkDestroySemaphore(hw->device->device, g->semaphore, NULL);
    atomic_store(&hw->gates, NULL);
    let_go(g);
}
