/* SPDX-License-Identifier: Apache-2.0 */
/* xserver moves the program's memory, and makes others move theirs.
 *
 * The control thread takes xserver's messages and sends ours, but calls no driver. A detached thread of ours, which
 * ends when nothing is left to do, obeys the messages. When the session ends while memory is out, that thread brings
 * it back, as soon as the device has room: nobody else would. */
#include "hal/cuda/swap/pause.h"
#include "hal/cuda/swap/serve.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/str.h"
#include "hal/common/worker.h"
#include "wire/wire.h"
#include "xqueue/interface.h"

#include "xsched/types.h"

#include <errno.h>
#include <string.h>

#define SERVER_MINOR  8u
#define WAIT_NS       (10 * XS_NS_PER_S) /* an allocation waits for the others no longer */
#define JOIN_NS       XS_NS_PER_S        /* for an xserver; nobody answers: once */
#define AGAIN_NS      (100 * XS_NS_PER_MS)

/* xserver's wish in one word: its number, and what it wants. */
#define WISH(m)          ((uint64_t)(m)->number << 32 | (uint64_t)(m)->limit_ms << 2 | (m)->room_comes << 1 | (m)->out)
#define WISH_NUMBER(w)   ((uint32_t)((w) >> 32))
#define WISH_LIMIT_NS(w) (((w) >> 2 & 0x3fffffffu) * XS_NS_PER_MS)
#define WISH_FOLLOW(w)   (((w) & 2) != 0)
#define WISH_OUT(w)      (((w) & 1) != 0)

static struct {
    _Atomic uint32_t generation;  /* of what xserver is to know */
    _Atomic uint32_t heard;       /* 1: an xserver that moves memory is there; writer: the control thread. Threads sleep on it */
    _Atomic bool unheard;         /* one waited for that in vain */
    _Atomic uint64_t wish;        /* 0: none in this session; likewise */
    _Atomic uint32_t waits;       /* 1: a thread waits, or did; writer: threads that begin to, and ours once memory is in */
    _Atomic bool alone;           /* the session ended: memory comes back by itself; likewise */
    _Atomic uint32_t working;     /* 1: the thread runs, or starts */
    /* Lock 7: what the messages say. The thread that obeys and threads that allocate hold it for a few stores. The control
     * thread only tries. */
    struct xs_lock lock;
    struct xs_msg_memory last;
    struct xs_msg_memory_want want; /* number 0: none yet */
    _Atomic uint32_t answered;    /* the number of a want; waiting threads sleep on it; writer: the control thread */
    _Atomic bool made;            /* ... that have room now; before it */
} g;

static bool is_out(void)
{
    return atomic_load(&xsched_priv_cuda_swap_pause.state) != XS_SWAP_ALL_IN;
}

static void tell(void)
{
    atomic_fetch_add(&g.generation, 1);
    xsched_priv_interrupt_changed();
}

void xs_swap_steer_waits(void)
{
    if (!atomic_exchange(&g.waits, 1))
        tell();
}

/* ---- the thread ---- */

static void obey(uint64_t wish)
{
    struct xs_swap_report r;
    uint64_t moved_ns;
    int error;

    if (WISH_OUT(wish))
        error = xsched_priv_cuda_swap_out(WISH_LIMIT_NS(wish), &r);
    else if (WISH_FOLLOW(wish))
        error = xsched_priv_cuda_swap_follow(WISH_LIMIT_NS(wish), &r);
    else
        error = xsched_priv_cuda_swap_in(WISH_LIMIT_NS(wish), &r);
    error = error == -EALREADY ? 0 : error;
    moved_ns = r.pause_ns + r.copy_ns + r.map_ns; /* host memory is made once, and the wait for room is the others' */
    if (!is_out())
        atomic_store(&g.waits, 0);
    xs_lock_acquire(&g.lock);
    g.last = (struct xs_msg_memory){
        .out = is_out(), .answers = WISH_NUMBER(wish), .error = (uint32_t)-error,
        .took_us = (uint32_t)XS_MIN(moved_ns / XS_NS_PER_US, (uint64_t)UINT32_MAX), .bytes = r.bytes, .lacks = r.lacks};
    if (error)
        xs_str_copy(g.last.why, sizeof(g.last.why), r.why);
    xs_lock_release(&g.lock);
    tell();
}

/* @return whether to try again */
static bool come_back(void)
{
    struct xs_swap_report r;

    if (is_out() && xsched_priv_cuda_swap_in(UINT64_MAX, &r) != 0 && is_out())
        return true;
    xs_lock_acquire(&g.lock);
    g.last = (struct xs_msg_memory){.out = 0};
    xs_lock_release(&g.lock);
    atomic_store(&g.waits, 0);
    atomic_store(&g.alone, false);
    tell();
    return false;
}

static void *steered_main(void *none)
{
    uint64_t done = 0, wish;

    (void)none;
    for (;;) {
        wish = atomic_load(&g.wish);
        if (wish && wish != done) {
            obey(wish);
            done = wish;
            continue;
        }
        if (atomic_load(&g.alone) && come_back()) {
            xs_futex_pause(AGAIN_NS);
            continue;
        }
        atomic_store(&g.working, 0);
        /* seq_cst pairs with work(): the wish, then `working` */
        if ((atomic_load(&g.wish) == done || !atomic_load(&g.wish)) && !atomic_load(&g.alone))
            return NULL;
        if (atomic_exchange(&g.working, 1))
            return NULL;          /* another thread does it */
    }
}

