/* SPDX-License-Identifier: Apache-2.0 */
/* One word a thread (xsched_priv_depth) tells whether a call is already being handled further
 * out - by the preload entry above the layer's, by a platform implemented over this one, or by
 * libpreempt itself - so that each command is handled once; and whether the thread is inside a
 * callback that the vendor's library made, where nothing may sleep. */
#ifndef XS_SHIM_DEPTH_H
#define XS_SHIM_DEPTH_H

#include "xqueue/interface.h"

#define XS_DEPTH_INNER    0xffff    /* calls being handled */
#define XS_DEPTH_CALLBACK 0x10000   /* one for each vendor callback around us */

static inline bool xs_depth_is_inner(int depth)
{
    return (depth & XS_DEPTH_INNER) != 0;
}

static inline bool xs_depth_in_callback(int depth)
{
    return depth >= XS_DEPTH_CALLBACK;
}

/** Around a program's function that the vendor calls: the program's calls in it are handled, but
 *  never sleep. @return what the leave needs */
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
