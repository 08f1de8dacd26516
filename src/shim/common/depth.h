/* SPDX-License-Identifier: Apache-2.0 */
/* One word a thread (xsched_priv_depth). It tells whether an outer layer handles the call already: the
 * preload entry above the layer's, a platform that runs over this one, or libpreempt itself. So each command
 * counts once. It also tells whether the thread is inside a callback of the vendor's library, where nothing
 * may sleep. */
#ifndef XS_SHIM_DEPTH_H
#define XS_SHIM_DEPTH_H

#include "xqueue/interface.h"

#define XS_DEPTH_INNER    0xffff    /* outer calls that are handled by us */
#define XS_DEPTH_CALLBACK 0x10000   /* one for each vendor callback around us */

static inline bool xs_depth_is_inner(int depth)
{
    return (depth & XS_DEPTH_INNER) != 0;
}

static inline bool xs_depth_in_callback(int depth)
{
    return depth >= XS_DEPTH_CALLBACK;
}

/** Around a program's function that the vendor calls: XSched handles the program's calls in it, but they
 *  never sleep. @return the argument for the leave */
static inline int xs_depth_callback_enter(void)
{
    int depth = xsched_priv_depth(), delta = XS_DEPTH_CALLBACK - (depth & XS_DEPTH_INNER);

    xsched_priv_depth_add(delta);
    return delta;
}

static inline void xs_depth_callback_leave(int delta)
{
    xsched_priv_depth_add(-delta);
}

#endif
