/* SPDX-License-Identifier: Apache-2.0 */
/* The only context of the program, if it has one. Then XSched knows to which null stream a command goes
 * without a query which context is current (docs/decisions/0022). It notes contexts when a function makes
 * them and whenever the driver says that one is current; with the second one it gives up for good. It may not
 * see the function that makes a context. It finds that context when the context's null stream gets a mark, or
 * when the thread asks again, as it does now and then. */
#include "hal/cuda/hal.h"

XS_EXPORT _Atomic(CUcontext) xsched_priv_cuda_only;
XS_EXPORT _Thread_local uint32_t xsched_priv_cuda_unasked;

/* Lock 7: whether the process has a single context, and which. */
static struct xs_lock g_lock;
static CUcontext g_known;
static _Atomic bool g_several;    /* readers need no lock; stays true */

static void note(CUcontext ctx, bool current)
{
    xs_lock_acquire(&g_lock);
    if (g_known && g_known != ctx)
        atomic_store(&g_several, true);
    g_known = ctx;
    if (atomic_load(&g_several))
        atomic_store(&xsched_priv_cuda_only, NULL);
    else if (current)
        atomic_store(&xsched_priv_cuda_only, ctx);
    xs_lock_release(&g_lock);
}

XS_EXPORT void xsched_priv_cuda_context_made(CUcontext ctx)
{
    if (ctx)
        note(ctx, false);
}

void xs_cuda_context_seen(CUcontext ctx)
{
    /* relaxed: a thread that does not see another's note yet, notes it again */
    if (XS_LIKELY(atomic_load_explicit(&xsched_priv_cuda_only, memory_order_relaxed) == ctx) ||
        XS_LIKELY(atomic_load_explicit(&g_several, memory_order_relaxed)))
        return;
    note(ctx, true);
}

void xs_cuda_context_ends(CUcontext ctx)
{
    xs_lock_acquire(&g_lock);
    if (g_known == ctx) {
        g_known = NULL;
        atomic_store(&xsched_priv_cuda_only, NULL);
    }
    xs_lock_release(&g_lock);
}
