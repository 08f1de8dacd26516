/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that a program makes itself and submits by XQueueSubmit. */
#ifndef XS_COMMAND_H
#define XS_COMMAND_H

#include "base/list.h"
#include "xqueue/interface.h"

struct xs_queue;
struct xs_state;

enum xs_command_state { XS_COMMAND_NEW, XS_COMMAND_HELD, XS_COMMAND_LAUNCHED, XS_COMMAND_DROPPED };

/* A wait for the handle, or its destruction, frees it. Fields under state.lock if the field does not say
 * otherwise. */
struct xs_command {
    HwCommandHandle handle;
    LaunchCallback launch;
    void *data;
    _Atomic int state;            /* enum xs_command_state; progress of the queue tells of changes */
    _Atomic uint64_t number;      /* of the queue; valid when launched: complete when completed >= number */
    XQueueHandle queue_handle;
    XResult result;               /* of the callback; valid when launched */
    uint32_t refs;                /* the handle's, the deferred list's, waiters' */
    struct xs_list link;          /* in xs_queue.deferred, under deferred_lock */
};

/** The command of this handle with one reference more. Any thread; takes state.lock. NULL: there is none. */
struct xs_command *xs_command_ref(struct xs_state *st, HwCommandHandle handle);
/** Gives a reference back; the last one frees the command. Any thread; takes state.lock. */
void xs_command_unref(struct xs_state *st, struct xs_command *c);
/** Runs the callback in this thread as the queue's next command; may sleep at the gate. */
void xs_command_launch(struct xs_queue *q, struct xs_command *c, uint32_t submit_flags);

#endif
