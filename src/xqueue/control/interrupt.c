/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 by a scheduler outside: the descriptors that it gets, and the way back when it is gone. */
#include "xqueue/control/interrupt.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "xqueue/interface.h"
#include "xqueue/state.h"

static _Atomic(const struct xs_interrupt_ops *) s_ops[XS_INTERRUPTS]; /* writer: a platform, once */

void xsched_priv_interrupt_ops(const struct xs_interrupt_ops *ops)
{
    if (ops->abi != XS_HAL_ABI || ops->size < sizeof(*ops))
        return;
    for (unsigned i = 0; i < XS_INTERRUPTS; i++) {
        const struct xs_interrupt_ops *expected = NULL;

        if (atomic_compare_exchange_strong(&s_ops[i], &expected, ops) || expected == ops)
            break;
    }
    xsched_priv_interrupt_changed();
}

void xsched_priv_interrupt_changed(void)
{
    struct xs_state *st = xs_state_get();

    if (st && atomic_load(&st->control_runs))
        xs_fd_eventfd_signal(st->kick_fd);
}

static _Atomic(const struct xs_interrupt_lender *) s_lender; /* writer: a shim that sees the driver's calls */

void xsched_priv_interrupt_lend(const struct xs_interrupt_lender *lender)
{
    if (lender->abi == XS_HAL_ABI && lender->size >= sizeof(*lender))
        atomic_store(&s_lender, lender);
}

bool xsched_priv_interrupt_borrow(XDevice device)
{
    const struct xs_interrupt_lender *lender = atomic_load(&s_lender);

    if (!lender || !lender->has(device))
        return false;
    lender->use();
    return true;
}

const struct xs_interrupt_ops *xs_interrupt_ops(unsigned index)
{
    return atomic_load(&s_ops[index]);
}

bool xs_interrupt_has_lanes(void)
{
    for (unsigned i = 0; i < XS_INTERRUPTS; i++)
        if (xs_interrupt_ops(i) && xs_interrupt_ops(i)->lanes)
            return true;
    return false;
}

void xs_interrupt_restore(void)
{
    for (unsigned i = 0; i < XS_INTERRUPTS; i++) {
        const struct xs_interrupt_ops *ops = xs_interrupt_ops(i);

        while (ops && !ops->restore())
            xs_sys_poll(NULL, 0, 1);
    }
}

void xs_interrupt_told(const union xs_msg *m)
{
    for (unsigned i = 0; i < XS_INTERRUPTS; i++) {
        const struct xs_interrupt_ops *ops = xs_interrupt_ops(i);

        if (ops && ops->told)
            ops->told(m, xs_now_ns());
    }
}

uint64_t xs_interrupt_due(void)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i < XS_INTERRUPTS; i++) {
        const struct xs_interrupt_ops *ops = xs_interrupt_ops(i);
        uint64_t due = ops && ops->due ? ops->due(xs_now_ns()) : UINT64_MAX;

        next = XS_MIN(next, due);
    }
    return next;
}