static void work(void)
{
    if (atomic_exchange(&g.working, 1))
        return;
    if (xs_worker_start(steered_main, NULL) != 0) {
        atomic_store(&g.working, 0);
        XS_WARN_ONCE("swap: no thread; device memory stays where it is");
    }
}

/* ---- the control thread ---- */

static uint32_t generation(void)
{
    return atomic_load(&g.generation);
}

static int packet(uint32_t index, union xs_msg *ret, int *ret_id, int ret_fds[2])
{
    bool wants;

    (void)ret_fds;
    if (!atomic_exchange(&g.heard, 1))
        xs_futex_wake(&g.heard, INT32_MAX);
    if (!xs_lock_try(&g.lock))
        return -EAGAIN;
    wants = g.want.number && g.want.number != atomic_load(&g.answered);
    memset(ret, 0, sizeof(*ret));
    if (index == 0) {
        ret->memory = g.last;
        ret->memory.out = is_out();
        ret->memory.waits = ret->memory.out && atomic_load(&g.waits);
        *ret_id = XS_MSG_memory;
    } else if (index == 1 && wants) {
        ret->memory_want = g.want;
        *ret_id = XS_MSG_memory_want;
    }
    xs_lock_release(&g.lock);
    return index == 0 || (index == 1 && wants) ? 0 : -ENOENT;
}

static void answer_wants(uint32_t number, bool made)
{
    atomic_store(&g.made, made);
    atomic_store(&g.answered, number);
    xs_futex_wake(&g.answered, INT32_MAX);
}

static void told(const union xs_msg *m, uint64_t now_ns)
{
    (void)now_ns;
    if (m->head.id == XS_MSG_memory_move) {
        atomic_store(&g.alone, false);
        atomic_store(&g.wish, WISH(&m->memory_move));
        work();
    } else if (m->head.id == XS_MSG_memory_room) {
        answer_wants(m->memory_room.number, m->memory_room.made);
    }
}

/* The session is over. */
static bool restore(void)
{
    uint32_t number;

    if (!xs_lock_try(&g.lock))
        return false;
    g.last = (struct xs_msg_memory){.out = 0};
    number = g.want.number;
    xs_lock_release(&g.lock);
    atomic_store(&g.heard, 0);
    atomic_store(&g.wish, 0);
    atomic_store(&g.alone, true);
    answer_wants(number, false);
    if (is_out())                 /* while a move begins, the thread runs, and looks at `alone` after it */
        work();
    return true;
}

static const struct xs_interrupt_ops k_ops = {
    .abi = XS_HAL_ABI, .size = sizeof(struct xs_interrupt_ops), .generation = generation, .packet = packet,
    .restore = restore, .server_minor = SERVER_MINOR, .told = told,
};

void xs_swap_steer_begin(void)
{
    xsched_priv_interrupt_ops(&k_ops);
}

/* ---- a thread that allocates ---- */

/* A program may lack memory before it has a queue, and so before it has joined. */
static bool is_heard(void)
{
    if (atomic_load(&g.heard) || atomic_load(&g.unheard))
        return atomic_load(&g.heard);
    xsched_priv_join();
    xs_futex_wait(&g.heard, 0, JOIN_NS);
    if (!atomic_load(&g.heard))
        atomic_store(&g.unheard, true);
    return atomic_load(&g.heard);
}

static uint32_t note_want(XDevice device, size_t bytes)
{
    uint32_t number;

    xs_lock_acquire(&g.lock);
    if (g.want.number != atomic_load(&g.answered)) { /* another thread waits: this one takes its answer */
        g.want.bytes += bytes;
    } else {
        g.want.bytes = bytes;
        g.want.number++;
    }
    g.want.device = device;
    g.want.priority = (int32_t)xs_env_i64(XS_ENV_XSCHED_PRIORITY, PRIORITY_DEFAULT);
    number = g.want.number;
    xs_lock_release(&g.lock);
    return number;
}

XS_EXPORT bool xsched_priv_cuda_swap_want(size_t bytes)
{
    const struct xs_cuda_api *api = xs_swap_is_on() ? xs_swap_get()->api : NULL;
    uint64_t until_ns, now_ns;
    uint32_t number;
    CUdevice dev;

    if (!bytes || !api || api->cuCtxGetDevice(&dev) != XS_CU_SUCCESS)
        return false;
    if (xs_swap_pause_is_child() || !xsched_priv_auto() || !is_heard())
        return false;
    until_ns = xs_now_ns() + WAIT_NS;
    number = note_want(xs_cuda_identity(api, dev), bytes);
    tell();
    for (;;) {
        uint32_t seen = atomic_load(&g.answered);

        now_ns = xs_now_ns();
        if (seen == number)
            return atomic_load(&g.made);
        if (now_ns >= until_ns || !atomic_load(&g.heard))
            return false;
        xs_futex_wait(&g.answered, seen, until_ns - now_ns);
    }
}
