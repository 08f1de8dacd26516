/* SPDX-License-Identifier: Apache-2.0 */
/* Code that implements one platform over another. */
#include "base/lock.h"
#include "xqueue/interface.h"

#define IMPLEMENTERS 8u           /* beyond this number, calls of the rest count twice */

_Atomic uint32_t xsched_priv_implementers;

/* Lock 7: the objects that implement one platform over another. The first call to such a platform holds it;
 * look-ups take none. */
static struct xs_lock g_lock;
static struct {
    uintptr_t from, to;
} g_ranges[IMPLEMENTERS];         /* each written once under g_lock, before the count */

static bool is_within(const void *code, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((uintptr_t)code - g_ranges[i].from < g_ranges[i].to - g_ranges[i].from)
            return true;
    return false;
}

void xsched_priv_implementer_add(uintptr_t from, uintptr_t to)
{
    uint32_t count;

    xs_lock_acquire(&g_lock);
    count = atomic_load_explicit(&xsched_priv_implementers, memory_order_relaxed);
    if (count < IMPLEMENTERS && !is_within((const void *)from, count)) {
        g_ranges[count].from = from;
        g_ranges[count].to = to;
        /* release pairs with the acquire below: the row is complete */
        atomic_store_explicit(&xsched_priv_implementers, count + 1, memory_order_release);
    }
    xs_lock_release(&g_lock);
}

bool xsched_priv_is_implementer(const void *code)
{
    uint32_t count = atomic_load_explicit(&xsched_priv_implementers, memory_order_acquire);

    return count && (!code || is_within(code, count));
}
