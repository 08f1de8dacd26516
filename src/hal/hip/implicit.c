/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for what without a word of the program's: the null stream of a device for its blocking streams, these
 * for the null stream, and calls such as hipFree and synchronous copies for everything. Needed only where single
 * streams of the process may be held. */
#include "hal/hip/hal.h"

void xs_hip_ordered_add_locked(struct xs_hip_hw *hw)
{
    struct xs_hip_device *d = hw->device;

    if (!atomic_load(&hw->blocking) && !xs_hip_is_null(hw->native))
        return;
    for (size_t i = 0; i < XS_HIP_ORDERED; i++) {
        if (!atomic_load(&d->ordered[i])) {
            atomic_store(&d->ordered[i], hw);
            return;
        }
    }
}

void xs_hip_ordered_remove_locked(struct xs_hip_hw *hw)
{
    struct xs_hip_device *d = hw->device;

    for (size_t i = 0; i < XS_HIP_ORDERED; i++)
        if (atomic_load(&d->ordered[i]) == hw)
            atomic_store(&d->ordered[i], NULL);
}

XS_EXPORT void xsched_priv_hip_implicit(struct xs_queue *q, uint64_t native)
{
    struct xs_hip_hw *hw = xs_hip_hw_find(native);
    bool null = xs_hip_is_null(native);

    if (!hw || (!null && !atomic_load(&hw->blocking)))
        return;
    for (size_t i = 0; i < XS_HIP_ORDERED; i++) {
        /* storage is kept: one that has gone meanwhile is found nowhere, or is another stream's and lent to for nothing */
        struct xs_hip_hw *other = atomic_load(&hw->device->ordered[i]);
        struct xs_queue *p;
        uint64_t of;

        if (!other || other == hw)
            continue;
        of = __atomic_load_n(&other->native, __ATOMIC_RELAXED); /* pairs with nothing: any answer will do */
        if (xs_hip_is_null(of) == null)
            continue;
        p = xsched_priv_queue_find(kPlatformHIP, of);
        if (p)
            xsched_priv_waits_for(q, p, xsched_priv_returned(p));
    }
}

static void lend(struct xs_queue *q, void *arg)
{
    (void)arg;
    xsched_priv_lend(q, xsched_priv_returned(q), xsched_priv_thread_priority());
}

XS_EXPORT void xsched_priv_hip_lend_device(const struct xs_hip_api *api)
{
    xsched_priv_hip_each_queue(api, lend, NULL);
}
