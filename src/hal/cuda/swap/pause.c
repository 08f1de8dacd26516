/* SPDX-License-Identifier: Apache-2.0 */
/* A thread says in a slot of its own that it is in a call, with a plain store, and then looks whether calls wait. The
 * mover says that they do, makes every thread of the process pass a fence (membarrier), and then looks into the slots.
 * So either the thread sees the mover, or the mover sees the thread, and the call pays for no fence.
 *
 * A slot stays for ever. It is used again by a thread with the number of the one that had it, or when the kernel says
 * that this one is gone. */
#include "hal/cuda/swap/pause.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/log.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS     255u            /* of a page; with its head 16 KiB */
#define LOOK_NS   (20 * XS_NS_PER_US)
#ifndef SLEEP_NS                 /* tests/model: no end */
#define SLEEP_NS  (100 * XS_NS_PER_MS)
#endif

/* linux/membarrier.h, which musl has not */
#define MEMBARRIER_GLOBAL             1
#define MEMBARRIER_PRIVATE            8
#define MEMBARRIER_REGISTER_PRIVATE   16

struct slot_page {
    struct slot_page *next;
    unsigned used;
    char rest[XS_CACHE_LINE - sizeof(void *) - sizeof(unsigned)];
    struct xs_swap_slot slots[SLOTS];
};
_Static_assert(sizeof(struct xs_swap_slot) == XS_CACHE_LINE, "one line a thread");

XS_EXPORT struct xs_swap_pause xsched_priv_cuda_swap_pause;
XS_EXPORT _Thread_local struct xs_swap_slot *xsched_priv_cuda_swap_slot;

/* Lock 7: the pages of slots. A thread holds it in its first call, and the mover while it looks. */
static struct xs_lock g_lock;
static struct slot_page *g_pages;
static int g_barrier;             /* the command; 0: none, calls have fences. Written once, before the first call */
static uint32_t g_forks;          /* of the process that swaps */
static void (*g_on_wait)(void);   /* NULL: nobody wants to know; constant */
static _Atomic bool g_no_slot;    /* a thread found no memory for a slot: nothing moves any more */

void xs_swap_pause_init(void (*on_wait)(void))
{
    g_forks = xs_forks();
    g_on_wait = on_wait;
    if (syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE, 0, 0) == 0)
        g_barrier = MEMBARRIER_PRIVATE;
    else if (syscall(SYS_membarrier, MEMBARRIER_GLOBAL, 0, 0) == 0)
        g_barrier = MEMBARRIER_GLOBAL;
    else
        atomic_store(&xsched_priv_cuda_swap_pause.fences, true);
}

static uint32_t thread_number(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* Only for threads of this process. */
static bool has_ended(uint32_t tid)
{
    return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

static bool is_ours(const struct xs_swap_slot *s, uint32_t tid, uint32_t forks)
{
    return s->forks != forks || s->tid == tid; /* of the process before the fork: its threads are not here */
}

static struct xs_swap_slot *take_locked(uint32_t tid, uint32_t forks, bool ended)
{
    for (struct slot_page *p = g_pages; p; p = p->next)
        for (unsigned i = 0; i < p->used; i++)
            if (is_ours(&p->slots[i], tid, forks) || (ended && has_ended(p->slots[i].tid)))
                return &p->slots[i];
    return NULL;
}

static struct xs_swap_slot *new_locked(void)
{
    struct slot_page *p = g_pages;

    if (!p || p->used == SLOTS) {
        p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return NULL;
        p->next = g_pages;
        g_pages = p;
    }
    return &p->slots[p->used++];
}

static struct xs_swap_slot *claim(void)
{
    uint32_t tid = thread_number(), forks = xs_forks();
    struct xs_swap_slot *s;

    xs_lock_acquire(&g_lock);
    s = take_locked(tid, forks, false);
    if (!s && g_pages && g_pages->used == SLOTS)
        s = take_locked(tid, forks, true); /* before the next page */
    if (!s)
        s = new_locked();
    if (s) {
        s->depth = 0;
        s->tid = tid;
        s->forks = forks;
        atomic_store(&s->inside, 0);
    }
    xs_lock_release(&g_lock);
    xsched_priv_cuda_swap_slot = s;
    return s;
}

/* A forked child has no device, and nobody moves its memory. */
bool xs_swap_pause_is_child(void)
{
    return xs_forks() != g_forks;
}

XS_EXPORT void xsched_priv_cuda_swap_wait(uint32_t waits)
{
    struct xs_swap_slot *s = xsched_priv_cuda_swap_slot;
    uint32_t state;

    if (!s) {
        s = claim();
        if (s)
            s->depth = 1;
        else if (!atomic_exchange(&g_no_slot, true)) /* seq_cst: then either the mover sees it, or this thread the mover */
            XS_WARN("swap: no memory to note a thread: this process's memory does not move any more");
    }
    for (;;) {
        if (s)
            atomic_store(&s->inside, 1);
        atomic_thread_fence(memory_order_seq_cst);
        state = atomic_load(&xsched_priv_cuda_swap_pause.state);
        if (state < waits || xs_swap_pause_is_child())
            return;
        if (s)
            atomic_store(&s->inside, 0);
        if (g_on_wait)
            g_on_wait();
        xs_futex_wait(&xsched_priv_cuda_swap_pause.state, state, SLEEP_NS);
    }
}

void xs_swap_pause_set(uint32_t state)
{
    uint32_t before = atomic_exchange(&xsched_priv_cuda_swap_pause.state, state);

    if (state > before && g_barrier)
        syscall(SYS_membarrier, g_barrier, 0, 0);
    if (state < before)
        xs_futex_wake(&xsched_priv_cuda_swap_pause.state, INT32_MAX);
}

static bool is_inside_locked(uint32_t forks)
{
    for (struct slot_page *p = g_pages; p; p = p->next)
        for (unsigned i = 0; i < p->used; i++) {
            struct xs_swap_slot *s = &p->slots[i];

            /* acquire pairs with xs_swap_leave: what the call did is done */
            if (atomic_load_explicit(&s->inside, memory_order_acquire) && s->forks == forks && !has_ended(s->tid))
                return true;
        }
    return false;
}

bool xs_swap_pause_wait(uint64_t until_ns)
{
    uint32_t forks = xs_forks();

    for (;;) {
        bool inside;

        xs_lock_acquire(&g_lock);
        inside = is_inside_locked(forks);
        xs_lock_release(&g_lock);
        if (atomic_load(&g_no_slot))
            return false;
        if (!inside)
            return true;
        if (xs_now_ns() >= until_ns)
            return false;
        xs_futex_pause(LOOK_NS);
    }
}
