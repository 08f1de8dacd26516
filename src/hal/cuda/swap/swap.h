/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that moves: with XSCHED_SWAP, the shim serves the program's allocations by mapped blocks (serve.c), and
 * the program's bytes go to host memory and come back to the same addresses (move.c).
 *
 * A call of the program that may touch device memory is between xs_swap_enter and xs_swap_leave (pause.c). While memory
 * is out such calls wait there, before the driver, so no stream holds a command of the program. What gates or permits
 * say meanwhile does not matter: behind them is nothing. */
#ifndef XS_HAL_CUDA_SWAP_H
#define XS_HAL_CUDA_SWAP_H

#include "base/forks.h"
#include "hal/cuda/cuda_abi.h"

/** The shim is about to serve the program's memory. @return whether it shall: XSCHED_SWAP, and a driver with the functions */
bool xsched_priv_cuda_swap_begin(void);

/* ---- pause.c: calls that wait ---- */

/** Where the program's memory is. A call waits from one of these states on. */
enum {
    XS_SWAP_ALL_IN,
    XS_SWAP_TOUCHES_WAIT,         /* memory is out: calls that may touch it wait */
    XS_SWAP_FREES_WAIT,           /* it is moving: calls that free it wait, too */
};

/** One thread. Only this thread writes it, but for its reuse after the thread's end. */
struct xs_swap_slot {
    _Atomic uint32_t inside;      /* the thread is in such a call; pairs with the mover's membarrier */
    uint32_t depth;
    uint32_t tid, forks;          /* of the thread and its process */
    char rest[XS_CACHE_LINE - 16];
};

struct xs_swap_pause {
    _Atomic uint32_t state;       /* writer: the mover. Threads that wait sleep on it */
    _Atomic bool fences;          /* no membarrier here: each call has a fence */
};

extern struct xs_swap_pause xsched_priv_cuda_swap_pause;
extern _Thread_local struct xs_swap_slot *xsched_priv_cuda_swap_slot;

/** The slow part of xs_swap_enter: a thread's first call, and a call that waits. */
void xsched_priv_cuda_swap_wait(uint32_t waits);

/** @param waits  the state from which on this call waits: XS_SWAP_TOUCHES_WAIT or XS_SWAP_FREES_WAIT */
static inline void xs_swap_enter(uint32_t waits)
{
    struct xs_swap_slot *s = xsched_priv_cuda_swap_slot;

    if (XS_LIKELY(s != NULL)) {
        if (XS_UNLIKELY(s->depth++))
            return;
        atomic_store_explicit(&s->inside, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* the mover's membarrier makes a fence of it */
        if (XS_LIKELY(atomic_load_explicit(&xsched_priv_cuda_swap_pause.state, memory_order_relaxed) < waits) &&
            XS_LIKELY(!atomic_load_explicit(&xsched_priv_cuda_swap_pause.fences, memory_order_relaxed)))
            return;
    }
    xsched_priv_cuda_swap_wait(waits);
}

static inline void xs_swap_leave(void)
{
    struct xs_swap_slot *s = xsched_priv_cuda_swap_slot;

    if (XS_LIKELY(s != NULL) && --s->depth == 0)
        atomic_store_explicit(&s->inside, 0, memory_order_release); /* what the call did comes before */
}

/* ---- serve.c: the program's allocations, inside such a call ---- */

#define XS_SWAP_NOT_SERVED (-1)

/** @return as cuMemAlloc_v2; XS_SWAP_NOT_SERVED: the driver itself is to do it */
CUresult xsched_priv_cuda_swap_alloc(CUdeviceptr *ret, size_t bytes);
/** @return as cuMemFree_v2; XS_SWAP_NOT_SERVED: it is no address that we gave */
CUresult xsched_priv_cuda_swap_free(CUdeviceptr at);

/** A served allocation. */
struct xs_swap_served {
    CUdeviceptr at;
    size_t wanted, bytes;         /* that the program asked for; that it has */
    CUcontext owner;
};
/** @return whether the address lies in one */
bool xsched_priv_cuda_swap_find(CUdeviceptr at, struct xs_swap_served *ret);
/** Someone outside of the process's calls knows the memory of this address: it does not move from now on. */
void xsched_priv_cuda_swap_stays(CUdeviceptr at);
/** The program has this context. Its work may use memory of others, so a move waits for it. Not for green contexts: their
 *  primary one waits for their work.
 *  @param dev  whose primary context it is; -1: it is none */
void xsched_priv_cuda_swap_context_made(CUcontext ctx, CUdevice dev);
/** The driver ended the context: what was allocated in it is free. Another thread may have a new context of that name by
 *  now.
 *  @param before  from xsched_priv_cuda_swap_before, before the driver's call */
uint64_t xsched_priv_cuda_swap_before(void);
void xsched_priv_cuda_swap_context_gone(CUcontext ctx, uint64_t before);
/** Kernels of one device may use the memory of another from now on, as with cuCtxEnablePeerAccess. */
void xsched_priv_cuda_swap_peer(CUdevice memory, CUdevice user);
/** Memory that is kept for the program's next allocations, and that it counts as free. */
size_t xsched_priv_cuda_swap_kept(CUdevice dev);
/** The device has no memory left: gives the kept memory back. @return whether there was any */
bool xsched_priv_cuda_swap_give_back(void);

/** Device memory that stays where it is: the program had it by other calls. */
enum xs_swap_other {
#define OTHER(symbol, text) XS_SWAP_OTHER_##symbol,
#include "hal/cuda/swap/others.def"
#undef OTHER
    XS_SWAP_OTHERS
};
void xsched_priv_cuda_swap_other(enum xs_swap_other what);

/* ---- move.c ---- */

struct xs_swap_report {
    int error;                    /* 0, or -errno */
    const char *why;              /* what is in the way; never NULL */
    uint64_t bytes, blocks;       /* that moved */
    uint64_t lacks;               /* with -ENOMEM on the way in: device memory that was not there */
    uint64_t prepare_ns;          /* host memory was made, and the program went on */
    uint64_t pause_ns;            /* until its calls had returned and its work was done */
    uint64_t copy_ns, map_ns;     /* the copies; create, map, unmap and release */
    uint64_t room_ns;             /* it waited for memory that others left */
    uint64_t total_ns;
    uint64_t others[XS_SWAP_OTHERS];  /* allocations that stay, by their kind */
};

/** Moves all served memory of the program out, or back in, in a thread of ours, and waits for the end of that. At most
 *  limit_ns until the program's work is done; then nothing has changed (-ETIMEDOUT). If it fails later, memory is out as
 *  a whole, or in as a whole.
 *  @return as ret->error: -EALREADY it is there, -EBUSY another thread moves it, -ENOMEM host or device memory,
 *  -ENOTSUP XSCHED_SWAP is not on, -EPERM a forked child, -EIO the driver */
int xsched_priv_cuda_swap_out(uint64_t limit_ns, struct xs_swap_report *ret);
int xsched_priv_cuda_swap_in(uint64_t limit_ns, struct xs_swap_report *ret);
/** In while others go out: it takes memory as they leave it, and waits limit_ns at most for the next piece. */
int xsched_priv_cuda_swap_follow(uint64_t limit_ns, struct xs_swap_report *ret);

/* ---- steer.c ---- */

/** The device has not so many bytes. Asks xserver to make less important programs move theirs out, and waits for that, 10 s
 *  at most. Inside such a call. @return whether to try again */
bool xsched_priv_cuda_swap_want(size_t bytes);

#endif
